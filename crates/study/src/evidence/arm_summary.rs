//! Descriptive figures of each arm. Pure.

use std::collections::BTreeMap;

use load::Headroom;
use serde::{Deserialize, Serialize};

use crate::arm::{Arm, BaselineCopy, Role};
use crate::statistics::summary::{self, Summary};
use crate::trial::Trial;

/// Descriptive figures of one arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArmSummary {
    /// The arm.
    pub arm: String,
    /// Its role.
    pub role: Role,
    /// Which copy of the baseline it is, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy: Option<BaselineCopy>,
    /// The CPU that it tries, if it tries one.
    pub cpu: Option<u32>,
    /// The deciding figure over its trials.
    pub figure: Summary,
    /// The deciding figure, block by block.
    pub by_block: Vec<f64>,
    /// How busy the server's busiest thread was, share of the window (median over the trials); `None` where that is not known.
    #[serde(default)]
    pub server_busy: Option<f64>,
    /// The same of the load.
    #[serde(default)]
    pub client_busy: Option<f64>,
    /// CPUs that the server really used, mean share over the trials.
    pub cpus_used: BTreeMap<u32, f64>,
    /// Other figures, median over the trials.
    pub others: BTreeMap<String, f64>,
}

impl ArmSummary {
    /// As [`Arm::title`].
    pub fn title(&self) -> &str {
        self.copy.as_ref().map_or(&self.arm, |copy| &copy.of)
    }
}

/// The figure of an arm in each block: of several trials in one boot their geometric mean.
fn figures_by_block(own: &[&Trial], metric: &str) -> Vec<f64> {
    let mut blocks: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for trial in own {
        let figure = trial.figures.get(metric).copied();
        figure.into_iter().for_each(|figure| blocks.entry(trial.block).or_default().push(figure));
    }
    let of_block = |figures: Vec<f64>| match figures[..] {
        [one] => one,
        _ => (figures.iter().map(|figure| figure.ln()).sum::<f64>() / figures.len() as f64).exp(),
    };
    blocks.into_values().map(of_block).collect()
}

pub(super) fn of_arm(arm: &Arm, trials: &[Trial], metric: &str) -> Option<ArmSummary> {
    let own: Vec<&Trial> = trials.iter().filter(|t| t.arm == arm.name).collect();
    let by_block = figures_by_block(&own, metric);
    let figure = summary::summarise(&by_block)?;
    let mut cpus_used: BTreeMap<u32, f64> = BTreeMap::new();
    for (cpu, share) in own.iter().flat_map(|t| &t.as_run.server_cpus_used) {
        *cpus_used.entry(*cpu).or_default() += share / own.len() as f64;
    }
    let mut values: BTreeMap<&String, Vec<f64>> = BTreeMap::new();
    for (name, value) in own.iter().flat_map(|t| &t.figures).filter(|(name, _)| *name != metric) {
        values.entry(name).or_default().push(*value);
    }
    let others =
        values.into_iter().filter_map(|(name, v)| Some((name.clone(), summary::median(&v)?))).collect();
    Some(ArmSummary {
        arm: arm.name.clone(),
        role: arm.role,
        copy: arm.copy.clone(),
        cpu: arm.cpu,
        figure,
        by_block,
        server_busy: typical(&own, |headroom| headroom.server_busy),
        client_busy: typical(&own, |headroom| headroom.client_busy),
        cpus_used,
        others,
    })
}

/// The median over trials of what their headroom checks say.
pub(super) fn typical(trials: &[&Trial], of: impl Fn(&Headroom) -> Option<f64>) -> Option<f64> {
    let known: Vec<f64> = trials.iter().filter_map(|trial| of(trial.headroom.as_ref()?)).collect();
    summary::median(&known)
}
