//! A figure of every trial, and what it is computed from.

use std::collections::BTreeMap;
#[cfg(test)]
use std::sync::LazyLock;

use machine::{Missing, Placement};
use probe::Observation;

use super::memory_locality::Locality;
use crate::cliff::Cliff;
use crate::recipe::Direction;

/// A figure of every trial.
pub(crate) struct TrialFigure {
    /// Its name, which ends in its unit.
    pub name: &'static str,
    /// Its unit; none of a share, or of a number of operations, that is shown without one.
    pub unit: Option<&'static str>,
    /// Which way is better; none where neither is.
    pub direction: Option<Direction>,
    /// Its value; none where the trial has none. An error where it should have one that could not be read.
    pub of: fn(&Measured<'_>) -> Result<Option<f64>, Missing>,
}

/// What was measured of a trial.
pub(crate) struct Measured<'a> {
    /// What the sampler saw in the measured window.
    pub observation: &'a Observation,
    /// Where server and load were to run.
    pub placement: &'a Placement,
    /// Length of the measured window. The readings of the observation lie a little outside of it.
    pub window_s: f64,
    /// Mean power of all packages and their memory, W; none where it is not known. Most machines count no energy, and a reading that failed
    /// is in the observation's `missing`.
    pub power_w: Option<f64>,
    /// The rate of requests that the load reports, where it counts requests.
    pub requests_per_s: Option<f64>,
    /// The share of its time that the server's threads spent on each CPU.
    pub server_cpus_used: &'a BTreeMap<u32, f64>,
    /// Where the server's memory lay at the end, on a machine with several nodes.
    pub locality: Option<&'a Locality>,
    /// Where the sequence of operations broke, of a load that is one.
    pub cliff: Option<&'a Cliff>,
}

#[cfg(test)]
impl<'a> Measured<'a> {
    /// Of a trial of which nothing is known but what the sampler saw in a window of 1 s.
    pub fn by_observation(observation: &'a Observation) -> Self {
        static PLACEMENT: LazyLock<Placement> = LazyLock::new(Placement::default);
        static CPUS_USED: BTreeMap<u32, f64> = BTreeMap::new();
        Self {
            observation,
            placement: &PLACEMENT,
            window_s: 1.0,
            power_w: None,
            requests_per_s: None,
            server_cpus_used: &CPUS_USED,
            locality: None,
            cliff: None,
        }
    }
}
