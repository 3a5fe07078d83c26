//! Cases with observed blocks, and what the report says where there are none.

use machine::{FactId, Missing};
use probe::account::{Account, CpuAccount, Stretches, TaskAccount, ThreadAccount};
use probe::{Observation, Situation};

use study::{Facts, Observed, Role, SeenObserved, Trial};

use crate::html::{check_nesting, of, section};
use crate::others;

const MS: u64 = 1_000_000;
const SERVER: u32 = 100;

/// A server of one thread, watched for a second, from which another program takes `taken_ns` of its CPU.
fn situation(program: &str, taken_ns: u64) -> Situation {
    let stretches = |total_ns| Stretches { count: 1, total_ns, ..Stretches::default() };
    let thread = ThreadAccount {
        tid: SERVER,
        pid: SERVER,
        comm: "server".into(),
        wall_ns: 1_000 * MS,
        on_cpu: stretches(500 * MS),
        run_queue: stretches(10 * MS + taken_ns),
        asleep: stretches(490 * MS - taken_ns),
        ..ThreadAccount::default()
    };
    let taker = TaskAccount {
        pid: 500,
        tid: 500,
        comm: program.into(),
        took: stretches(taken_ns),
        ..TaskAccount::default()
    };
    let cpu = CpuAccount { cpu: 0, wall_ns: 1_000 * MS, target_ns: 500 * MS, ..CpuAccount::default() };
    Situation {
        pids: vec![SERVER],
        window_s: 1.0,
        account: Some(Account {
            window_s: 1.0,
            threads: vec![thread],
            cpus: vec![cpu],
            tasks: vec![taker],
            ..Account::default()
        }),
        observation: Observation { to_ns: 1_000 * MS, ..Observation::default() },
        ..Situation::default()
    }
}

/// The case with so many observed blocks, in which a program takes a fifth of the server's CPU where it is pinned.
pub fn observed(mut facts: Facts, blocks: usize, program: &str) -> Facts {
    facts.study.recipe.budget.observed_blocks = Some(blocks);
    let of = |role| facts.study.arms.iter().filter(move |arm| arm.role == role);
    let arms: Vec<(String, bool)> = of(Role::Baseline)
        .take(1)
        .chain(of(Role::Candidate))
        .map(|arm| (arm.name.clone(), arm.role == Role::Candidate))
        .collect();
    for block in 0..blocks {
        for (position, (arm, suffers)) in arms.iter().enumerate() {
            let taken_ns = if *suffers { (200 + block as u64) * MS } else { 0 };
            let observed = Observed {
                requests: Some(if *suffers { 8_000.0 } else { 10_000.0 }),
                situation: situation(program, taken_ns),
            };
            let trial =
                Trial { index: facts.observed.len(), block, position, arm: arm.clone(), ..Trial::default() };
            facts.observed.push(SeenObserved { trial, observed: Some(observed) });
        }
    }
    facts
}

fn page(facts: &Facts) -> String {
    let html = of(facts);
    check_nesting(&html);
    section(&html, "explanations").into()
}

#[test]
fn every_observed_arm_has_a_waterfall_against_the_baseline() {
    let facts = observed(others::two_cpus(), 6, "hog");
    let page = page(&facts);
    let candidates = facts.study.arms.iter().filter(|arm| arm.role == Role::Candidate);
    let mut arms = 0;
    for arm in candidates {
        let heading = format!(
            "Where the time of a request goes: {} against unpinned A, 6 observed blocks</h3>",
            arm.name
        );
        assert!(page.contains(&heading), "{heading}");
        arms += 1;
    }
    assert_eq!((page.matches("role=\"img\"").count(), page.matches("hog +").count()), (arms, arms));
    assert_eq!(page.matches("(program:hog)").count(), arms, "one claim an arm");
}

#[test]
fn fewer_than_six_blocks_support_no_claim() {
    let page = page(&observed(others::two_cpus(), 5, "hog"));
    assert!(page.contains("Fewer than 6 observed blocks") && page.contains("too few blocks to tell"));
    assert!(!page.contains("supported") && !page.contains("class=\"whisker\""), "{page}");
}

#[test]
fn hostile_programs_and_arms_are_text() {
    let facts = observed(others::hostile(), 6, others::HOSTILE);
    let page = page(&facts);
    assert!(page.contains("role=\"img\"") && page.contains("&lt;script&gt;"), "{page}");
    assert!(!page.contains("<script") && !page.contains("onload='"), "injected");
    assert!(!page.contains(['\x1b', '\u{202e}']));
}

#[test]
fn a_case_without_observed_blocks_says_why() {
    let old = others::two_cpus();
    assert!(page(&old).contains("older than they are"), "{}", page(&old));
    let mut none = old;
    none.study.recipe.budget.observed_blocks = Some(0);
    assert!(page(&none).contains("a study that pinwise runs as root has observed blocks"), "{}", page(&none));
    let refused = Missing::new("kernel events", "not permitted: run as root");
    none.missing.push(refused.identified(FactId::KernelEvents));
    assert!(
        page(&none).contains("the server&#39;s threads went: not permitted: run as root."),
        "{}",
        page(&none)
    );
    assert!(!page(&none).contains("<svg"));
    assert!(page(&others::empty()).contains("<p>"));
}
