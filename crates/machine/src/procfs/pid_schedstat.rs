//! /proc/PID/schedstat and /proc/PID/task/TID/schedstat: three numbers (Documentation/scheduler/sched-stats.rst).

use super::{Malformed, Oddities, decimal_of};

/// What the scheduler booked for a task since it began. What is no number is `None`.
///
/// A kernel without CONFIG_SCHED_INFO, or one that is set not to keep it, prints `0 0 0`: a task that has run
/// and has no time slice is not known to have run for 0 ns (see [`PidSchedstat::is_kept`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PidSchedstat {
    /// Time on a CPU, ns.
    pub on_cpu_ns: Option<u64>,
    /// Time runnable, waiting for a CPU, ns.
    pub waited_ns: Option<u64>,
    /// Times it was put on a CPU.
    pub slices: Option<u64>,
    /// What could not be read.
    pub odd: Oddities,
}

impl PidSchedstat {
    /// False when the kernel prints only zeros; the caller must know that the task has run.
    pub fn is_kept(&self) -> bool {
        [self.on_cpu_ns, self.waited_ns, self.slices] != [Some(0); 3]
    }
}

/// Parses the file.
///
/// # Errors
/// None of the numbers can be read.
pub fn parse(text: &str) -> Result<PidSchedstat, Malformed> {
    let mut words = text.split_ascii_whitespace();
    let mut odd = Oddities::default();
    let mut next = |field: &str| odd.keep(decimal_of(1, field, words.next()));
    let (on_cpu_ns, waited_ns, slices) = (next("run time"), next("wait time"), next("time slices"));
    match (on_cpu_ns, waited_ns, slices) {
        (None, None, None) => Err(odd.first_or(Malformed::new(1, "run time", "is not there"))),
        _ => Ok(PidSchedstat { on_cpu_ns, waited_ns, slices, odd }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn three_numbers() {
        let stat = parse("308460 1200 17\n").unwrap();
        assert_eq!((stat.on_cpu_ns, stat.waited_ns, stat.slices), (Some(308460), Some(1200), Some(17)));
        assert!(stat.is_kept() && !parse("0 0 0\n").unwrap().is_kept());
    }

    #[test]
    fn an_odd_number_is_missing_by_itself() {
        let torn = parse("308460 1200\n").unwrap();
        assert_eq!((torn.slices, torn.odd.first()[0].what.as_str()), (None, "time slices"));
        let negative = parse("308460 -1 17\n").unwrap();
        assert_eq!((negative.on_cpu_ns, negative.waited_ns, negative.slices), (Some(308460), None, Some(17)));
        assert!(negative.is_kept());
        for bad in ["", "x y z", "-1"] {
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
                PidSchedstat {
                on_cpu_ns: Some(run), waited_ns: Some(wait), slices: Some(slices), odd: Oddities::default(),
            });
        }
    }
}
