//! Which of the connections at a port are the server's, by the address at which they come in. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use machine::Missing;
use machine::processes::Listener;

/// Addresses that are distinguished, those of all ports together; further ports have one each.
const ADDRESSES: usize = 1_024;

/// Any address at which nobody listens.
const ANY: Ipv6Addr = Ipv6Addr::UNSPECIFIED;

/// Who listens, by port and address, IPv4 as IPv6 has it: the server on its port of this number, or `None` for another server. `::` stands for
/// every address at which nobody listens, and ::ffff:0.0.0.0 for those of IPv4.
pub(super) type Owners = BTreeMap<(u16, Ipv6Addr), Option<u32>>;

/// Who listens on the server's ports; empty where all that comes to them is the server's. What cannot be distinguished is missing.
pub(super) fn owners(ports: &[Listener], missing: &mut Vec<Missing>) -> Owners {
    let mut owners = Owners::new();
    for (number, port) in (0u32..).zip(ports) {
        let mut of_port = owners_of(port, number);
        if of_port.len() > 1 && owners.len() + of_port.len() > ADDRESSES {
            missing.push(too_many(port));
            of_port = vec![(ANY, Some(number))];
        }
        owners.extend(of_port.into_iter().map(|(address, owner)| ((port.port, address), owner)));
        missing.extend(shared(port));
    }
    let is_all_its_own = owners.iter().all(|((_, address), owner)| *address == ANY && owner.is_some());
    if is_all_its_own { Owners::new() } else { owners }
}

/// Those of one port. At an address where both listen they cannot be distinguished: all that comes there is taken to be the server's.
fn owners_of(port: &Listener, number: u32) -> Vec<(Ipv6Addr, Option<u32>)> {
    let own: BTreeSet<Ipv6Addr> = port.addresses.iter().copied().map(as_ipv6).collect();
    let at_any = own.contains(&ANY) || own.contains(&Ipv4Addr::UNSPECIFIED.to_ipv6_mapped());
    // What comes to another address than its own is found nowhere, unless it listens at any.
    let others = port.others.iter().copied().map(as_ipv6).filter(|other| at_any && !own.contains(other));
    let others: BTreeSet<Ipv6Addr> = others.collect();
    if own.is_empty() || (at_any && others.is_empty()) {
        return vec![(ANY, Some(number))];
    }
    let others = others.into_iter().map(|address| (address, None));
    own.into_iter().map(|address| (address, Some(number))).chain(others).collect()
}

/// That others have a part in what is counted.
fn shared(port: &Listener) -> Option<Missing> {
    let own: BTreeSet<Ipv6Addr> = port.addresses.iter().copied().map(as_ipv6).collect();
    let shared = port.others.iter().filter(|other| own.contains(&as_ipv6(**other)));
    let shared: Vec<String> = shared.map(IpAddr::to_string).collect();
    let at = shared.join(", ");
    (!shared.is_empty()).then(|| {
        let why = format!(
            "another process listens there too, at {at} (SO_REUSEPORT): its requests are counted with those of the server"
        );
        not_alone(port, why)
    })
}

fn too_many(port: &Listener) -> Missing {
    let why = format!(
        "it and others listen at more than {ADDRESSES} addresses: what comes to another server on this port is counted, too"
    );
    not_alone(port, why)
}

fn not_alone(port: &Listener, why: String) -> Missing {
    Missing::new(format_args!("requests to port {} of the server alone", port.port), why)
}

pub(super) fn as_ipv6(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(words: &str) -> Vec<IpAddr> {
        words.split_whitespace().map(|word| word.parse().unwrap()).collect()
    }

    fn port(port: u16, own: &str, others: &str) -> Listener {
        Listener { port, addresses: addresses(own), others: addresses(others), ..Listener::default() }
    }

    /// Owners in words: of each the address, and `-` before it where another server listens there.
    fn said(ports: &[Listener]) -> (String, Vec<Missing>) {
        let mut missing = Vec::new();
        let owners = owners(ports, &mut missing);
        let word = |((_, address), owner): (&(u16, Ipv6Addr), &Option<u32>)| {
            format!("{}{}", if owner.is_some() { "" } else { "-" }, address.to_canonical())
        };
        (owners.iter().map(word).collect::<Vec<_>>().join(" "), missing)
    }

    #[test]
    fn addresses_of_one_port_are_distinguished() {
        let of = |own: &str, others: &str| said(&[port(80, own, others)]).0;
        // What is not at its own address is not its own.
        assert_eq!(of("127.0.0.1", "127.0.0.2"), "127.0.0.1");
        assert_eq!(of("127.0.0.1", "0.0.0.0 ::"), "127.0.0.1");
        // Another that listens at one address takes it from who listens at any.
        assert_eq!(of("0.0.0.0", "127.0.0.2"), "0.0.0.0 -127.0.0.2");
        assert_eq!(of("::", "0.0.0.0"), ":: -0.0.0.0");
        assert_eq!(of("0.0.0.0", "::"), "-:: 0.0.0.0");
        assert_eq!(of(":: 10.0.0.1", "::1"), ":: -::1 10.0.0.1");
    }

    #[test]
    fn where_nobody_else_listens_at_any_address_the_port_says_it() {
        for own in ["", "::", "0.0.0.0", "0.0.0.0 ::", ":: 127.0.0.1"] {
            assert_eq!(said(&[port(80, own, "")]), (String::new(), Vec::new()), "{own}");
        }
        // Whoever listens, where it is not known at which addresses the server does.
        assert_eq!(said(&[port(80, "", "127.0.0.1")]), (String::new(), Vec::new()));
        // Beside a port whose addresses matter it has all the same.
        assert_eq!(said(&[port(80, "::", ""), port(81, "::1", "")]).0, ":: ::1");
    }

    #[test]
    fn one_address_of_two_processes_is_said_to_be_shared_and_two_addresses_are_not() {
        let (owners, missing) = said(&[port(80, "0.0.0.0", "0.0.0.0")]);
        let [shared] = &missing[..] else { panic!("one: {missing:?}") };
        assert_eq!(owners, "", "all of it is counted");
        assert!(shared.fact.contains("port 80") && shared.why.contains("at 0.0.0.0 ("), "{shared:?}");
        // An address of IPv4 is the same in either form.
        assert_eq!(said(&[port(80, "127.0.0.1", "::ffff:127.0.0.1")]).1.len(), 1);
        assert_eq!(said(&[port(80, "0.0.0.0", ":: 127.0.0.1")]).1.len(), 0);
    }

    #[test]
    fn a_port_with_too_many_addresses_is_counted_at_all_of_them() {
        let many: String = (0..ADDRESSES).map(|n| format!("10.0.{}.{} ", n / 256, n % 256)).collect();
        // One address takes no more room than any.
        let (fits, missing) = said(&[port(80, &many, ""), port(81, "::1", "")]);
        assert_eq!((fits.split(' ').count(), missing.len()), (ADDRESSES + 1, 0));
        let (owners, missing) = said(&[port(80, &many, ""), port(81, "::1 ::2", "")]);
        assert!(owners.ends_with(" ::") && missing[0].fact.contains("port 81"), "{missing:?}");
        assert_eq!((owners.split(' ').count(), missing.len()), (ADDRESSES + 1, 1));
    }

    /// Whose a connection at this address is: as the programs in the kernel look it up.
    fn owner_at(owners: &Owners, address: IpAddr) -> Option<u32> {
        let any = if address.is_ipv4() { as_ipv6(Ipv4Addr::UNSPECIFIED.into()) } else { ANY };
        let found = [as_ipv6(address), any, ANY].iter().find_map(|at| owners.get(&(80, *at)));
        found.copied().flatten()
    }

    proptest::proptest! {
        #[test]
        fn its_own_addresses_are_its_own_and_those_of_others_alone_are_not(
            own in proptest::collection::vec(0u8..6, 1..4),
            others in proptest::collection::vec(0u8..6, 0..4),
        ) {
            let choice = addresses(":: 0.0.0.0 ::1 ::ffff:10.0.0.1 10.0.0.2 127.0.0.1");
            let chosen = |of: &[u8]| of.iter().map(|one| choice[usize::from(*one)]).collect::<Vec<_>>();
            let (own, others) = (chosen(&own), chosen(&others));
            let port = Listener { port: 80, addresses: own.clone(), others: others.clone(), ..Listener::default() };
            let mut missing = Vec::new();
            let owners = owners(&[port], &mut missing);
            let is_shared = others.iter().any(|other| own.contains(other));
            assert_eq!(missing.len(), usize::from(is_shared));
            for address in choice.iter().filter(|_| !owners.is_empty()).map(IpAddr::to_canonical) {
                let is_in = |of: &[IpAddr]| of.iter().any(|one| one.to_canonical() == address);
                match (is_in(&own), is_in(&others)) {
                    (true, _) => assert_eq!(owner_at(&owners, address), Some(0), "{address}"),
                    (false, true) => assert_eq!(owner_at(&owners, address), None, "{address}"),
                    (false, false) => {}
                }
            }
        }

        #[test]
        fn no_addresses_make_it_panic(
            own in proptest::collection::vec(0u128.., 0..9),
            others in proptest::collection::vec(0u128.., 0..9),
        ) {
            let address = |bits: u128| IpAddr::from(Ipv6Addr::from(bits));
            let of = |all: Vec<u128>| all.into_iter().map(address).collect::<Vec<_>>();
            let port = Listener { port: 80, addresses: of(own), others: of(others), ..Listener::default() };
            let _ = owners(&[port], &mut Vec::new());
        }
    }
}
