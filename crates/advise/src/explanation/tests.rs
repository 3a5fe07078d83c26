//! Explanations of made-up cases whose truth is known: the cause, what looks like it, and nothing.

use machine::CpuSet;
use machine::devices::DeviceKind;
use machine::processes::Peer;
use probe::account::{SleepReason, Source, Stretches};
use probe::stacks::{Profile, Sampled};
use probe::{Party, Situation, ThreadSeen, TreeSeen};
use proptest::prelude::*;
use study::{Facts, Observed, SeenObserved, Trial};

use super::claim::Support;
use super::functions::Where;
use super::term::{Part, Term};
use super::*;
use crate::case_builder::CaseBuilder;
use crate::diagnosis::Subject;
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

fn step(explanation: &Explanation, term: Term) -> &waterfall::Step {
    explanation.server.steps.iter().find(|step| step.term == term).unwrap()
}

fn rules(explanation: &Explanation) -> Vec<String> {
    explanation.claims.iter().map(|claim| claim.id.to_string()).collect()
}

#[test]
fn a_hog_beside_one_arm_is_what_makes_it_slow() {
    // As fast on the CPU, with a tenth of the window lost to a hog: fewer requests.
    let facts = case(6, |arm, block| match arm {
        "cpu 0" => {
            let taken = 200 * MS;
            let hog = server(block, |it, more| {
                waited(it, taken + more).taken_by("hog", 500 + block as u32, false, taken + more)
            });
            (hog, Some(8_000.0))
        }
        _ => (situation(), Some(10_000.0)),
    });
    let explanation = explain(&facts, "cpu 0", "cpu 1").unwrap();
    assert_eq!((explanation.basis, explanation.blocks, explanation.threads), (Basis::Request, 6, (1, 1)));
    // A second by 8,000 against a second by 10,000.
    let total = &explanation.server.total;
    assert!((total.from - 100.0).abs() < 1e-9 && (total.to - 125.0).abs() < 1e-9, "{total:?}");
    let waiting = step(&explanation, Term::Waiting);
    assert!(waiting.change.is_there() && waiting.change.difference() > 25.0, "{waiting:?}");
    assert_eq!(waiting.parts[0].part, Part::Program { name: "hog".into() });
    // One program in every trial, whatever its number.
    assert_eq!(rules(&explanation), ["busy-task/program:hog"]);
    assert_eq!(explanation.claims[0].support, Support::Supported);
    // The same from the other side: what the reference suffers.
    let back = explain(&facts, "cpu 1", "cpu 0").unwrap();
    assert!(back.claims[0].evidence.cost().unwrap().difference() < -20.0);
}

#[test]
fn what_costs_the_faster_arm_more_is_outweighed_and_comes_last() {
    let of = |requests: f64| {
        case(6, move |arm, block| match arm {
            "cpu 0" => {
                let taken = (200 + block as u64) * MS;
                (waited(situation(), taken).taken_by("hog", 500 + block as u32, false, taken), Some(requests))
            }
            _ => {
                let taken = (60 + block as u64) * MS;
                let stormed =
                    waited(situation(), taken).interrupted_by(Source::SoftirqNetRx, 2 * taken, 20_000);
                (stormed.counted("network", "received eth0", 400_000), Some(10_000.0))
            }
        })
    };
    let claims = |requests| -> Vec<(String, bool)> {
        let explanation = explain(&of(requests), "cpu 0", "cpu 1").unwrap();
        explanation.claims.iter().map(|claim| (claim.id.rule.clone(), claim.outweighed)).collect()
    };
    let expected =
        |claims: [(&str, bool); 2]| claims.map(|(rule, outweighed)| (rule.to_string(), outweighed));
    // The hog takes more than the card, and is the reason where its arm is the slower one.
    assert_eq!(claims(8_000.0), expected([("busy-task", false), ("receive-work", true)]));
    assert_eq!(claims(12_000.0), expected([("receive-work", false), ("busy-task", true)]));
    assert_eq!(
        claims(10_000.0),
        expected([("busy-task", false), ("receive-work", false)]),
        "neither is slower"
    );
}

#[test]
fn where_the_observed_blocks_do_not_show_which_arm_is_slower_the_verdict_of_the_study_does() {
    let is_outweighed = |speed: f64| {
        let mut facts = CaseBuilder::of_cpus(2).slow(0, speed).build();
        let baseline =
            facts.study.arms.iter().find(|arm| arm.role == study::Role::Baseline).unwrap().name.clone();
        for block in 0..6 {
            for (position, arm) in ["cpu 0", &baseline].into_iter().enumerate() {
                let index = facts.observed.len();
                let trial = Trial { index, block, position, arm: arm.into(), ..Trial::default() };
                let taken = (200 + block as u64) * MS;
                let situation = match arm {
                    "cpu 0" => waited(situation(), taken).taken_by("hog", 500, false, taken),
                    _ => situation(),
                };
                let observed = Some(Observed { requests: Some(10_000.0), situation });
                facts.observed.push(SeenObserved { trial, observed });
            }
        }
        let claims = |arm: &str, against: &str| explain(&facts, arm, against).unwrap().claims;
        let (there, back) = (claims("cpu 0", &baseline), claims(&baseline, "cpu 0"));
        assert_eq!((there.len(), there[0].id.rule.as_str()), (1, "busy-task"));
        assert_eq!(there[0].outweighed, back[0].outweighed, "from either side");
        there[0].outweighed
    };
    assert!(!is_outweighed(0.7), "the arm is worse, and the hog may be why");
    assert!(is_outweighed(1.4), "the arm is better in spite of the hog");
    assert!(!is_outweighed(1.0), "neither is slower");
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

#[test]
fn a_narrow_placement_is_charged_with_what_is_waited_beyond_that_of_a_wide_one() {
    let narrow = |more: u64| {
        let facts = case(6, |arm, block| match arm {
            "cpu 0" => (crowded(true, (250 + more + block as u64) * MS), Some(9_000.0)),
            _ => (crowded(false, 250 * MS), Some(9_000.0)),
        });
        let explanation = explain(&facts, "cpu 0", "cpu 1").unwrap();
        let claim = explanation.claims.into_iter().find(|claim| claim.id.rule == "narrow-affinity");
        claim.and_then(|claim| claim.evidence.cost().map(Change::difference))
    };
    // Of 250 ms that both wait nothing comes of the placement.
    assert_eq!(narrow(0), None);
    // A tenth of a second by 9,000 requests, and half of the five blocks' growth.
    let charged = narrow(100).unwrap();
    assert!((charged - (100.0 + 2.5) / 9.0).abs() < 0.01, "{charged} us");
}

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
    for (held, support) in [(true, Support::Proved), (false, Support::Refuted)] {
        let mut proved = facts.clone();
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

/// A server with one more thread, on a CPU that receives for its card: half of that CPU's time goes there (E4 of published.md, where a
/// directory gets slower with its eighth core).
fn on_the_cards_cpu(block: usize) -> Situation {
    let received = (500 + block as u64) * MS;
    server(block, |mut it, _| {
        let thread = &mut it.account.as_mut().unwrap().threads[0];
        thread.interrupted_ns += received / 2;
        thread.asleep.total_ns -= received / 2;
        waited(it, received / 4).interrupted_by(Source::SoftirqNetRx, received / 2, 20_000)
    })
    .counted("network", "received eth0", 400_000)
}

#[test]
fn one_cpu_more_that_receives_for_the_card_is_what_makes_it_slower() {
    let facts = case(6, |arm, block| match arm {
        "cpu 0" => (on_the_cards_cpu(block), Some(9_000.0)),
        _ => (situation().counted("network", "received eth0", 400_000), Some(10_000.0)),
    });
    let explanation = explain(&facts, "cpu 0", "cpu 1").unwrap();
    let claim = &explanation.claims[0];
    assert_eq!((claim.id.rule.as_str(), claim.support), ("receive-work", Support::Supported));
    assert!(claim.evidence.cost().unwrap().is_there(), "{claim:?}");
    // As many packets to the same card, received elsewhere, take nothing from it.
    let same = case(6, |_, _| (situation().counted("network", "received eth0", 400_000), Some(9_000.0)));
    assert!(rules(&explain(&same, "cpu 0", "cpu 1").unwrap()).is_empty());
}

#[test]
fn a_hog_beside_both_arms_is_no_difference() {
    let facts = case(6, |arm, block| {
        let more = if arm == "cpu 0" { block as u64 } else { 5 - block as u64 } * MS;
        (waited(situation(), 200 * MS + more).taken_by("hog", 500, false, 200 * MS + more), Some(8_000.0))
    });
    let explanation = explain(&facts, "cpu 0", "cpu 1").unwrap();
    assert!(explanation.claims.is_empty(), "{:?}", rules(&explanation));
    assert!(!step(&explanation, Term::Waiting).change.is_there());
    assert_eq!(explanation.unexplained_share, None, "nothing changed");
}

#[test]
fn the_load_on_the_servers_cpu_is_the_load_and_no_other_program() {
    let beside = |load: u32, ns: u64| {
        let mut beside = waited(situation(), ns).taken_by("wrk", load, false, ns);
        beside.connections.peers.push(Peer { pid: load, comm: "wrk".into(), connections: 4 });
        beside
    };
    let facts = case(6, |arm, block| match arm {
        "cpu 0" => (beside(900 + block as u32, (150 + block as u64) * MS), Some(9_000.0)),
        _ => (situation(), Some(10_000.0)),
    });
    let explanation = explain(&facts, "cpu 0", "cpu 1").unwrap();
    assert_eq!(explanation.claims[0].id.subject, Subject::Load);
    assert_eq!(explanation.claims[0].id.rule, "client-beside-server");
    assert_eq!(step(&explanation, Term::Waiting).parts[0].part, Part::Load);
}

#[test]
fn more_time_of_its_own_is_not_explained_by_any_rule_and_that_is_a_number() {
    let facts = case(6, |arm, block| {
        let slower = server(block, |mut it, more| {
            let thread = &mut it.account.as_mut().unwrap().threads[0];
            thread.on_cpu.total_ns += 200 * MS + more;
            thread.asleep.total_ns -= 200 * MS + more;
            it
        });
        if arm == "cpu 0" { (slower, Some(8_000.0)) } else { (situation(), Some(8_000.0)) }
    });
    let explanation = explain(&facts, "cpu 0", "cpu 1").unwrap();
    assert!(explanation.claims.is_empty());
    assert!(explanation.server.own.is_there());
    assert!(explanation.unexplained_share.unwrap() > 0.5, "{:?}", explanation.unexplained_share);
}

#[test]
fn sleep_has_its_reason_and_interrupts_their_source() {
    let facts = case(6, |arm, block| {
        let more = (block as u64 + 1) * MS;
        let mut it = situation();
        let thread = &mut it.account.as_mut().unwrap().threads[0];
        thread.asleep_for.insert(SleepReason::Futex, probe::account::Part { count: 9, total_ns: 400 * MS });
        match arm {
            "cpu 0" => {
                thread.interrupted_ns += 90 * MS + more;
                thread.asleep.total_ns -= 90 * MS + more;
                thread
                    .asleep_for
                    .insert(SleepReason::Futex, probe::account::Part { count: 9, total_ns: 310 * MS - more });
                (it.interrupted_by(Source::SoftirqNetRx, 90 * MS + more, 1_000), Some(10_000.0))
            }
            _ => (it, Some(10_000.0)),
        }
    });
    let explanation = explain(&facts, "cpu 0", "cpu 1").unwrap();
    let interrupted = step(&explanation, Term::Interrupted);
    assert_eq!(interrupted.parts[0].part, Part::Interrupt { source: Source::SoftirqNetRx });
    let asleep = step(&explanation, Term::Asleep);
    assert_eq!(asleep.parts[0].part, Part::Sleep { reason: SleepReason::Futex });
    assert_eq!(explanation.unexplained_share, Some(0.0));
}

#[test]
fn too_few_blocks_support_no_claim() {
    let facts = case(5, |arm, _| match arm {
        "cpu 0" => (waited(situation(), 200 * MS).taken_by("hog", 7, false, 200 * MS), Some(8_000.0)),
        _ => (situation(), Some(10_000.0)),
    });
    let explanation = explain(&facts, "cpu 0", "cpu 1").unwrap();
    assert!(explanation.claims.is_empty() && explanation.server.total.interval.is_none());
}

#[test]
fn without_requests_shares_of_the_window_are_told_and_at_a_fixed_rate_it_is_said() {
    let shares = case(6, |_, _| (situation(), None));
    let explanation = explain(&shares, "cpu 0", "cpu 1").unwrap();
    assert_eq!(explanation.basis, Basis::Window);
    assert!((explanation.server.total.from - 1.0).abs() < 1e-12);
    let mut paced = case(6, |_, _| (situation(), Some(500.0)));
    let load = paced.study.recipe.load.driven_mut().unwrap();
    load.set_pace(load::drive::Pace { rate_per_s: Some(500.0), ..load.pace() });
    assert_eq!(explain(&paced, "cpu 0", "cpu 1").unwrap().basis, Basis::RequestAtFixedRate);
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

#[test]
fn the_load_is_told_beside_by_its_own_counters() {
    let with_load = |on_cpu_us: u64, waited_us: u64| {
        let thread =
            ThreadSeen { on_cpu_us: Some(on_cpu_us), waited_us: Some(waited_us), ..ThreadSeen::default() };
        let mut it = situation();
        it.observation.beside.insert(Party::Load, TreeSeen { threads: vec![thread], followed_us: 1_000_000 });
        it
    };
    let facts = case(6, |arm, block| match arm {
        "cpu 0" => (with_load(300_000 + 1_000 * block as u64, 100_000), Some(10_000.0)),
        _ => (with_load(200_000, 0), Some(10_000.0)),
    });
    let load = explain(&facts, "cpu 0", "cpu 1").unwrap().load.unwrap();
    assert!((load.total.from - 100.0).abs() < 1e-9 && (load.total.to - 100.0).abs() < 1e-9);
    let own = load.steps.iter().find(|step| step.term == Term::Own).unwrap();
    assert!(own.change.difference() > 9.9 && own.change.is_there(), "{own:?}");
}

proptest! {
    /// Whatever the threads did: the terms of a request add up to threads x window / requests, and steps to the difference.
    #[test]
    fn terms_are_all_of_the_time_of_the_threads_that_worked(
        threads in prop::collection::vec(prop::array::uniform7(1u64..1_000 * MS), 1..6), requests in 1.0..1e6f64,
    ) {
        let facts = case(6, |arm, _| {
            let mut it = situation();
            let model = it.account.as_ref().unwrap().threads[0].clone();
            let stretches = |total_ns| Stretches { count: 1, total_ns, ..Stretches::default() };
            let of = |(at, parts): (usize, &[u64; 7])| probe::account::ThreadAccount {
                tid: SERVER + at as u32,
                wall_ns: parts.iter().sum(),
                on_cpu: stretches(parts[0]),
                interrupted_ns: parts[1],
                preempted: stretches(parts[2]),
                run_queue: stretches(parts[3]),
                throttled: stretches(parts[4]),
                blocked: stretches(parts[5]),
                asleep: stretches(parts[6]),
                ..model.clone()
            };
            if arm == "cpu 0" {
                it.account.as_mut().unwrap().threads = threads.iter().enumerate().map(of).collect();
            }
            (it, Some(requests))
        });
        let terms = Terms::of(&facts.observed[0].observed.as_ref().unwrap().situation).unwrap();
        let explanation = explain(&facts, "cpu 0", "cpu 1").unwrap();
        let per_request = terms.total_ns() / terms.threads as f64 / requests / 1e3;
        prop_assert!((explanation.server.total.to - per_request).abs() <= 1e-9 * per_request);
        let steps: f64 = explanation.server.steps.iter().map(|step| step.change.difference()).sum();
        prop_assert!((steps - explanation.server.total.difference()).abs() <= 1e-6 * per_request.max(explanation.server.total.from));
    }
}

#[test]
fn what_costs_every_arm_is_said_and_what_costs_one_is_not() {
    let throttled = |ns: u64| {
        let mut it = situation();
        let thread = &mut it.account.as_mut().unwrap().threads[0];
        thread.throttled.total_ns += ns;
        thread.asleep.total_ns -= ns;
        it.observation.quotas.push(probe::QuotaSeen {
            party: Party::Server,
            cgroup: "/a".into(),
            cpus: 0.5,
            periods: 10,
            throttled_periods: 8,
            throttled_us: ns / 1_000,
        });
        it
    };
    let both = case(6, |arm, block| {
        let ns = if arm == "cpu 0" { 200 } else { 250 } * MS;
        (throttled(ns + block as u64), Some(8_000.0))
    });
    let every = Explained::of(&both).every_arm;
    let ids: Vec<String> = every.causes.iter().map(|cause| cause.id.to_string()).collect();
    assert_eq!(ids, ["quota/cgroup:/a"]);
    assert_eq!(every.causes[0].share_by_arm.len(), 2);
    assert_eq!(every.limit_by_arm["cpu 0"], crate::diagnosis::Limit::Quota);
    let one =
        case(6, |arm, _| (if arm == "cpu 0" { throttled(200 * MS) } else { situation() }, Some(8_000.0)));
    assert!(Explained::of(&one).every_arm.causes.is_empty());
    assert_eq!(Explained::of(&CaseBuilder::of_cpus(2).build()).every_arm, common_causes::EveryArm::default());
}

#[test]
fn what_the_wide_arms_wait_as_well_is_no_narrow_affinity_of_every_arm() {
    let every = |is_narrow: fn(&str) -> bool| {
        let facts = case(6, |arm, _| (crowded(is_narrow(arm), 250 * MS), Some(9_000.0)));
        let causes = Explained::of(&facts).every_arm.causes;
        causes.into_iter().map(|cause| cause.id.rule).collect::<Vec<_>>()
    };
    assert_eq!(every(|_| true), ["narrow-affinity"], "no arm of the study takes it away");
    assert_eq!(every(|arm| arm == "cpu 0"), Vec::<String>::new());
    assert_eq!(every(|arm| arm == "cpu 1"), Vec::<String>::new());
}

#[test]
fn the_load_is_the_limit_of_arms_whose_deciding_trials_show_a_server_with_room() {
    let idle = |mut it: Situation| {
        let thread = &mut it.account.as_mut().unwrap().threads[0];
        (thread.on_cpu.total_ns, thread.run_queue.total_ns) = (10 * MS, 0);
        thread.asleep.total_ns = 990 * MS;
        it
    };
    let mut facts = case(6, |_, _| (idle(situation()), Some(9_000.0)));
    for seen in &mut facts.trials {
        let on_cpu_share = if seen.trial.arm == "cpu 0" { 0.97 } else { 0.44 };
        seen.trial.as_run.server_demand = Some(study::Demand { on_cpu_share, waited_share: None });
    }
    let limits = Explained::of(&facts).every_arm.limit_by_arm;
    assert_eq!(limits["cpu 0"], crate::diagnosis::Limit::Unknown, "the account missed its workers");
    assert_eq!(limits["cpu 1"], crate::diagnosis::Limit::Load);
}

#[test]
fn wake_ups_are_counted_by_request_and_place() {
    let woken = |elsewhere: u64, until_ns: u64| {
        let mut it = situation();
        let thread = &mut it.account.as_mut().unwrap().threads[0];
        thread.run_queue = Stretches { count: 1_000, total_ns: 1_000 * until_ns, ..Stretches::default() };
        thread.woken_elsewhere = elsewhere;
        it
    };
    let facts = case(6, |arm, _| match arm {
        "cpu 0" => (woken(500, 4_000), Some(2_000.0)),
        _ => (woken(0, 1_000), Some(1_000.0)),
    });
    let (arm, against) = explain(&facts, "cpu 0", "cpu 1").unwrap().wakeups.unwrap();
    assert_eq!((arm.per_request, arm.elsewhere_share, arm.until_running_us), (Some(0.5), 0.5, 4.0));
    assert_eq!(
        (against.per_request, against.elsewhere_share, against.until_running_us),
        (Some(1.0), 0.0, 1.0)
    );
}

/// The server with samples of functions in user space, 4 ms of CPU time each.
fn sampled(user: &[(&str, u64)]) -> Situation {
    let user: Vec<Sampled> =
        user.iter().map(|(name, samples)| Sampled { name: name.to_string(), samples: *samples }).collect();
    let samples = user.iter().map(|function| function.samples).sum();
    let profile = Profile { samples, user, ..Profile::default() };
    let mut it = Situation { profile: Some(profile), ..situation() };
    it.account.as_mut().unwrap().threads[0].on_cpu.total_ns = samples * 4 * MS;
    it
}

#[test]
fn a_function_that_takes_more_time_is_named() {
    let facts = case(6, |arm, block| {
        let copies = if arm == "cpu 0" { 60 } else { 20 } + block as u64;
        (sampled(&[("copies", copies), ("parses", 40)]), Some(1_000.0))
    });
    let functions = explain(&facts, "cpu 0", "cpu 1").unwrap().functions;
    let [copies] = &functions[..] else { panic!("{functions:?}") };
    assert_eq!((copies.name.as_str(), copies.place), ("copies", Where::User));
    let is = |value: f64, truth: f64| (value - truth).abs() < 1e-6;
    assert!(
        is(copies.cpu_us.to, 250.0) && is(copies.cpu_us.from, 90.0),
        "62.5 and 22.5 samples, by 1,000 requests: {copies:?}"
    );
}

#[test]
fn functions_of_which_as_much_is_seen_are_not_named_by_chance() {
    let mut state = 1u64;
    let mut draw = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / (1u64 << 31) as f64
    };
    // A count of rare events with mean 20: as many of 400 as chance hits with one in twenty.
    let mut count = move || (0..400).filter(|_| draw() < 0.05).count() as u64;
    let names: Vec<String> = (0..12).map(|at| format!("function {at}")).collect();
    for study in 0..40 {
        let counts: Vec<Vec<u64>> = (0..12).map(|_| (0..12).map(|_| count()).collect()).collect();
        let facts = case(6, |arm, block| {
            let trial = block * 2 + usize::from(arm == "cpu 0");
            let user: Vec<(&str, u64)> =
                names.iter().zip(&counts[trial]).map(|(name, samples)| (name.as_str(), *samples)).collect();
            (sampled(&user), Some(1_000.0))
        });
        let functions = explain(&facts, "cpu 0", "cpu 1").unwrap().functions;
        assert!(functions.is_empty(), "study {study}: {functions:?}");
    }
}

#[test]
fn without_samples_or_requests_no_function_is_named() {
    let much = |arm: &str| if arm == "cpu 0" { 90 } else { 20 };
    let without_requests = case(6, |arm, _| (sampled(&[("copies", much(arm))]), None));
    assert!(explain(&without_requests, "cpu 0", "cpu 1").unwrap().functions.is_empty());
    let in_one = case(6, |arm, _| match arm {
        "cpu 0" => (sampled(&[("copies", 90)]), Some(1_000.0)),
        _ => (situation(), Some(1_000.0)),
    });
    assert!(explain(&in_one, "cpu 0", "cpu 1").unwrap().functions.is_empty(), "it was not looked at there");
    let few = case(6, |arm, _| (sampled(&[("copies", much(arm) / 20)]), Some(1_000.0)));
    assert!(explain(&few, "cpu 0", "cpu 1").unwrap().functions.is_empty(), "4 and 1 may be chance");
}
