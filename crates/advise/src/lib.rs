//! THINKS: facts, observations and evidence to findings. Pure: no file or process is touched here.
//!
//! A rule ([`rules`]) states a mechanism, the counters that must have moved if it is true, the size that it predicts,
//! and the intervention that would prove it. What no rule explains is said to be unexplained.

#![deny(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "what is said goes through one place of the binary"
)]

pub mod apply_command;
pub mod caveats;
pub mod diagnosis;
pub mod environment;
pub mod explanation;
pub mod finding;
pub mod fleet;
pub mod interrupt_rows;
pub mod interventions;
pub mod judge;
pub mod loss;
mod named_cpus;
pub mod network_paths;
pub mod next_steps;
pub mod noise;
pub mod own_cpu;
mod own_line;
pub mod plan;
pub mod remarks;
pub mod rules;
pub mod siblings;
pub mod unexplained;

#[cfg(test)]
mod case_builder;
#[cfg(test)]
mod ground_truth;

use study::{Facts, Proof};

pub use caveats::Caveat;
pub use explanation::{Explained, Explanation, explain};
pub use finding::{EvidenceLine, Finding, Fit, Predicted, Standing};
pub use judge::judge;
pub use next_steps::{Step, next_steps};
pub use plan::{Planning, plan};
pub use rules::Rule;
pub use siblings::Siblings;
pub use unexplained::unexplained;

/// Everything that can be said of a case, slowest CPU first and its best explanation first, with the proofs made so far.
///
/// SMT siblings are taken from the machine of the case; see [`examine_with`].
pub fn examine(facts: &Facts) -> Vec<Finding> {
    examine_with(facts, &Siblings::from_cores(&facts.machine.cores()))
}

/// As [`examine`], on a machine whose SMT siblings are known: what slows a CPU through its core's other thread is
/// found too, and no cause is moved onto a sibling of the CPU that it is taken from.
pub fn examine_with(facts: &Facts, siblings: &Siblings) -> Vec<Finding> {
    let mut findings: Vec<Finding> =
        rules::examine_all(facts, siblings).into_iter().map(|f| with_proof(f, &facts.proofs)).collect();
    findings.extend(unexplained(facts, &findings));
    finding::rank(&mut findings);
    findings
}

/// The latest proof about a finding counts.
fn with_proof(finding: Finding, proofs: &[Proof]) -> Finding {
    // Older cases name it by its title.
    match proofs.iter().rev().find(|p| p.finding == finding.id || p.finding == finding.title) {
        Some(proof) => judge(finding, proof),
        None => finding,
    }
}
