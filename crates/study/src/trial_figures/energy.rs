//! The energy of a trial, from its observation; and whether this machine counts any.

use std::collections::BTreeMap;

use machine::power::energy;
use machine::{Class, Fault, Missing, Root};
use probe::{Observation, SystemCounter};

use super::trial_figure::{Measured, TrialFigure};
use crate::recipe::Direction;

/// Energy of all packages and their memory over the measured window.
pub(super) static ENERGY: TrialFigure =
    TrialFigure { name: "energy_j", unit: Some("J"), direction: Some(Direction::Lower), of: energy_j };

/// The same by request. A request is one that was answered within the window.
pub(super) static PER_REQUEST: TrialFigure = TrialFigure {
    name: "energy_j_per_request",
    unit: Some("J"),
    direction: Some(Direction::Lower),
    of: energy_j_per_request,
};

/// Mean power over the measured window.
pub(super) static POWER: TrialFigure =
    TrialFigure { name: "power_w", unit: Some("W"), direction: Some(Direction::Lower), of: power_w };

fn energy_j(measured: &Measured<'_>) -> Result<Option<f64>, Missing> {
    Ok(measured.power_w.map(|power_w| power_w * measured.window_s))
}

fn energy_j_per_request(measured: &Measured<'_>) -> Result<Option<f64>, Missing> {
    let requests_per_s = measured.requests_per_s.filter(|per_s| per_s * measured.window_s >= 1.0);
    Ok(measured.power_w.zip(requests_per_s).map(|(power_w, per_s)| power_w / per_s))
}

fn power_w(measured: &Measured<'_>) -> Result<Option<f64>, Missing> {
    Ok(measured.power_w)
}

/// Id of the probe, and what its facts begin with.
const PROBE: &str = "energy";

/// What a trial took.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Energy {
    /// By zone, J over the measured window: `intel-rapl:0:1 dram`. Zones overlap.
    pub by_zone_j: BTreeMap<String, f64>,
    /// Of all packages and their memory, W; or why it is not known.
    pub power_w: Result<f64, Missing>,
}

impl Energy {
    /// What was seen, for a measured window of `window_s`: the readings lie a little outside of it, so that the power between
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
            Some(lost) => Err(Missing::new(ENERGY.name, format_args!("{}: {}", lost.fact, lost.why))),
            None if summed.is_empty() => {
                Err(Missing::new(ENERGY.name, "no counter of a package was read at both ends of the window"))
            }
            None => Ok(summed.iter().sum()),
        };
        let zone = |row: &&SystemCounter| (format!("{} {}", row.name, row.label), watts(row) * window_s);
        let by_zone_j = seen.iter().filter(|_| observation.window_s() > 0.0).map(zone).collect();
        Self { by_zone_j, power_w }
    }

    /// Fails where the figure that decides is one of energy, and it is not known. It is the machine's fault and not the workload's: the
    /// study ends and can be resumed.
    pub fn require(&self, metric: &str) -> Result<(), Fault> {
        match &self.power_w {
            Err(missing) if is_figure(metric) => Err(Fault::new(
                Class::MachineLacks,
                format!("figure {metric}"),
                &missing.why,
                "see that /sys/class/powercap has the zone (modprobe intel_rapl_msr), or let another figure decide (--metric)",
            )),
            _ => Ok(()),
        }
    }
}

fn is_figure(metric: &str) -> bool {
    [&ENERGY, &PER_REQUEST, &POWER].iter().any(|figure| figure.name == metric)
}

/// Where a figure of energy decides, this machine has to count it.
///
/// # Errors
/// It does not, or the counters cannot be read: why, and what helps.
pub(crate) fn check(metric: &str, root: &Root) -> Result<(), Fault> {
    if !is_figure(metric) {
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
        Fault::new(class, format!("figure {metric}"), cause, remedy)
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

    const WINDOW_S: f64 = 1.5;

    /// Two seconds between the readings.
    fn observed(rows: &[(&str, &str, u64)], missing: &[Missing]) -> Observation {
        let system = rows.iter().map(|(name, label, uj)| row(name, label, *uj)).collect();
        Observation { to_ns: 2_000_000_000, system, missing: missing.to_vec(), ..Observation::default() }
    }

    fn seen(rows: &[(&str, &str, u64)], missing: &[Missing]) -> Energy {
        Energy::of(&observed(rows, missing), WINDOW_S)
    }

    /// Energy, energy by request and power of a trial in which this was observed.
    fn figures(observation: &Observation, requests_per_s: Option<f64>) -> [Option<f64>; 3] {
        let power_w = Energy::of(observation, WINDOW_S).power_w.ok();
        let measured =
            Measured { window_s: WINDOW_S, power_w, requests_per_s, ..Measured::by_observation(observation) };
        [&ENERGY, &PER_REQUEST, &POWER].map(|figure| (figure.of)(&measured).unwrap())
    }

    const SERVER: [(&str, &str, u64); 5] = [
        ("intel-rapl:0", "package-0", 100_000_000),
        ("intel-rapl:0:0", "core", 60_000_000),
        ("intel-rapl:0:1", "dram", 20_000_000),
        ("intel-rapl:1", "psys", 300_000_000),
        ("intel-rapl-mmio:0", "package-0", 99_000_000),
    ];

    #[test]
    fn packages_and_memory_are_added_up_and_listed_by_zone() {
        let energy = seen(&SERVER, &[Missing::new("/proc/pressure", "off")]);
        assert_eq!(energy.power_w, Ok(60.0));
        let observation = observed(&SERVER, &[]);
        assert_eq!(figures(&observation, Some(1000.0)), [Some(90.0), Some(0.06), Some(60.0)]);
        assert_eq!(energy.by_zone_j["intel-rapl:1 psys"], 225.0);
        assert_eq!(energy.by_zone_j.len(), 5);
        let without_requests = [Some(90.0), None, Some(60.0)];
        assert_eq!(figures(&observation, Some(0.5)), without_requests, "no request was answered");
        assert_eq!(figures(&observation, None), without_requests);
    }

    #[test]
    fn a_sum_with_a_part_missing_is_none_and_where_it_decides_the_trial_fails() {
        let went = Missing::new("energy/intel-rapl:1", "the row of 'package-1' went away within the window")
            .identified(FactId::Probe(PROBE.into()));
        assert_eq!(figures(&observed(&SERVER, std::slice::from_ref(&went)), Some(1.0)), [None; 3]);
        let energy = seen(&SERVER, &[went]);
        assert_eq!(energy.by_zone_j.len(), 5);
        let fault = energy.require(POWER.name).unwrap_err();
        assert!(fault.cause.contains("package-1") && fault.cause.contains("went away"), "{fault}");
        energy.require("requests_per_s").unwrap();
        let within = Missing::new("energy/intel-rapl:0:0", "gone").identified(FactId::EnergyWithin);
        assert!(seen(&SERVER, &[within]).power_w.is_ok(), "a part that the sum has already");
        assert!(seen(&[], &[]).power_w.is_err() && seen(&[SERVER[3]], &[]).power_w.is_err());
    }

    #[test]
    fn a_study_of_energy_is_refused_where_there_is_none() {
        let by_energy = PER_REQUEST.name;
        let fault = check(by_energy, &Root::from_tree(Tree::new())).unwrap_err();
        assert_eq!(fault.class, Class::MachineLacks);
        assert!(fault.cause.contains("modprobe") && fault.object.contains(by_energy), "{fault}");
        check("requests_per_s", &Root::from_tree(Tree::new())).unwrap();
        let zone = "/sys/class/powercap/intel-rapl:0";
        let tree = Tree::new().file(&format!("{zone}/name"), "package-0\n");
        let denied = tree.clone().denied(&format!("{zone}/energy_uj"));
        assert_eq!(check(by_energy, &Root::from_tree(denied)).unwrap_err().class, Class::NotPermitted);
        check(by_energy, &Root::from_tree(tree.file(&format!("{zone}/energy_uj"), "1\n"))).unwrap();
    }
}
