//! The server's CPUs run slower than they can.

use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::{About, Costs, Looked, Rule};
use crate::diagnosis::scene::Scene;

/// The rule `clock`.
pub struct Clock;

/// A busy CPU is slow if its clock is below this share of the highest that its hardware has.
const SLOW: f64 = 0.8;
/// The clock of a CPU is known only while it is busy: for at least this share of the window.
const BUSY: f64 = 0.3;

static ABOUT: About = About {
    id: "clock",
    title: "clock",
    costs: Costs::OwnTime,
    docs: "A CPU on which the server ran was busy, but ran well below its highest clock: because of a governor or energy preference that saves \
           power, a maximum that is set too low, heat, or a power limit. A governor can be changed, heat cannot: if the clock stays low with the \
           governor 'performance', look at cooling and power limits. Look-alike: an idle CPU, whose clock says nothing. Most guests have no clock to \
           read.",
};

impl Rule for Clock {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn examine(&self, scene: &Scene<'_>) -> Looked {
        let policies = &scene.situation.machine.power.frequency;
        if policies.is_empty() {
            return Looked::DoesNotApply;
        }
        let mut slowest: Option<(u32, f64, f64)> = None;
        for cpu in scene.time.cpus.iter() {
            let busy = scene.idle_share(cpu).is_some_and(|idle| 1.0 - idle >= BUSY);
            let mhz = scene.cpu(cpu).and_then(|seen| seen.frequency).map(|seen| seen.mean_mhz);
            let policy = policies.iter().find(|policy| policy.cpus.contains(cpu));
            let highest = policy.and_then(|policy| policy.hardware_max_khz).map(|khz| khz as f64 / 1e3);
            let (true, Some(mhz), Some(highest)) = (busy, mhz, highest) else { continue };
            if mhz < SLOW * highest && slowest.is_none_or(|(_, now, of)| mhz / highest < now / of) {
                slowest = Some((cpu, mhz, highest));
            }
        }
        let Some((cpu, mhz, highest)) = slowest else { return Looked::Fine };
        let policy = policies.iter().find(|policy| policy.cpus.contains(cpu));
        let governor = policy.and_then(|policy| policy.governor.as_deref()).unwrap_or("not known");
        let claim =
            format!("CPU {cpu}, on which the server runs, was busy and ran at {mhz:.0} of {highest:.0} MHz");
        let cause = Cause::possible(ABOUT.id, Subject::Machine, claim)
            .because(format!("its governor is {governor}"))
            .figure("mhz", mhz)
            .figure("highest_mhz", highest);
        let capped = policy.and_then(|p| Some(p.max_khz? < p.hardware_max_khz?)).unwrap_or(false);
        let remedy = match (capped, governor) {
            (true, _) => Remedy::by_hand(
                "The highest permitted clock is below that of the hardware: raise it (knob frequency-max)",
            ),
            (false, "performance") => Remedy::by_hand(
                "The governor is not the cause: check heat and power limits (turbostat, IPMI)",
            ),
            (false, _) => Remedy::by_hand(
                "Keep the clock high: set the governor to performance (knob frequency-governor)",
            ),
        };
        Looked::Found(vec![cause.remedy(remedy)])
    }
}
