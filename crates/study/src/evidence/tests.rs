//! The evidence on simulated trials, where the truth is known.

use std::collections::BTreeMap;

use machine::CpuSet;

use super::*;
use crate::arm::tests::alike;
use crate::arm::{Arm, Role, all_alike, each_cpu_in_turn, of_recipe};
use crate::design::draw_order;
use crate::recipe::{Direction, Precision, Recipe};
use crate::statistics::draws::Draws;
use crate::trial::{AsRun, Demand, Misplaced, Trial};

const PRECISION: Precision = Precision { margin: 0.03, alpha: 0.05 };

/// Trials of a machine with 3 % noise, 8 % slow runs and 1 % a run random-walk drift (the figures of DESIGN.md),
/// on which `effect(arm)` is the true log effect.
pub(super) fn simulate(arms: &[Arm], blocks: usize, seed: u64, effect: impl Fn(&Arm) -> f64) -> Vec<Trial> {
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

pub(super) fn set(list: &str) -> CpuSet {
    CpuSet::from_list(list).unwrap()
}

/// The dose costs what it takes, beside what the CPU itself costs.
pub(super) fn dose_shows(arm: &Arm) -> f64 {
    let taken = arm.placement.dose.as_ref().map_or(0.0, |dose| dose.share());
    (1.0 - taken).ln()
}

fn question(better: Direction) -> Question<'static> {
    let is_capacity = better == Direction::Higher;
    Question { metric: "requests_per_s", better, precision: PRECISION, is_capacity }
}

pub(super) fn weigh_all(arms: &[Arm], trials: &[Trial]) -> Evidence {
    weigh(arms, trials, &question(Direction::Higher))
}

/// The same with what each trial says of its run.
fn seen(trials: Vec<Trial>, of: impl Fn(&Trial) -> AsRun) -> Vec<Trial> {
    trials.into_iter().map(|trial| Trial { as_run: of(&trial), ..trial }).collect()
}

fn outcome(evidence: &Evidence) -> Option<ControlOutcome> {
    evidence.control.as_ref().map(|control| control.outcome)
}

#[test]
fn a_slow_cpu_is_named_and_the_others_are_not() {
    let arms = each_cpu_in_turn(&set("0-7"), &set("0-7"), None).unwrap();
    let trials = simulate(&arms, 12, 3, |arm| match arm.cpu {
        Some(5) => -0.27,
        _ => dose_shows(arm),
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
            let evidence = weigh_all(&arms, &simulate(&arms, 10, *seed, dose_shows));
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
            let evidence = weigh_all(&arms, &simulate(&arms, 8, *seed, dose_shows));
            let (low, high) = evidence.against_baseline[0].interval.unwrap();
            low <= 1.0 && 1.0 <= high
        })
        .count() as f64
        / studies as f64;
    assert!(covered >= 0.92, "covers in {covered} of the studies");
}

#[test]
fn a_dose_that_does_not_show_withholds_equal_and_nothing_else() {
    let arms = each_cpu_in_turn(&set("0-1"), &set("0-1"), None).unwrap();
    let trials = simulate(&arms, 60, 1, |arm| if arm.cpu == Some(1) { -0.5 } else { 0.0 });
    let evidence = weigh_all(&arms, &trials);
    assert_eq!(outcome(&evidence), Some(ControlOutcome::Unseen(Unseen::Unexplained)));
    assert_eq!(evidence.slow_cpus().iter().map(|c| c.cpu).collect::<Vec<_>>(), [Some(1)]);
    let verdict = |arm: &str| evidence.against_baseline.iter().find(|c| c.arm == arm).unwrap().verdict;
    assert_eq!((verdict("cpu 1"), verdict("cpu 0")), (Verdict::Worse, Verdict::CannotTell));
}

#[test]
fn a_dose_that_helps_is_no_control_and_withholds_every_claim() {
    let arms = each_cpu_in_turn(&set("0-1"), &set("0-1"), None).unwrap();
    let trials = simulate(&arms, 14, 1, |arm| match (arm.role, arm.cpu) {
        (Role::Dose, _) => 0.3,
        (_, Some(1)) => -0.5,
        _ => 0.0,
    });
    let evidence = weigh_all(&arms, &trials);
    assert_eq!(outcome(&evidence), Some(ControlOutcome::Helped));
    assert!(evidence.against_baseline.iter().all(|c| c.verdict != Verdict::Worse), "{evidence:?}");
    let to_baseline = evidence.control_against_baseline.unwrap();
    assert_eq!(to_baseline.verdict, Verdict::Better, "what the headline has to name");
}

#[test]
fn a_dose_is_held_against_what_was_really_taken() {
    let arms = each_cpu_in_turn(&set("0-1"), &set("0-1"), None).unwrap();
    let of = |taken: Option<f64>, lost: f64| {
        let trials =
            simulate(&arms, 20, 4, |arm| if arm.role == Role::Dose { (1.0 - lost).ln() } else { 0.0 });
        let trials = seen(trials, |_| AsRun { dose_taken_share: taken, ..AsRun::default() });
        outcome(&weigh_all(&arms, &trials)).unwrap()
    };
    assert_eq!(of(Some(0.2), 0.2), ControlOutcome::Seen);
    assert!(matches!(of(Some(0.2), 0.6), ControlOutcome::Unseen(Unseen::OutOfProportion { .. })));
    assert_eq!(
        of(None, 0.6),
        ControlOutcome::Seen,
        "what was taken is not known: the direction alone counts"
    );
    assert_eq!(of(Some(0.02), 0.0), ControlOutcome::Unseen(Unseen::NotTaken { taken_share: 0.02 }));
}

#[test]
fn a_control_that_is_not_seen_says_why_from_the_trials_of_its_reference() {
    let arms = each_cpu_in_turn(&set("0-1"), &set("0-1"), None).unwrap();
    let of = |server: f64, client: f64| {
        let headroom = load::headroom(Some(client), Some(server), false);
        let trials = simulate(&arms, 14, 1, |_| 0.0).into_iter();
        let trials: Vec<Trial> = trials.map(|t| Trial { headroom: Some(headroom.clone()), ..t }).collect();
        outcome(&weigh_all(&arms, &trials)).unwrap()
    };
    let limits = Unseen::LoadLimits { client_busy: 0.99, server_busy: 0.61 };
    assert_eq!(of(0.61, 0.99), ControlOutcome::Unseen(limits));
    assert_eq!(of(0.61, 0.5), ControlOutcome::Unseen(Unseen::Slack { server_wanted: 0.61 }));
    assert_eq!(of(0.97, 0.5), ControlOutcome::Unseen(Unseen::Unexplained));
}

#[test]
fn an_arm_whose_server_ran_elsewhere_makes_no_claim_and_disturbs_no_other() {
    let arms = each_cpu_in_turn(&set("0-1"), &set("0-1"), None).unwrap();
    let trials = simulate(&arms, 14, 1, |arm| if arm.cpu == Some(1) { 0.8 } else { dose_shows(arm) });
    let pinned_to_0 = |trial: &Trial| AsRun {
        server_cpus_used: BTreeMap::from([(0, if trial.arm.ends_with('1') { 1.0 } else { 0.5 })]),
        ..AsRun::default()
    };
    let evidence = weigh_all(&arms, &seen(trials.clone(), pinned_to_0));
    let verdict = |arm: &str| evidence.against_baseline.iter().find(|c| c.arm == arm).unwrap().verdict;
    assert_eq!(verdict("cpu 1"), Verdict::NotAsAsked);
    assert!(matches!(evidence.standings["cpu 1"], ArmStanding::Misplaced { trials: 14, of: 14, .. }));
    assert!(
        evidence.slow_cpus().is_empty(),
        "what is compared with it would be compared with another placement"
    );

    let misplaced = Misplaced::Narrower { given: set("0-1"), allowed: set("0") };
    let unpinned = |trial: &Trial| AsRun {
        misplaced: trial.arm.starts_with("unpinned").then(|| misplaced.clone()),
        ..AsRun::default()
    };
    let evidence = weigh_all(&arms, &seen(trials, unpinned));
    let all = evidence.against_baseline.iter().map(|contrast| contrast.verdict);
    assert!(all.clone().all(|verdict| verdict == Verdict::NotAsAsked), "{:?}", all.collect::<Vec<_>>());
    assert!(!evidence.against_other_cpus.is_empty(), "CPUs are compared with each other all the same");
}

#[test]
fn a_few_trials_that_ran_elsewhere_are_left_out_and_the_arm_stays() {
    let arms = each_cpu_in_turn(&set("0-1"), &set("0-1"), None).unwrap();
    let trials = simulate(&arms, 14, 1, dose_shows);
    let once = |trial: &Trial| AsRun {
        server_cpus_used: BTreeMap::from([(u32::from(trial.arm == "cpu 0" && trial.block == 3), 1.0)]),
        ..AsRun::default()
    };
    let evidence = weigh_all(
        &arms,
        &seen(trials, |trial| if trial.arm == "cpu 0" { once(trial) } else { AsRun::default() }),
    );
    assert_eq!((evidence.blocks, evidence.incomplete_blocks), (13, 1));
    assert!(evidence.standings.is_empty());
}

#[test]
fn a_starved_arm_is_a_finding_and_the_others_are_compared_without_it() {
    let arms = each_cpu_in_turn(&set("0-1"), &set("0-1"), None).unwrap();
    let trials = simulate(&arms, 14, 1, dose_shows).into_iter().map(|trial| match trial.arm.as_str() {
        "cpu 1" => Trial { starved: true, figures: BTreeMap::new(), ..trial },
        _ => trial,
    });
    let evidence = weigh_all(&arms, &trials.collect::<Vec<_>>());
    assert_eq!(evidence.blocks, 14);
    assert_eq!(evidence.standings["cpu 1"], ArmStanding::Starved { trials: 14, of: 14 });
    assert!(evidence.against_baseline.iter().all(|contrast| contrast.arm != "cpu 1"));
    assert_eq!(outcome(&evidence), Some(ControlOutcome::Seen));
}

/// Of a closed loop on two CPUs: who is slow where, and how much of a window each side wants a CPU then.
fn two_sides(server_on_1: f64, load_on_1: f64) -> Evidence {
    let arms = each_cpu_in_turn(&set("0-1"), &set("0-1"), None).unwrap();
    let on_1 = |cpus: &Option<CpuSet>| cpus.as_ref().is_some_and(|cpus| *cpus == set("1"));
    // Time per request: 60 of the server, 30 of the load and 10 of neither; longer by its factor for who is on CPU 1.
    let times = |arm: &Arm| {
        let server = 60.0 * if on_1(&arm.placement.server_cpus) { server_on_1 } else { 1.0 };
        let load = 30.0 * if on_1(&arm.placement.load_cpus) { load_on_1 } else { 1.0 };
        (server, load, server + load + 10.0)
    };
    let trials = simulate(&arms, 14, 1, |arm| dose_shows(arm) - (times(arm).2 / 100.0).ln());
    let by_name: BTreeMap<String, Arm> = arms.iter().map(|arm| (arm.name.clone(), arm.clone())).collect();
    let demand = |share: f64| Some(Demand { on_cpu_share: share, waited_share: Some(0.0) });
    let trials = seen(trials, |trial| {
        let (server, load, all) = times(&by_name[&trial.arm]);
        AsRun { server_demand: demand(server / all), load_demand: demand(load / all), ..AsRun::default() }
    });
    weigh_all(&arms, &trials)
}

#[test]
fn a_cpu_that_is_slow_for_the_server_is_named_though_the_server_has_slack() {
    let evidence = two_sides(2.0, 1.0);
    assert_eq!(evidence.slow_cpus().iter().map(|c| c.cpu).collect::<Vec<_>>(), [Some(1)]);
    assert_eq!(evidence.slow_cpus()[0].whose, Some(Whose::Server));
}

#[test]
fn a_load_that_starves_on_one_cpu_accuses_no_other() {
    let evidence = two_sides(1.0, 4.0);
    assert!(evidence.slow_cpus().is_empty(), "CPU 0 is healthy: {:?}", evidence.against_other_cpus);
    let named = evidence.not_the_servers();
    assert_eq!(named.iter().map(|c| (c.cpu, c.whose)).collect::<Vec<_>>(), [(Some(0), Some(Whose::Load))]);
}

/// Receive work of both on CPU 0 (measured on two CPUs, 2026-11-25): whoever sends from CPU 1 pays for handing packets over, and a server on
/// CPU 0 does the work of both. The figure follows the load's CPU, and yet the server wants more there.
#[test]
fn where_both_lose_the_load_alone_is_not_blamed() {
    let arms = each_cpu_in_turn(&set("0-1"), &set("0-1"), None).unwrap();
    // Requests a second, and how much of the window server and load want a CPU.
    let measured = |arm: &str| match arm {
        "cpu 0" | "dose on cpu 0" => (9_378.0, 0.99, 0.35),
        "cpu 1" | "dose on cpu 1" => (13_732.0, 0.99, 0.26),
        "both on cpu 0" => (13_878.0, 0.82, 0.17),
        "both on cpu 1" => (9_611.0, 0.64, 0.36),
        _ => (12_204.0, 0.99, 0.27),
    };
    let trials = simulate(&arms, 14, 1, |arm| dose_shows(arm) + (measured(&arm.name).0 / 10_000f64).ln());
    let demand = |share: f64| Some(Demand { on_cpu_share: share, waited_share: Some(0.0) });
    let trials = seen(trials, |trial| {
        let (_, server, load) = measured(&trial.arm);
        AsRun { server_demand: demand(server), load_demand: demand(load), ..AsRun::default() }
    });
    let evidence = weigh_all(&arms, &trials);
    assert!(evidence.slow_cpus().is_empty(), "{:?}", evidence.against_other_cpus);
    let explained: Vec<_> = evidence.cpus_to_explain().iter().map(|c| (c.cpu, c.whose)).collect();
    assert_eq!(explained, [(Some(0), Some(Whose::Inseparable))]);
}

#[test]
fn the_mis_tuning_is_seen_where_another_cpu_carries_all_interrupts() {
    // CPU 1 carries the interrupts of every placement: unpinned and crowded-on-0 are about as bad, and yet crowding shows
    // against the server on CPU 0 with the load elsewhere.
    let text = "[mis_tuning]\nname = \"crowded\"\nserver = \"0\"\nload = \"0\"";
    let arms = of_recipe(&Recipe::from_toml(text, "x").unwrap(), &alike(2)).unwrap();
    let trials = simulate(&arms, 14, 1, |arm| match (arm.role, arm.cpu) {
        (Role::Baseline, _) => -0.6,
        (Role::MisTuning, _) => -0.5,
        (_, Some(1)) => -0.8,
        _ => 0.0,
    });
    let evidence = weigh_all(&arms, &trials);
    assert_eq!(evidence.control.as_ref().map(|c| c.contrast.reference.as_str()), Some("cpu 0"));
    assert_eq!((evidence.trust, outcome(&evidence)), (Trust::Sound, Some(ControlOutcome::Seen)));
    assert_eq!(evidence.slow_cpus().iter().map(|c| c.cpu).collect::<Vec<_>>(), [Some(1)]);
}

#[test]
fn a_baseline_that_differs_from_itself_silences_all_claims() {
    let arms = each_cpu_in_turn(&set("0-1"), &set("0-1"), None).unwrap();
    let trials = simulate(&arms, 10, 1, |arm| if arm.name == "unpinned B" { -0.5 } else { dose_shows(arm) });
    let evidence = weigh_all(&arms, &trials);
    assert!(matches!(evidence.trust, Trust::Untrustworthy { .. }), "{:?}", evidence.trust);
    assert!(evidence.against_other_cpus.iter().all(|c| c.verdict == Verdict::Untrustworthy));
}

#[test]
fn too_few_blocks_decide_nothing() {
    let arms = each_cpu_in_turn(&set("0-1"), &set("0-1"), None).unwrap();
    let evidence =
        weigh_all(&arms, &simulate(&arms, 4, 1, |a| if a.cpu == Some(0) { -0.9 } else { dose_shows(a) }));
    assert!(matches!(evidence.trust, Trust::TooFew { .. }));
    assert!(
        evidence.against_baseline.iter().all(|c| c.verdict == Verdict::Undecided && c.interval.is_none())
    );
}

#[test]
fn an_incomplete_block_is_left_out_and_said_to_be() {
    let arms = each_cpu_in_turn(&set("0-1"), &set("0-1"), None).unwrap();
    let mut trials = simulate(&arms, 9, 1, dose_shows);
    trials.pop();
    let evidence = weigh_all(&arms, &trials);
    assert_eq!((evidence.blocks, evidence.incomplete_blocks), (8, 1));
    assert!(evidence.notes.iter().any(|n| n.contains("left out")), "{:?}", evidence.notes);
}

#[test]
fn no_difference_is_an_answer_when_there_are_blocks_enough_for_it() {
    let arms = all_alike(1, &set("0-1")).unwrap();
    let equal = (0..40)
        .map(|seed| weigh_all(&arms, &simulate(&arms, 60, seed, dose_shows)).against_baseline[0].verdict)
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
        _ => -dose_shows(arm),
    });
    let evidence = weigh(&arms, &trials, &question(Direction::Lower));
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

/// A case may come from anybody: the time to fit its arms grows by the cube of their number.
#[test]
fn effects_are_computed_of_as_many_arms_as_a_study_tries_and_no_more() {
    let tried = |sizes: [usize; 2]| {
        let mut arms = all_alike(sizes[0] * sizes[1], &set("0-3")).unwrap();
        let candidates = arms.iter_mut().filter(|arm| arm.role == Role::Candidate);
        for (at, arm) in candidates.enumerate() {
            let level = |at: usize| format!("{at:03}");
            arm.levels = [("a".into(), level(at / sizes[1])), ("b".into(), level(at % sizes[1]))]
                .into_iter()
                .collect();
        }
        weigh_all(&arms, &simulate(&arms, 6, 3, |_| 0.0)).effects
    };
    assert_eq!(tried([20, 3]).len(), 19 + 2 + 19 * 2, "main effects and interactions");
    assert!(tried([134, 3]).is_empty(), "402 combinations");
}
