//! By which address other nodes reach this one. srun(1) does not say who called it, as ssh does.

use std::net::{IpAddr, ToSocketAddrs, UdpSocket};

use machine::{Class, Fault};

use super::command::printed;

/// The address of this node, which Slurm calls `node`: what Slurm reaches it by (`NodeAddr`), or what its name means here.
///
/// # Errors
/// Neither is an address of this host that others reach.
pub fn of_this_node(node: &str) -> Result<IpAddr, Fault> {
    let of_slurm = printed("scontrol", &["show", "node", node]);
    let names = of_slurm.as_deref().and_then(node_addr).into_iter().chain([node]);
    first_of(names).ok_or_else(|| {
        let cause = format!(
            "neither NodeAddr of node {node} nor its name is an address of this host that other nodes reach"
        );
        Fault::new(Class::Usage, "server.address", cause, "give the one that they reach: --address IP")
    })
}

/// The first of what names mean that is an address of this host for others.
fn first_of<'a>(names: impl Iterator<Item = &'a str>) -> Option<IpAddr> {
    let mut found = names.flat_map(addresses);
    found.find(|address| is_for_others(*address) && is_of_this_host(*address))
}

/// `NodeAddr` of what `scontrol show node` prints: a name or an address.
fn node_addr(text: &str) -> Option<&str> {
    let addr = text.split_whitespace().find_map(|word| word.strip_prefix("NodeAddr="));
    addr.filter(|addr| !addr.is_empty() && *addr != "(null)")
}

/// What a name means, by the resolver; else by getent(1), which asks services that a static binary does not.
fn addresses(name: &str) -> Vec<IpAddr> {
    let resolved: Vec<IpAddr> =
        (name, 0_u16).to_socket_addrs().map(|all| all.map(|one| one.ip()).collect()).unwrap_or_default();
    match resolved.is_empty() {
        true => of_getent(&printed("getent", &["ahosts", name]).unwrap_or_default()),
        false => resolved,
    }
}

/// Addresses of `getent ahosts`: each begins a line, once for every kind of socket.
fn of_getent(text: &str) -> Vec<IpAddr> {
    let mut found: Vec<IpAddr> =
        text.lines().filter_map(|line| line.split_whitespace().next()?.parse().ok()).collect();
    found.dedup();
    found
}

/// Whether an address means the same to other hosts as to this one.
fn is_for_others(address: IpAddr) -> bool {
    let is_link_local = match address {
        IpAddr::V4(four) => four.is_link_local(),
        IpAddr::V6(six) => six.is_unicast_link_local(),
    };
    !address.is_loopback() && !address.is_unspecified() && !address.is_multicast() && !is_link_local
}

fn is_of_this_host(address: IpAddr) -> bool {
    UdpSocket::bind((address, 0_u16)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_a_node_is_among_what_slurm_says_of_it() {
        let text = "NodeName=n1 Arch=x86_64\n   NodeAddr=10.214.9.1 NodeHostName=n1 Version=22.05.8\n";
        assert_eq!(node_addr(text), Some("10.214.9.1"));
        assert_eq!(node_addr("NodeAddr=(null)"), None);
        assert_eq!(node_addr("Node n9 not found"), None);
    }

    #[test]
    fn an_address_is_counted_once_and_what_is_none_is_left_out() {
        let text = "10.0.0.1      STREAM n1\n10.0.0.1      DGRAM\n10.0.0.1      RAW\nfd00::1 STREAM\nx\n\n";
        assert_eq!(of_getent(text), ["10.0.0.1".parse::<IpAddr>().unwrap(), "fd00::1".parse().unwrap()]);
    }

    #[test]
    fn a_loopback_address_is_none_for_others() {
        for own in ["127.0.0.1", "127.0.1.1", "::1", "0.0.0.0", "169.254.3.4", "fe80::1", "224.0.0.1"] {
            assert!(!is_for_others(own.parse().unwrap()), "{own}");
        }
        assert!(is_for_others("10.0.0.1".parse().unwrap()) && is_for_others("fd00::1".parse().unwrap()));
        assert!(is_of_this_host("127.0.0.1".parse().unwrap()));
        assert!(!is_of_this_host("192.0.2.1".parse().unwrap()), "an address for documentation (RFC 5737)");
    }

    #[test]
    fn what_others_do_not_reach_is_passed_over() {
        assert_eq!(first_of(["127.0.0.1", "192.0.2.1", "fe80::1"].into_iter()), None);
        assert_eq!(first_of(std::iter::empty()), None);
    }
}
