//! CPUs that the kernel's own work was moved to and that have no time left for it. Pure.

use crate::facts::Facts;

/// A CPU that is busy for this share of its time has none left: what waits for it waits longer and longer.
const SATURATED: f64 = 0.9;

/// A housekeeping CPU of an arm that had no time left.
#[derive(Debug, Clone, PartialEq)]
pub struct Saturated {
    /// The arm.
    pub arm: String,
    /// The CPU.
    pub cpu: u32,
    /// Share of its time that it was busy, of any kind: median over the trials of the arm.
    pub busy_share: f64,
}

/// Housekeeping CPUs that were saturated, busiest first. Source: idle and iowait of /proc/stat; an arm whose trials have none is left out.
pub fn of_housekeeping(facts: &Facts) -> Vec<Saturated> {
    let moved = facts.study.arms.iter().filter_map(|arm| Some((arm, arm.placement.housekeeping.as_ref()?)));
    let mut saturated: Vec<Saturated> = moved
        .flat_map(|(arm, to)| to.cpus.iter().map(move |cpu| (arm, cpu)))
        .filter_map(|(arm, cpu)| {
            let idle = facts.median_rate(&arm.name, "stat", "idle", cpu)?;
            let waiting = facts.median_rate(&arm.name, "stat", "iowait", cpu).unwrap_or(0.0);
            let busy_share = (1.0 - (idle + waiting) / 1e6).clamp(0.0, 1.0);
            let arm = arm.name.clone();
            (busy_share >= SATURATED).then_some(Saturated { arm, cpu, busy_share })
        })
        .collect();
    saturated.sort_by(|a, b| b.busy_share.total_cmp(&a.busy_share));
    saturated
}
