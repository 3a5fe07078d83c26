//! Requests that wait for their answer. Pure.

use super::Unread;
use crate::account::Distribution;
use crate::bpf::Connection;

/// Requests that have arrived and are not answered.
///
/// A connection that holds bytes which nobody has read has one of them, and one whose last read was followed by no write has one: also where
/// what was read needs no answer (an acknowledgement of HTTP/2, a protocol in which only the client speaks), and where it is the first piece
/// of a request whose rest the client does not send. Only a comparison shows how many of those there are anyway.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Waiting {
    /// How long they have waited, from their arrival to this check.
    pub now: Distribution,
    /// Of those among them that had arrived before the check before this one: how long they had waited then.
    pub before: Distribution,
    /// What lay unread at this check.
    pub unread: Unread,
}

/// What waits in these connections at a check, `now_ns`; the check before it was at `before_ns`, 0 for none. `is_whole`: these are all.
pub(super) fn waiting<'a>(
    connections: impl Iterator<Item = &'a Connection> + Clone,
    is_whole: bool,
    before_ns: u64,
    now_ns: u64,
) -> Waiting {
    let mut waiting = Waiting { unread: Unread::of(connections.clone(), is_whole), ..Waiting::default() };
    for arrived_ns in connections.flat_map(arrivals).filter(|arrived_ns| *arrived_ns > 0) {
        // What has arrived since the check began is of the next one.
        if let Some(waited_ns) = now_ns.checked_sub(arrived_ns).filter(|waited_ns| *waited_ns > 0) {
            waiting.now.insert(waited_ns);
        }
        if let Some(waited_ns) = before_ns.checked_sub(arrived_ns).filter(|waited_ns| *waited_ns > 0) {
            waiting.before.insert(waited_ns);
        }
    }
    waiting
}

/// When what is not read arrived, and what is not answered; 0 for none, and where that was not seen.
fn arrivals(connection: &Connection) -> [u64; 2] {
    let asked_ns = if connection.read_ns > 0 { connection.asked_ns } else { 0 };
    [connection.arrived_ns, asked_ns]
}

/// A TCP connection whose times are these, ms.
#[cfg(test)]
pub(super) fn connection(arrived: u64, read: u64, asked: u64) -> Connection {
    use crate::bpf::{PeerKey, RequestSums};

    let [arrived_ns, read_ns, asked_ns] = [arrived, read, asked].map(|ms| ms * 1_000_000);
    Connection {
        arrived_ns,
        read_ns,
        asked_ns,
        written: 0,
        received: 0,
        early: 0,
        answered: 0,
        cookie: 0,
        peer: PeerKey { address: [0; 16], port: 80 },
        sums: RequestSums { read: 0, waited_ns: 0, answered: 0, served_ns: 0 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn at(connections: &[Connection], before_ms: u64, now_ms: u64) -> (u64, u64) {
        let found = waiting(connections.iter(), true, before_ms * MS, now_ms * MS);
        (found.now.count(), found.before.count())
    }

    #[test]
    fn what_is_not_read_and_what_is_not_answered_waits() {
        assert_eq!(at(&[connection(5, 0, 0), connection(0, 6, 5)], 0, 100), (2, 0));
        // One that is answered, and another behind it.
        assert_eq!(at(&[connection(8, 6, 5)], 0, 100), (2, 0));
    }

    #[test]
    fn an_idle_connection_and_a_request_whose_arrival_was_not_seen_are_left_out() {
        // The last request was answered: its arrival is still there.
        assert_eq!(at(&[connection(0, 0, 0), connection(0, 0, 5), connection(0, 6, 0)], 0, 100), (0, 0));
    }

    #[test]
    fn what_the_check_before_saw_is_seen_again_with_the_time_of_then() {
        let connections = [connection(5, 0, 0), connection(60, 0, 0), connection(100, 0, 0)];
        assert_eq!(at(&connections, 50, 100), (2, 1));
        let found = waiting(connections[..1].iter(), true, 50 * MS, 100 * MS);
        assert_eq!(found.unread, Unread { connections: 1, since_ns: Some(5 * MS), is_whole: true });
        let lasted = |of: &Distribution, ns: u64| of.steps().all(|(from, to, _)| (from..=to).contains(&ns));
        assert!(lasted(&found.now, 95 * MS) && lasted(&found.before, 45 * MS), "{found:?}");
    }
}
