//! Explanations of made-up cases whose truth is known: the cause, what looks like it, and nothing.

mod claims;
mod every_arm;
mod proofs;
mod sampled_functions;
mod terms;

use machine::CpuSet;
use probe::Situation;
use study::{Facts, Observed, SeenObserved, Trial};

use super::term::Term;
use super::*;
use crate::case_builder::CaseBuilder;
use crate::diagnosis::situation_builder::{SERVER, SituationBuilder, situation};

const MS: u64 = 1_000_000;

/// A case whose arms `cpu 0` and `cpu 1` were observed in so many blocks, with so many requests answered in each window.
pub(super) fn case(blocks: usize, of: impl Fn(&str, usize) -> (Situation, Option<f64>)) -> Facts {
    let mut facts = CaseBuilder::of_cpus(2).build();
    for block in 0..blocks {
        for (position, arm) in ["cpu 0", "cpu 1"].into_iter().enumerate() {
            let (situation, requests) = of(arm, block);
            let trial =
                Trial { index: facts.observed.len(), block, position, arm: arm.into(), ..Trial::default() };
            facts.observed.push(SeenObserved { trial, observed: Some(Observed { requests, situation }) });
        }
    }
    facts
}

/// The made-up server with so much of its sleep spent otherwise, which differs a little from block to block.
fn server(block: usize, change: impl FnOnce(Situation, u64) -> Situation) -> Situation {
    change(situation(), MS * block as u64)
}

/// Of its sleep, so much is waiting instead.
fn waited(mut situation: Situation, ns: u64) -> Situation {
    let thread = &mut situation.account.as_mut().unwrap().threads[0];
    thread.run_queue.total_ns += ns;
    thread.asleep.total_ns -= ns;
    situation
}

/// The server waits so long behind threads of its own; it may use its own CPU alone, or both.
fn crowded(is_narrow: bool, ns: u64) -> Situation {
    let mut crowded = waited(situation(), ns).taken_by("server", SERVER, false, ns);
    crowded.account.as_mut().unwrap().tasks[0].of_target = true;
    if !is_narrow {
        crowded.server.processes[0].threads[0].cpus = CpuSet::from_list("0-1").ok();
    }
    crowded
}

fn step(explanation: &Explanation, term: Term) -> &waterfall::Step {
    explanation.server.steps.iter().find(|step| step.term == term).unwrap()
}

fn rules(explanation: &Explanation) -> Vec<String> {
    explanation.claims.iter().map(|claim| claim.id.to_string()).collect()
}

#[test]
fn what_cannot_be_explained_says_why() {
    let facts = case(6, |_, _| (situation(), None));
    let unknown = explain(&facts, "cpu 9", "cpu 1").unwrap_err();
    assert!(unknown.fact.contains("cpu 9") && unknown.why.contains("cpu 0, cpu 1"), "{unknown:?}");
    let mut unobserved = CaseBuilder::of_cpus(2).build();
    assert!(explain(&unobserved, "cpu 0", "cpu 1").unwrap_err().why.contains("observed_blocks"));
    let refused = Missing::new("kernel events", "not permitted: run as root");
    unobserved.missing.push(refused.identified(FactId::KernelEvents));
    assert!(explain(&unobserved, "cpu 0", "cpu 1").unwrap_err().why.contains("run as root"));
    assert!(explain_all(&unobserved).is_empty());
}
