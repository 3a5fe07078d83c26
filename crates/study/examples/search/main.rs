//! How many trials a search needs until what it would recommend is within 2 % of the best there is, in 95 % of runs.
//!
//! `cargo run --release -p pinwise-study --example search -- [RUNS] [SEED] [steady] [LANDSCAPE...]`: on those of 24, 64, 128, 256
//! CPUs, beside rivals. `mixed`: on factors that are no places, instead (`alone`: without rivals). `steady` leaves out the drift of the machine. Prints the table of docs/search.md.
#![allow(clippy::unwrap_used)] // a bench stops at what it cannot read

mod mixed;
mod problem;
mod rivals;

use std::time::Instant;

use pinwise_study::search::{Ask, Searcher, Settings};
use problem::Problem;

/// 24, 64, 128 and 256 CPUs.
const LANDSCAPES: [&str; 4] = ["artemis", "cpus-64", "cpus-128", "cpus-256"];
/// Share of runs in which the recommendation has to be good.
const SURE: f64 = 0.95;
/// Trials that all but the exhaustive ways may use.
const MOST: usize = 400;
/// Trials after which ours is taken to stay as it is.
const LONG_ENOUGH: usize = 160;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, otherwise: u64| words.get(at).and_then(|w| w.parse().ok()).unwrap_or(otherwise);
    let (runs, seed) = (number(0, 200), number(1, 1));
    let steady = words.iter().any(|word| word == "steady");
    println!("runs {runs}, seed {seed}, drift {}\n", if steady { "none" } else { "as in the landscape" });
    if words.iter().any(|word| word == "mixed") {
        return mixed::measure(runs, seed, words.iter().any(|word| word == "alone"));
    }
    println!(
        "| CPUs | placements | classes | arms listed | best | pinwise | random sets | halving | TPE | exhaustive |"
    );
    println!("|---:|---:|---:|---:|---|---:|---:|---:|---:|---:|");
    for name in LANDSCAPES {
        let named = words.iter().any(|word| LANDSCAPES.contains(&word.as_str()));
        if named && !words.iter().any(|word| word == name) {
            continue;
        }
        let began = Instant::now();
        let problem = Problem::read(name, steady);
        let seeds = (0..runs).map(|run| seed * 1_000_000 + run);
        let ours: Vec<Track> = seeds.clone().map(|seed| ours(&problem, seed)).collect();
        let by_then = [40, 60, 80, 100, 120, 160].map(|at| {
            let good = share(ours.iter().map(|track| track.is_good_at(at)));
            format!("{at}: {:.0} %", 100.0 * good)
        });
        eprintln!(
            "{name}: ours is good after {}; {:.0} s",
            by_then.join(", "),
            began.elapsed().as_secs_f64()
        );
        let random: Vec<Track> =
            seeds.clone().map(|seed| rivals::random_sets(&problem, seed, MOST)).collect();
        let tpe: Vec<Track> = seeds.clone().map(|seed| rivals::tpe(&problem, seed, MOST)).collect();
        let halving = |budget: usize| share(seeds.clone().map(|s| rivals::halving(&problem, s, budget)));
        let halving = rising(&[50, 75, 100, 150, 200, 300, 400, 600, 1000, 2000, 4000], halving);
        let passes: Vec<usize> = (1..=6).collect();
        let exhaustive =
            |passes: usize| share(seeds.clone().take(50).map(|s| rivals::exhaustive(&problem, s, passes)));
        let exhaustive = rising(&passes, exhaustive).map(|passes| passes * problem.pass());
        println!(
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            problem.cpus(),
            problem.space.listed.sets,
            problem.space.listed.of,
            problem.space.len(),
            problem.best_name,
            needed(&ours),
            needed(&random),
            shown(halving, ">4000"),
            needed(&tpe),
            shown(exhaustive, &format!(">{}", 6 * problem.pass())),
        );
        eprintln!("{name}: {:.0} s", began.elapsed().as_secs_f64());
    }
}

/// After how many trials the recommendation was how good: good means within 2 % of the best.
pub struct Track(pub Vec<(usize, bool)>);

impl Track {
    fn is_good_at(&self, trials: usize) -> bool {
        self.0.iter().take_while(|(at, _)| *at <= trials).last().is_some_and(|(_, good)| *good)
    }
}

/// The fewest trials from which on the recommendation is good in enough runs.
fn needed(tracks: &[Track]) -> String {
    let good = |trials: usize| share(tracks.iter().map(|track| track.is_good_at(trials)));
    let bad = (1..=MOST).rev().find(|trials| good(*trials) < SURE);
    match bad {
        Some(MOST) => format!(">{MOST} ({:.0} %)", 100.0 * good(MOST)),
        bad => (bad.unwrap_or(0) + 1).to_string(),
    }
}

fn share(good: impl Iterator<Item = bool>) -> f64 {
    let good: Vec<bool> = good.collect();
    good.iter().filter(|good| **good).count() as f64 / good.len() as f64
}

/// The first of the budgets that is good in enough runs.
fn rising(budgets: &[usize], share: impl Fn(usize) -> f64) -> Option<usize> {
    budgets.iter().copied().find(|budget| share(*budget) >= SURE)
}

fn shown(trials: Option<usize>, otherwise: &str) -> String {
    trials.map_or(otherwise.into(), |trials| trials.to_string())
}

/// The search of this crate; controls count as trials.
fn ours(problem: &Problem, seed: u64) -> Track {
    let settings = Settings { seed, trials: MOST, confirm_blocks: 0, ..Settings::default() };
    let mut searcher = Searcher::new(problem.space.clone(), settings);
    let mut trials = problem.trials(seed);
    let mut track = Vec::new();
    while let Ask::Block { arms, controls, .. } = searcher.ask() {
        let mut results = Vec::new();
        for arm in arms {
            let point = searcher.space().point(arm).unwrap().clone();
            results.push((arm, trials.run(problem.figure(&point)).ln()));
        }
        for _ in 0..if controls { 3 } else { 0 } {
            trials.run(1.0);
        }
        searcher.tell(&results);
        let best = searcher.best().and_then(|arm| searcher.space().point(arm).cloned());
        track.push((trials.drawn, best.is_some_and(|point| problem.is_good(&point))));
        // Long enough to see that it stays good.
        if trials.drawn > LONG_ENOUGH {
            break;
        }
    }
    Track(track)
}
