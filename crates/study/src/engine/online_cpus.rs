//! Whether the CPUs of a trial were there to its end: CPUs can go offline in the middle, and the kernel then moves what runs
//! there, whatever its affinity says (kernel/sched/core.c, select_fallback_rq).

use machine::{Class, CpuSet, FactId, Fault, Placement, Root};
use probe::Observation;

/// That the CPUs of the placement are online at the end of its trial. A trial that lost one is no trial of its placement.
///
/// # Errors
/// When one is not. On kernels that do not report which are online there is nothing to hold against it.
pub(super) fn cpus_are_there(root: &Root, placement: &Placement) -> Result<(), Fault> {
    let Ok(online) = root.cpu_list("/sys/devices/system/cpu/online") else { return Ok(()) };
    none_left(&asked(placement).difference(&online))
}

/// That they were online all the time in which the trial was measured: one that was back by its end was away all the same.
///
/// # Errors
/// When one was not. Any other CPU that came or went is only noted among what is missing of the observation.
pub(super) fn cpus_stayed(observation: &Observation, placement: &Placement) -> Result<(), Fault> {
    let away = observation.missing.iter().filter_map(|missing| match missing.id {
        Some(FactId::CpuAway(cpu)) => Some(cpu),
        _ => None,
    });
    none_left(&asked(placement).intersection(&away.collect()))
}

/// The CPUs of the server and of the load, as far as they were chosen.
fn asked(placement: &Placement) -> CpuSet {
    let chosen = [&placement.server_cpus, &placement.load_cpus].into_iter().flatten();
    chosen.fold(CpuSet::new(), |all, cpus| all.union(cpus))
}

fn none_left(gone: &CpuSet) -> Result<(), Fault> {
    if gone.is_empty() {
        return Ok(());
    }
    Err(Fault::new(
        Class::MachineLacks,
        format!("CPUs {}", gone.to_list()),
        "went offline during the trial, and the kernel moved what ran there; the trial does not count",
        "bring them online",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::{Missing, Tree};

    fn on(list: &str) -> Option<CpuSet> {
        Some(CpuSet::from_list(list).unwrap())
    }

    #[test]
    fn cpus_that_went_are_named_and_an_unknown_state_is_none() {
        let online = |list: &str| Root::from_tree(Tree::new().file("/sys/devices/system/cpu/online", list));
        let placement = Placement { server_cpus: on("3"), load_cpus: on("0-1"), ..Placement::default() };
        assert!(cpus_are_there(&online("0-3\n"), &placement).is_ok());
        let fault = cpus_are_there(&online("0,2\n"), &placement).unwrap_err();
        assert_eq!((fault.object.as_str(), fault.class), ("CPUs 1,3", Class::MachineLacks));
        assert!(cpus_are_there(&Root::from_tree(Tree::new()), &placement).is_ok());
    }

    #[test]
    fn a_cpu_of_the_trial_that_was_away_in_between_voids_it_and_another_does_not() {
        let away = |cpu: u32| {
            let missing = Missing::new(format_args!("CPU {cpu}"), "it was away for a part of the window");
            Observation { missing: vec![missing.identified(FactId::CpuAway(cpu))], ..Observation::default() }
        };
        let placement = Placement { server_cpus: on("3"), load_cpus: on("0-1"), ..Placement::default() };
        for (cpu, voids) in [(3, true), (1, true), (2, false)] {
            assert_eq!(cpus_stayed(&away(cpu), &placement).is_err(), voids, "{cpu}");
        }
        assert!(cpus_stayed(&Observation::default(), &placement).is_ok());
        // Nothing was chosen: the server runs on what is there.
        assert!(cpus_stayed(&away(3), &Placement::default()).is_ok());
    }
}
