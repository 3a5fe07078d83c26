//! What a CPU quota took from the server. Pure.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::statistics::summary;
use crate::trial::{Quota, Trial};

/// A quota that took more from the server than the study calls a difference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QuotaTaken {
    /// The cgroup that has it: the server's own, or one above it.
    pub cgroup: String,
    /// What it allows, in CPUs.
    pub cpus: f64,
    /// Time that its threads stood still in a trial, share of the window, summed over CPUs: the median over the trials.
    pub throttled_share: f64,
    /// Trials in which it throttled at all.
    pub trials: usize,
}

/// The quota that throttled the server most, where that is more than `margin` of the window in the median trial.
pub(super) fn taken(trials: &[Trial], margin: f64) -> Option<QuotaTaken> {
    let mut by_cgroup: BTreeMap<&str, Vec<(&Quota, f64)>> = BTreeMap::new();
    for trial in trials.iter().filter(|trial| trial.window_s > 0.0) {
        for quota in &trial.as_run.server_quotas {
            let share = quota.throttled_us as f64 / (trial.window_s * 1e6);
            by_cgroup.entry(&quota.cgroup).or_default().push((quota, share));
        }
    }
    let taken = by_cgroup.into_values().filter_map(|seen| {
        let shares: Vec<f64> = seen.iter().map(|(_, share)| *share).collect();
        let (first, _) = seen.first()?;
        Some(QuotaTaken {
            cgroup: first.cgroup.clone(),
            cpus: first.cpus,
            throttled_share: summary::median(&shares)?,
            trials: shares.iter().filter(|share| **share > 0.0).count(),
        })
    });
    taken
        .filter(|quota| quota.throttled_share > margin)
        .max_by(|a, b| a.throttled_share.total_cmp(&b.throttled_share))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::AsRun;

    fn trial(quotas: &[(&str, u64)]) -> Trial {
        let quota = |(cgroup, throttled_us): &(&str, u64)| Quota {
            cgroup: cgroup.to_string(),
            cpus: 0.4,
            periods: 10,
            throttled_periods: 9,
            throttled_us: *throttled_us,
        };
        let as_run = AsRun { server_quotas: quotas.iter().map(quota).collect(), ..AsRun::default() };
        Trial { window_s: 1.0, as_run, ..Trial::default() }
    }

    #[test]
    fn the_quota_that_took_most_is_named_and_what_is_within_the_margin_is_not() {
        let trials = [trial(&[("/a", 600_000), ("/a/b", 10_000)]), trial(&[("/a", 500_000), ("/a/b", 0)])];
        let taken = taken(&trials, 0.03).unwrap();
        assert_eq!((taken.cgroup.as_str(), taken.trials), ("/a", 2));
        assert!((taken.throttled_share - 0.55).abs() < 1e-9);
        assert_eq!(super::taken(&[trial(&[("/a", 20_000)])], 0.03), None);
        assert_eq!(super::taken(&[trial(&[])], 0.03), None);
    }
}
