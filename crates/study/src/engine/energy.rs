//! The energy of a trial, from its observation; and whether this machine counts any.

use std::collections::BTreeMap;

use machine::{Class, Fault, Missing, Root, energy};
use probe::{Observation, SystemCounter};

use crate::recipe::Recipe;

/// Units of the figures.
pub(super) const UNITS: [(&str, &str); 3] = [(ENERGY, "J"), (A_REQUEST, "J"), (POWER, "W")];

const ENERGY: &str = "energy_j";
const A_REQUEST: &str = "energy_j_per_request";
const POWER: &str = "power_w";

/// Id of the probe, and what its facts begin with.
const PROBE: &str = "energy";

/// What a trial took.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Energy {
    /// By zone, J over the measured window: `intel-rapl:0:1 dram`. Zones overlap.
    pub by_zone_j: BTreeMap<String, f64>,
    /// Of all packages and their memory, W; or why it is not known.
    pub power_w: Result<f64, Missing>,
}

impl Energy {
    /// What was seen, told for a measured window of `window_s`: the readings lie a little outside of it, so that the power between
    /// them is what counts.
    pub fn of(observation: &Observation, window_s: f64) -> Self {
        let seen: Vec<&SystemCounter> = observation.system.iter().filter(|row| row.probe == PROBE).collect();
        let named: Vec<(&str, &str)> =
            seen.iter().map(|row| (row.name.as_str(), row.label.as_str())).collect();
        let watts = |row: &SystemCounter| row.value as f64 / 1e6 / observation.window_s();
        let summed: Vec<f64> = seen
            .iter()
            .zip(energy::in_sum(&named))
            .filter(|(_, in_sum)| *in_sum)
            .map(|(row, _)| watts(row))
            .collect();
        // Without one of its parts there is no sum.
        let lost = observation.missing.iter().find(|missing| missing.is_of_probe(PROBE));
        let power_w = match lost {
            Some(lost) => Err(Missing::new(ENERGY, format_args!("{}: {}", lost.fact, lost.why))),
            None if summed.is_empty() => {
                Err(Missing::new(ENERGY, "no counter of a package was read at both ends of the window"))
            }
            None => Ok(summed.iter().sum()),
        };
        let zone = |row: &&SystemCounter| (format!("{} {}", row.name, row.label), watts(row) * window_s);
        let by_zone_j = seen.iter().filter(|_| observation.window_s() > 0.0).map(zone).collect();
        Self { by_zone_j, power_w }
    }

    /// The figures, as far as they are known. A request is one that was answered within the window.
    pub fn figures(&self, window_s: f64, requests_per_s: Option<f64>) -> BTreeMap<String, f64> {
        let Ok(power_w) = self.power_w else { return BTreeMap::new() };
        let a_request = requests_per_s.filter(|per_s| per_s * window_s >= 1.0).map(|per_s| power_w / per_s);
        let figures = [(POWER, Some(power_w)), (ENERGY, Some(power_w * window_s)), (A_REQUEST, a_request)];
        figures.into_iter().filter_map(|(name, value)| Some((name.to_string(), value?))).collect()
    }

    /// Fails when the recipe asks for its energy, and it is not known. It is the machine's fault and not the workload's: the study
    /// ends and can be resumed.
    pub fn require(&self, recipe: &Recipe) -> Result<(), Fault> {
        match &self.power_w {
            Err(missing) if is_figure(&recipe.metric) => Err(Fault::new(
                Class::MachineLacks,
                format!("figure {}", recipe.metric),
                &missing.why,
                "see that /sys/class/powercap has the zone (modprobe intel_rapl_msr), or let another figure decide (--metric)",
            )),
            _ => Ok(()),
        }
    }
}

fn is_figure(metric: &str) -> bool {
    UNITS.iter().any(|(name, _)| *name == metric)
}

/// Where energy decides, this machine has to count it.
///
/// # Errors
/// It does not, or the counters cannot be read: why, and what helps.
pub(super) fn check(recipe: &Recipe, root: &Root) -> Result<(), Fault> {
    if !is_figure(&recipe.metric) {
        return Ok(());
    }
    energy::readable(root).map(drop).map_err(|error| {
        let (class, remedy) = match error.is_denied() {
            true => (Class::NotPermitted, "run pinwise as root, outside of a container"),
            false => (
                Class::MachineLacks,
                "let another figure decide (--metric), or run it on hardware that counts",
            ),
        };
        let cause = format!("{}: {}", error.path.display(), error.why);
        Fault::new(class, format!("figure {}", recipe.metric), cause, remedy)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::{FactId, Tree};

    fn row(name: &str, label: &str, uj: u64) -> SystemCounter {
        SystemCounter {
            probe: PROBE.into(),
            name: name.into(),
            label: label.into(),
            unit: "uJ".into(),
            value: uj,
        }
    }

    /// Two seconds between the readings.
    fn seen(rows: &[(&str, &str, u64)], missing: &[Missing]) -> Energy {
        let system = rows.iter().map(|(name, label, uj)| row(name, label, *uj)).collect();
        let observation =
            Observation { to_ns: 2_000_000_000, system, missing: missing.to_vec(), ..Observation::default() };
        Energy::of(&observation, 1.5)
    }

    const SERVER: [(&str, &str, u64); 5] = [
        ("intel-rapl:0", "package-0", 100_000_000),
        ("intel-rapl:0:0", "core", 60_000_000),
        ("intel-rapl:0:1", "dram", 20_000_000),
        ("intel-rapl:1", "psys", 300_000_000),
        ("intel-rapl-mmio:0", "package-0", 99_000_000),
    ];

    #[test]
    fn packages_and_memory_are_added_up_and_told_by_zone() {
        let energy = seen(&SERVER, &[Missing::new("/proc/pressure", "off")]);
        assert_eq!(energy.power_w, Ok(60.0));
        let figures = energy.figures(1.5, Some(1000.0));
        assert_eq!((figures[ENERGY], figures[A_REQUEST], figures[POWER]), (90.0, 0.06, 60.0));
        assert!(UNITS.iter().all(|(name, _)| figures.contains_key(*name)));
        assert_eq!(energy.by_zone_j["intel-rapl:1 psys"], 225.0);
        assert_eq!(energy.by_zone_j.len(), 5);
        assert!(!energy.figures(1.5, Some(0.5)).contains_key(A_REQUEST), "no request was answered");
        assert!(!energy.figures(1.5, None).contains_key(A_REQUEST));
    }

    #[test]
    fn a_sum_that_lacks_a_part_is_none_and_where_it_decides_the_trial_fails() {
        let went = Missing::new("energy/intel-rapl:1", "the row of 'package-1' went away within the window")
            .identified(FactId::Probe(PROBE.into()));
        let energy = seen(&SERVER, &[went]);
        assert!(energy.figures(1.5, Some(1.0)).is_empty() && energy.by_zone_j.len() == 5);
        let by_energy = Recipe { metric: POWER.into(), ..Recipe::default() };
        let fault = energy.require(&by_energy).unwrap_err();
        assert!(fault.cause.contains("package-1") && fault.cause.contains("went away"), "{fault}");
        energy.require(&Recipe::default()).unwrap();
        let within = Missing::new("energy/intel-rapl:0:0", "gone").identified(FactId::EnergyWithin);
        assert!(seen(&SERVER, &[within]).power_w.is_ok(), "a part that the sum has already");
        assert!(seen(&[], &[]).power_w.is_err() && seen(&[SERVER[3]], &[]).power_w.is_err());
    }

    #[test]
    fn a_study_of_energy_is_refused_where_there_is_none() {
        let by_energy = Recipe { metric: A_REQUEST.into(), ..Recipe::default() };
        let fault = check(&by_energy, &Root::from_tree(Tree::new())).unwrap_err();
        assert_eq!(fault.class, Class::MachineLacks);
        assert!(fault.cause.contains("modprobe") && fault.object.contains(A_REQUEST), "{fault}");
        check(&Recipe::default(), &Root::from_tree(Tree::new())).unwrap();
        let zone = "/sys/class/powercap/intel-rapl:0";
        let tree = Tree::new().file(&format!("{zone}/name"), "package-0\n");
        let denied = tree.clone().denied(&format!("{zone}/energy_uj"));
        assert_eq!(check(&by_energy, &Root::from_tree(denied)).unwrap_err().class, Class::NotPermitted);
        check(&by_energy, &Root::from_tree(tree.file(&format!("{zone}/energy_uj"), "1\n"))).unwrap();
    }
}
