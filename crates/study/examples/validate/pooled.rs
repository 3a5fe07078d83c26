//! Quantiles over all requests of an arm beside the signed-rank interval over per-run quantiles: how often each holds the truth
//! where two arms are alike, and how often each sees a tail that is longer in every run, or in a few runs.

use std::collections::BTreeMap;

use pinwise_study::statistics::bootstrap::{self, Draws};
use pinwise_study::statistics::pooled::{Counts, Pool};
use pinwise_study::statistics::signed_rank;

use crate::table::{Cell, Share, Table};
use crate::world::{Luck, Runs, WORLDS};

/// What differs between the arms.
#[derive(Clone, Copy, PartialEq)]
enum Tail {
    Alike,
    /// Requests that pause do so for half as long again, in every run.
    LongerInEveryRun,
    /// One run of four has pauses of ten times the length.
    LongInFewRuns,
}

/// Share of requests that pause.
const PAUSES: f64 = 0.02;
/// How many times as long a request takes that pauses.
const PAUSED: f64 = 5.0;

/// The tables: by quantile, number of requests in a run and number of blocks.
pub fn measure(seed: u64, studies: u64) -> Table {
    let mut rows = Vec::new();
    for (share, requests) in [(0.5, 1000), (0.99, 1000), (0.999, 500), (0.999, 1000), (0.999, 3000)] {
        for blocks in [8, 14, 30] {
            rows.push(row(share, requests, blocks, seed, studies));
        }
    }
    Table {
        title: "Quantiles over all requests".into(),
        remark: format!(
            "{studies} studies per row, 95 % intervals, 1,000 samples of blocks. *coverage*: identical arms; how often the interval of the ratio \
             includes 1. *every run*, *few runs*: the tail of one arm is longer in every run, or in a quarter of its runs; how often the \
             interval excludes 1. *pooled*: over all requests; *runs*: signed-rank over the quantiles of runs. Seed {seed}."
        ),
        columns: vec![
            "quantile",
            "requests per run",
            "blocks",
            "coverage, pooled",
            "coverage, runs",
            "every run, pooled",
            "every run, runs",
            "few runs, pooled",
            "few runs, runs",
        ],
        rows,
    }
}

fn row(share: f64, requests: usize, blocks: usize, seed: u64, studies: u64) -> Vec<Cell> {
    let mut cells: Vec<Cell> =
        [share.to_string(), requests.to_string(), blocks.to_string()].map(Cell::from).into();
    for tail in [Tail::Alike, Tail::LongerInEveryRun, Tail::LongInFewRuns] {
        let [mut pooled, mut runs] = [Share::default(); 2];
        for study in 0..studies {
            let mut luck = Luck::new(seed, study);
            let (by_pool, by_runs) = intervals(tail, share, requests, blocks, &mut luck);
            for (count, interval) in [(&mut pooled, by_pool), (&mut runs, by_runs)] {
                if let Some((low, high)) = interval {
                    count.count((low..=high).contains(&1.0) == (tail == Tail::Alike));
                }
            }
        }
        let cell: fn(Share) -> Cell = if tail == Tail::Alike { Cell::Full } else { Cell::Short };
        cells.extend([cell(pooled), cell(runs)]);
    }
    cells
}

type Interval = Option<(f64, f64)>;

/// The intervals of one study of one arm and two runs of the baseline in each block.
fn intervals(
    tail: Tail,
    share: f64,
    requests: usize,
    blocks: usize,
    luck: &mut Luck,
) -> (Interval, Interval) {
    let order = pinwise_study::design::draw_order(3, blocks, luck.seed());
    let mut of_machine = Luck::new(luck.seed(), 0);
    let mut machine = Runs::new(WORLDS[3], &mut of_machine);
    let mut seen: Vec<[Counts; 3]> = Vec::new();
    for order in order {
        let mut block = [const { Counts::new() }; 3];
        for arm in order {
            let slower = (10_000f64.ln() - machine.next(0.0)).exp();
            block[arm] = run(if arm == 0 { tail } else { Tail::Alike }, slower, requests, luck);
        }
        seen.push(block);
    }
    let own = Pool::new(&seen.iter().map(|block| vec![&block[0]]).collect::<Vec<_>>());
    let reference = Pool::new(&seen.iter().map(|block| vec![&block[1], &block[2]]).collect::<Vec<_>>());
    let draws = Draws { level: 0.95, samples: 1000, seed: luck.seed() };
    let ratio = |chosen: &[usize]| own.quantile(share, chosen) / reference.quantile(share, chosen);
    let by_pool = bootstrap::interval(blocks, draws, ratio).map(|found| (found.low, found.high));
    let log = |counts: &Counts| Pool::new(&[vec![counts]]).quantile(share, &[0]).ln();
    let differences: Vec<f64> = seen.iter().map(|[own, a, b]| log(own) - (log(a) + log(b)) / 2.0).collect();
    let by_runs = signed_rank::location(&differences, 0.95).and_then(|found| found.interval);
    (by_pool, by_runs.map(|(low, high)| (low.exp(), high.exp())))
}

/// The latencies of a run, us: a body that is lognormal, and pauses; all longer by what the whole run is slower.
fn run(tail: Tail, slower: f64, requests: usize, luck: &mut Luck) -> Counts {
    let long = match tail {
        Tail::Alike => 1.0,
        Tail::LongerInEveryRun => 1.5,
        Tail::LongInFewRuns if luck.uniform() < 0.25 => 10.0,
        Tail::LongInFewRuns => 1.0,
    };
    // How often a run pauses differs from run to run, as it does where pauses come in bursts.
    let pauses = PAUSES * (0.5 * luck.normal()).exp();
    let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
    for _ in 0..requests {
        let pause = if luck.uniform() < pauses { PAUSED * long } else { 1.0 };
        let us = 1000.0 * slower * pause * (0.3 * luck.normal()).exp();
        // Three digits, as a histogram distinguishes them.
        let step = 10f64.powf((us.log10().floor() - 2.0).max(0.0));
        *counts.entry(((us / step).round() * step) as u64).or_default() += 1;
    }
    counts.into_iter().collect()
}
