//! The outcome of a run: what a load generator reports at its end.

pub mod headroom;
pub mod latency;
pub mod operations;
pub mod traffic;

use std::collections::BTreeMap;

use machine::Missing;
use serde::{Deserialize, Serialize};

use self::latency::Latency;
use self::operations::Operation;
use self::traffic::Traffic;
use crate::guard::Breach;

/// Work completed in one short interval of a run; the raw material of warm-up detection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Start, CLOCK_MONOTONIC ns.
    pub from_ns: u64,
    /// End, CLOCK_MONOTONIC ns.
    pub to_ns: u64,
    /// Requests completed.
    pub completed: u64,
    /// Requests that failed (refused, reset, wrong answer).
    pub failed: u64,
    /// Latency from the intended send time, as a base64 HDR histogram (V2 serialisation, us, 3 digits).
    pub latency: String,
}

impl Interval {
    /// Takes in what another thread, or another process, completed in the same interval. A histogram that cannot be read is left out: ours
    /// all can.
    pub fn add(&mut self, other: &Self) {
        self.completed += other.completed;
        self.failed += other.failed;
        if let (Ok(mut latency), Ok(others)) =
            (Latency::from_text(&self.latency), Latency::from_text(&other.latency))
        {
            latency.add(&others);
            self.latency = latency.to_text();
        }
    }
}

/// Whether the load generator had room left.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Headroom {
    /// Share of the load generator's busiest thread that was on CPU, 0 to 1.
    pub client_busy: Option<f64>,
    /// How near the server was to its limit, 0 to 1: what its busiest thread had or wanted of one CPU, or what all its threads used of the
    /// CPUs that they may use, whichever is more. In trials of before 2026-11-28: share of its busiest thread that was on CPU.
    pub server_busy: Option<f64>,
    /// True when the client was the limit (busy above 0.9 while the server was not); `None` when it is not known.
    pub client_limits: Option<bool>,
    /// The same in words, with the remedy.
    pub note: String,
}

/// What the intervals of a run count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Counted {
    /// Requests that were answered.
    #[default]
    Requests,
    /// Packets that arrived.
    Packets,
    /// Packets that were sent, where nobody counts what arrives.
    Sent,
    /// Requests of others that the kernel saw answered; whether an answer was an error is not known.
    Seen,
}

impl Counted {
    /// Name of the figure that their rate is.
    pub fn rate(self) -> &'static str {
        match self {
            Self::Requests | Self::Seen => "requests_per_s",
            Self::Packets => "packets_per_s",
            Self::Sent => "sent_per_s",
        }
    }

    fn is_requests(&self) -> bool {
        *self == Self::Requests
    }
}

/// The end of one run under load.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Outcome {
    /// Figures by name over the whole run: what a command printed, or the string load's own over the measured window.
    pub figures: BTreeMap<String, f64>,
    /// Units by figure name, where known: `requests/s`, `us`.
    pub units: BTreeMap<String, String>,
    /// Short intervals in order of time; empty when the load tool reports only its final figure.
    pub intervals: Vec<Interval>,
    /// What they count.
    #[serde(default, skip_serializing_if = "Counted::is_requests")]
    pub counted: Counted,
    /// Each request by itself, in order, of a load that is a sequence; empty of all others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operations: Vec<Operation>,
    /// When the load ran, CLOCK_MONOTONIC ns.
    pub from_ns: u64,
    /// When the load ended, CLOCK_MONOTONIC ns.
    pub to_ns: u64,
    /// What the server answered first, escaped and cut to 120 characters. Of the loads `string` and `http`; none of all others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_answer: Option<String>,
    /// The process whose figure `client_busy` is, of a load that several hosts drive: `host b, process 2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busiest_part: Option<String>,
    /// Why the run ended before its time, where a guard ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub breach: Option<Breach>,
    /// The server's own traffic, of a load that drives nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traffic: Option<Traffic>,
    /// The headroom check, where it could be made.
    pub headroom: Option<Headroom>,
    /// What could not be measured, and why.
    pub missing: Vec<Missing>,
}

impl Outcome {
    /// The figures over the intervals that lie wholly inside `from_ns`..=`to_ns` (CLOCK_MONOTONIC): `requests_per_s` (or another
    /// [`rate`](Counted::rate)), `completed`, `failed` (where that is known), and, when a request was completed, the latency figures of
    /// [`Latency::figures`] over the merged histograms, and those of [`Traffic::figures`]. Without intervals there, or with a histogram that cannot be read, it says why not.
    pub fn window(&self, from_ns: u64, to_ns: u64) -> Result<BTreeMap<String, f64>, Missing> {
        let inside: Vec<&Interval> =
            self.intervals.iter().filter(|i| i.from_ns >= from_ns && i.to_ns <= to_ns).collect();
        let sum = |of: fn(&Interval) -> u64| inside.iter().map(|i| of(i)).fold(0, u64::saturating_add) as f64;
        let seconds = sum(|i| i.to_ns.saturating_sub(i.from_ns)) / 1e9;
        let fact = || {
            let within_s = |ns: u64| ns as f64 / 1e9 - self.from_ns as f64 / 1e9;
            format!("figures from {:.3} s to {:.3} s of the run", within_s(from_ns), within_s(to_ns))
        };
        if seconds <= 0.0 {
            let why = match self.intervals.is_empty() {
                true => "the load tool reported no intervals, only its final figures".to_string(),
                false => format!("none of its {} intervals lies wholly inside", self.intervals.len()),
            };
            return Err(Missing::new(fact(), why));
        }
        let latency = merge(&inside).map_err(|why| Missing::new(fact(), why))?;
        let completed = sum(|i| i.completed);
        let mut figures = latency.figures();
        figures.insert(self.counted.rate().into(), completed / seconds);
        figures.insert("completed".into(), completed);
        if self.counted != Counted::Seen {
            figures.insert("failed".into(), sum(|i| i.failed));
        }
        if let Some(traffic) = &self.traffic {
            figures.extend(traffic.figures(from_ns, to_ns));
        }
        Ok(figures)
    }

    /// The latencies of the intervals that lie wholly inside `from_ns`..=`to_ns`; the error names a histogram that
    /// cannot be read. Empty when the load tool reported no intervals.
    pub fn latency(&self, from_ns: u64, to_ns: u64) -> Result<Latency, String> {
        let inside: Vec<&Interval> =
            self.intervals.iter().filter(|i| i.from_ns >= from_ns && i.to_ns <= to_ns).collect();
        merge(&inside)
    }
}

/// One histogram of all intervals.
fn merge(intervals: &[&Interval]) -> Result<Latency, String> {
    let mut latency = Latency::new();
    for interval in intervals {
        latency.add(&Latency::from_text(&interval.latency)?);
    }
    Ok(latency)
}

/// The unit of one of our own figures by its name: `requests/s`, `packets/s`, `us`, `share`, `requests`; none for names of others.
pub fn unit_of(figure: &str) -> Option<&'static str> {
    match figure {
        "requests_per_s" => Some("requests/s"),
        "packets_per_s" | "sent_per_s" => Some("packets/s"),
        "cpu_us_per_request" => Some("us"),
        "client_busy" | "sender_busy" | "lost_share" => Some("share"),
        "sender_ns_per_packet" | "sink_ns_per_packet" => Some("ns"),
        "sent" | "arrived" | "lost" | "out_of_order" => Some("packets"),
        "client_cpu_s" | "total_s" => Some("s"),
        "completed" | "unfinished" => Some("requests"),
        _ if figure.starts_with("failed") => Some("requests"),
        _ if ["latency_", "put_", "get_"].iter().any(|of| figure.starts_with(of))
            && figure.ends_with("_us") =>
        {
            Some("us")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An interval of 100 ms that starts at `tenth`, with these latencies.
    fn interval(tenth: u64, latencies_us: &[u64]) -> Interval {
        let mut latency = Latency::new();
        latencies_us.iter().for_each(|us| latency.record_ns(us * 1000));
        Interval {
            from_ns: tenth * 100_000_000,
            to_ns: (tenth + 1) * 100_000_000,
            completed: latencies_us.len() as u64,
            failed: tenth,
            latency: latency.to_text(),
        }
    }

    fn outcome() -> Outcome {
        let intervals =
            vec![interval(0, &[9_000]), interval(1, &[10, 20]), interval(2, &[30]), interval(3, &[])];
        Outcome { intervals, to_ns: 400_000_000, ..Outcome::default() }
    }

    #[test]
    fn a_window_merges_the_intervals_that_lie_inside() {
        // Starts in the middle of the first interval and ends in the middle of the last one.
        let figures = outcome().window(50_000_000, 399_999_999).unwrap();
        assert_eq!(figures["requests_per_s"], 3.0 / 0.2);
        assert_eq!((figures["completed"], figures["failed"]), (3.0, 3.0));
        assert_eq!((figures["latency_p50_us"], figures["latency_max_us"]), (20.0, 30.0));
    }

    #[test]
    fn counts_without_bound_are_added_up() {
        let mut forged = outcome();
        forged.intervals.iter_mut().for_each(|i| (i.completed, i.failed) = (u64::MAX, u64::MAX));
        let figures = forged.window(0, 400_000_000).unwrap();
        assert_eq!((figures["completed"], figures["failed"]), (u64::MAX as f64, u64::MAX as f64));
    }

    #[test]
    fn of_what_others_asked_it_is_not_known_whether_it_failed() {
        let slices = vec![traffic::SliceSums {
            to_ns: 400_000_000,
            answered: 2,
            served_ns: 8_000,
            ..Default::default()
        }];
        let traffic = Some(Traffic { slices, ..Traffic::default() });
        let seen = Outcome { counted: Counted::Seen, traffic, ..outcome() };
        let figures = seen.window(0, 400_000_000).unwrap();
        assert!(!figures.contains_key("failed"));
        assert_eq!((figures["completed"], figures["latency_service_us"]), (4.0, 4.0));
    }

    #[test]
    fn no_request_has_a_rate_but_no_latency() {
        let figures = outcome().window(300_000_000, 400_000_000).unwrap();
        assert_eq!((figures["requests_per_s"], figures["failed"]), (0.0, 3.0));
        assert!(!figures.contains_key("latency_p50_us"));
    }

    #[test]
    fn a_window_without_intervals_or_with_a_torn_one_says_why() {
        let missing = outcome().window(10, 50_000_000).unwrap_err();
        assert!(missing.why.contains("none of its 4 intervals"), "{missing:?}");
        assert!(Outcome::default().window(0, 1).unwrap_err().why.contains("only its final figures"));
        let mut torn = outcome();
        torn.intervals[1].latency.truncate(20);
        assert!(torn.window(0, 400_000_000).is_err());
    }

    #[test]
    fn our_figures_have_units() {
        assert_eq!(unit_of("requests_per_s"), Some("requests/s"));
        assert_eq!(unit_of("latency_p999_us"), Some("us"));
        assert_eq!(unit_of("failed_reset"), Some("requests"));
        assert_eq!(unit_of("Requests/sec"), None);
    }
}
