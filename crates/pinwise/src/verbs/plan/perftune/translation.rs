//! The plan that is made, and what is left out of it.

use machine::tuned_profile::Advice;
use machine::{CpuSet, Plan, Planned, Root, Setting, knobs};

pub(super) const NO_KNOB: &str = "pinwise has no knob for it";

/// Settings are few, but for a line each of interrupts and queues.
pub(super) struct Translation<'a> {
    pub(super) root: &'a Root,
    plan: Plan,
    left: Vec<String>,
}

impl<'a> Translation<'a> {
    pub(super) fn new(root: &'a Root) -> Self {
        let plan = Plan { purpose: Some("what perftune.py would set".into()), ..Plan::default() };
        Self { root, plan, left: Vec::new() }
    }

    /// Adds a setting, behind an earlier one of the same object: of these the last counts when a plan is applied.
    pub(super) fn take(&mut self, knob: &str, target: &str, value: &str, what: &str) {
        let before = knobs::find(knob).and_then(|knob| knob.read(self.root, target).ok());
        self.plan.settings.push(Planned {
            knob: knob.into(),
            target: target.into(),
            value: value.into(),
            before,
            reason: Some(format!("perftune.py: {what}")),
            evidence: None,
        });
    }

    /// Adds a setting that this machine can make; it is left out, with the reason, where it cannot.
    pub(super) fn take_if_possible(&mut self, knob: &str, target: &str, value: &str, what: &str) {
        let setting = Setting { knob: knob.into(), target: target.into(), value: value.into() };
        match knobs::acts(self.root, &setting) {
            Ok(_) => self.take(knob, target, value, what),
            Err(fault) => self.leave(what, &fault.to_string()),
        }
    }

    pub(super) fn leave(&mut self, what: &str, why: &str) {
        self.left.push(format!("{what}: {why}"));
    }

    /// CPUs that are online; `None` where that is not known.
    pub(super) fn online(&self) -> Option<CpuSet> {
        self.root.cpu_list("/sys/devices/system/cpu/online").ok()
    }

    pub(super) fn end(self) -> Advice {
        Advice { plan: self.plan, not_taken_over: self.left }
    }
}

/// A mask as hwloc writes it: words that are 0 may be left out.
pub(super) fn mask(text: &str) -> Result<CpuSet, String> {
    let plain: Vec<&str> = text.trim().split(',').map(|word| word.trim_start_matches("0x")).collect();
    match plain.iter().all(|word| word.is_empty()) {
        true => Err(format!("'{text}' is not a mask of CPUs")),
        false => CpuSet::from_mask(&plain.join(",")).map_err(|e| e.to_string()),
    }
}

/// As the kernel rounds the flows of a receive queue.
pub(super) fn flows(number: u32) -> Option<u32> {
    if number == 0 { Some(0) } else { number.checked_next_power_of_two() }
}
