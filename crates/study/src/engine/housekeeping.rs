//! The kernel's own work, moved to CPUs of its own: what that comes to on a machine.
//!
//! Whether the kernel lets an interrupt be moved is not reported by any file that every kernel has (managed ones refuse), so what is asked for
//! here is made as far as it goes ([`LiveTrials`](super::live::LiveTrials)).

use machine::knobs::Knob;
use machine::{CpuSet, Root, Setting, knobs};

/// Knobs whose every target is moved.
const MOVED: [&str; 6] = [
    "workqueue-cpus",
    "writeback-cpus",
    "irq-default-affinity",
    "watchdog-cpus",
    "irq-affinity",
    "kernel-thread-affinity",
];

/// Knobs of the whole machine, and what they are set to: virtual memory statistics every two minutes instead of each second, and timers of
/// idle CPUs stay there instead of moving to the busy one.
const SET: [(&str, &str); 2] = [("vm-stat-interval", "120"), ("timer-migration", "off")];

/// The settings that move it to `cpus`. What is there already, what this machine does not have and what cannot be read is left out.
pub(super) fn settings(root: &Root, cpus: &CpuSet) -> Vec<Setting> {
    let moved = MOVED.iter().flat_map(|id| of_knob(root, id, &cpus.to_list(), |now| is_within(now, cpus)));
    let set = SET.iter().flat_map(|(id, value)| of_knob(root, id, value, |now| now == *value));
    moved.chain(set).collect()
}

/// A setting for each target of a knob that is not `so` already.
fn of_knob(root: &Root, id: &str, value: &str, so: impl Fn(&str) -> bool) -> Vec<Setting> {
    let Some(knob) = knobs::find(id) else { return Vec::new() };
    let targets = knob.targets(root).unwrap_or_default().into_iter().map(|target| target.id);
    let wanted = |target: &String| {
        let now = knob.read(root, target);
        now.is_ok_and(|now| !so(&now)) && can_be(knob, root, target, value)
    };
    let setting = |target| Setting { knob: id.into(), target, value: value.into() };
    targets.filter(wanted).map(setting).collect()
}

fn can_be(knob: &dyn Knob, root: &Root, target: &str, value: &str) -> bool {
    knob.change(root, target, value).is_ok()
}

fn is_within(now: &str, cpus: &CpuSet) -> bool {
    CpuSet::from_list(now).is_ok_and(|now| !now.is_empty() && now.is_subset(cpus))
}

#[cfg(test)]
mod tests {
    use machine::Tree;

    use super::*;

    #[test]
    fn what_is_there_already_and_what_the_machine_does_not_have_is_left_out() {
        let root = Root::from_tree(
            Tree::new()
                .file("/sys/devices/system/cpu/online", "0-3\n")
                .file("/sys/devices/virtual/workqueue/cpumask", "f\n")
                .file("/proc/irq/default_smp_affinity", "1\n")
                .file("/proc/irq/38/smp_affinity_list", "0-3\n")
                .file("/proc/irq/39/smp_affinity_list", "0\n")
                .file("/proc/sys/vm/stat_interval", "1\n"),
        );
        let moved = settings(&root, &CpuSet::from_list("0-1").unwrap());
        let shown: Vec<String> = moved.iter().map(|s| format!("{} = {}", s.object(), s.value)).collect();
        let expected = [
            "workqueue-cpus of machine = 0-1",
            "irq-affinity of 38 = 0-1",
            "vm-stat-interval of machine = 120",
        ];
        assert_eq!(shown, expected);
        assert!(settings(&Root::from_tree(Tree::new()), &CpuSet::single(0)).is_empty());
    }

    #[test]
    fn its_knobs_are_knobs() {
        let ids = MOVED.iter().chain(SET.iter().map(|(id, _)| id));
        assert!(ids.clone().all(|id| knobs::find(id).is_some()));
    }
}
