//! Whether a CPU may use one of its idle states.

use crate::knobs::file::{FileKnob, Form, Place, Places, is_numbered, may_hold, names};
use crate::knobs::{About, MaySet, OwnerId};
use crate::{Fault, Root};

/// The knob.
pub static KNOB: FileKnob = FileKnob {
    about: About {
        id: "idle-state",
        title: "Whether a CPU may use one of its idle states",
        docs: "Off, the idle governor no longer chooses that state on that CPU. Deep states save power and \
               take tens to hundreds of microseconds to leave; cpu-resume-latency says the same as a time.",
        unit: "on or off",
        scope: "one idle state of one CPU: cpuN/stateM",
        owner: "cpupower idle-set, CRI-O (cpu-c-states.crio.io), start scripts; tuned keeps to latencies \
                (force_latency)",
        owners: &[OwnerId::CriO, OwnerId::Tuned],
        risk: "With the ladder governor the deeper states are off with it. Power and heat go up, the \
               neighbours' turbo goes down; state0 is polling, which costs the SMT sibling most.",
        may_set: MaySet::Root,
        source: "Documentation/admin-guide/pm/cpuidle.rst; \
                 Documentation/ABI/testing/sysfs-devices-system-cpu (cpuidle/stateN/disable, where 1 is \
                 off)",
    },
    places: Places::Found(states),
    form: Form::Codes(&[("on", "0"), ("off", "1")]),
};

const CPUS: &str = "/sys/devices/system/cpu";

fn states(root: &Root, only: Option<&str>) -> Result<Vec<Place>, Fault> {
    let mut places = Vec::new();
    for cpu in names(root, CPUS)?.into_iter().filter(|name| is_numbered(name, "cpu") && may_hold(name, only))
    {
        let folder = format!("{CPUS}/{cpu}/cpuidle");
        for state in names(root, &folder)?.into_iter().filter(|name| is_numbered(name, "state")) {
            let name = root.line(format!("{folder}/{state}/name")).unwrap_or_else(|_| state.clone());
            places.push(Place {
                id: format!("{cpu}/{state}"),
                what: format!("idle state {name} of {cpu}"),
                path: format!("{folder}/{state}/disable"),
                form: None,
            });
        }
    }
    Ok(places)
}
