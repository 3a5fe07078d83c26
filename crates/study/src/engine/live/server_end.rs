//! A server that ends during a trial.

use std::time::{Duration, Instant};

use load::guard::{Breach, Certainty, SERVER_ENDS};
use load::{Counted, Outcome, Server};
use machine::{Class, Fault};

/// How long a server may take to be seen as ended after a load failed: its connections are cut before its process is gone.
const SEEN_TO_END: Duration = Duration::from_millis(500);

/// What a load failed of: the end of its server, where that comes at once, and else what the load itself reports.
pub(super) fn cause_of(server: &mut Server, of_load: Fault) -> Fault {
    let until = Instant::now() + SEEN_TO_END;
    loop {
        match server.still_runs() {
            Err(of_server) => return of_server,
            Ok(()) if Instant::now() > until => return of_load,
            Ok(()) => std::thread::sleep(Duration::from_millis(10)),
        }
    }
}

/// What is known of a trial under the server's own traffic that failed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Failure<'a> {
    pub fault: &'a Fault,
    /// Whether anything of the arm was in force by then.
    pub in_force: bool,
    /// Whether the study was asked to end.
    pub interrupted: bool,
    /// Whether the server is still there.
    pub server_runs: bool,
}

impl Failure<'_> {
    /// Whether it is harm like any that a guard sees, and not to be tried twice: the server ended while the arm was in force. A server that
    /// ended before, or because the study is stopped together with it, says nothing of the arm.
    pub(super) fn is_harm(&self) -> bool {
        let Self { fault, in_force, interrupted, server_runs } = *self;
        fault.class == Class::WorkloadFailed && in_force && !interrupted && !server_runs
    }
}

/// The outcome of a trial in which the server ended: when it began, and when that was seen, CLOCK_MONOTONIC ns.
pub(super) fn outcome(began_ns: u64, seen_ns: u64) -> Outcome {
    let breach = Breach {
        guard: format!("{SERVER_ENDS} == 0"),
        figure: SERVER_ENDS.into(),
        value: 1.0,
        limit: 0.0,
        requests: 0,
        seen_ns,
        slice_began_ns: began_ns,
        certainty: Certainty::Counted,
    };
    let counted = Counted::Seen;
    Outcome { counted, from_ns: began_ns, to_ns: seen_ns, breach: Some(breach), ..Outcome::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_ends_in_an_arm_is_harm_and_one_that_ends_otherwise_is_not() {
        let of = |class| Fault::new(class, "server nginx", "it ended", "look at its own log");
        let failed = of(Class::WorkloadFailed);
        let ended = Failure { fault: &failed, in_force: true, interrupted: false, server_runs: false };
        assert!(ended.is_harm());
        assert!(!Failure { server_runs: true, ..ended }.is_harm(), "the watch failed by itself");
        assert!(!Failure { in_force: false, ..ended }.is_harm(), "before the arm was in force");
        assert!(!Failure { interrupted: true, ..ended }.is_harm(), "Ctrl-C reached both");
        let (storage, stopped) = (of(Class::Storage), of(Class::Interrupted));
        assert!(!Failure { fault: &storage, ..ended }.is_harm());
        assert!(!Failure { fault: &stopped, ..ended }.is_harm());
    }

    #[test]
    fn its_end_is_a_breach_of_the_trial_that_names_no_figure_of_the_traffic() {
        let seen = outcome(5, 9);
        let breach = seen.breach.unwrap();
        assert_eq!((breach.guard.as_str(), breach.value, breach.limit), ("server_ends == 0", 1.0, 0.0));
        assert_eq!((seen.from_ns, seen.to_ns, breach.seen_ns), (5, 9, 9));
        assert!(seen.figures.is_empty() && seen.counted == Counted::Seen);
    }
}
