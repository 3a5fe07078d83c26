//! When rounds end early: their time is used up, or a signal stops them.

use std::time::{Duration, Instant};

use machine::{Class, Fault, Missing};

/// How many times as long as planned a measurement may take before it ends with the rounds that it has.
const MOST_TIMES: u32 = 2;

/// Whether the time is used up before the rounds are, which is said. A first round there is in any case.
pub(super) fn overdue(
    began: Instant,
    planned: Duration,
    (done, of): (usize, usize),
    what: &str,
    missing: &mut Vec<Missing>,
) -> bool {
    let overdue = done > 0 && began.elapsed() > planned * MOST_TIMES;
    if overdue {
        let fact = format!("{} of {of} rounds between {what}", of - done);
        let why = format!(
            "the rounds took more than {MOST_TIMES} times as long as planned: the CPUs are too busy with others"
        );
        missing.push(Missing::new(fact, why));
    }
    overdue
}

/// The fault of a measurement that was stopped.
pub(super) fn interrupted() -> Fault {
    Fault::new(Class::Interrupted, "distances", "stopped by a signal", "")
}
