//! The evidence on simulated trials, where the truth is known.

use machine::CpuSet;

use super::*;
use crate::arm::{all_alike, each_cpu_in_turn};
use crate::design::draw_order;
use crate::statistics::draws::Draws;

const PRECISION: Precision = Precision { margin: 0.03, alpha: 0.05 };

/// Trials of a machine with 3 % noise, 8 % slow runs and 1 % a run random-walk drift (the figures of DESIGN.md),
/// on which `effect(arm)` is the true log effect.
fn simulate(arms: &[Arm], blocks: usize, seed: u64, effect: impl Fn(&Arm) -> f64) -> Vec<Trial> {
    let mut draws = Draws::new(seed ^ 0x5eed);
    let mut drift = 0.0;
    let mut trials = Vec::new();
    for (block, order) in draw_order(arms.len(), blocks, seed).into_iter().enumerate() {
        for (position, arm) in order.into_iter().enumerate() {
            drift += 0.01 * draws.normal();
            let slow_run = if draws.uniform() < 0.08 { -0.2 } else { 0.0 };
            let log = 10_000f64.ln() + drift + 0.03 * draws.normal() + slow_run + effect(&arms[arm]);
            trials.push(Trial {
                index: trials.len(),
                block,
                position,
                arm: arms[arm].name.clone(),
                figures: BTreeMap::from([("requests_per_s".to_string(), log.exp())]),
                ..Trial::default()
            });
        }
    }
    trials
}

fn set(list: &str) -> CpuSet {
    CpuSet::from_list(list).unwrap()
}

/// Crowding costs 0.5 beside what the CPU itself costs.
fn crowding_shows(arm: &Arm) -> f64 {
    if arm.role == Role::MisTuning { -0.5 } else { 0.0 }
}

fn weigh_all(arms: &[Arm], trials: &[Trial]) -> Evidence {
    weigh(arms, trials, "requests_per_s", Direction::Higher, PRECISION)
}

#[test]
fn a_slow_cpu_is_named_and_the_others_are_not() {
    let arms = each_cpu_in_turn(&set("0-7"), &set("0-7"), None).unwrap();
    let trials = simulate(&arms, 12, 3, |arm| match arm.cpu {
        Some(5) => -0.27,
        _ => crowding_shows(arm),
    });
    let evidence = weigh_all(&arms, &trials);
    assert_eq!(evidence.trust, Trust::Sound);
    let slow: Vec<Option<u32>> = evidence.slow_cpus().iter().map(|c| c.cpu).collect();
    assert_eq!(slow, [Some(5)]);
    let found = &evidence.slow_cpus()[0];
    let (low, high) = found.interval.unwrap();
    assert!(low < (-0.27f64).exp() && (-0.27f64).exp() < high, "{found:?}");
}

#[test]
fn an_a_a_study_makes_a_false_claim_in_less_than_one_study_of_twenty() {
    let arms = all_alike(3, &set("0-1")).unwrap();
    let studies = 300;
    let false_claims = (0..studies)
        .filter(|seed| {
            let evidence = weigh_all(&arms, &simulate(&arms, 10, *seed, crowding_shows));
            evidence.against_baseline.iter().any(|c| matches!(c.verdict, Verdict::Better | Verdict::Worse))
        })
        .count();
    assert!(false_claims * 20 <= studies as usize, "{false_claims} of {studies}");
}

#[test]
fn the_interval_covers_the_truth_under_drift() {
    let arms = each_cpu_in_turn(&set("0-1"), &set("0-1"), None).unwrap();
    let studies = 400;
    let covered = (0..studies)
        .filter(|seed| {
            let evidence = weigh_all(&arms, &simulate(&arms, 8, *seed, crowding_shows));
            let (low, high) = evidence.against_baseline[0].interval.unwrap();
            low <= 1.0 && 1.0 <= high
        })
        .count() as f64
        / studies as f64;
    assert!(covered >= 0.92, "covers in {covered} of the studies");
}

#[test]
fn a_mis_tuning_that_does_not_show_silences_all_claims() {
    let arms = each_cpu_in_turn(&set("0-1"), &set("0-1"), None).unwrap();
    let trials = simulate(&arms, 10, 1, |arm| if arm.cpu == Some(1) { -0.5 } else { 0.0 });
    let evidence = weigh_all(&arms, &trials);
    assert!(matches!(evidence.trust, Trust::Insensitive { .. }), "{:?}", evidence.trust);
    assert!(evidence.against_baseline.iter().all(|c| c.verdict == Verdict::Insensitive));
    assert!(evidence.slow_cpus().is_empty());
}

#[test]
fn the_mis_tuning_is_seen_where_another_cpu_carries_all_interrupts() {
    // CPU 1 carries the interrupts of every placement: unpinned and crowded-on-0 are about as bad, and yet crowding shows
    // against the server on CPU 0 with the load elsewhere.
    let arms = each_cpu_in_turn(&set("0-1"), &set("0-1"), None).unwrap();
    let trials = simulate(&arms, 10, 1, |arm| match (arm.role, arm.cpu) {
        (Role::Baseline, _) => -0.6,
        (_, Some(1)) => -0.8,
        _ => crowding_shows(arm),
    });
    let evidence = weigh_all(&arms, &trials);
    assert_eq!(evidence.control.as_ref().map(|c| c.reference.as_str()), Some("cpu 0"));
    assert_eq!(evidence.trust, Trust::Sound);
    assert_eq!(evidence.slow_cpus().iter().map(|c| c.cpu).collect::<Vec<_>>(), [Some(1)]);
}

#[test]
fn a_baseline_that_differs_from_itself_silences_all_claims() {
    let arms = each_cpu_in_turn(&set("0-1"), &set("0-1"), None).unwrap();
    let trials =
        simulate(&arms, 10, 1, |arm| if arm.name == "unpinned B" { -0.5 } else { crowding_shows(arm) });
    let evidence = weigh_all(&arms, &trials);
    assert!(matches!(evidence.trust, Trust::Untrustworthy { .. }), "{:?}", evidence.trust);
    assert!(evidence.against_other_cpus.iter().all(|c| c.verdict == Verdict::Untrustworthy));
}

#[test]
fn too_few_blocks_decide_nothing() {
    let arms = each_cpu_in_turn(&set("0-1"), &set("0-1"), None).unwrap();
    let evidence =
        weigh_all(&arms, &simulate(&arms, 4, 1, |a| if a.cpu == Some(0) { -0.9 } else { crowding_shows(a) }));
    assert!(matches!(evidence.trust, Trust::TooFew { .. }));
    assert!(
        evidence.against_baseline.iter().all(|c| c.verdict == Verdict::Undecided && c.interval.is_none())
    );
}

#[test]
fn an_incomplete_block_is_left_out_and_said_to_be() {
    let arms = each_cpu_in_turn(&set("0-1"), &set("0-1"), None).unwrap();
    let mut trials = simulate(&arms, 9, 1, crowding_shows);
    trials.pop();
    let evidence = weigh_all(&arms, &trials);
    assert_eq!((evidence.blocks, evidence.incomplete_blocks), (8, 1));
    assert!(evidence.notes.iter().any(|n| n.contains("left out")), "{:?}", evidence.notes);
}

#[test]
fn no_difference_is_an_answer_when_there_are_blocks_enough_for_it() {
    let arms = all_alike(1, &set("0-1")).unwrap();
    let equal = (0..40)
        .map(|seed| weigh_all(&arms, &simulate(&arms, 60, seed, crowding_shows)).against_baseline[0].verdict)
        .filter(|verdict| *verdict == Verdict::Equal)
        .count();
    assert!(equal >= 30, "{equal} of 40 studies");
    assert_eq!(Verdict::Equal.word(0.03), "equal within 3 %");
    assert_eq!(Verdict::Equal.word(0.025), "equal within 2.5 %");
}

#[test]
fn lower_is_better_turns_the_words_not_the_ratio() {
    let arms = each_cpu_in_turn(&set("0-3"), &set("0-3"), None).unwrap();
    let trials = simulate(&arms, 12, 2, |arm| match arm.cpu {
        Some(2) => 0.4,
        _ => -crowding_shows(arm),
    });
    let evidence = weigh(&arms, &trials, "requests_per_s", Direction::Lower, PRECISION);
    let slow = evidence.slow_cpus();
    assert_eq!(slow.len(), 1);
    assert_eq!(slow[0].cpu, Some(2));
    assert!(slow[0].ratio > 1.3, "{slow:?}");
}

#[test]
fn no_trials_give_no_evidence_and_no_panic() {
    let arms = each_cpu_in_turn(&set("0-1"), &set("0-1"), None).unwrap();
    let evidence = weigh_all(&arms, &[]);
    assert_eq!(evidence.blocks, 0);
    assert!(evidence.against_baseline.is_empty());
}
