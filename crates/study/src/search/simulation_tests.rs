//! The search on simulated machines of which it knows only what a map reports: it has to find what was published.

use machine::CpuSet;

use super::*;
use crate::simulated::{Landscape, MemoryPolicy, Trials, Truth};

fn truth(name: &str) -> Truth {
    let path = format!("{}/../../fixtures/landscapes/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    Landscape::parse(&path, &std::fs::read_to_string(&path).unwrap()).unwrap().truth()
}

fn policy(point: &Point) -> MemoryPolicy {
    match point.levels.first() {
        Some(1) => MemoryPolicy::Interleave,
        _ => MemoryPolicy::Local,
    }
}

fn memory() -> Vec<Factor> {
    vec![Factor { name: "memory".into(), levels: vec!["local".into(), "interleave".into()] }]
}

/// Runs a search to its end; returns it with its outcome.
fn search(truth: &Truth, space: Space, settings: Settings) -> (Searcher, Outcome) {
    let mut trials = Trials::new(truth.landscape().noise, settings.seed + 1000);
    let mut searcher = Searcher::new(space, settings);
    loop {
        let ask = searcher.ask();
        assert_eq!(ask, searcher.ask(), "asked twice, learned nothing");
        let Ask::Block { arms, .. } = ask else { break };
        let run = |arm: &usize| {
            let point = searcher.space().point(*arm).unwrap();
            let figure = truth.figure(&point.class.server, &point.class.load, policy(point));
            (*arm, trials.run(figure).ln())
        };
        let results: Vec<(usize, f64)> = arms.iter().map(run).collect();
        searcher.tell(&results);
    }
    let Ask::Done(outcome) = searcher.ask() else { unreachable!() };
    (searcher, outcome)
}

#[test]
fn corsair_has_three_bad_cpus() {
    let truth = truth("corsair");
    for seed in 0..10 {
        let symmetry = Symmetry::of(truth.machine(), None).unwrap();
        let space = Space::new(symmetry, &[Sizes::server(1)], Vec::new(), 100);
        let (searcher, outcome) = search(&truth, space, Settings { seed, trials: 60, ..Settings::default() });
        let cpu = |arm: &usize| searcher.space().point(*arm).unwrap().class.server.to_list();
        let mut bad: Vec<String> = outcome.out.iter().map(cpu).collect();
        bad.sort();
        assert_eq!(bad, ["13", "14", "5"], "seed {seed}: {outcome:?}");
        assert!(["0", "6"].contains(&cpu(&outcome.winner.unwrap()).as_str()));
    }
}

#[test]
fn artemis_is_best_on_three_nodes_without_the_cards_and_memory_spread() {
    let truth = truth("artemis");
    let without_the_card: CpuSet = "1,3,5,7,9,11-23".parse().unwrap();
    let sizes: Vec<Sizes> = (1..=24).map(Sizes::server).collect();
    let symmetry = Symmetry::of(truth.machine(), None).unwrap();
    let space = Space::new(symmetry, &sizes, memory(), 4000);
    assert!(space.is_complete());
    let mut found = 0;
    for seed in 0..5 {
        let (searcher, outcome) =
            search(&truth, space.clone(), Settings { seed, trials: 120, ..Settings::default() });
        let winner = searcher.space().point(outcome.winner.unwrap()).unwrap();
        let is_published =
            winner.class.server == without_the_card && policy(winner) == MemoryPolicy::Interleave;
        found += usize::from(is_published);
    }
    assert!(found >= 4, "{found} of 5");
}

#[test]
fn a_search_ends_when_no_trial_gives_a_figure() {
    let symmetry = Symmetry::of(truth("corsair").machine(), None).unwrap();
    let space = Space::new(symmetry, &[Sizes::server(1), Sizes::server(2)], Vec::new(), 1000);
    let mut searcher = Searcher::new(space, Settings::default());
    for _ in 0..200 {
        match searcher.ask() {
            Ask::Block { .. } => searcher.tell(&[]),
            Ask::Done(outcome) => {
                assert_eq!((outcome.winner, outcome.ran), (None, 0));
                return;
            }
        }
    }
    panic!("it did not end");
}
