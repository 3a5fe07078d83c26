//! Descriptive figures of each arm. Pure.

use std::collections::BTreeMap;

use load::Headroom;
use load::headroom::FULL;
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
    /// How near the server was to its limit, 0 to 1 (median over the trials; see [`Headroom`]); `None` where that is not known.
    #[serde(default)]
    pub server_busy: Option<f64>,
    /// How busy the load's busiest thread was, share of the window (median over the trials); `None` where that is not known.
    #[serde(default)]
    pub client_busy: Option<f64>,
    /// CPU time of the server.
    #[serde(default)]
    pub server_cpus: CpuUse,
    /// CPU time of the load.
    #[serde(default)]
    pub load_cpus: CpuUse,
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

    /// Its name where the two copies of the baseline stand beside each other ([`BaselineCopy::shown_name`]).
    pub fn shown_name(&self) -> String {
        self.copy.as_ref().map_or_else(|| self.arm.clone(), BaselineCopy::shown_name)
    }
}

/// What is left of the CPUs beside one full thread counts from half of one on.
const LEFT_CPUS: f64 = 0.5;

/// CPU time of the server, or of the load, in the measured window. `None` where it is not known.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct CpuUse {
    /// CPU time of all its threads, in CPUs.
    pub used_cpus: Option<f64>,
    /// Share of the window in which its busiest thread had a CPU, 0 to 1.
    pub busiest_share: Option<f64>,
    /// How many CPUs it may use.
    pub may_use_cpus: Option<f64>,
}

impl CpuUse {
    /// The median of each number, over those in which it is known.
    pub fn typical(uses: &[Self]) -> Self {
        let median = |of: fn(&Self) -> Option<f64>| {
            let known: Vec<f64> = uses.iter().filter_map(of).collect();
            summary::median(&known)
        };
        Self {
            used_cpus: median(|one| one.used_cpus),
            busiest_share: median(|one| one.busiest_share),
            may_use_cpus: median(|one| one.may_use_cpus),
        }
    }

    /// Whether one thread is full (90 % of the window or more) while CPUs are left to which it cannot spread: more of them would not help.
    pub fn is_one_full_thread(&self) -> bool {
        match (self.busiest_share, self.used_cpus, self.may_use_cpus) {
            (Some(busiest), Some(used), Some(most)) => busiest >= FULL && used <= most - LEFT_CPUS,
            _ => false,
        }
    }

    fn of_server(trial: &Trial) -> Self {
        let as_run = &trial.as_run;
        let figure = |name: &str| trial.figures.get(name).copied();
        // Trials of before 2026-11-28 have it by request alone.
        let by_request = figure("server_cpu_us_per_request")
            .zip(figure("requests_per_s"))
            .map(|(us, per_s)| us * per_s / 1e6);
        let allowed = as_run.server_allowed.as_ref().map(|cpus| cpus.len() as f64);
        Self {
            used_cpus: as_run.server_busy_cpus.or(by_request),
            busiest_share: as_run.server_demand.map(|demand| demand.on_cpu_share),
            may_use_cpus: as_run.server_may_use_cpus.or(allowed),
        }
    }

    fn of_load(trial: &Trial) -> Self {
        let as_run = &trial.as_run;
        let allowed = as_run.load_allowed.as_ref().map(|cpus| cpus.len() as f64);
        let quotas = as_run.load_quotas.iter().map(|quota| quota.cpus).filter(|cpus| *cpus > 0.0);
        Self {
            used_cpus: as_run.load_busy_cpus,
            busiest_share: as_run.load_demand.map(|demand| demand.on_cpu_share),
            may_use_cpus: quotas.fold(allowed, |most, cpus| most.map(|most| most.min(cpus))),
        }
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
    let uses = |of: fn(&Trial) -> CpuUse| -> Vec<CpuUse> { own.iter().map(|trial| of(trial)).collect() };
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
        server_cpus: CpuUse::typical(&uses(CpuUse::of_server)),
        load_cpus: CpuUse::typical(&uses(CpuUse::of_load)),
        cpus_used,
        others,
    })
}

/// The median over trials of what their headroom checks say.
pub(super) fn typical(trials: &[&Trial], of: impl Fn(&Headroom) -> Option<f64>) -> Option<f64> {
    let known: Vec<f64> = trials.iter().filter_map(|trial| of(trial.headroom.as_ref()?)).collect();
    summary::median(&known)
}

#[cfg(test)]
mod tests {
    use machine::{CpuSet, Placement};

    use super::*;
    use crate::trial::{AsRun, Demand, Quota};

    fn summary_of(trials: &[Trial]) -> ArmSummary {
        let arm = Arm::new("a", Role::Candidate, Placement::default());
        of_arm(&arm, trials, "requests_per_s").unwrap()
    }

    fn trial(as_run: AsRun, us_per_request: f64) -> Trial {
        let figures = [("requests_per_s", 10_000.0), ("server_cpu_us_per_request", us_per_request)];
        let figures = figures.map(|(name, value)| (name.to_string(), value)).into();
        Trial { arm: "a".into(), figures, as_run, ..Trial::default() }
    }

    #[test]
    fn the_time_of_all_threads_counts_and_older_trials_have_it_by_request() {
        let new = AsRun { server_busy_cpus: Some(1.4), server_may_use_cpus: Some(1.5), ..AsRun::default() };
        let server = summary_of(&[trial(new, 90.0)]).server_cpus;
        assert_eq!((server.used_cpus, server.may_use_cpus), (Some(1.4), Some(1.5)));
        let old = AsRun { server_allowed: CpuSet::from_list("0-3").ok(), ..AsRun::default() };
        let server =
            summary_of(&[trial(old.clone(), 80.0), trial(old.clone(), 100.0), trial(old, 90.0)]).server_cpus;
        assert_eq!((server.used_cpus, server.may_use_cpus), (Some(0.9), Some(4.0)));
    }

    #[test]
    fn what_is_not_known_of_a_load_is_not_zero() {
        let known = AsRun {
            load_busy_cpus: Some(0.2),
            load_demand: Some(Demand { on_cpu_share: 0.2, waited_share: None }),
            load_allowed: CpuSet::from_list("0-3").ok(),
            load_quotas: vec![Quota {
                cgroup: "/box".into(),
                cpus: 2.5,
                periods: 1,
                throttled_periods: 0,
                throttled_us: 0,
            }],
            ..AsRun::default()
        };
        let load = summary_of(&[trial(known, 80.0)]).load_cpus;
        let all = CpuUse { used_cpus: Some(0.2), busiest_share: Some(0.2), may_use_cpus: Some(2.5) };
        assert_eq!(load, all);
        assert_eq!(summary_of(&[trial(AsRun::default(), 80.0)]).load_cpus, CpuUse::default());
    }

    #[test]
    fn one_thread_is_full_where_cpus_are_left_to_the_others() {
        let is = |used, busiest, most| {
            CpuUse { used_cpus: Some(used), busiest_share: Some(busiest), may_use_cpus: Some(most) }
                .is_one_full_thread()
        };
        assert!(is(0.97, 0.97, 2.0) && is(1.4, 0.95, 8.0));
        assert!(!is(0.97, 0.97, 1.0), "its one CPU is full");
        assert!(!is(1.4, 0.12, 2.0), "none of its threads is");
        assert!(!is(1.76, 0.91, 2.0), "both of its CPUs are nearly full");
        let unknown = CpuUse { may_use_cpus: None, used_cpus: Some(0.97), busiest_share: Some(0.97) };
        assert!(!unknown.is_one_full_thread());
    }
}
