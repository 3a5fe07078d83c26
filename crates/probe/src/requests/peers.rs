//! Requests by client.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};

use serde::{Deserialize, Serialize};

use super::PortRequests;
use crate::bpf::{PeerKey, RequestSums};

/// Clients of a port that are kept one by one: those with most requests.
const MOST: usize = 64;

/// Requests of one client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerRequests {
    /// Its address; `None`: all the others together, which are too many to be distinguished.
    pub address: Option<IpAddr>,
    /// Requests whose arrival and read were seen.
    pub read: u64,
    /// Their wait between the two, all together, ns.
    pub waited_ns: u64,
    /// Requests whose read and answer were seen.
    pub answered: u64,
    /// The time between the two, all together, ns.
    pub served_ns: u64,
}

impl PeerRequests {
    fn of(address: IpAddr, sums: &RequestSums) -> Self {
        let RequestSums { read, waited_ns, answered, served_ns } = *sums;
        Self { address: Some(address), read, waited_ns, answered, served_ns }
    }

    /// Mean wait, us; `None` without any.
    pub fn mean_waited_us(&self) -> Option<f64> {
        (self.read > 0).then(|| self.waited_ns as f64 / self.read as f64 / 1e3)
    }

    /// Mean service, us; `None` without any.
    pub fn mean_served_us(&self) -> Option<f64> {
        (self.answered > 0).then(|| self.served_ns as f64 / self.answered as f64 / 1e3)
    }
}

/// Clients of ports while they are put together from their connections.
#[derive(Debug, Default)]
pub(super) struct Peers(BTreeMap<(u16, IpAddr), RequestSums>);

impl Peers {
    /// Adds what a client, or a connection of it, had.
    pub(super) fn add(&mut self, peer: &PeerKey, sums: &RequestSums) {
        let Ok(port) = u16::try_from(peer.port) else { return };
        if sums.read == 0 && sums.answered == 0 {
            return;
        }
        let none = RequestSums { read: 0, waited_ns: 0, answered: 0, served_ns: 0 };
        let address = Ipv6Addr::from(peer.address).to_canonical();
        let sum = self.0.entry((port, address)).or_insert(none);
        sum.read = sum.read.saturating_add(sums.read);
        sum.waited_ns = sum.waited_ns.saturating_add(sums.waited_ns);
        sum.answered = sum.answered.saturating_add(sums.answered);
        sum.served_ns = sum.served_ns.saturating_add(sums.served_ns);
    }

    /// Those of a port, with what all of it had beyond them.
    pub(super) fn of(&self, port: u16, all: &PortRequests) -> Vec<PeerRequests> {
        let of_port = self.0.iter().filter(|((of, _), _)| *of == port);
        let mut peers: Vec<PeerRequests> =
            of_port.map(|((_, address), sums)| PeerRequests::of(*address, sums)).collect();
        peers.sort_by_key(|peer| Reverse((peer.answered, peer.read)));
        peers.truncate(MOST);
        let beyond = |of_all: u64, of: fn(&PeerRequests) -> u64| {
            peers.iter().fold(of_all, |left, peer| left.saturating_sub(of(peer)))
        };
        let others = PeerRequests {
            address: None,
            read: beyond(all.read, |peer| peer.read),
            waited_ns: beyond(all.waited_ns, |peer| peer.waited_ns),
            answered: beyond(all.answered, |peer| peer.answered),
            served_ns: beyond(all.served_ns, |peer| peer.served_ns),
        };
        if others.read > 0 || others.answered > 0 {
            peers.push(others);
        }
        peers
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requests::Endpoint;
    use crate::requests::addresses::as_ipv6;

    fn key(port: u64, address: IpAddr) -> PeerKey {
        let address = as_ipv6(address);
        PeerKey { address: address.octets(), port }
    }

    fn sums(requests: u64) -> RequestSums {
        RequestSums { read: requests, waited_ns: 10 * requests, answered: requests, served_ns: 20 * requests }
    }

    #[test]
    fn connections_of_a_client_are_one_client_and_what_is_left_are_others() {
        let (near, far): (IpAddr, IpAddr) = ("10.0.0.7".parse().unwrap(), "2001:db8::1".parse().unwrap());
        let mut peers = Peers::default();
        peers.add(&key(80, near), &sums(3));
        peers.add(&key(80, near), &sums(4));
        peers.add(&key(80, far), &sums(9));
        peers.add(&key(81, far), &sums(1));
        peers.add(&key(80, "10.0.0.8".parse().unwrap()), &sums(0));
        let mut all = PortRequests { read: 16, answered: 16, ..PortRequests::at(Endpoint::Port(80)) };
        (all.waited_ns, all.served_ns) = (160, 320);
        let of = |peers: Vec<PeerRequests>| {
            peers.into_iter().map(|peer| (peer.address, peer.answered, peer.served_ns)).collect::<Vec<_>>()
        };
        assert_eq!(of(peers.of(80, &all)), [(Some(far), 9, 180), (Some(near), 7, 140)]);
        (all.answered, all.served_ns) = (20, 400);
        assert_eq!(of(peers.of(80, &all))[2], (None, 4, 80));
    }

    #[test]
    fn of_very_many_clients_those_with_most_are_kept() {
        let mut peers = Peers::default();
        for number in 1..=200u8 {
            peers.add(&key(80, IpAddr::from([10, 0, 0, number])), &sums(number.into()));
        }
        let all = PortRequests { read: 20_100, answered: 20_100, ..PortRequests::at(Endpoint::Port(80)) };
        let kept = peers.of(80, &all);
        assert_eq!((kept.len(), kept[0].answered, kept[MOST].address), (MOST + 1, 200, None));
        assert_eq!(kept.iter().map(|peer| peer.answered).sum::<u64>(), 20_100);
    }
}
