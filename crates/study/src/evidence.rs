//! Evidence: effects with intervals, from the trials alone. Pure; can be computed again from `trials.jsonl` on any laptop.
//!
//! Every comparison is made *within* blocks: log ratios of an arm to its reference in the same block. Two families of
//! claims are adjusted by Holm, each for itself: every arm against the baseline (is this placement better than what
//! you have?), and every CPU against the other CPUs (is this CPU a bad one?). The second is what names a slow CPU: on
//! an uneven machine the unpinned baseline is itself a mixture of good and bad CPUs.

mod arm_summary;
mod attribution;
mod block_evidence;
mod case_evidence;
mod cliffs;
mod comparison;
mod control;
mod drift;
mod effects;
mod expectations;
mod gains;
mod growth;
mod judgement;
mod notes;
mod own_traffic_notes;
mod pooled;
mod pooled_quantile;
mod power;
mod question;
mod quota;
mod record;
mod same_cpus;
mod secondary_figures;
mod standing;
mod verdict;
mod weighing;

pub use self::arm_summary::{ArmSummary, CpuUse};
pub use self::block_evidence::of_blocks;
pub use self::case_evidence::of_case;
pub use self::cliffs::{ArmCliff, PartTimes, Spot, Typical};
pub(crate) use self::comparison::Comparison;
pub use self::control::{Control, ControlKind, ControlOutcome, Unseen};
pub use self::effects::Effect;
pub(crate) use self::gains::gains_by_arm;
pub use self::growth::Growth;
pub use self::judgement::{Gate, Judgement, Outcome, Unjudged, gate};
pub use self::pooled::{Latencies, needed as needed_latencies, of as pooled};
pub use self::pooled_quantile::{Pooled, PooledRatio};
pub use self::power::Power;
pub use self::question::Question;
pub use self::quota::QuotaTaken;
pub use self::record::Evidence;
pub use self::secondary_figures::AlsoCompared;
pub use self::standing::ArmStanding;
pub use self::verdict::{Contrast, Trust, Verdict, Whose};
pub use self::weighing::weigh;

#[cfg(test)]
mod tests;
