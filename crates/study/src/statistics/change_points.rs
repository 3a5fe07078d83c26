//! Where a series of per-operation times changes, in its level or in its spread: the memory cliff.
//!
//! Times have heavy tails and single spikes (garbage collection), so everything rests on ranks: a spike is one high rank. At
//! each possible split two rank sums are compared with their expectation, one of the ranks (level; Pettitt 1979, Applied
//! Statistics 28) and one of their distance from the middle rank (spread; Ansari and Bradley 1960, Annals of Mathematical
//! Statistics 31). The larger of the two, at its best split, is tested against random orders of the same ranks, and both
//! sides are searched again (binary segmentation with a permutation test, as E-divisive has it: Matteson and James 2014,
//! JASA 109; E-divisive itself, with medians or not, takes time with the square of the length). PELT wants a penalty, and so
//! a likelihood, that heavy tails do not offer. Operations that depend on those before them are allowed for: what the scores
//! of both sides correlate makes the statistic smaller.
//!
//! In a series without any change one is found with probability `alpha` at most; a slow trend is no step and is cut into
//! several.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};

/// How to search.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Search {
    /// Chance of finding a change in a series (or a regime of it) without any.
    pub alpha: f64,
    /// Operations that a regime has at least: fewer slow ones in a row are a spike.
    pub shortest: usize,
    /// Random orders that a split is tested against.
    pub orders: usize,
    /// Seed of the orders.
    pub seed: u64,
}

impl Default for Search {
    fn default() -> Self {
        Self { alpha: 0.01, shortest: 10, orders: 999, seed: 1 }
    }
}

/// What changed most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// Times grew or fell.
    Level,
    /// Times became more or less even.
    Spread,
}

/// One change.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// Index of the first operation after it.
    pub at: usize,
    /// What changed most; the regimes on both sides say by how much.
    pub what: What,
    /// p against random orders of the two regimes around it; not below 1 / (orders + 1).
    pub p: f64,
}

/// Operations between two changes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Regime {
    /// First operation.
    pub from: usize,
    /// One past the last.
    pub to: usize,
    /// Lower quartile, in the unit of the times.
    pub quartile_1: f64,
    /// Median.
    pub median: f64,
    /// Upper quartile.
    pub quartile_3: f64,
}

/// A series in its regimes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Segmentation {
    /// Changes, rising; one fewer than regimes.
    pub changes: Vec<Change>,
    /// Regimes in order; none for an empty series.
    pub regimes: Vec<Regime>,
}

/// Finds the changes of `times`. A time that is no number (an operation that failed) ranks as the slowest.
pub fn change_points(times: &[f64], search: Search) -> Segmentation {
    let mut rng = ChaCha8Rng::seed_from_u64(search.seed);
    let mut found = Vec::new();
    let mut open = vec![(0, times.len())];
    while let Some((from, to)) = open.pop() {
        if let Some(change) = tested(times, from, to, search, &mut rng) {
            open.extend([(from, change.at), (change.at, to)]);
            found.push(change);
        }
    }
    found.sort_by_key(|change| change.at);
    let changes = looked_at_again(times, found, search, &mut rng);
    let ends = changes.iter().map(|c| c.at).chain([times.len()]);
    let starts = std::iter::once(0).chain(changes.iter().map(|c| c.at));
    let regimes = starts.zip(ends).filter(|(from, to)| from < to).map(|(from, to)| regime(times, from, to));
    Segmentation { regimes: regimes.collect(), changes }
}

/// A split found while a later one was still inside its segment may lie a little off, or be owed to the other: each is
/// placed and tested anew between its neighbours.
fn looked_at_again(
    times: &[f64],
    mut found: Vec<Change>,
    search: Search,
    rng: &mut ChaCha8Rng,
) -> Vec<Change> {
    let mut i = 0;
    while i < found.len() && found.len() > 1 {
        let from = if i == 0 { 0 } else { found[i - 1].at };
        let to = found.get(i + 1).map_or(times.len(), |next| next.at);
        match tested(times, from, to, search, rng) {
            Some(change) => {
                found[i] = change;
                i += 1;
            }
            None => {
                found.remove(i);
            }
        }
    }
    found
}

/// The best split of `times[from..to]`, if it is one.
fn tested(times: &[f64], from: usize, to: usize, search: Search, rng: &mut ChaCha8Rng) -> Option<Change> {
    let (n, shortest) = (to - from, search.shortest.max(2));
    if n < 2 * shortest {
        return None;
    }
    let mut ranks = centred_ranks(&times[from..to]);
    let middle = ranks.iter().map(|r| r.abs()).sum::<f64>() / n as f64;
    let scores = [ranks.clone(), ranks.iter().map(|r| r.abs() - middle).collect()];
    let variances = scores.each_ref().map(|s| s.iter().map(|v| v * v).sum::<f64>() / n as f64);
    let best = [What::Level, What::Spread]
        .into_iter()
        .zip(scores.iter().zip(variances))
        .map(|(what, (scores, variance))| {
            let (at, statistic) = best_split(scores, variance, shortest);
            (what, at, statistic / dependence(scores, at))
        })
        .max_by(|a, b| a.2.total_cmp(&b.2))?;
    // p <= alpha is out of reach once so many random orders did as well.
    let most = (search.alpha * (search.orders + 1) as f64) - 1.0;
    let mut as_good = 0;
    for _ in 0..search.orders {
        shuffle(&mut ranks, rng);
        as_good += usize::from(statistic_of_order(&ranks, middle, variances, shortest) >= best.2);
        if as_good as f64 > most {
            return None;
        }
    }
    let p = (as_good + 1) as f64 / (search.orders + 1) as f64;
    Some(Change { at: from + best.1, what: best.0, p })
}

/// Midranks about 0, scaled to 1.
fn centred_ranks(times: &[f64]) -> Vec<f64> {
    let key = |i: usize| if times[i].is_nan() { f64::INFINITY } else { times[i] };
    let mut order: Vec<usize> = (0..times.len()).collect();
    order.sort_by(|a, b| key(*a).total_cmp(&key(*b)));
    let mut ranks = vec![0.0; times.len()];
    let n = times.len() as f64;
    let mut first = 0;
    for ties in order.chunk_by(|a, b| key(*a) == key(*b)) {
        let midrank = first as f64 + (ties.len() as f64 + 1.0) / 2.0;
        ties.iter().for_each(|i| ranks[*i] = (midrank - (n + 1.0) / 2.0) / n);
        first += ties.len();
    }
    ranks
}

/// The split with the largest standardised sum of `scores` (mean 0) before it, and that squared.
fn best_split(scores: &[f64], variance: f64, shortest: usize) -> (usize, f64) {
    let n = scores.len();
    let (mut sum, mut best) = (0.0, (n / 2, 0.0));
    for (i, score) in scores.iter().enumerate().take(n - shortest) {
        sum += score;
        let t = i + 1;
        let statistic = standardised(sum, t, n, variance);
        if t >= shortest && statistic > best.1 {
            best = (t, statistic);
        }
    }
    best
}

/// The square of a sum of `t` of `n` scores over its variance in random order.
fn standardised(sum: f64, t: usize, n: usize, variance: f64) -> f64 {
    let of_sum = variance * t as f64 * (n - t) as f64 / (n - 1) as f64;
    if of_sum > 0.0 { sum * sum / of_sum } else { 0.0 }
}

/// The largest statistic of both kinds in this order of the ranks.
fn statistic_of_order(ranks: &[f64], middle: f64, variances: [f64; 2], shortest: usize) -> f64 {
    let n = ranks.len();
    let (mut level, mut spread, mut best) = (0.0, 0.0, 0.0_f64);
    for (i, rank) in ranks.iter().enumerate().take(n - shortest) {
        level += rank;
        spread += rank.abs() - middle;
        if i + 1 >= shortest {
            let both = [(level, variances[0]), (spread, variances[1])];
            best = both.into_iter().fold(best, |best, (sum, v)| best.max(standardised(sum, i + 1, n, v)));
        }
    }
    best
}

/// By how much dependence between neighbours raises the variance of a sum: the long-run variance of the scores about
/// the means of both sides, over their variance; at least 1. The larger of Bartlett's estimate (Newey and West 1987,
/// Econometrica 55) and of that of an autoregression on the one before.
fn dependence(scores: &[f64], at: usize) -> f64 {
    let mean = |side: &[f64]| side.iter().sum::<f64>() / side.len().max(1) as f64;
    let means = [mean(&scores[..at]), mean(&scores[at..])];
    let rest: Vec<f64> = scores.iter().enumerate().map(|(i, s)| s - means[usize::from(i >= at)]).collect();
    let product = |lag: usize| rest.iter().zip(&rest[lag..]).map(|(a, b)| a * b).sum::<f64>();
    let variance = product(0);
    if variance <= 0.0 {
        return 1.0;
    }
    let lags = (2.0 * (rest.len() as f64).cbrt()) as usize;
    let bartlett: f64 = (1..=lags.min(rest.len() - 1))
        .map(|lag| 2.0 * (1.0 - lag as f64 / (lags + 1) as f64) * product(lag) / variance)
        .sum();
    let first = (product(1) / variance).clamp(0.0, 0.98);
    (1.0 + bartlett).max((1.0 + first) / (1.0 - first))
}

fn regime(times: &[f64], from: usize, to: usize) -> Regime {
    let mut sorted = times[from..to].to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |share: f64| sorted[(share * (sorted.len() - 1) as f64).round() as usize];
    Regime { from, to, quartile_1: at(0.25), median: at(0.5), quartile_3: at(0.75) }
}

/// Fisher and Yates; the bias of multiplying instead of dividing is below 2^-32 here.
fn shuffle(values: &mut [f64], rng: &mut ChaCha8Rng) {
    for i in (1..values.len()).rev() {
        let drawn = (u64::from(rng.next_u32()) * (i as u64 + 1)) >> 32;
        values.swap(i, drawn as usize);
    }
}

#[cfg(test)]
mod tests;
