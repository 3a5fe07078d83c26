//! The dose: the positive control of a study, bad by construction and of known size.

use machine::{Class, Dose, Fault};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Shares that may be asked for. Above them the load and pinwise itself may starve; below, the loss drowns in noise.
const SHARES: std::ops::RangeInclusive<f64> = 0.01..=0.6;

/// How much CPU time a thief of pinwise's own takes from the server in the arm that is the positive control.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DoseOptions {
    /// Share of each CPU that the server has in the reference arm: 0.2 is 20 %. 0: no dose.
    pub share: f64,
    /// The arm in which it is judged; none: the best of the pilot among those whose load has CPUs of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
}

impl Default for DoseOptions {
    fn default() -> Self {
        Self { share: 0.2, reference: None }
    }
}

impl DoseOptions {
    /// Holds the share to its range.
    ///
    /// # Errors
    /// A share outside 0.01 to 0.6 that is not 0.
    pub fn check(&self) -> Result<(), Fault> {
        if self.share == 0.0 || SHARES.contains(&self.share) {
            return Ok(());
        }
        let range = format!("{} to {}", SHARES.start(), SHARES.end());
        Err(Fault::new(
            Class::Usage,
            "dose.share",
            format!("{} is outside {range}", self.share),
            "choose a share in that range, or 0 for no dose",
        ))
    }

    /// The thief on these CPUs; `None` where the recipe wants no dose.
    pub fn on(&self, cpus: machine::CpuSet) -> Option<Dose> {
        let share_permille = (self.share * 1e3).round() as u16;
        (share_permille > 0).then_some(Dose { cpus, share_permille })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_out_of_range_is_refused_and_none_is_none() {
        for share in [0.009, 0.61, -0.1, f64::NAN, 20.0] {
            assert!(DoseOptions { share, ..DoseOptions::default() }.check().is_err(), "{share}");
        }
        let cpus = machine::CpuSet::single(3);
        assert_eq!(DoseOptions { share: 0.0, ..DoseOptions::default() }.on(cpus.clone()), None);
        assert_eq!(DoseOptions::default().on(cpus).unwrap().share(), 0.2);
    }
}
