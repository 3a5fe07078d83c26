//! /proc/PID/schedstat and /proc/PID/task/TID/schedstat: three numbers (Documentation/scheduler/sched-stats.rst).

use super::{Malformed, decimal};

/// What the scheduler booked for a task since it began.
///
/// A kernel without CONFIG_SCHED_INFO, or one that is set not to keep it, prints `0 0 0`: a task that has run
/// and has no time slice is not known to have run for 0 ns (see [`PidSchedstat::is_kept`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PidSchedstat {
    /// Time on a CPU, ns.
    pub on_cpu_ns: u64,
    /// Time runnable, waiting for a CPU, ns.
    pub waited_ns: u64,
    /// Times it was put on a CPU.
    pub slices: u64,
}

impl PidSchedstat {
    /// False when the kernel prints only zeros; the caller must know that the task has run.
    pub fn is_kept(&self) -> bool {
        *self != Self { on_cpu_ns: 0, waited_ns: 0, slices: 0 }
    }
}

/// Parses the file.
pub fn parse(text: &str) -> Result<PidSchedstat, Malformed> {
    let mut words = text.split_ascii_whitespace();
    let mut next = |field: &str| match words.next() {
        Some(word) => decimal(1, field, word),
        None => Err(Malformed::new(1, field, "is not there")),
    };
    Ok(PidSchedstat {
        on_cpu_ns: next("run time")?,
        waited_ns: next("wait time")?,
        slices: next("time slices")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn three_numbers() {
        let stat = parse("308460 1200 17\n").unwrap();
        assert_eq!((stat.on_cpu_ns, stat.waited_ns, stat.slices), (308460, 1200, 17));
        assert!(stat.is_kept() && !parse("0 0 0\n").unwrap().is_kept());
    }

    #[test]
    fn fewer_or_other_words_are_malformed() {
        assert_eq!(parse("308460 1200\n").unwrap_err().what, "time slices");
        for bad in ["", "1 2 x", "-1 2 3", "1.5 2 3"] {
            assert!(parse(bad).is_err(), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "([0-9 ]|.){0,30}") {
            let _ = parse(&text);
        }

        #[test]
        fn what_is_printed_is_read(run in any::<u64>(), wait in any::<u64>(), slices in any::<u64>()) {
            prop_assert_eq!(parse(&format!("{run} {wait} {slices}\n")).unwrap(),
                PidSchedstat { on_cpu_ns: run, waited_ns: wait, slices });
        }
    }
}
