//! Requests to a server, as the kernel sees them: how long they wait in its sockets until they are read, and how long it takes from there
//! to the answer.
//!
//! The latency that a client sees is the sum of the way there and back, the wait in the socket, and the service. Of these a placement
//! changes the last two. Programs at the trace points of sockets (6.3 and later) sum both up by port and by client, and by the Unix stream
//! sockets on which the server listens; what is on the wire does not matter, so neither does TLS.
//!
//! *Arrival* is when bytes are ready to be read and none were before; *read* is the end of the first read after it, so that the wait has
//! the wake-up of the thread in it; *answer* is the end of the first write after that, so that the service has the kernel's work of sending
//! in it, which on the loopback interface includes receiving on the other side.
//!
//! A connection with one request at a time is exact. Requests that are read together count as one, and with several requests at a time an
//! answer may be that of an earlier one: counts are then counts of reads. TCP's own numbers of bytes say where that is so ([`Counted`]).
//! Requests that always come several at once, and are all read before the first answer, look like one; where they are answered one by
//! one, the server writes again before it reads again. Of Unix sockets and of MPTCP it is not known.
//!
//! A request that is never answered is in no sum: [`CountingRequests::check`] finds those that wait.
//!
//! Another server may listen on a port of this one, at another address. A connection belongs to who listens nearest to the address at which it
//! comes in: at that very address, else at any of IPv4, else at any. That is how the kernel finds who listens.

mod addresses;
mod counting;
mod listening;
mod peers;
mod unix_name;
mod unread;
mod waiting;
mod walk;

use machine::Missing;
use serde::{Deserialize, Serialize};

use crate::account::Distribution;
use crate::bpf::{BUCKETS, PortSeen};
pub use counting::CountingRequests;
pub use listening::Listening;
pub use peers::PeerRequests;
pub use unread::Unread;
pub use waiting::Waiting;

/// Share of requests with others beside them above which counts are counts of reads.
const BY_READS: f64 = 0.05;

/// Requests of a window.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Requests {
    /// Length of the window, s.
    pub window_s: f64,
    /// By port, in order, then by Unix socket; those without requests are not in it.
    pub ports: Vec<PortRequests>,
    /// What is not known, and why.
    pub missing: Vec<Missing>,
}

/// Where requests come in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Endpoint {
    /// A TCP port.
    Port(u16),
    /// A Unix stream socket by name: a path, or `@` and the rest of an abstract name.
    Unix(String),
}

/// What a count of requests counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counted {
    /// Requests: hardly a connection had more than one at a time.
    Requests,
    /// Reads: more than 5 % of the answers were written while more of the connection had been received before and not been read. Requests
    /// are pipelined or multiplexed.
    ReadsOfSeveral,
    /// Reads: more than 5 % of them took in what had been received, and was read, before the answer to the read before. Requests come in
    /// several pieces, or are multiplexed.
    ReadsOfPieces,
    /// Requests, or batches of them: after more than 5 % of the answers the server wrote again before it read again. Answers come in
    /// several pieces, or several requests were read at once.
    RequestsOrBatches,
}

impl Counted {
    /// Whether counts are of reads, each of which may hold several requests; `None` where it cannot be known.
    pub fn is_by_reads(self) -> Option<bool> {
        match self {
            Self::Requests => Some(false),
            Self::ReadsOfSeveral | Self::ReadsOfPieces => Some(true),
            Self::RequestsOrBatches => None,
        }
    }
}

/// Requests to one port or one Unix socket.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PortRequests {
    /// Where.
    #[serde(flatten)]
    pub at: Endpoint,
    /// Requests whose arrival and read were seen; one in several packets has several.
    #[serde(default)]
    pub read: u64,
    /// Their wait between the two, all together, ns.
    #[serde(default)]
    pub waited_ns: u64,
    /// Requests whose read and answer were seen.
    #[serde(default)]
    pub answered: u64,
    /// The time between the two, all together, ns.
    #[serde(default)]
    pub served_ns: u64,
    /// Of those that were answered, how many were while more that had been received before was not read. `None` where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlapping: Option<u64>,
    /// Reads of what was received before the answer to the read before, which had not been given then. `None` where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continued: Option<u64>,
    /// After how many answers the server wrote again before it read again. `None` where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rewritten: Option<u64>,
    /// By client, those with most first, then all that were not distinguished together. Empty for Unix sockets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peers: Vec<PeerRequests>,
    /// Waits by length.
    #[serde(default, skip_serializing_if = "Distribution::is_empty")]
    pub waited: Distribution,
    /// Services by length.
    #[serde(default, skip_serializing_if = "Distribution::is_empty")]
    pub served: Distribution,
    /// Times from arrival to answer by length, of requests of which both were seen.
    #[serde(default, skip_serializing_if = "Distribution::is_empty")]
    pub took: Distribution,
    /// The same of those that a check had seen waiting ([`CountingRequests::check`]), from arrival to the last check before the answer.
    #[serde(default, skip_serializing_if = "Distribution::is_empty")]
    pub checked: Distribution,
}

impl Requests {
    /// The same without the distributions, whose quantiles go with them.
    #[must_use]
    pub fn without_lengths(mut self) -> Self {
        for port in &mut self.ports {
            (port.waited, port.served, port.took, port.checked) = Default::default();
        }
        self
    }

    /// Mean wait and mean service of all ports together, us; `None` where either was not seen.
    pub fn means_us(&self) -> Option<(f64, f64)> {
        let sum = |of: fn(&PortRequests) -> u64| self.ports.iter().map(|port| of(port) as f64).sum::<f64>();
        let (read, answered) = (sum(|port| port.read), sum(|port| port.answered));
        let means = (sum(|port| port.waited_ns) / read / 1e3, sum(|port| port.served_ns) / answered / 1e3);
        (read > 0.0 && answered > 0.0).then_some(means)
    }
}

impl PortRequests {
    /// None yet.
    pub fn at(at: Endpoint) -> Self {
        let known = matches!(at, Endpoint::Port(_)).then_some(0);
        Self {
            at,
            read: 0,
            waited_ns: 0,
            answered: 0,
            served_ns: 0,
            overlapping: known,
            continued: known,
            rewritten: Some(0),
            peers: Vec::new(),
            waited: Distribution::default(),
            served: Distribution::default(),
            took: Distribution::default(),
            checked: Distribution::default(),
        }
    }

    /// Mean wait, us; `None` without any.
    pub fn mean_waited_us(&self) -> Option<f64> {
        (self.read > 0).then(|| self.waited_ns as f64 / self.read as f64 / 1e3)
    }

    /// Mean service, us; `None` without any.
    pub fn mean_served_us(&self) -> Option<f64> {
        (self.answered > 0).then(|| self.served_ns as f64 / self.answered as f64 / 1e3)
    }

    /// Share of answers that were given while more that had been received before was not read; `None` where it is not known.
    pub fn overlapping_share(&self) -> Option<f64> {
        self.overlapping.filter(|_| self.answered > 0).map(|count| count as f64 / self.answered as f64)
    }

    /// Share of reads that took in more before the read before them was answered; `None` where it is not known.
    pub fn continued_share(&self) -> Option<f64> {
        // A read whose arrival was not seen is in none of both but the first.
        self.continued.filter(|_| self.read > 0).map(|count| (count as f64 / self.read as f64).min(1.0))
    }

    /// Share of answers after which the server wrote again before it read again; `None` where it is not known.
    pub fn rewritten_share(&self) -> Option<f64> {
        self.rewritten.filter(|_| self.answered > 0).map(|count| count as f64 / self.answered as f64)
    }

    /// What these counts count; `None` where it is not known.
    pub fn counted(&self) -> Option<Counted> {
        let (overlapping, continued) = (self.overlapping_share(), self.continued_share());
        match (overlapping, continued) {
            (Some(share), _) if share > BY_READS => Some(Counted::ReadsOfSeveral),
            (_, Some(share)) if share > BY_READS => Some(Counted::ReadsOfPieces),
            (None, None) => None,
            _ if self.rewritten_share().is_some_and(|share| share > BY_READS) => {
                Some(Counted::RequestsOrBatches)
            }
            _ => Some(Counted::Requests),
        }
    }

    /// Adds the counts of what came to the same place later; neither lengths nor clients.
    pub fn add_counts(&mut self, later: &Self) {
        let both = |sum: Option<u64>, more: Option<u64>| Some(sum?.saturating_add(more?));
        self.read = self.read.saturating_add(later.read);
        self.waited_ns = self.waited_ns.saturating_add(later.waited_ns);
        self.answered = self.answered.saturating_add(later.answered);
        self.served_ns = self.served_ns.saturating_add(later.served_ns);
        self.overlapping = both(self.overlapping, later.overlapping);
        self.continued = both(self.continued, later.continued);
        self.rewritten = both(self.rewritten, later.rewritten);
    }

    /// Adds what another CPU saw.
    fn add(&mut self, seen: &PortSeen) {
        self.read = self.read.saturating_add(seen.read);
        self.waited_ns = self.waited_ns.saturating_add(seen.waited_ns);
        self.answered = self.answered.saturating_add(seen.answered);
        self.served_ns = self.served_ns.saturating_add(seen.served_ns);
        self.overlapping = self.overlapping.map(|sum| sum.saturating_add(seen.overlapping));
        self.continued = self.continued.map(|sum| sum.saturating_add(seen.continued));
        self.rewritten = self.rewritten.map(|sum| sum.saturating_add(seen.rewritten));
        self.waited.merge(&Distribution::of(&seen.waited_steps));
        self.served.merge(&Distribution::of(&seen.served_steps));
        self.took.merge(&Distribution::of(&seen.took_steps));
        self.checked.merge(&Distribution::of(&seen.checked_steps));
    }
}

/// What a CPU saw after an earlier reading of it. Steps have 32 bits and begin anew when they are full.
fn since(before: &PortSeen, now: &PortSeen) -> PortSeen {
    let more = |of: fn(&PortSeen) -> u64| of(now).wrapping_sub(of(before));
    PortSeen {
        read: more(|seen| seen.read),
        waited_ns: more(|seen| seen.waited_ns),
        answered: more(|seen| seen.answered),
        served_ns: more(|seen| seen.served_ns),
        overlapping: more(|seen| seen.overlapping),
        continued: more(|seen| seen.continued),
        rewritten: more(|seen| seen.rewritten),
        waited_steps: steps_since(&before.waited_steps, &now.waited_steps),
        served_steps: steps_since(&before.served_steps, &now.served_steps),
        took_steps: steps_since(&before.took_steps, &now.took_steps),
        checked_steps: steps_since(&before.checked_steps, &now.checked_steps),
    }
}

fn steps_since(before: &[u32; BUCKETS], now: &[u32; BUCKETS]) -> [u32; BUCKETS] {
    std::array::from_fn(|step| now[step].wrapping_sub(before[step]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_what_a_cpu_saw_are_the_whole() {
        let seen = |times: u32| {
            let mut steps = [0u32; BUCKETS];
            // Begins anew in between.
            steps[40] = (u32::MAX - 2).wrapping_add(times);
            let sum = u64::from(times);
            PortSeen {
                read: sum,
                waited_ns: 7 * sum,
                answered: sum,
                served_ns: 9 * sum,
                overlapping: sum,
                continued: sum,
                rewritten: sum,
                waited_steps: steps,
                served_steps: steps,
                took_steps: steps,
                checked_steps: steps,
            }
        };
        let mut parts = PortRequests::at(Endpoint::Port(80));
        for (before, now) in [(0, 2), (2, 2), (2, 10)] {
            parts.add(&since(&seen(before), &seen(now)));
        }
        assert_eq!((parts.read, parts.waited_ns, parts.answered, parts.served_ns), (10, 70, 10, 90));
        assert_eq!((parts.overlapping, parts.continued, parts.rewritten), (Some(10), Some(10), Some(10)));
        assert_eq!((parts.waited.count(), parts.served.count(), parts.checked.count()), (10, 10, 10));
    }

    #[test]
    fn what_cpus_saw_is_added_up() {
        let mut steps = [0; crate::bpf::BUCKETS];
        steps[40] = 2;
        let seen = PortSeen {
            read: 2,
            waited_ns: 3_000,
            answered: 1,
            served_ns: u64::MAX,
            overlapping: 1,
            continued: 0,
            rewritten: 1,
            waited_steps: steps,
            served_steps: steps,
            took_steps: steps,
            checked_steps: steps,
        };
        let mut sum = PortRequests::at(Endpoint::Port(80));
        assert_eq!((sum.mean_served_us(), sum.counted()), (None, None));
        sum.add(&seen);
        sum.add(&seen);
        assert_eq!((sum.read, sum.waited_ns, sum.answered, sum.served_ns), (4, 6_000, 2, u64::MAX));
        assert_eq!((sum.waited.count(), sum.mean_waited_us()), (4, Some(1.5)));
        assert_eq!((sum.overlapping, sum.continued, sum.rewritten), (Some(2), Some(0), Some(2)));
    }

    #[test]
    fn what_is_counted_is_said_by_the_share_with_others_beside_them() {
        let of = |overlapping, continued, rewritten| {
            let none = PortRequests::at(Endpoint::Port(80));
            PortRequests { read: 100, answered: 100, overlapping, continued, rewritten, ..none }.counted()
        };
        assert_eq!(of(Some(5), Some(5), Some(5)), Some(Counted::Requests), "5 % is not more than that");
        assert_eq!(of(Some(6), Some(0), Some(90)), Some(Counted::ReadsOfSeveral));
        assert_eq!(of(Some(6), Some(90), None), Some(Counted::ReadsOfSeveral), "that is the surer one");
        assert_eq!(of(Some(0), Some(6), Some(0)), Some(Counted::ReadsOfPieces));
        assert_eq!(of(Some(0), Some(0), Some(6)), Some(Counted::RequestsOrBatches));
        assert_eq!(of(Some(0), Some(0), None), Some(Counted::Requests), "an older record");
        assert_eq!(of(None, None, Some(90)), None);
        assert_eq!(PortRequests::at(Endpoint::Unix("/run/a".into())).counted(), None);
    }

    #[test]
    fn a_port_and_a_socket_are_read_as_they_are_written_and_so_is_an_older_record() {
        for at in [Endpoint::Port(80), Endpoint::Unix("@a b".into())] {
            let requests = PortRequests { read: 7, ..PortRequests::at(at) };
            let text = serde_json::to_string(&requests).unwrap();
            assert_eq!(serde_json::from_str::<PortRequests>(&text).unwrap(), requests, "{text}");
        }
        let older = r#"{"port":80,"read":1,"waited_ns":2,"answered":3,"served_ns":4,"waited":[[39,1]]}"#;
        let older: PortRequests = serde_json::from_str(older).unwrap();
        assert_eq!((&older.at, older.answered, older.counted()), (&Endpoint::Port(80), 3, None));
        assert_eq!(older.waited.count(), 1);
    }
}
