//! CPUs that a setting names.

use machine::{CpuSet, Setting, knobs};

/// The CPUs that a setting names; `None` if the value of its knob is something else: `busy-poll = 0` is not CPU 0.
pub(crate) fn named_cpus(setting: &Setting) -> Option<CpuSet> {
    let names_cpus = knobs::find(&setting.knob).is_some_and(|knob| knob.about().unit.starts_with("CPU list"));
    names_cpus.then(|| CpuSet::from_list(&setting.value).ok()).flatten()
}
