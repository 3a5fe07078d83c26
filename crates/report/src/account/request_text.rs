//! The requests of a server: how many, how long they waited in its sockets, and how long its answers took.

use advise::diagnosis::ServerRequests;
use advise::diagnosis::requests::{PeerFigures, PortFigures, Times};
use machine::wording::whole_percent;
use probe::requests::{Counted, Endpoint};

use crate::account::figures;
use crate::number::grouped;
use crate::visible::one_line;

/// Ports that are shown when not all are asked for.
const PORTS: usize = 2;
/// Clients of a port that are shown when all is asked for.
const PEERS: usize = 12;

/// A line for each port, with what is to be said of it; with `all` one more for each client. Nothing where there were no requests.
pub(crate) fn lines(requests: &ServerRequests, all: bool) -> Vec<String> {
    let most = if all { usize::MAX } else { PORTS };
    let mut lines = Vec::new();
    for port in requests.ports.iter().take(most) {
        lines.push(line(port));
        lines.extend(counted(port));
        if all {
            lines.extend(port.peers.iter().take(PEERS).map(peer));
            lines.extend(further(&port.peers));
        }
    }
    let more = requests.ports.len().saturating_sub(most);
    let places = if more == 1 { "port or Unix socket" } else { "ports and Unix sockets" };
    lines.extend((more > 0).then(|| format!("and requests to {more} more {places} (--full)")));
    lines
}

/// `requests: 12,340/s on port 80; wait in the socket 12.0 us median, 85.0 us p99; service 40.0 us median, 300 us p99`.
fn line(port: &PortFigures) -> String {
    let at = match &port.at {
        Endpoint::Port(number) => format!("port {number}"),
        Endpoint::Unix(name) => format!("Unix socket {}", one_line(name)),
    };
    let queue = port.accept_queue.filter(|queue| queue.waiting > 0).map(|queue| match queue.limit {
        Some(limit) => {
            format!("; accept queue {} of {}", figures::count(queue.waiting), figures::count(limit))
        }
        None => format!("; accept queue {}", figures::count(queue.waiting)),
    });
    format!(
        "requests: {}/s on {at}; wait in the socket {}; service {}{}",
        rate(port.per_s),
        times(port.waited),
        times(port.served),
        queue.unwrap_or_default()
    )
}

/// Few requests have decimals: none is not shown as 0.
fn rate(per_s: f64) -> String {
    let decimals = match per_s {
        _ if per_s >= 100.0 => 0,
        _ if per_s >= 1.0 => 1,
        _ => 3,
    };
    grouped(per_s, decimals)
}

fn times(times: Option<Times>) -> String {
    let Some(times) = times else { return "not seen".into() };
    match (times.median_us, times.p99_us) {
        (Some(median_us), Some(p99_us)) => format!("{} median, {} p99", time(median_us), time(p99_us)),
        _ => format!("{} mean", time(times.mean_us)),
    }
}

fn time(us: f64) -> String {
    figures::time((us * 1e3).round() as u64)
}

/// That counts are or may be counts of reads, where that is so.
fn counted(port: &PortFigures) -> Option<String> {
    match port.counted? {
        Counted::Requests => None,
        Counted::ReadsOfSeveral => Some(format!(
            "counted by reads: {} of the answers were written while more requests waited in the connection (pipelined or multiplexed)",
            whole_percent(port.overlapping_share?)
        )),
        Counted::ReadsOfPieces => Some(format!(
            "counted by reads: {} of the reads went on before an answer (requests in several pieces, or multiplexed)",
            whole_percent(port.continued_share?)
        )),
        Counted::RequestsOrBatches => Some(format!(
            "a batch of requests counts as one: after {} of the answers the server wrote again before it read again (batches, or long answers)",
            whole_percent(port.rewritten_share?)
        )),
    }
}

/// `from 10.0.0.7: 5,000/s; wait in the socket 12.0 us mean; service 40.0 us mean`.
fn peer(peer: &PeerFigures) -> String {
    let from = peer.address.map_or("all other clients".to_string(), |address| address.to_string());
    let mean = |us: Option<f64>| us.map_or("not seen".to_string(), |us| format!("{} mean", time(us)));
    format!(
        "from {from}: {}/s; wait in the socket {}; service {}",
        rate(peer.per_s),
        mean(peer.mean_waited_us),
        mean(peer.mean_served_us)
    )
}

/// Clients beyond those that are shown.
fn further(peers: &[PeerFigures]) -> Option<String> {
    let further = peers.get(PEERS..).filter(|further| !further.is_empty())?;
    let per_s: f64 = further.iter().map(|peer| peer.per_s).sum();
    Some(format!("from further clients (--format json names them): {}/s", rate(per_s)))
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use advise::diagnosis::requests::AcceptQueue;

    use super::*;

    fn port() -> PortFigures {
        let times = |median_us, p99_us| Some(Times { mean_us: 20.0, median_us, p99_us });
        PortFigures {
            at: Endpoint::Port(80),
            per_s: 12_340.0,
            read: 24_680,
            answered: 24_680,
            waited: times(Some(12.0), Some(85.0)),
            served: times(Some(40.0), Some(300.0)),
            counted: Some(Counted::Requests),
            overlapping_share: Some(0.0),
            continued_share: Some(0.0),
            rewritten_share: Some(0.0),
            accept_queue: Some(AcceptQueue { waiting: 0, limit: Some(128) }),
            peers: Vec::new(),
        }
    }

    fn shown(ports: Vec<PortFigures>, all: bool) -> Vec<String> {
        lines(&ServerRequests { window_s: 2.0, ports, missing: Vec::new() }, all)
    }

    #[test]
    fn a_port_is_one_line_with_its_quantiles() {
        let expected = "requests: 12,340/s on port 80; wait in the socket 12.0 us median, 85.0 us p99; \
                        service 40.0 us median, 300 us p99";
        assert_eq!(shown(vec![port()], false), [expected]);
        assert_eq!(shown(Vec::new(), true), [""; 0]);
        let queued = AcceptQueue { waiting: 7, limit: Some(128) };
        let queued = PortFigures { accept_queue: Some(queued), served: None, ..port() };
        assert!(shown(vec![queued], false)[0].ends_with("; service not seen; accept queue 7 of 128"));
        let unix = PortFigures { at: Endpoint::Unix("/run/a".into()), accept_queue: None, ..port() };
        assert!(shown(vec![unix], false)[0].contains("/s on Unix socket /run/a; wait"));
        assert_eq!(shown(vec![port(), port(), port()], false).len(), 3);
        assert_eq!(shown(vec![port(), port(), port()], true).len(), 3);
    }

    #[test]
    fn reads_that_are_no_requests_are_said_to_be_none() {
        let several =
            PortFigures { counted: Some(Counted::ReadsOfSeveral), overlapping_share: Some(0.97), ..port() };
        assert!(shown(vec![several], false)[1].starts_with("counted by reads: 97 % of the answers"));
        let pieces =
            PortFigures { counted: Some(Counted::ReadsOfPieces), continued_share: Some(0.4), ..port() };
        assert!(shown(vec![pieces], false)[1].contains("40 % of the reads"));
        let batches =
            PortFigures { counted: Some(Counted::RequestsOrBatches), rewritten_share: Some(0.9), ..port() };
        assert!(shown(vec![batches], false)[1].contains("after 90 % of the answers"));
        assert_eq!(shown(vec![PortFigures { counted: None, ..port() }], false).len(), 1);
    }

    #[test]
    fn clients_are_shown_where_all_is_wanted() {
        let peer = |number: u8| PeerFigures {
            address: (number > 0).then(|| IpAddr::from([10, 0, 0, number])),
            per_s: 10.0,
            answered: 20,
            mean_waited_us: Some(12.0),
            mean_served_us: None,
        };
        let with = PortFigures { peers: vec![peer(7), peer(0)], ..port() };
        assert_eq!(shown(vec![with.clone()], false).len(), 1);
        let all = shown(vec![with], true);
        assert_eq!(all[1], "from 10.0.0.7: 10.0/s; wait in the socket 12.0 us mean; service not seen");
        assert!(all[2].starts_with("from all other clients: "));
        let many = PortFigures { peers: (1..=20).map(peer).collect(), ..port() };
        let all = shown(vec![many], true);
        assert_eq!(all.len(), 1 + PEERS + 1);
        assert!(all[PEERS + 1].ends_with(": 80.0/s"), "{all:?}");
    }
}
