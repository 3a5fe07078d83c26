//! Other ways to search. All of them measure relative to a reference placement that runs before every eight trials
//! (its last three runs, median): without that the drift of the machine would decide.

use std::collections::{BTreeMap, HashMap};

use machine::CpuSet;
use pinwise_study::simulated::Trials;
use pinwise_study::statistics::draws::Draws;
use pinwise_study::statistics::summary::median;

use crate::Track;
use crate::problem::Problem;

/// Trials with references among them.
pub struct Measured {
    /// The trials, references counted.
    pub trials: Trials,
    references: Vec<f64>,
    since: usize,
}

impl Measured {
    pub fn new(trials: Trials) -> Self {
        Self { trials, references: Vec::new(), since: 8 }
    }

    /// One trial: the log of its figure against the reference.
    pub fn run(&mut self, figure: f64) -> f64 {
        if self.since >= 8 {
            self.references.push(self.trials.run(1.0).ln());
            self.since = 0;
        }
        self.since += 1;
        let last = &self.references[self.references.len().saturating_sub(3)..];
        self.trials.run(figure).ln() - median(last).unwrap()
    }
}

/// Sets drawn at random, the best single trial recommended.
pub fn random_sets(problem: &Problem, seed: u64, most: usize) -> Track {
    let mut draws = Draws::new(seed);
    let mut measured = Measured::new(problem.trials(seed));
    let cpus: Vec<u32> = problem.truth.machine().cpus.iter().map(|cpu| cpu.id).collect();
    let (mut best, mut good, mut track) = (f64::NEG_INFINITY, false, Vec::new());
    while measured.trials.drawn < most {
        let size = problem.sizes[draws.below(problem.sizes.len())].server;
        let server: CpuSet = draws.some_of(cpus.len(), size).into_iter().map(|at| cpus[at]).collect();
        let figure = problem.figure_of(&server, draws.below(2));
        let gain = measured.run(figure);
        if gain > best {
            (best, good) = (gain, problem.is_good_figure(figure));
        }
        track.push((measured.trials.drawn, good));
    }
    Track(track)
}

/// Successive halving (Karnin, Koren, Somekh 2013; a third stays) over listed arms, as many as the budget has room for.
pub fn halving(problem: &Problem, seed: u64, budget: usize) -> bool {
    let mut draws = Draws::new(seed);
    let mut measured = Measured::new(problem.trials(seed));
    let all = problem.space.len();
    // Of every nine trials one is a reference.
    let budget = budget * 8 / 9;
    let rungs = |arms: usize| (arms as f64).log(3.0).ceil().max(1.0) as usize;
    let begin = (1..=all).rev().find(|arms| arms * rungs(*arms) <= budget).unwrap_or(1);
    let mut arms = draws.some_of(all, begin);
    let each = budget / rungs(begin);
    while arms.len() > 1 {
        let times = (each / arms.len()).max(1);
        let mut means: Vec<(f64, usize)> = Vec::new();
        let mut sums = vec![0.0; arms.len()];
        for _ in 0..times {
            for (sum, arm) in sums.iter_mut().zip(&arms) {
                *sum += measured.run(problem.figure(problem.space.point(*arm).unwrap()));
            }
        }
        means.extend(sums.into_iter().zip(arms));
        means.sort_by(|a, b| b.0.total_cmp(&a.0));
        let stay = means.len().div_ceil(3);
        arms = means.into_iter().take(stay).map(|(_, arm)| arm).collect();
    }
    problem.is_good(problem.space.point(arms[0]).unwrap())
}

/// Every listed arm once a pass, in random order; the best mean is recommended.
pub fn exhaustive(problem: &Problem, seed: u64, passes: usize) -> bool {
    let mut draws = Draws::new(seed);
    let mut measured = Measured::new(problem.trials(seed));
    let mut sums = vec![0.0; problem.space.len()];
    for _ in 0..passes {
        for arm in draws.some_of(sums.len(), sums.len()) {
            sums[arm] += measured.run(problem.figure(problem.space.point(arm).unwrap()));
        }
    }
    let best = (0..sums.len()).max_by(|a, b| sums[*a].total_cmp(&sums[*b])).unwrap();
    problem.is_good(problem.space.point(best).unwrap())
}

/// A tree-structured Parzen estimator (Bergstra et al. 2011) over: CPUs, nodes, how many CPUs of each node, siblings, memory.
///
/// Each parameter has a density of its own for the good tenth (at most 25) and one for the rest; of 24 draws from the first
/// the one of the highest ratio is tried. A draw is rounded to the nearest listed arm, so that it, too, is spared symmetric
/// placements. The arm with the best mean is recommended.
pub fn tpe(problem: &Problem, seed: u64, most: usize) -> Track {
    let mut draws = Draws::new(seed);
    let mut measured = Measured::new(problem.trials(seed));
    let parameters = parameters(problem);
    let mut alike: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    for arm in 0..parameters.len() {
        let point = problem.space.point(arm).unwrap();
        alike.entry((point.class.server.len(), point.levels[0])).or_default().push(arm);
    }
    let alike: Vec<Vec<usize>> = alike.into_values().collect();
    let mut seen: Vec<(usize, f64)> = Vec::new();
    let mut track = Vec::new();
    while measured.trials.drawn < most {
        let arm = match seen.len() < 20 {
            true => draws.below(parameters.len()),
            false => propose(&parameters, &alike, &seen, &mut draws),
        };
        let point = problem.space.point(arm).unwrap();
        seen.push((arm, measured.run(problem.figure(point))));
        let best = best_mean(&seen);
        track.push((measured.trials.drawn, problem.is_good(problem.space.point(best).unwrap())));
    }
    Track(track)
}

fn best_mean(seen: &[(usize, f64)]) -> usize {
    let mut sums: HashMap<usize, (f64, f64)> = HashMap::new();
    for (arm, gain) in seen {
        let sum = sums.entry(*arm).or_default();
        *sum = (sum.0 + gain, sum.1 + 1.0);
    }
    let mean = |of: &(f64, f64)| of.0 / of.1;
    sums.iter()
        .max_by(|a, b| mean(a.1).total_cmp(&mean(b.1)).then(b.0.cmp(a.0)))
        .map(|(arm, _)| *arm)
        .unwrap()
}

/// The parameters of each listed arm, each from 0 to 1.
fn parameters(problem: &Problem) -> Vec<Vec<f64>> {
    let machine = problem.truth.machine();
    let of = |arm: usize| {
        let point = problem.space.point(arm).unwrap();
        let server = &point.class.server;
        let share = |cpus: &CpuSet| cpus.intersection(server).len() as f64 / cpus.len() as f64;
        let mut values = vec![server.len() as f64 / machine.cpus.len() as f64, point.levels[0] as f64];
        values.extend(machine.nodes.iter().map(|node| share(&node.cpus)));
        let both = machine.cores().iter().filter(|core| core.len() > 1 && core.is_subset(server)).count();
        values.push(2.0 * both as f64 / server.len() as f64);
        values
    };
    (0..problem.space.len()).map(of).collect()
}

fn propose(parameters: &[Vec<f64>], alike: &[Vec<usize>], seen: &[(usize, f64)], draws: &mut Draws) -> usize {
    let mut order: Vec<&(usize, f64)> = seen.iter().collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1));
    // As many good ones as Optuna takes: a tenth, at most 25.
    let good = (seen.len().div_ceil(10)).clamp(2, 25);
    let of = |seen: &[&(usize, f64)]| seen.iter().map(|s| &parameters[s.0]).collect::<Vec<_>>();
    let (good, rest) = (of(&order[..good]), of(&order[good..]));
    let density = |x: &[f64], of: &[&Vec<f64>], width: f64| -> f64 {
        (0..x.len())
            .map(|d| {
                let kernels = of.iter().map(|c| (-0.5 * ((x[d] - c[d]) / width).powi(2)).exp() / width);
                // A flat prior has the weight of one more observation.
                ((kernels.sum::<f64>() + 1.0) / (of.len() + 1) as f64).ln()
            })
            .sum()
    };
    let width = |n: usize| (n as f64).powf(-0.2) * 0.2;
    let (narrow, wide) = (width(good.len()), width(rest.len()));
    // A draw from the good ones: one of them, moved.
    let mut best: Option<(f64, usize)> = None;
    for _ in 0..24 {
        let centre = good[draws.below(good.len())];
        let wanted: Vec<f64> = centre.iter().map(|c| c + narrow * draws.normal()).collect();
        let far = |arm: usize| parameters[arm].iter().zip(&wanted).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
        // Size and memory first, then the nearest of all arms that have them.
        let near =
            |arms: &&Vec<usize>| (0..2).map(|d| (parameters[arms[0]][d] - wanted[d]).powi(2)).sum::<f64>();
        let Some(some) = alike.iter().min_by(|a, b| near(a).total_cmp(&near(b))) else { continue };
        let Some(arm) = some.iter().copied().min_by(|a, b| far(*a).total_cmp(&far(*b))) else { continue };
        let score = density(&parameters[arm], &good, narrow) - density(&parameters[arm], &rest, wide);
        if best.is_none_or(|(most, _)| score > most) {
            best = Some((score, arm));
        }
    }
    best.map_or(0, |(_, arm)| arm)
}
