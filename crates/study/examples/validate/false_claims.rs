//! How often a study of identical arms claims a difference.

use machine::CpuSet;
use pinwise_study::arm::all_alike;
use pinwise_study::evidence::{Question, Trust, Verdict, weigh};
use pinwise_study::{Direction, Precision};

use crate::rivals::{hyperfine_ratio_excludes_one, welch_p};
use crate::table::{Cell, Share, Table};
use crate::world::{Luck, METRIC, Runs, WORLDS, World, trials};

/// Arms beside the two baselines.
const COPIES: usize = 3;
const ALPHA: f64 = 0.05;

/// The table: one row a world, a margin and a number of blocks.
pub fn measure(seed: u64, studies: u64) -> Table {
    let mut rows = Vec::new();
    for world in WORLDS {
        for (blocks, margin) in [(14, 0.0), (30, 0.0), (60, 0.0), (14, 0.01), (14, 0.03)] {
            rows.push(row(world, blocks, margin, seed, studies));
        }
    }
    Table {
        title: "False claims".into(),
        remark: format!(
            "{studies} A/A studies per row: {COPIES} arms like the baseline, claims at {ALPHA} after Holm; seed {seed}. In brackets: 95 % interval (Wilson). \
             Welch and hyperfine: one comparison of two identical commands, first all runs of one, then all runs of the other, each as often as the study has blocks."
        ),
        columns: vec![
            "machine",
            "blocks",
            "margin",
            "pinwise: says better or worse",
            "without controls",
            "no claim: A/A differed",
            "interval coverage",
            "Welch p < 0.05",
            "hyperfine: 1 outside R ± s",
        ],
        rows,
    }
}

fn row(world: World, blocks: usize, margin: f64, seed: u64, studies: u64) -> Vec<Cell> {
    let [mut claimed, mut uncontrolled, mut untrusted, mut covers, mut welch, mut hyperfine] =
        [Share::default(); 6];
    let arms = all_alike(COPIES, &CpuSet::single(0)).expect("arms that are all alike fit every machine");
    for study in 0..studies {
        let mut luck = Luck::new(seed, study);
        let trials = trials(&arms, blocks, world, &mut luck, |_| 0.0);
        let evidence = weigh(
            &arms,
            &trials,
            &Question {
                metric: METRIC,
                better: Direction::Higher,
                precision: Precision { margin, alpha: ALPHA },
                is_capacity: true,
            },
        );
        let contrasts = &evidence.against_baseline;
        claimed.count(contrasts.iter().any(|c| matches!(c.verdict, Verdict::Better | Verdict::Worse)));
        uncontrolled.count(contrasts.iter().any(|c| c.p_adjusted <= ALPHA));
        untrusted.count(matches!(evidence.trust, Trust::Untrustworthy { .. }));
        for contrast in contrasts {
            covers.count(contrast.interval.is_some_and(|(low, high)| low <= 1.0 && 1.0 <= high));
        }
        let mut runs = Runs::new(world, &mut luck);
        let [first, second]: [Vec<f64>; 2] =
            std::array::from_fn(|_| (0..blocks).map(|_| (-runs.next(0.0)).exp()).collect());
        welch.count(welch_p(&first, &second) < ALPHA);
        hyperfine.count(hyperfine_ratio_excludes_one(&first, &second));
    }
    let mut row = vec![world.name.into(), blocks.to_string().into(), format!("{} %", margin * 100.0).into()];
    row.extend([claimed, uncontrolled, untrusted, covers, welch, hyperfine].map(Cell::Full));
    row
}
