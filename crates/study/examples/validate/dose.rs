//! How well a dose of known size is recovered, and how often it is seen.

use machine::CpuSet;
use pinwise_study::arm::each_cpu_in_turn;
use pinwise_study::evidence::{ControlOutcome, Question, weigh};
use pinwise_study::{Direction, Precision, Trial};

use crate::table::{Cell, Share, Table};
use crate::world::{Luck, METRIC, WORLDS, World, trials, with_what_was_taken};

const BLOCKS: usize = 14;
const SHARES: [f64; 4] = [0.05, 0.1, 0.2, 0.5];

/// The table: one row a machine and a size of dose.
pub fn measure(seed: u64, studies: u64) -> Table {
    let each = |world: World| SHARES.map(|share| row(world, share, seed, studies));
    Table {
        title: "The dose".into(),
        remark: format!(
            "{studies} studies per row, of two CPUs with {BLOCKS} blocks; a server that loses what is taken from it; seed {seed}. \
             In brackets: 95 % interval (Wilson)."
        ),
        columns: vec!["machine", "taken", "interval of the loss contains it", "detected", "called better"],
        rows: WORLDS.into_iter().flat_map(each).collect(),
    }
}

fn row(world: World, share: f64, seed: u64, studies: u64) -> Vec<Cell> {
    let cpus: CpuSet = (0..2).collect();
    let mut arms = each_cpu_in_turn(&cpus, &cpus, None).expect("two CPUs");
    for dose in arms.iter_mut().filter_map(|arm| arm.placement.dose.as_mut()) {
        dose.share_permille = (share * 1e3).round() as u16;
    }
    let precision = Precision { margin: 0.03, alpha: 0.05 };
    let question = Question { metric: METRIC, better: Direction::Higher, precision, is_capacity: true };
    let [mut holds, mut seen, mut helped] = [Share::default(); 3];
    for study in 0..studies {
        let made = trials(&arms, BLOCKS, world, &mut Luck::new(seed, study), |_| 0.0).into_iter();
        let trials: Vec<Trial> = made.map(|trial| with_what_was_taken(&arms, trial)).collect();
        let control = weigh(&arms, &trials, &question).control.expect("a dose");
        let interval = control.loss(Direction::Higher).1;
        holds.count(interval.is_some_and(|(low, high)| low <= share && share <= high));
        seen.count(control.outcome == ControlOutcome::Seen);
        helped.count(control.outcome == ControlOutcome::Helped);
    }
    let mut cells = vec![world.name.into(), format!("{:.0} %", share * 1e2).into()];
    cells.extend([holds, seen, helped].map(Cell::Full));
    cells
}
