//! What came of the requests, by short intervals and over the whole run.

use std::collections::BTreeMap;

use rustix::io::Errno;

use crate::outcome::Interval;
use crate::outcome::latency::Latency;
use crate::outcome::operations::{Kind, Operation, Phase};

/// Length of an interval, ns: ten a second, as the probes sample.
pub(super) const INTERVAL_NS: u64 = 100_000_000;

/// Why a request failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Failure {
    /// Nobody listens at the address (ECONNREFUSED).
    Refused,
    /// The server ended the connection without an answer: by a reset, or (`ClosedEarly`) in order.
    Reset,
    /// See `Reset`.
    ClosedEarly,
    /// The answer was not the expected one.
    WrongAnswer,
    /// No answer in time.
    TimedOut,
    /// The server said why it ended the connection, or broke the protocol.
    Over,
    /// No local port was free (EADDRNOTAVAIL).
    AddressUnavailable,
    /// Any other error of the kernel.
    Other(i32),
}

impl Failure {
    /// The kind that an errno of connect(2), send(2) or recv(2) means.
    pub(super) fn of(error: Errno) -> Self {
        match error {
            Errno::CONNREFUSED => Self::Refused,
            Errno::CONNRESET | Errno::PIPE | Errno::CONNABORTED | Errno::NOTCONN => Self::Reset,
            Errno::TIMEDOUT => Self::TimedOut,
            Errno::ADDRNOTAVAIL => Self::AddressUnavailable,
            other => Self::Other(other.raw_os_error()),
        }
    }

    /// Name of the figure that counts this kind.
    pub(super) fn figure(self) -> &'static str {
        match self {
            Self::Refused => "failed_refused",
            Self::Reset => "failed_reset",
            Self::ClosedEarly => "failed_closed_early",
            Self::WrongAnswer => "failed_wrong_answer",
            Self::TimedOut => "failed_timed_out",
            Self::Over => "failed_connection_over",
            Self::AddressUnavailable => "failed_no_local_port",
            Self::Other(_) => "failed_other",
        }
    }

    /// The kind in words, for an error message.
    pub(super) fn words(self) -> String {
        match self {
            Self::Refused => "connection refused: nobody listens there".into(),
            Self::Reset => "connection reset before the answer".into(),
            Self::ClosedEarly => "connection closed before the answer".into(),
            Self::WrongAnswer => "wrong answer".into(),
            Self::TimedOut => "no answer in time".into(),
            Self::Over => "the server ended the connection".into(),
            Self::AddressUnavailable => {
                "no local port free (EADDRNOTAVAIL): see net.ipv4.ip_local_port_range and connections in TIME_WAIT"
                    .into()
            }
            Self::Other(errno) => std::io::Error::from_raw_os_error(errno).to_string(),
        }
    }
}

/// Counts and histograms of a run.
pub(super) struct Recorder {
    from_ns: u64,
    interval_from_ns: u64,
    interval: Latency,
    interval_failed: u64,
    overall: Latency,
    failures: BTreeMap<Failure, u64>,
    intervals: Vec<Interval>,
    operations: Vec<Operation>,
    /// When a request last succeeded; the start before the first.
    pub(super) last_success_ns: u64,
    /// Failures since then, and the last of them.
    pub(super) failed_since: (u64, Option<Failure>),
}

impl Recorder {
    pub(super) fn new(from_ns: u64) -> Self {
        Self {
            from_ns,
            interval_from_ns: from_ns,
            interval: Latency::new(),
            interval_failed: 0,
            overall: Latency::new(),
            failures: BTreeMap::new(),
            intervals: Vec::new(),
            operations: Vec::new(),
            last_success_ns: from_ns,
            failed_since: (0, None),
        }
    }

    /// Counts an answered request.
    pub(super) fn done(&mut self, now_ns: u64, latency_ns: u64) {
        self.advance(now_ns);
        self.interval.record_ns(latency_ns);
        self.overall.record_ns(latency_ns);
        self.last_success_ns = now_ns;
        self.failed_since = (0, None);
    }

    /// Keeps an answered request as an operation of its own: when it was meant to begin, and when it ended.
    pub(super) fn operation(
        &mut self,
        number: u64,
        (kind, phase): (Kind, Phase),
        (begun_ns, done_ns): (u64, u64),
    ) {
        let begun_us = begun_ns.saturating_sub(self.from_ns) / 1000;
        let took_us = done_ns.saturating_sub(begun_ns) / 1000;
        self.operations.push(Operation { number, kind, phase, begun_us, took_us });
    }

    /// Takes the operations, in order.
    pub(super) fn take_operations(&mut self) -> Vec<Operation> {
        let mut operations = std::mem::take(&mut self.operations);
        operations.sort_by_key(|operation| operation.number);
        operations
    }

    /// Counts a failed request.
    pub(super) fn fail(&mut self, now_ns: u64, failure: Failure) {
        self.advance(now_ns);
        self.interval_failed += 1;
        *self.failures.entry(failure).or_default() += 1;
        self.failed_since = (self.failed_since.0 + 1, Some(failure));
    }

    /// Closes every interval that has ended by now, empty ones too: a stall is seen, not skipped.
    pub(super) fn advance(&mut self, now_ns: u64) {
        while now_ns >= self.interval_from_ns + INTERVAL_NS {
            self.close(self.interval_from_ns + INTERVAL_NS);
        }
    }

    fn close(&mut self, to_ns: u64) {
        self.intervals.push(Interval {
            from_ns: self.interval_from_ns,
            to_ns,
            completed: self.interval.count(),
            failed: self.interval_failed,
            latency: self.interval.to_text(),
        });
        self.interval_from_ns = to_ns;
        self.interval_failed = 0;
        if self.interval.count() > 0 {
            self.interval.clear();
        }
    }

    /// Requests answered so far.
    pub(super) fn completed(&self) -> u64 {
        self.overall.count()
    }

    /// Requests failed so far.
    pub(super) fn failed(&self) -> u64 {
        self.failures.values().sum()
    }

    /// Whether no request was answered, and none failed but for want of an answer in time.
    pub(super) fn was_silent(&self) -> bool {
        self.completed() == 0 && self.failures.keys().all(|failure| *failure == Failure::TimedOut)
    }

    /// Takes in what another thread counted from the same moment on.
    pub(super) fn add(&mut self, mut other: Self) {
        let until_ns = self.interval_from_ns.max(other.interval_from_ns);
        self.advance(until_ns);
        other.advance(until_ns);
        for (mine, other) in self.intervals.iter_mut().zip(&other.intervals) {
            mine.add(other);
        }
        self.interval.add(&other.interval);
        self.interval_failed += other.interval_failed;
        self.overall.add(&other.overall);
        self.operations.append(&mut other.operations);
        for (failure, n) in other.failures {
            *self.failures.entry(failure).or_default() += n;
        }
        if other.last_success_ns > self.last_success_ns {
            (self.last_success_ns, self.failed_since) = (other.last_success_ns, other.failed_since);
        }
    }

    /// Closes the last, shorter interval; gives the intervals and the figures of the whole run.
    pub(super) fn finish(mut self, to_ns: u64) -> (Vec<Interval>, BTreeMap<String, f64>) {
        self.advance(to_ns);
        if to_ns > self.interval_from_ns {
            self.close(to_ns);
        }
        let mut figures = self.overall.figures();
        let seconds = to_ns.saturating_sub(self.from_ns) as f64 / 1e9;
        if seconds > 0.0 {
            figures.insert("requests_per_s".into(), self.overall.count() as f64 / seconds);
        }
        figures.insert("completed".into(), self.overall.count() as f64);
        figures.insert("failed".into(), self.failed() as f64);
        for (failure, n) in &self.failures {
            *figures.entry(failure.figure().into()).or_default() += *n as f64;
        }
        (self.intervals, figures)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_leaves_empty_intervals_and_nothing_is_lost() {
        let mut recorder = Recorder::new(1_000);
        recorder.done(2_000, 500_000);
        recorder.fail(1_000 + 3 * INTERVAL_NS + 5, Failure::Reset);
        recorder.done(1_000 + 3 * INTERVAL_NS + 6, 20_000);
        let (intervals, figures) = recorder.finish(1_000 + 3 * INTERVAL_NS + 50);
        let seen: Vec<(u64, u64)> = intervals.iter().map(|i| (i.completed, i.failed)).collect();
        assert_eq!(seen, [(1, 0), (0, 0), (0, 0), (1, 1)]);
        assert!(intervals.windows(2).all(|w| w[0].to_ns == w[1].from_ns));
        assert_eq!(intervals[3].to_ns - intervals[3].from_ns, 50);
        assert_eq!((figures["completed"], figures["failed"], figures["failed_reset"]), (2.0, 1.0, 1.0));
    }

    #[test]
    fn a_server_that_never_answers_is_silent_and_one_that_refuses_is_not() {
        let mut recorder = Recorder::new(1_000);
        assert!(recorder.was_silent());
        recorder.fail(2_000, Failure::TimedOut);
        assert!(recorder.was_silent());
        recorder.fail(3_000, Failure::Refused);
        assert!(!recorder.was_silent());
        let mut answered = Recorder::new(1_000);
        answered.done(2_000, 500);
        assert!(!answered.was_silent());
    }

    #[test]
    fn what_two_threads_counted_is_one_count() {
        let mut first = Recorder::new(1_000);
        first.done(2_000, 500_000);
        first.done(1_000 + INTERVAL_NS + 5, 20_000);
        let mut second = Recorder::new(1_000);
        second.done(3_000, 900_000);
        second.done(1_000 + 2 * INTERVAL_NS + 5, 30_000);
        second.fail(1_000 + 2 * INTERVAL_NS + 6, Failure::TimedOut);
        first.add(second);
        assert_eq!(first.failed_since, (1, Some(Failure::TimedOut)), "of the thread that succeeded last");
        let (intervals, figures) = first.finish(1_000 + 2 * INTERVAL_NS + 50);
        assert_eq!(
            intervals.iter().map(|i| (i.completed, i.failed)).collect::<Vec<_>>(),
            [(2, 0), (1, 0), (1, 1)]
        );
        assert_eq!((figures["completed"], figures["latency_max_us"]), (4.0, 900.0));
        assert_eq!(crate::outcome::latency::Latency::from_text(&intervals[0].latency).unwrap().count(), 2);
    }

    #[test]
    fn errors_of_the_kernel_have_their_kind() {
        assert_eq!(Failure::of(Errno::CONNREFUSED), Failure::Refused);
        assert_eq!(Failure::of(Errno::PIPE), Failure::Reset);
        assert_eq!(Failure::of(Errno::ADDRNOTAVAIL).figure(), "failed_no_local_port");
        assert!(Failure::of(Errno::NETUNREACH).words().contains("nreachable"));
    }
}
