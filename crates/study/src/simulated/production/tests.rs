//! What a study under a server's own traffic claims where there is nothing to claim, and what it sees, beside a comparison of before and
//! after.

use machine::CpuSet;

use super::*;
use crate::arm::{Arm, all_alike};
use crate::design::draw_order;
use crate::evidence::{Evidence, Question, weigh};
use crate::own_traffic::harm::tests::own_traffic;
use crate::recipe::{Direction, Precision};
use crate::schedule;

const BLOCKS: usize = 14;
const ALPHA: f64 = 0.05;
const FLOWS: [Flow; 5] = [Flow::STEADY, Flow::TIDAL, Flow::WANDERING, Flow::BURSTY, Flow::ALL];

/// Of a share `nominal`, as many of `studies` as chance alone gives once in some 2000 times at most.
fn most(nominal: f64, studies: u64) -> u64 {
    let n = studies as f64;
    (nominal * n + 3.3 * (nominal * (1.0 - nominal) * n).sqrt()).floor() as u64
}

fn arms() -> Vec<Arm> {
    let alike = all_alike(1, &CpuSet::single(0)).unwrap();
    alike.into_iter().filter(|arm| !arm.role.is_positive_control()).collect()
}

/// A whole study of one arm, whose log latency is higher by `effect`, run by the schedule that runs real ones.
fn study(flow: Flow, effect: f64, seed: u64) -> Evidence {
    let mut study = own_traffic();
    study.arms = arms();
    study.order = draw_order(study.arms.len(), BLOCKS, seed);
    let tried = study.arms.last().unwrap().name.clone();
    let mut production = Production::new(flow, BTreeMap::from([(tried, effect)]), seed ^ 0x7072_6f64);
    let mut trials: Vec<Trial> = Vec::new();
    while let Some(slot) = schedule::next(&study, &trials) {
        let arm = &study.arms[slot.arm];
        let (block, position, attempt) = (slot.block, slot.position, slot.attempt);
        let planned = Planned { index: trials.len(), block, position, attempt, arm, observed: false };
        trials.push(production.run(&planned, Path::new("")).unwrap());
    }
    let question = Question {
        metric: "latency_p99_us",
        better: Direction::Lower,
        precision: Precision { margin: 0.0, alpha: ALPHA },
        is_capacity: false,
    };
    weigh(&study.arms, &schedule::counted(&trials), &question)
}

fn claims(evidence: &Evidence) -> bool {
    evidence.against_baseline.iter().any(|contrast| contrast.verdict.is_difference())
}

/// Whether the same number of trials, first all before a change and then all after it, differ by Welch's t at about 5 %.
fn before_and_after(flow: Flow, effect: f64, seed: u64) -> bool {
    let mut production = Production::new(flow, BTreeMap::new(), seed);
    let n = BLOCKS * arms().len() / 2;
    let mut side = |effect: f64| -> (f64, f64) {
        let logs: Vec<f64> = (0..n).map(|_| production.trial(effect).1.ln()).collect();
        let mean = logs.iter().sum::<f64>() / n as f64;
        (mean, logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (n - 1) as f64)
    };
    let ((before, spread_before), (after, spread_after)) = (side(0.0), side(effect));
    let error = ((spread_before + spread_after) / n as f64).sqrt();
    // The t of 5 % at about 40 degrees of freedom.
    (after - before).abs() > 2.02 * error
}

/// How many of so many studies claim a difference, of pinwise and of before and after.
fn counted(flow: Flow, effect: f64, studies: u64) -> (u64, u64) {
    let of_pinwise = (0..studies).filter(|seed| claims(&study(flow, effect, *seed))).count();
    let of_before = (0..studies).filter(|seed| before_and_after(flow, effect, *seed)).count();
    (of_pinwise as u64, of_before as u64)
}

/// Prints what docs/statistics.md has, and holds it to the nominal rate.
fn false_claims(flows: &[Flow], studies: u64) {
    for flow in flows {
        let (of_pinwise, of_before) = counted(*flow, 0.0, studies);
        println!(
            "{}: false claims in {of_pinwise} of {studies} studies; before and after in {of_before}",
            flow.name
        );
        assert!(of_pinwise <= most(ALPHA, studies), "{}: {of_pinwise} of {studies}", flow.name);
        let drifts = flow.tide > 0.0 || flow.wander > 0.0;
        assert!(!drifts || of_before > most(ALPHA, studies), "{}: {of_before} of {studies}", flow.name);
    }
}

/// The same where there is something to see: a latency that is higher by a fifth.
fn power(flows: &[Flow], studies: u64, at_least: f64) {
    for flow in flows {
        let (of_pinwise, of_before) = counted(*flow, 1.2f64.ln(), studies);
        println!(
            "{}: 20 % seen in {of_pinwise} of {studies} studies; before and after in {of_before}",
            flow.name
        );
        assert!(of_pinwise as f64 >= at_least * studies as f64, "{}: {of_pinwise} of {studies}", flow.name);
    }
}

#[test]
fn claims_are_false_at_the_nominal_rate_at_most_where_before_and_after_is_false_often() {
    false_claims(&[Flow::WANDERING, Flow::ALL], 80);
}

#[test]
fn a_fifth_is_seen_through_tides_and_bursts() {
    power(&[Flow::ALL], 30, 0.5);
}

#[test]
fn the_same_seed_has_the_same_traffic() {
    let of = |seed| Production::new(Flow::ALL, BTreeMap::new(), seed).trial(0.0);
    assert_eq!(of(3), of(3));
    assert_ne!(of(3), of(4));
}

mod soak {
    use super::*;

    #[test]
    #[ignore = "2000 simulated studies a row, for docs/statistics.md; run by `make soak`"]
    fn false_claims_and_power_of_all_flows() {
        false_claims(&FLOWS, 2000);
        power(&FLOWS, 2000, 0.6);
    }
}
