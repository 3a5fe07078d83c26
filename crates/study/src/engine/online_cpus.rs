//! Whether the CPUs of a trial were there to its end: CPUs can go offline in the middle, and the kernel then moves what runs
//! there, whatever its affinity says (kernel/sched/core.c, select_fallback_rq).

use machine::{Class, CpuSet, Fault, Placement, Root};

/// That the CPUs of the placement are online at the end of its trial. A trial that lost one is no trial of its placement.
///
/// # Errors
/// When one is not. On kernels that do not report which are online there is nothing to hold against it.
pub(super) fn cpus_are_there(root: &Root, placement: &Placement) -> Result<(), Fault> {
    let Ok(online) = root.cpu_list("/sys/devices/system/cpu/online") else { return Ok(()) };
    let asked = [&placement.server_cpus, &placement.load_cpus];
    let gone: CpuSet = asked
        .into_iter()
        .flatten()
        .flat_map(|cpus| cpus.difference(&online).iter().collect::<Vec<_>>())
        .collect();
    if gone.is_empty() {
        return Ok(());
    }
    Err(Fault::new(
        Class::MachineLacks,
        format!("CPUs {}", gone.to_list()),
        "went offline during the trial, and the kernel moved what ran there; the trial does not count",
        "set them online",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::Tree;

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
}
