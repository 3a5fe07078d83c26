//! The processes that a plan names by number. A number is given to another process once its own has ended, so that they are identified when the
//! plan is shown, by their start times, and must be the same when it is applied. Names of units, cgroups and containers are looked up anew: what
//! they stand for is what runs under that name.

use std::collections::BTreeSet;

use machine::knobs::{self, MaySet, guest};
use machine::{Fault, ProcessRef, Root, Setting};
use serde::Serialize;

use crate::verbs::apply::expected_process;

/// The processes, each once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(super) struct NamedProcesses(BTreeSet<ProcessRef>);

impl NamedProcesses {
    /// Those that are named as the server, and by the targets of settings, as they are now. A number of which there is no process is left to the
    /// verb, which says so.
    pub(super) fn read(root: &Root, server: Option<&str>, settings: &[Setting]) -> Self {
        let of_processes = settings.iter().filter(|setting| is_of_a_process(setting));
        let targets = of_processes.map(|setting| setting.target.as_str());
        let numbers: BTreeSet<u32> = server.into_iter().chain(targets).filter_map(number).collect();
        Self(numbers.into_iter().filter_map(|pid| probe::identify(root, pid)).collect())
    }

    /// Checks that each is still the same process.
    ///
    /// # Errors
    /// One has ended; its number may be that of another by now.
    pub(super) fn check(&self, root: &Root) -> Result<(), Fault> {
        expected_process::check(root, &self.0)
    }

    /// The same as arguments of 'pinwise apply', which checks them itself right before each act.
    pub(super) fn arguments(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(expected_process::argument)
    }
}

/// Whether its target is a process or a thread of one.
fn is_of_a_process(setting: &Setting) -> bool {
    knobs::find(&setting.knob)
        .is_some_and(|knob| knob.about().may_set == MaySet::OwnProcesses && !guest::is_one(knob))
}

/// The number of the process that a name is, be it with that of a thread behind it; `None` of every other name.
fn number(name: &str) -> Option<u32> {
    let process = name.trim().split('/').next()?;
    process.parse().ok().filter(|_| process.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verbs::apply::expected_process::tests::with;

    fn setting(knob: &str, target: &str) -> Setting {
        Setting { knob: knob.into(), target: target.into(), value: "0".into() }
    }

    #[test]
    fn a_number_is_identified_and_handed_on_with_its_start_time() {
        let shown = NamedProcesses::read(&with(4711, 'S', 300), Some("4711"), &[]);
        assert_eq!(
            serde_json::to_value(&shown).unwrap(),
            serde_json::json!([{ "pid": 4711, "start_time_ticks": 300 }])
        );
        assert_eq!(shown.arguments().collect::<Vec<_>>(), ["--expect-process=4711:300"]);
        assert!(shown.check(&with(4711, 'R', 300)).is_ok());
        assert!(shown.check(&with(4711, 'S', 301)).is_err() && shown.check(&with(4711, 'Z', 300)).is_err());
        assert_eq!(NamedProcesses::default().arguments().count(), 0);
    }

    #[test]
    fn targets_that_are_processes_count_and_other_numbers_do_not() {
        let root = with(38, 'S', 300);
        let of = |server, knob, target| NamedProcesses::read(&root, server, &[setting(knob, target)]);
        assert_eq!(of(None, "process-affinity", "38"), NamedProcesses::read(&root, Some("38"), &[]));
        assert_eq!(of(None, "process-affinity", "38/40"), NamedProcesses::read(&root, Some(" 38 "), &[]));
        for (server, knob, target) in [
            (None, "irq-affinity", "38"),
            (None, "process-affinity", "server"),
            (Some("redis.service"), "process-affinity", "server"),
            (Some("/38"), "process-affinity", "server"),
            (Some("+38"), "process-affinity", "server"),
            (Some("39"), "process-affinity", "server"),
        ] {
            assert_eq!(of(server, knob, target), NamedProcesses::default(), "{server:?} {knob} {target}");
        }
    }
}
