//! What is claimed of two arms: the cause, what looks like it, and nothing.

use machine::devices::DeviceKind;
use machine::processes::Peer;
use probe::Situation;
use probe::account::Source;
use study::{Observed, SeenObserved, Trial};

use super::{MS, case, crowded, rules, server, step, waited};
use crate::case_builder::CaseBuilder;
use crate::diagnosis::Subject;
use crate::diagnosis::situation_builder::{SituationBuilder, situation};
use crate::explanation::claim::Support;
use crate::explanation::term::{Part, Term};
use crate::explanation::waterfall::Change;
use crate::explanation::{Basis, explain};

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

/// A server with one more thread, on a CPU that receives for its card: half of that CPU's time goes there (E4 of published.md, where a
/// directory gets slower with its eighth core).
fn on_the_cards_cpu(block: usize) -> Situation {
    let received = (500 + block as u64) * MS;
    let mut seen = server(block, |mut it, _| {
        let thread = &mut it.account.as_mut().unwrap().threads[0];
        thread.interrupted_ns += received / 2;
        thread.asleep.total_ns -= received / 2;
        waited(it, received / 4).interrupted_by(Source::SoftirqNetRx, received / 2, 20_000)
    })
    .counted("network", "received eth0", 400_000)
    .line(40, "eth0", DeviceKind::Net, MS);
    seen.account.as_mut().unwrap().lines[0].seen.on_target.count = 20_000;
    seen
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
fn too_few_blocks_support_no_claim() {
    let facts = case(5, |arm, _| match arm {
        "cpu 0" => (waited(situation(), 200 * MS).taken_by("hog", 7, false, 200 * MS), Some(8_000.0)),
        _ => (situation(), Some(10_000.0)),
    });
    let explanation = explain(&facts, "cpu 0", "cpu 1").unwrap();
    assert!(explanation.claims.is_empty() && explanation.server.total.interval.is_none());
}
