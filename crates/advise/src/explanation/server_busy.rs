//! How busy the server was in the trials that decide, of which there are more than observed ones and which are seen from outside.

use study::statistics::summary::median;
use study::{Facts, Seen};

/// How much of its capacity the server used in an arm, 0 to 1: that of its busiest thread, or of all of its threads on the CPUs that they may
/// use, whichever is more; the median over trials. `None` if it is known of none.
pub(super) fn server_busy(facts: &Facts, arm: &str) -> Option<f64> {
    let counts = |seen: &&Seen| {
        let trial = &seen.trial;
        trial.arm == arm && trial.failed.is_none() && trial.disturbed.is_none()
    };
    let known: Vec<f64> =
        facts.trials.iter().filter(counts).filter_map(|seen| in_trial(facts, seen)).collect();
    median(&known)
}

fn in_trial(facts: &Facts, seen: &Seen) -> Option<f64> {
    let busiest = seen.trial.headroom.as_ref().and_then(|headroom| headroom.server_busy);
    // A thread that waits for a CPU has no time left either.
    let known = [busiest, seen.trial.as_run.server_wanted_share(), of_its_cpus(facts, seen)];
    known.into_iter().flatten().reduce(f64::max)
}

/// CPU time of all threads as a share of that of the CPUs on which they may run.
fn of_its_cpus(facts: &Facts, seen: &Seen) -> Option<f64> {
    let observation = seen.observation.as_ref()?;
    let on_cpu_us: Vec<u64> = observation.threads.iter().filter_map(|thread| thread.on_cpu_us).collect();
    let allowed = seen.trial.as_run.server_allowed.as_ref();
    let cpus = allowed.map_or_else(|| facts.machine.online().len(), machine::CpuSet::len);
    let could_us = observation.window_s() * 1e6 * cpus as f64;
    let all_us = on_cpu_us.iter().fold(0u64, |sum, us| sum.saturating_add(*us));
    (!on_cpu_us.is_empty() && could_us > 0.0).then(|| all_us as f64 / could_us)
}

#[cfg(test)]
mod tests {
    use machine::CpuSet;
    use probe::ThreadSeen;
    use study::Demand;

    use super::*;
    use crate::case_builder::CaseBuilder;

    /// A case of which every trial of `cpu 0` has threads with so much time of the two seconds, s, on these CPUs.
    fn of_threads(on_cpu_s: &[f64], cpus: &str) -> Facts {
        let mut facts = CaseBuilder::of_cpus(2).build();
        for seen in facts.trials.iter_mut().filter(|seen| seen.trial.arm == "cpu 0") {
            let thread =
                |s: &f64| ThreadSeen { on_cpu_us: Some((s * 1e6).round() as u64), ..ThreadSeen::default() };
            seen.observation.as_mut().unwrap().threads = on_cpu_s.iter().map(thread).collect();
            seen.trial.as_run.server_allowed = CpuSet::from_list(cpus).ok();
        }
        facts
    }

    fn is_about(busy: Option<f64>, truth: f64) -> bool {
        busy.is_some_and(|busy| (busy - truth).abs() < 1e-9)
    }

    #[test]
    fn threads_that_fill_their_cpu_together_are_a_full_server() {
        assert!(is_about(server_busy(&of_threads(&[0.98, 0.96], "0"), "cpu 0"), 0.97));
        assert!(
            is_about(server_busy(&of_threads(&[0.98, 0.96], "0-1"), "cpu 0"), 0.485),
            "on two it has room"
        );
    }

    #[test]
    fn one_thread_that_is_full_or_waits_is_a_full_server() {
        let mut facts = of_threads(&[0.5], "0-1");
        for seen in &mut facts.trials {
            seen.trial.as_run.server_demand = Some(Demand { on_cpu_share: 0.5, waited_share: Some(0.45) });
        }
        assert!(is_about(server_busy(&facts, "cpu 0"), 0.95));
    }

    #[test]
    fn what_is_not_known_and_what_was_disturbed_is_left_out() {
        assert_eq!(server_busy(&CaseBuilder::of_cpus(2).build(), "cpu 0"), None);
        let mut facts = of_threads(&[0.5], "0");
        facts.trials.iter_mut().for_each(|seen| seen.trial.disturbed = Some("a storm".into()));
        assert_eq!(server_busy(&facts, "cpu 0"), None);
    }
}
