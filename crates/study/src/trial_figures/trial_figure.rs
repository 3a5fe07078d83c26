//! A figure of every trial, and what it is computed from.

use std::collections::BTreeMap;

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
    /// The rate of requests that the load reports, where it counts requests.
    pub requests_per_s: Option<f64>,
    /// The share of its time that the server's threads spent on each CPU.
    pub server_cpus_used: &'a BTreeMap<u32, f64>,
    /// Where the server's memory lay at the end, on a machine with several nodes.
    pub locality: Option<&'a Locality>,
    /// Where the sequence of operations broke, of a load that is one.
    pub cliff: Option<&'a Cliff>,
}
