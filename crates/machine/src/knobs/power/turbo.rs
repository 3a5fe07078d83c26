//! Whether CPUs may go above their nominal clock.

use crate::knobs::file::{FileKnob, Form, ON_OFF, Place, Places};
use crate::knobs::{About, MaySet, OwnerId};
use crate::{Fault, Root};

/// The knob.
pub static KNOB: FileKnob = FileKnob {
    about: About {
        id: "turbo",
        title: "Whether CPUs may go above their nominal clock",
        docs: "Off, the clock no longer depends on how many neighbours are busy and how hot they are: \
               slower, and even. The way to make a study's noise smaller.",
        unit: "on or off",
        scope: "the whole machine: target machine",
        owner: "firmware, tuned ([cpu] no_turbo, boost), TLP, auto-cpufreq, power-profiles-daemon, thermald",
        owners: &[OwnerId::Tuned, OwnerId::PowerProfilesDaemon, OwnerId::Thermald, OwnerId::AutoCpufreq],
        risk: "Everything becomes slower by the turbo range. intel_pstate refuses (EPERM) where firmware \
               has switched it off.",
        may_set: MaySet::Root,
        source: "Documentation/admin-guide/pm/intel_pstate.rst (no_turbo), cpufreq.rst (boost)",
    },
    places: Places::Found(files),
    form: ON_OFF,
};

/// intel_pstate reports it inverted; the other drivers have a file for all of them.
const NO_TURBO: &str = "/sys/devices/system/cpu/intel_pstate/no_turbo";
const BOOST: &str = "/sys/devices/system/cpu/cpufreq/boost";

fn files(root: &Root, _only: Option<&str>) -> Result<Vec<Place>, Fault> {
    let inverted = Some(Form::Codes(&[("on", "0"), ("off", "1")]));
    Ok(match root.exists(NO_TURBO) {
        true => vec![Place { form: inverted, ..Place::machine(NO_TURBO) }],
        false => vec![Place::machine(BOOST)],
    })
}
