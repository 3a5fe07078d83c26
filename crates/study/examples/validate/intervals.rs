//! How often the intervals of the scaling curve, of the bootstrap and of a run's mean hold the truth.

use pinwise_study::statistics::batch_means::{RunMean, run_mean};
use pinwise_study::statistics::bootstrap::{self, Draws};
use pinwise_study::statistics::scaling::{Law, Peak, Point, scaling};

use crate::table::{Cell, Share, Table};
use crate::world::{Luck, Runs, WORLDS, World};

const SIZES: [u32; 8] = [1, 2, 4, 6, 8, 12, 16, 24];

/// The scaling curve on machines where the law holds.
pub fn curves(seed: u64, studies: u64) -> Table {
    let laws = [
        Law { g: 1000.0, a: 0.05, b: 0.0 },
        Law { g: 1000.0, a: 0.05, b: 0.001 },
        Law { g: 1000.0, a: 0.05, b: 0.01 },
    ];
    let mut rows = Vec::new();
    for world in [WORLDS[0], WORLDS[3]] {
        for blocks in [3, 8, 16] {
            rows.extend(laws.map(|law| curve(world, blocks, law, seed, studies)));
        }
    }
    Table {
        title: "Scaling curve".into(),
        remark: format!(
            "{studies} studies per row, {SIZES:?} CPUs in each block, 299 resamples; how often each 95 % interval contains the truth. Peak reported: the interval of b excludes 0. Seed {seed}."
        ),
        columns: vec![
            "machine",
            "blocks",
            "a",
            "b",
            "g coverage",
            "a coverage",
            "b coverage",
            "X(12) coverage",
            "peak reported",
        ],
        rows,
    }
}

fn curve(world: World, blocks: usize, law: Law, seed: u64, studies: u64) -> Vec<Cell> {
    let mut held = [Share::default(); 4];
    let mut quoted = Share::default();
    for study in 0..studies {
        let mut luck = Luck::new(seed, study);
        let order = pinwise_study::design::draw_order(SIZES.len(), blocks, luck.seed());
        let mut runs = Runs::new(world, &mut luck);
        let mut points = Vec::new();
        for (block, order) in order.iter().enumerate() {
            for n in order.iter().map(|arm| SIZES[*arm]) {
                let x = (runs.next(law.at(f64::from(n)).ln()) - 10_000f64.ln()).exp();
                points.push(Point { block, n, x });
            }
        }
        let Ok(found) = scaling(&points, 0.95, 299, study) else { continue };
        let at_12 = found.curve.iter().find(|at| at.n == 12).map_or(found.g, |at| at.x);
        let truths = [(found.g, law.g), (found.a, law.a), (found.b, law.b), (at_12, law.at(12.0))];
        for (held, (estimate, truth)) in held.iter_mut().zip(truths) {
            held.count((estimate.low..=estimate.high).contains(&truth));
        }
        quoted.count(found.peak != Peak::NotTold);
    }
    let mut row: Vec<Cell> =
        [world.name.to_string(), blocks.to_string(), law.a.to_string(), law.b.to_string()]
            .map(Cell::from)
            .into();
    row.extend(held.map(Cell::Short));
    row.push(Cell::Short(quoted));
    row
}

/// Bootstrap over blocks and batch means within a run.
pub fn others(seed: u64, studies: u64) -> Table {
    let mut rows = Vec::new();
    for blocks in [8, 14, 30, 60] {
        for share in [0.5, 0.9] {
            rows.push(ratio_of_quantiles(blocks, share, seed, studies));
        }
    }
    for (kept, intervals) in [(0.0, 100), (0.0, 1000), (0.5, 100), (0.5, 1000), (0.9, 100), (0.9, 1000)] {
        rows.push(mean_of_run(kept, intervals, seed, studies));
    }
    Table {
        title: "Bootstrap and batch means".into(),
        remark: format!(
            "{studies} studies per row; how often the 95 % interval contains the truth, among those that give one. Seed {seed}."
        ),
        columns: vec!["what", "coverage", "gave an interval"],
        rows,
    }
}

/// Two arms alike on the machine with everything: the ratio of a quantile of one to that of the other is 1.
fn ratio_of_quantiles(blocks: usize, share: f64, seed: u64, studies: u64) -> Vec<Cell> {
    let [mut held, mut given] = [Share::default(); 2];
    for study in 0..studies {
        let mut luck = Luck::new(seed, study);
        let mut runs = Runs::new(WORLDS[3], &mut luck);
        let (a, b): (Vec<f64>, Vec<f64>) =
            (0..blocks).map(|_| (runs.next(0.0).exp(), runs.next(0.0).exp())).unzip();
        let draws = Draws { level: 0.95, samples: 1000, seed: study };
        let found = bootstrap::ratio_of_quantiles(&a, &b, share, draws);
        given.count(found.is_some());
        if let Some(found) = found {
            held.count((found.low..=found.high).contains(&1.0));
        }
    }
    vec![
        format!("ratio of the {share} quantiles, {blocks} blocks").into(),
        Cell::Full(held),
        Cell::Short(given),
    ]
}

/// 97.5 % of Student's t by its expansion (Abramowitz and Stegun 26.7.5).
fn student(freedom: f64) -> f64 {
    let z: f64 = 1.959_964;
    z + (z.powi(3) + z) / (4.0 * freedom)
        + (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * freedom.powi(2))
}

fn mean_of_run(kept: f64, intervals: usize, seed: u64, studies: u64) -> Vec<Cell> {
    let [mut held, mut given] = [Share::default(); 2];
    for study in 0..studies {
        let mut luck = Luck::new(seed, study);
        let mut state = luck.normal();
        let series: Vec<f64> = (0..intervals)
            .map(|_| {
                state = kept * state + (1.0 - kept * kept).sqrt() * luck.normal();
                100.0 + state
            })
            .collect();
        let found = run_mean(&series);
        given.count(matches!(found, RunMean::Known { .. }));
        if let RunMean::Known { mean, standard_error, batches, .. } = found {
            held.count((mean - 100.0).abs() <= student(batches as f64 - 1.0) * standard_error);
        }
    }
    vec![
        format!("mean of {intervals} intervals, each keeps {kept} of the one before").into(),
        Cell::Full(held),
        Cell::Short(given),
    ]
}
