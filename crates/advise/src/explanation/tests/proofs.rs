//! Claims that were proved by moving their cause, and what a plan expects of that.

use machine::devices::DeviceKind;
use study::Facts;

use super::{MS, case, crowded, rules, waited};
use crate::diagnosis::situation_builder::{SituationBuilder, situation};
use crate::explanation::claim::Support;
use crate::explanation::{explain, proof_id};

/// A hog that runs all the time beside `cpu 0`, or one that each trial starts anew.
fn hogged(lives: bool) -> Facts {
    case(6, |arm, block| match arm {
        "cpu 0" => {
            let taken = (200 + block as u64) * MS;
            let number = if lives { 500 } else { 500 + block as u32 };
            (waited(situation(), taken).taken_by("hog", number, false, taken), Some(8_000.0))
        }
        _ => (situation(), Some(10_000.0)),
    })
}

#[test]
fn a_cause_that_can_be_moved_is_proved_in_both_directions() {
    let facts = hogged(true);
    let explanation = explain(&facts, "cpu 0", "cpu 1").unwrap();
    let intervention = explanation.claims[0].intervention.clone().unwrap();
    let arms: Vec<(&str, &[machine::Setting])> =
        intervention.arms.iter().map(|arm| (arm.name.as_str(), arm.placement.settings.as_slice())).collect();
    let to_cpu_1 =
        machine::Setting { knob: "process-affinity".into(), target: "500".into(), value: "1".into() };
    let moved = std::slice::from_ref(&to_cpu_1);
    let expected: [(&str, &[machine::Setting]); 4] = [
        ("cpu 0, as found", &[]),
        ("cpu 0, cause away", moved),
        ("cpu 1, as found", &[]),
        ("cpu 1, cause here", moved),
    ];
    assert_eq!(arms, expected);
    let expects: Vec<study::Verdict> = intervention.predictions.iter().map(|p| p.expect).collect();
    assert_eq!(expects, [study::Verdict::Better, study::Verdict::Worse]);

    // Whichever arm is held against the other, the proof is of the same claim.
    let id = proof_id(&explanation.claims[0], "cpu 0", "cpu 1");
    let back = explain(&facts, "cpu 1", "cpu 0").unwrap();
    assert_eq!(proof_id(&back.claims[0], "cpu 1", "cpu 0"), id);
    let elsewhere = machine::CpuSet::single(2);
    let both = [&elsewhere, &machine::CpuSet::single(1)];
    let expected = [(true, both[0], Support::Proved), (false, both[0], Support::Refuted)];
    // What the server gains the load may lose, if the cause is moved to its only CPU.
    let onto_load = (false, both[1], Support::Supported);
    for (held, load, support) in expected.into_iter().chain([onto_load]) {
        let mut proved = facts.clone();
        let mut intervention = intervention.clone();
        intervention.arms.iter_mut().for_each(|arm| arm.placement.load_cpus = Some(load.clone()));
        proved.proofs.push(proof(&intervention, &id, held));
        let explanation = explain(&proved, "cpu 0", "cpu 1").unwrap();
        assert_eq!((explanation.claims[0].support, explanation.claims[0].proof.is_some()), (support, true));
        proved.proofs[0].finding = "another".into();
        assert_eq!(explain(&proved, "cpu 0", "cpu 1").unwrap().claims[0].support, Support::Supported);
    }
}

/// How it came out: as predicted, or nothing changed.
fn proof(intervention: &study::Intervention, id: &str, held: bool) -> study::Proof {
    let outcomes = intervention.predictions.iter().map(|prediction| {
        let verdict = if held { prediction.expect } else { study::Verdict::Equal };
        let contrast = study::Contrast {
            arm: prediction.arm.clone(),
            cpu: None,
            reference: prediction.reference.clone(),
            blocks: 8,
            ratio: 1.0,
            interval: None,
            p_adjusted: 0.01,
            verdict,
            whose: None,
        };
        study::intervention::Outcome { prediction: prediction.clone(), contrast: Some(contrast), held }
    });
    let (finding, trials) = (id.to_string(), "proofs/x".to_string());
    study::Proof { finding, intervention: intervention.clone(), trials, outcomes: outcomes.collect() }
}

#[test]
fn a_cause_that_is_moved_away_from_the_server_as_it_is_gains_what_its_proof_did() {
    let mut facts = case(6, |arm, block| match arm {
        "cpu 0" => {
            let taken = (200 + block as u64) * MS;
            let mut seen = situation();
            let thread = &mut seen.account.as_mut().unwrap().threads[0];
            (thread.interrupted_ns, thread.asleep.total_ns) = (taken, thread.asleep.total_ns - taken);
            (seen.line(36, "eth0", DeviceKind::Net, taken), Some(8_000.0))
        }
        _ => (situation(), Some(10_000.0)),
    });
    for arm in &mut facts.study.arms {
        arm.role = if arm.name == "cpu 0" { study::Role::Baseline } else { study::Role::Candidate };
    }
    let predicted = |facts: &Facts| crate::plan(facts, &[], false).plan.predicted;
    assert_eq!(predicted(&facts), None, "it was not proved");
    let explanation = explain(&facts, "cpu 0", "cpu 1").unwrap();
    let intervention = explanation.claims[0].intervention.clone().unwrap();
    let id = proof_id(&explanation.claims[0], "cpu 0", "cpu 1");
    let mut proof = proof(&intervention, &id, true);
    for contrast in proof.outcomes.iter_mut().filter_map(|outcome| outcome.contrast.as_mut()) {
        contrast.ratio = if contrast.verdict == study::Verdict::Better { 1.25 } else { 0.8 };
    }
    facts.proofs.push(proof);
    assert_eq!(predicted(&facts).map(|predicted| predicted.ratio), Some(1.25));
    // Proved of a placement that the server does not have.
    for arm in &mut facts.study.arms {
        arm.role = if arm.name == "cpu 1" { study::Role::Baseline } else { study::Role::Candidate };
    }
    assert_eq!(predicted(&facts), None);
}

#[test]
fn a_process_that_ends_with_its_trial_is_not_moved_in_another() {
    let explanation = explain(&hogged(false), "cpu 0", "cpu 1").unwrap();
    assert_eq!(rules(&explanation), ["busy-task/program:hog"]);
    assert_eq!(explanation.claims[0].intervention, None);
}

#[test]
fn the_servers_own_affinity_is_no_cause_that_can_be_moved() {
    let facts = case(6, |arm, block| match arm {
        "cpu 0" => (crowded(true, (350 + block as u64) * MS), Some(9_000.0)),
        _ => (crowded(false, 250 * MS), Some(9_000.0)),
    });
    let explanation = explain(&facts, "cpu 0", "cpu 1").unwrap();
    let narrow = explanation.claims.iter().find(|claim| claim.id.rule == "narrow-affinity").unwrap();
    let setting = narrow.example.as_ref().and_then(|cause| cause.remedies[0].setting.as_ref()).unwrap();
    assert_eq!(setting.knob, "process-affinity");
    assert_eq!(narrow.intervention, None, "the server would be moved to the CPU of the other arm");
}
