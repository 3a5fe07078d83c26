//! How many trials it takes to see an effect.

use machine::CpuSet;
use pinwise_study::arm::all_alike;
use pinwise_study::evidence::{Question, Verdict, weigh};
use pinwise_study::{Direction, Precision, Trial};

use crate::rivals::{hyperfine_ratio_excludes_one, welch_p};
use crate::table::{Cell, Share, Table};
use crate::world::{Luck, METRIC, Runs, WORLDS, World, trials};

const ALPHA: f64 = 0.05;
const EFFECTS: [f64; 5] = [0.0, 0.01, 0.02, 0.05, 0.10];
const BLOCKS: [usize; 6] = [6, 8, 14, 20, 30, 60];
/// Trials of a block: the baseline twice, the arm, the mis-tuning.
const TRIALS_A_BLOCK: usize = 4;

/// One table a world: nothing but noise, and everything together.
pub fn measure(seed: u64, studies: u64) -> Vec<Table> {
    [WORLDS[0], WORLDS[3]].map(|world| table(world, seed, studies)).into()
}

fn table(world: World, seed: u64, studies: u64) -> Table {
    let rows =
        EFFECTS.iter().flat_map(|effect| BLOCKS.map(|blocks| row(world, *effect, blocks, seed, studies)));
    Table {
        title: format!("Power: {}", world.name),
        remark: format!(
            "Share of {studies} studies that say better (where the effect is 0: better or worse), one arm, level {ALPHA}; seed {seed}. \
             A block has {TRIALS_A_BLOCK} trials, both controls among them; Welch and hyperfine get the same number of trials, half of them for each command."
        ),
        columns: vec![
            "effect",
            "blocks",
            "trials",
            "pinwise, margin 0",
            "pinwise, margin 3 %",
            "equal within 3 %",
            "Welch p < 0.05",
            "hyperfine: 1 outside R ± s",
        ],
        rows: rows.collect(),
    }
}

fn row(world: World, effect: f64, blocks: usize, seed: u64, studies: u64) -> Vec<Cell> {
    let [mut exact, mut margin, mut equal, mut welch, mut hyperfine] = [Share::default(); 5];
    let arms = all_alike(1, &CpuSet::single(0)).expect("arms that are all alike fit every machine");
    let log_effect = effect.ln_1p();
    let hit = |verdict: Verdict| verdict == Verdict::Better || effect == 0.0 && verdict == Verdict::Worse;
    for study in 0..studies {
        let mut luck = Luck::new(seed, study);
        let trials =
            trials(
                &arms,
                blocks,
                world,
                &mut luck,
                |arm| {
                    if arm.name == "same 1" { log_effect } else { 0.0 }
                },
            );
        let verdict = |margin: f64, trials: &[Trial]| {
            let evidence = weigh(
                &arms,
                trials,
                &Question {
                    metric: METRIC,
                    better: Direction::Higher,
                    precision: Precision { margin, alpha: ALPHA },
                    is_capacity: true,
                },
            );
            evidence.against_baseline.first().map_or(Verdict::Undecided, |c| c.verdict)
        };
        exact.count(hit(verdict(0.0, &trials)));
        let said = verdict(0.03, &trials);
        margin.count(hit(said));
        equal.count(said == Verdict::Equal);

        let runs_each = blocks * TRIALS_A_BLOCK / 2;
        let mut runs = Runs::new(world, &mut luck);
        let [slow, fast]: [Vec<f64>; 2] =
            [0.0, log_effect].map(|e| (0..runs_each).map(|_| (-runs.next(e)).exp()).collect());
        let faster = effect == 0.0 || fast.iter().sum::<f64>() < slow.iter().sum::<f64>();
        welch.count(faster && welch_p(&slow, &fast) < ALPHA);
        hyperfine.count(faster && hyperfine_ratio_excludes_one(&slow, &fast));
    }
    let mut row: Vec<Cell> = vec![
        format!("{} %", effect * 100.0).into(),
        blocks.to_string().into(),
        (blocks * TRIALS_A_BLOCK).to_string().into(),
    ];
    row.extend([exact, margin, equal, welch, hyperfine].map(Cell::Short));
    row
}
