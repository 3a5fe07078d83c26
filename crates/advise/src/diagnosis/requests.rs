//! The requests of a server in figures: how many, how long they waited in its sockets, how long its answers took, and from where they came.

use std::net::IpAddr;

use machine::{FactId, Missing};
use probe::Situation;
use probe::account::Distribution;
use probe::requests::{Counted, Endpoint, PeerRequests, PortRequests};
use serde::Serialize;

/// Requests of a window.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ServerRequests {
    /// Length of the window, s.
    pub window_s: f64,
    /// By port and Unix socket, those with most answers first; those without requests are not in it.
    pub ports: Vec<PortFigures>,
    /// What is not known, and why.
    pub missing: Vec<Missing>,
}

/// Requests to one port or one Unix socket.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PortFigures {
    /// Where.
    #[serde(flatten)]
    pub at: Endpoint,
    /// Requests that were answered, by second.
    pub per_s: f64,
    /// Requests whose arrival and read were seen; one in several packets has several.
    pub read: u64,
    /// Requests whose read and answer were seen.
    pub answered: u64,
    /// From the arrival of a request to the end of its read; `None` where none was seen.
    pub waited: Option<Times>,
    /// From there to the end of the first write of the answer; `None` where none was seen.
    pub served: Option<Times>,
    /// What is counted; `None` where it is not known whether connections have several requests at a time.
    pub counted: Option<Counted>,
    /// Share of answers that were given while more that had been received before was not read.
    pub overlapping_share: Option<f64>,
    /// Share of reads that took in more before the read before them was answered.
    pub continued_share: Option<f64>,
    /// Share of answers after which the server wrote again before it read again.
    pub rewritten_share: Option<f64>,
    /// Connections that wait to be accepted; `None` where that is not known, as of Unix sockets.
    pub accept_queue: Option<AcceptQueue>,
    /// By client, those with most answers first.
    pub peers: Vec<PeerFigures>,
}

/// Times of requests, us.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Times {
    /// Their mean.
    pub mean_us: f64,
    /// Half of them took no longer; at most a quarter above the true value. `None` where lengths were not kept.
    pub median_us: Option<f64>,
    /// 99 of 100 took no longer, likewise.
    pub p99_us: Option<f64>,
}

/// The accept queue of a port when the window began, all of its sockets together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct AcceptQueue {
    /// Connections in it.
    pub waiting: u64,
    /// Connections that it has room for; `None` where that is not known.
    pub limit: Option<u64>,
}

/// Requests of one client.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PeerFigures {
    /// Its address; `None`: all others together.
    pub address: Option<IpAddr>,
    /// Requests that were answered, by second.
    pub per_s: f64,
    /// Requests that were answered.
    pub answered: u64,
    /// Mean wait, us; `None` where none was seen.
    pub mean_waited_us: Option<f64>,
    /// Mean service, us; `None` where none was seen.
    pub mean_served_us: Option<f64>,
}

impl ServerRequests {
    /// Those of a situation.
    ///
    /// # Errors
    /// They were not seen: why.
    pub(super) fn of(situation: &Situation) -> Result<Self, Missing> {
        let Some(requests) = &situation.requests else { return Err(why_not(situation)) };
        let of = |port| PortFigures::of(port, requests.window_s, situation);
        let mut ports: Vec<PortFigures> = requests.ports.iter().map(of).collect();
        ports.sort_by_key(|port| std::cmp::Reverse(port.answered));
        Ok(Self { window_s: requests.window_s, ports, missing: requests.missing.clone() })
    }
}

impl PortFigures {
    fn of(requests: &PortRequests, window_s: f64, situation: &Situation) -> Self {
        let listeners = &situation.connections.listeners;
        let listener = match requests.at {
            Endpoint::Port(port) => listeners.iter().find(|listener| listener.port == port),
            Endpoint::Unix(_) => None,
        };
        Self {
            at: requests.at.clone(),
            per_s: per_s(requests.answered, window_s),
            read: requests.read,
            answered: requests.answered,
            waited: Times::of(requests.mean_waited_us(), &requests.waited),
            served: Times::of(requests.mean_served_us(), &requests.served),
            counted: requests.counted(),
            overlapping_share: requests.overlapping_share(),
            continued_share: requests.continued_share(),
            rewritten_share: requests.rewritten_share(),
            accept_queue: listener
                .map(|listener| AcceptQueue { waiting: listener.waiting, limit: listener.limit }),
            peers: requests.peers.iter().map(|peer| PeerFigures::of(peer, window_s)).collect(),
        }
    }
}

impl PeerFigures {
    fn of(peer: &PeerRequests, window_s: f64) -> Self {
        Self {
            address: peer.address,
            per_s: per_s(peer.answered, window_s),
            answered: peer.answered,
            mean_waited_us: peer.mean_waited_us(),
            mean_served_us: peer.mean_served_us(),
        }
    }
}

impl Times {
    fn of(mean_us: Option<f64>, lengths: &Distribution) -> Option<Self> {
        let us = |share| lengths.quantile_ns(share).map(|ns| ns as f64 / 1e3);
        Some(Self { mean_us: mean_us?, median_us: us(0.5), p99_us: us(0.99) })
    }
}

fn per_s(count: u64, window_s: f64) -> f64 {
    if window_s > 0.0 { count as f64 / window_s } else { 0.0 }
}

/// Why requests were not seen.
fn why_not(situation: &Situation) -> Missing {
    let refused = situation.missing.iter().find(|missing| missing.is(&FactId::Requests));
    let connections = &situation.connections;
    let why = match refused {
        Some(refused) => return refused.clone(),
        None if situation.account_alone => "only the kernel's account was kept of that time",
        None if !(connections.listeners.is_empty() && connections.unix_listeners.is_empty()) => {
            "they were not looked at"
        }
        None if !connections.missing.is_empty() => "it could not be seen on what the server listens",
        None => "the server listens on no TCP port and on no Unix stream socket",
    };
    Missing::new("requests in the kernel", why).identified(FactId::Requests)
}

#[cfg(test)]
mod tests {
    use machine::processes::Listener;
    use probe::requests::Requests;

    use super::*;
    use crate::diagnosis::diagnose;
    use crate::diagnosis::situation_builder::situation;

    /// Eight waits of some 10 us and two of 100 us; distributions are written as the steps that have any.
    fn port(at: Endpoint, answered: u64) -> PortRequests {
        let waited = serde_json::from_str("[[53,8],[66,2]]").unwrap();
        PortRequests {
            read: 10,
            waited_ns: 280_000,
            answered,
            served_ns: 20_000 * answered,
            waited,
            ..PortRequests::at(at)
        }
    }

    fn seen(ports: Vec<PortRequests>) -> Situation {
        let mut seen = situation();
        let listener = Listener { port: 80, waiting: 3, limit: Some(128), ..Listener::default() };
        seen.connections.listeners = vec![listener];
        seen.requests = Some(Requests { window_s: 2.0, ports, missing: Vec::new() });
        seen
    }

    #[test]
    fn rates_and_times_are_in_figures_with_the_accept_queue_beside_them() {
        let unix = Endpoint::Unix("/run/a".into());
        let mut few = port(Endpoint::Port(80), 10);
        few.peers = vec![PeerRequests {
            address: Some(IpAddr::from([10, 0, 0, 7])),
            read: 10,
            waited_ns: 280_000,
            answered: 10,
            served_ns: 200_000,
        }];
        let found = diagnose(&seen(vec![few, port(unix.clone(), 40)])).requests.unwrap();
        assert_eq!(
            (&found.ports[0].at, found.ports[0].per_s, found.ports[0].accept_queue),
            (&unix, 20.0, None)
        );
        let port = &found.ports[1];
        assert_eq!((port.per_s, port.counted), (5.0, Some(Counted::Requests)));
        assert_eq!(port.accept_queue, Some(AcceptQueue { waiting: 3, limit: Some(128) }));
        let waited = port.waited.unwrap();
        assert_eq!(waited.mean_us, 28.0);
        let (median_us, p99_us) = (waited.median_us.unwrap(), waited.p99_us.unwrap());
        assert!((8.0..=13.0).contains(&median_us) && (80.0..=130.0).contains(&p99_us), "{waited:?}");
        assert_eq!(port.served, Some(Times { mean_us: 20.0, median_us: None, p99_us: None }));
        assert_eq!((port.peers[0].per_s, port.peers[0].mean_served_us), (5.0, Some(20.0)));
    }

    #[test]
    fn what_was_not_seen_is_null_with_the_reason() {
        let not_seen = |situation: &Situation| {
            let diagnosis = diagnose(situation);
            assert_eq!(diagnosis.requests, None);
            diagnosis.requests_missing.unwrap().why
        };
        let mut unseen = seen(Vec::new());
        unseen.requests = None;
        assert!(not_seen(&unseen).contains("not looked at"));
        unseen.missing.push(Missing::new("requests in the kernel", "6.1").identified(FactId::Requests));
        assert_eq!(not_seen(&unseen), "6.1");
        unseen.missing.clear();
        unseen.connections = Default::default();
        assert!(not_seen(&unseen).contains("no TCP port"));
        unseen.connections.missing.push(Missing::new("connections of the server", "of another user"));
        assert!(not_seen(&unseen).contains("on what"));
    }

    #[test]
    fn a_server_that_nobody_asks_has_requests_and_no_port_with_them() {
        let diagnosis = diagnose(&seen(Vec::new()));
        assert_eq!((diagnosis.requests.unwrap().ports, diagnosis.requests_missing), (Vec::new(), None));
    }
}
