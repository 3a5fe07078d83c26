//! The search where no CPUs are chosen: levels of several factors, thousands of combinations, beside rivals.
//!
//! Each run has a server of its own, drawn from the seed. Rivals run a reference before every eight trials (see `rivals`).

use std::collections::{HashMap, HashSet};

use pinwise_study::search::{Ask, Factor, Searcher, Settings, Space};
use pinwise_study::simulated::{Mixed, Noise, Trials};
use pinwise_study::statistics::draws::Draws;
use pinwise_study::statistics::linear::eliminate;

use crate::rivals::Measured;
use crate::{Track, needed, share};

/// Combinations that are listed at most, as in a study.
const LISTED: usize = 6000;
/// Trials that each way may use.
const MOST: usize = 400;
/// How near to the best is good.
const NEAR: f64 = 0.02;

/// Numbers of levels: 4,320, 64,800 and 11,664 combinations.
const SPACES: [(&str, &[usize]); 3] = [
    ("6 factors", &[3, 4, 5, 6, 3, 4]),
    ("8 factors", &[3, 4, 5, 6, 3, 4, 5, 3]),
    ("10 factors of 2 and 3", &[2, 3, 2, 3, 2, 3, 2, 3, 3, 3]),
];

/// Prints the table; of ours `alone`, or beside rivals.
pub fn measure(runs: u64, seed: u64, alone: bool) {
    println!(
        "| space | combinations | pinwise | random | TPE | fraction, main effects | fraction, and pairs |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|");
    for (name, sizes) in SPACES {
        let seeds: Vec<u64> = (0..runs).map(|run| seed * 1_000_000 + run).collect();
        let way = |of: &dyn Fn(&Mixed, u64) -> Track| -> Vec<Track> {
            seeds.iter().map(|seed| of(&Mixed::drawn(sizes, *seed), *seed)).collect()
        };
        let mut tracks = vec![way(&ours)];
        if !alone {
            tracks.extend([way(&random), way(&tpe)]);
            tracks.extend([false, true].map(|pairs| way(&|truth, seed| fraction(truth, seed, pairs))));
        }
        for (way, tracks) in ["pinwise", "random", "TPE", "main", "pairs"].iter().zip(&tracks) {
            let by_then = [40, 60, 80, 120, 160, 240, 320, 400].map(|at| {
                format!("{at}: {:.0} %", 100.0 * share(tracks.iter().map(|track| track.is_good_at(at))))
            });
            eprintln!("{name}: {way} is good after {}", by_then.join(", "));
        }
        let cells: Vec<String> = tracks.iter().map(|tracks| needed(tracks)).collect();
        println!("| {name} | {} | {} |", sizes.iter().product::<usize>(), cells.join(" | "));
    }
}

fn trials(seed: u64) -> Trials {
    Trials::new(Noise::default(), seed)
}

/// The search of this crate; controls count as trials.
fn ours(truth: &Mixed, seed: u64) -> Track {
    let factors = truth.sizes().iter().enumerate().map(|(at, size)| Factor {
        name: format!("factor {at}"),
        levels: (0..*size).map(|level| level.to_string()).collect(),
    });
    let space = Space::of_levels(factors.collect(), LISTED);
    let settings = Settings { seed, trials: MOST, confirm_blocks: 0, ..Settings::default() };
    let (mut searcher, mut trials, mut track) = (Searcher::new(space, settings), trials(seed), Vec::new());
    while let Ask::Block { arms, controls, .. } = searcher.ask() {
        let levels = |arm: usize| searcher.space().point(arm).unwrap().levels.clone();
        let results: Vec<(usize, f64)> =
            arms.iter().map(|arm| (*arm, trials.run(truth.log_figure(&levels(*arm)).exp()).ln())).collect();
        for _ in 0..if controls { 3 } else { 0 } {
            trials.run(1.0);
        }
        searcher.tell(&results);
        let good = searcher
            .best()
            .is_some_and(|arm| truth.is_within(NEAR, &searcher.space().point(arm).unwrap().levels));
        track.push((trials.drawn, good));
        if trials.drawn > MOST {
            break;
        }
    }
    Track(track)
}

fn drawn(truth: &Mixed, draws: &mut Draws) -> Vec<usize> {
    truth.sizes().iter().map(|size| draws.below(*size)).collect()
}

/// Combinations at random, the best single trial recommended.
fn random(truth: &Mixed, seed: u64) -> Track {
    let (mut draws, mut measured) = (Draws::new(seed), Measured::new(trials(seed)));
    let (mut best, mut good, mut track) = (f64::NEG_INFINITY, false, Vec::new());
    while measured.trials.drawn < MOST {
        let levels = drawn(truth, &mut draws);
        let gain = measured.run(truth.log_figure(&levels).exp());
        if gain > best {
            (best, good) = (gain, truth.is_within(NEAR, &levels));
        }
        track.push((measured.trials.drawn, good));
    }
    Track(track)
}

/// A tree-structured Parzen estimator over categories (Bergstra et al. 2011): of each factor the levels of the good tenth (at
/// most 25) and those of the rest are counted, with a flat prior; of 24 draws from the first the one of the highest ratio is
/// tried. The combination with the best mean is recommended.
fn tpe(truth: &Mixed, seed: u64) -> Track {
    let (mut draws, mut measured) = (Draws::new(seed), Measured::new(trials(seed)));
    let mut seen: Vec<(Vec<usize>, f64)> = Vec::new();
    let mut track = Vec::new();
    while measured.trials.drawn < MOST {
        let levels =
            if seen.len() < 20 { drawn(truth, &mut draws) } else { proposed(truth, &mut seen, &mut draws) };
        let gain = measured.run(truth.log_figure(&levels).exp());
        seen.push((levels, gain));
        let mut sums: HashMap<&[usize], (f64, f64)> = HashMap::new();
        for (levels, gain) in &seen {
            let sum = sums.entry(levels).or_default();
            *sum = (sum.0 + gain, sum.1 + 1.0);
        }
        let mean = |of: &(f64, f64)| of.0 / of.1;
        let best = sums.iter().max_by(|a, b| mean(a.1).total_cmp(&mean(b.1)).then(b.0.cmp(a.0)));
        track.push((measured.trials.drawn, best.is_some_and(|(levels, _)| truth.is_within(NEAR, levels))));
    }
    Track(track)
}

fn proposed(truth: &Mixed, seen: &mut [(Vec<usize>, f64)], draws: &mut Draws) -> Vec<usize> {
    seen.sort_by(|a, b| b.1.total_cmp(&a.1));
    let (good, rest) = seen.split_at(seen.len().div_ceil(10).clamp(2, 25));
    let weight = |of: &[(Vec<usize>, f64)], at: usize, level: usize| {
        let hits = of.iter().filter(|(levels, _)| levels[at] == level).count() as f64;
        (hits + 1.0 / truth.sizes()[at] as f64) / (of.len() as f64 + 1.0)
    };
    let draw = |draws: &mut Draws| -> Vec<usize> {
        (0..truth.sizes().len())
            .map(|at| {
                let mut left = draws.uniform();
                let levels = 0..truth.sizes()[at];
                levels
                    .clone()
                    .find(|level| {
                        left -= weight(good, at, *level);
                        left < 0.0
                    })
                    .unwrap_or(levels.end - 1)
            })
            .collect()
    };
    let score = |levels: &Vec<usize>| -> f64 {
        levels
            .iter()
            .enumerate()
            .map(|(at, level)| (weight(good, at, *level) / weight(rest, at, *level)).ln())
            .sum()
    };
    let candidates: Vec<Vec<usize>> = (0..24).map(|_| draw(draws)).collect();
    candidates.into_iter().max_by(|a, b| score(a).total_cmp(&score(b))).unwrap()
}

/// A fraction of the full factorial with all levels of each factor as often, and a linear model of it: main effects, with or
/// without interactions of two, shrunk as what is known of noise and effects would have it. The best combination by the model is
/// recommended, looked at after every 20 trials.
fn fraction(truth: &Mixed, seed: u64, pairs: bool) -> Track {
    let (mut draws, mut measured) = (Draws::new(seed), Measured::new(trials(seed)));
    let (mut rows, mut gains, mut track) = (Vec::<Vec<usize>>::new(), Vec::new(), Vec::new());
    let mut columns: Vec<Vec<usize>> = vec![Vec::new(); truth.sizes().len()];
    while measured.trials.drawn < MOST {
        let levels: Vec<usize> = columns
            .iter_mut()
            .zip(truth.sizes())
            .map(|(column, size)| {
                if column.is_empty() {
                    *column = draws.some_of(*size, *size);
                }
                column.pop().unwrap()
            })
            .collect();
        gains.push(measured.run(truth.log_figure(&levels).exp()));
        rows.push(levels);
        if rows.len() % 20 == 0 {
            let best = best_by_model(truth, &rows, &gains, pairs);
            track.push((measured.trials.drawn, truth.is_within(NEAR, &best)));
        }
    }
    Track(track)
}

/// The best combination by a ridge regression, in its dual form: two rows have in common their levels, and pairs of them.
fn best_by_model(truth: &Mixed, rows: &[Vec<usize>], gains: &[f64], pairs: bool) -> Vec<usize> {
    const NOISE: f64 = 0.0045;
    let common = |a: &[usize], b: &[usize]| {
        let same = a.iter().zip(b).filter(|(a, b)| a == b).count() as f64;
        0.1 + 0.006 * same + if pairs { 0.0003 * same * (same - 1.0) / 2.0 } else { 0.0 }
    };
    let mean = gains.iter().sum::<f64>() / gains.len() as f64;
    let mut matrix: Vec<Vec<f64>> = rows
        .iter()
        .enumerate()
        .map(|(i, a)| {
            rows.iter().enumerate().map(|(j, b)| common(a, b) + if i == j { NOISE } else { 0.0 }).collect()
        })
        .collect();
    let mut weights: Vec<f64> = gains.iter().map(|gain| gain - mean).collect();
    eliminate(&mut matrix, &mut weights);
    let figure =
        |levels: &[usize]| rows.iter().zip(&weights).map(|(row, w)| w * common(levels, row)).sum::<f64>();
    // Climbs from the best rows, one or two factors at a time: the model has no term of three.
    let mut starts: Vec<&Vec<usize>> = rows.iter().collect();
    starts.sort_by(|a, b| figure(b).total_cmp(&figure(a)));
    let mut known: HashSet<Vec<usize>> = HashSet::new();
    let climbed = starts.into_iter().take(5).map(|start| climbed(truth.sizes(), start, &figure, &mut known));
    climbed.max_by(|a, b| figure(a).total_cmp(&figure(b))).unwrap()
}

fn climbed(
    sizes: &[usize],
    start: &[usize],
    figure: &dyn Fn(&[usize]) -> f64,
    known: &mut HashSet<Vec<usize>>,
) -> Vec<usize> {
    let mut at = start.to_vec();
    while known.insert(at.clone()) {
        let mut best = (figure(&at), at.clone());
        for factor in 0..sizes.len() {
            for level in 0..sizes[factor] {
                let mut other = at.clone();
                other[factor] = level;
                let reached = figure(&other);
                if reached > best.0 {
                    best = (reached, other);
                }
            }
        }
        at = best.1;
    }
    at
}
