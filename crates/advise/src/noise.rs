//! What measured noise comes to: what each CPU is quiet enough for, what stands in the way of more, and what can be done about the largest
//! cause. Pure.

mod quiet;
mod remedy;

use std::collections::BTreeMap;

use machine::CpuSet;
use probe::noise::{Cause, CpuNoise, Noise};
use serde::Serialize;

pub use quiet::{Limits, Quiet};
pub use remedy::remedy;

/// A measurement as it is judged.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict {
    /// CPUs by what they are quiet enough for, the strictest class first; classes without CPUs are not in it.
    pub classes: Vec<Class>,
    /// Each CPU, in the order of the measurement, without those whose loop was moved away: what a CPU does on its way offline is no noise of it.
    pub cpus: Vec<CpuVerdict>,
    /// What makes most of the noise; `None` where there is none, or no cause is known.
    pub largest: Option<Largest>,
}

/// CPUs of one class.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Class {
    /// What they are quiet enough for.
    pub quiet: Quiet,
    /// The CPUs.
    pub cpus: CpuSet,
}

/// What a CPU is quiet enough for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CpuVerdict {
    /// The CPU.
    pub cpu: u32,
    /// What it is quiet enough for.
    pub quiet: Quiet,
    /// What keeps it from the next stricter class; empty in the strictest.
    pub beyond: Vec<Beyond>,
}

/// A limit of the next stricter class that a CPU exceeds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Beyond {
    /// Its longest gap.
    LongestGap {
        /// Its length, ns.
        length_ns: u64,
        /// The longest that the class allows, ns.
        limit_ns: u64,
        /// What took most of it, where that is known.
        cause: Option<Cause>,
    },
    /// Its time in gaps.
    Share {
        /// Share of the window, 0 to 1.
        share: f64,
        /// The largest that the class allows, 0 to 1.
        limit: f64,
        /// What took most of it, where that is known.
        cause: Option<Cause>,
    },
}

/// What makes most of the noise of all CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Largest {
    /// What it is.
    pub cause: Cause,
    /// Its share of all time in gaps, 0 to 1.
    pub share: f64,
    /// What can be done about it, as an order; `None` where that depends on what ran.
    pub remedy: Option<&'static str>,
}

/// Judges a measurement.
pub fn judge(noise: &Noise) -> Verdict {
    let stayed = noise.cpus.iter().filter(|cpu| cpu.left.is_none());
    let cpus: Vec<CpuVerdict> = stayed.map(judge_cpu).collect();
    let class = |quiet: Quiet| {
        let of_class: CpuSet = cpus.iter().filter(|cpu| cpu.quiet == quiet).map(|cpu| cpu.cpu).collect();
        (!of_class.is_empty()).then_some(Class { quiet, cpus: of_class })
    };
    let classes = Quiet::ALL.into_iter().filter_map(class).collect();
    Verdict { classes, cpus, largest: largest(&noise.cpus) }
}

/// Judges one CPU.
pub fn judge_cpu(seen: &CpuNoise) -> CpuVerdict {
    let quiet = Quiet::of(seen.longest_gap_ns, seen.share);
    let mut beyond = Vec::new();
    if let Some(limits) = quiet.stricter().map(Quiet::limits) {
        if seen.longest_gap_ns > limits.longest_gap_ns {
            let cause = seen.longest.first().and_then(|gap| gap.parts.first()).map(|part| part.cause);
            let (length_ns, limit_ns) = (seen.longest_gap_ns, limits.longest_gap_ns);
            beyond.push(Beyond::LongestGap { length_ns, limit_ns, cause });
        }
        if seen.share > limits.share {
            let cause = seen.causes.first().map(|cause| cause.cause);
            beyond.push(Beyond::Share { share: seen.share, limit: limits.share, cause });
        }
    }
    CpuVerdict { cpu: seen.cpu, quiet, beyond }
}

fn largest(cpus: &[CpuNoise]) -> Option<Largest> {
    let mut by_cause: BTreeMap<Cause, u64> = BTreeMap::new();
    for cause in cpus.iter().flat_map(|cpu| &cpu.causes) {
        let sum = by_cause.entry(cause.cause).or_default();
        *sum = sum.saturating_add(cause.gap_ns);
    }
    let all_ns = cpus.iter().map(|cpu| cpu.gap_ns).fold(0, u64::saturating_add);
    let (cause, ns) = by_cause.into_iter().max_by_key(|(_, ns)| *ns).filter(|(_, ns)| *ns > 0)?;
    (all_ns > 0).then(|| Largest { cause, share: ns as f64 / all_ns as f64, remedy: remedy(cause) })
}

#[cfg(test)]
mod tests;
