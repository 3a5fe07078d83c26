//! The server's CPUs run slower than they can.

use machine::power::{FrequencyPolicy, Power};

use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::machine_settings::may_be_boosted;
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
           power, a maximum that is set too low, turbo that is off, heat, or a power limit. A governor can be changed, heat cannot: if the clock \
           stays low with the governor 'performance', look at cooling and power limits. Look-alikes: a processor of which many cores are busy, or \
           which runs wide vector instructions: its highest clock is that of one busy core, and all together reach less however they are set; an \
           idle CPU, whose clock says nothing. Most guests have no clock to read.",
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
        let Some(policy) = policies.iter().find(|policy| policy.cpus.contains(cpu)) else {
            return Looked::Fine;
        };
        let claim =
            format!("CPU {cpu}, on which the server runs, was busy and ran at {mhz:.0} of {highest:.0} MHz");
        let cause = Cause::possible(ABOUT.id, Subject::Machine, claim)
            .because(format!("its governor is {}", policy.governor.as_deref().unwrap_or("not known")))
            .because(format!(
                "{highest:.0} MHz is what one busy core can reach: with many busy, it may be less"
            ))
            .figure("mhz", mhz)
            .figure("highest_mhz", highest);
        let remedy = Remedy::by_hand(faster(policy, &scene.situation.machine.power, mhz));
        Looked::Found(vec![cause.remedy(remedy)])
    }
}

/// What may make a CPU faster that runs at this clock: of the limits, the one that it has come near to.
fn faster(policy: &FrequencyPolicy, power: &Power, mhz: f64) -> &'static str {
    let is_near = |khz: u64| mhz >= SLOW * khz as f64 / 1e3;
    let is_lowered = |khz: &u64| policy.hardware_max_khz.is_some_and(|highest| *khz < highest);
    let is_limit = !may_be_boosted(policy, power);
    if is_limit && policy.max_khz.filter(is_lowered).is_some_and(is_near) {
        return "The highest permitted clock is below that of the hardware: raise it (knob frequency-max)";
    }
    if power.turbo == Some(false) && policy.base_khz.is_none_or(is_near) {
        return "Turbo is off, which keeps the clock at its nominal rate: if that is not on purpose, switch it on (knob turbo)";
    }
    match policy.governor.as_deref() {
        Some("performance") => {
            "The governor is not the cause: check heat and power limits (turbostat, IPMI), unless many cores are busy"
        }
        _ => {
            "Keep the clock high: set the governor to performance (knob frequency-governor). If it stays as low then, it is what this processor \
             reaches with so many busy cores, or heat or a power limit (turbostat)"
        }
    }
}

#[cfg(test)]
mod tests {
    use probe::account::Frequency;

    use super::*;
    use crate::diagnosis::situation_builder::situation;

    /// What is advised where a busy CPU runs at 2,000 of 3,900 MHz.
    fn advised(policy: FrequencyPolicy, turbo: Option<bool>) -> String {
        let mut seen = situation();
        let hardware_max_khz = Some(3_900_000);
        let cpus = [0, 1].into_iter().collect();
        seen.machine.power.frequency = vec![FrequencyPolicy { cpus, hardware_max_khz, ..policy }];
        seen.machine.power.turbo = turbo;
        let frequency =
            Frequency { readings: 1, lowest_mhz: 2_000.0, mean_mhz: 2_000.0, highest_mhz: 2_000.0 };
        seen.account.as_mut().unwrap().cpus[1].frequency = Some(frequency);
        match Clock.examine(&Scene::of(&seen).unwrap()) {
            Looked::Found(causes) => causes[0].remedies[0].words.clone(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_limit_that_the_clock_has_come_near_to_is_named() {
        let governed = |by: &str| FrequencyPolicy { governor: Some(by.into()), ..FrequencyPolicy::default() };
        let at_most = |khz| FrequencyPolicy { max_khz: Some(khz), ..governed("performance") };
        let nominal = |khz| FrequencyPolicy { base_khz: Some(khz), ..governed("performance") };
        assert!(advised(at_most(2_000_000), None).starts_with("The highest permitted clock"));
        let by = |driver: &str| FrequencyPolicy { driver: Some(driver.into()), ..at_most(2_000_000) };
        assert!(advised(by("amd-pstate"), Some(true)).starts_with("The highest permitted clock"));
        let boosted = advised(by("acpi-cpufreq"), Some(true));
        assert!(boosted.starts_with("The governor is not the cause"), "the nominal frequency: {boosted}");
        let far_below = advised(at_most(3_800_000), None);
        assert!(far_below.starts_with("The governor is not the cause"), "{far_below}");
        assert!(advised(nominal(2_100_000), Some(false)).starts_with("Turbo is off"));
        assert!(advised(nominal(3_000_000), Some(false)).starts_with("The governor is not the cause"));
        let all_cores = advised(nominal(1_900_000), Some(true));
        assert!(all_cores.ends_with("unless many cores are busy"), "{all_cores}");
        assert!(advised(governed("powersave"), Some(true)).starts_with("Keep the clock high"));
    }
}
