//! What looks before the end cost and save, by the way in which the error is spread over them.

use pinwise_study::statistics::looks::{Looks, Spending};
use pinwise_study::statistics::signed_rank::{p_above, p_below};

use crate::table::{Cell, Share, Table};
use crate::world::{Luck, Runs, WORLDS};

const ALPHA: f64 = 0.05;
/// Log effect of the first arm where there is one.
const EFFECT: f64 = 0.05;

/// Ways to decide at the looks.
const WAYS: [(&str, Way); 5] = [
    ("0.05 at each look", Way::Naive),
    ("one look, at the end", Way::End),
    ("even (Bonferroni)", Way::Spend(Spending::Even)),
    ("Pocock", Way::Spend(Spending::Pocock)),
    ("O'Brien-Fleming", Way::Spend(Spending::OBrienFleming)),
];

#[derive(Debug, Clone, Copy)]
enum Way {
    Naive,
    End,
    Spend(Spending),
}

impl Way {
    /// Levels by number of open claims, then look, over the same looks for every way.
    fn table(self, blocks: &[usize], arms: usize) -> Vec<Vec<f64>> {
        let holm = |m: usize| ALPHA / m as f64;
        let by_claims = |of: &dyn Fn(usize, usize) -> f64| {
            (1..=arms).map(|m| (0..blocks.len()).map(|look| of(m, look)).collect()).collect()
        };
        match self {
            Way::Naive => by_claims(&|m, _| holm(m)),
            Way::End => by_claims(&|m, look| if look + 1 == blocks.len() { holm(m) } else { 0.0 }),
            Way::Spend(spending) => {
                Looks::spending(blocks, ALPHA, spending).map(|l| l.table(arms)).unwrap_or_default()
            }
        }
    }
}

/// The table: plans of looks, numbers of arms, ways.
pub fn measure(seed: u64, studies: u64) -> Table {
    let plans: [(&[usize], usize); 6] = [
        (&[8, 12, 16], 1),
        (&[8, 12, 16], 4),
        (&[8, 12, 16], 16),
        (&[6, 10, 14, 20], 1),
        (&[10, 14, 20, 30], 4),
        (&[14, 24, 40], 16),
    ];
    let rows = plans.iter().flat_map(|(blocks, arms)| rows(blocks, *arms, seed, studies));
    Table {
        title: "Looks".into(),
        remark: format!(
            "{studies} studies per cell, {}; signed-rank test with margin 0, Holm over the arms. Error: a study of identical arms makes any claim, at any look. \
             Found: the first arm is 5 % better, and the study says so. Blocks: mean number until then, or to the end. \
             Called equal: the first arm differs by exactly the margin and is called equal (level {ALPHA}, no Holm). Seed {seed}.",
            WORLDS[3].name
        ),
        columns: vec![
            "looks after blocks",
            "arms",
            "alpha spending",
            "error",
            "found",
            "blocks",
            "called equal",
        ],
        rows: rows.collect(),
    }
}

/// What one way comes to over the studies.
#[derive(Default)]
struct Tally {
    table: Vec<Vec<f64>>,
    error: Share,
    found: Share,
    equal: Share,
    blocks: usize,
}

fn rows(blocks: &[usize], arms: usize, seed: u64, studies: u64) -> Vec<Vec<Cell>> {
    let mut tallies = WAYS.map(|(_, way)| Tally { table: way.table(blocks, arms), ..Tally::default() });
    for study in 0..studies {
        let mut luck = Luck::new(seed, study);
        let alike = p_values(&differences(blocks, arms, 0.0, &mut luck), blocks);
        let different = differences(blocks, arms, EFFECT, &mut luck);
        let p = p_values(&different, blocks);
        let p_equal: Vec<f64> = blocks
            .iter()
            .map(|n| p_above(&different[0][..*n], -EFFECT).max(p_below(&different[0][..*n], EFFECT)))
            .collect();
        for tally in &mut tallies {
            tally.count(&alike, &p, &p_equal, blocks);
        }
    }
    let rows = WAYS.iter().zip(tallies).map(|((name, _), tally)| {
        vec![
            format!("{blocks:?}").into(),
            arms.to_string().into(),
            (*name).into(),
            Cell::Full(tally.error),
            Cell::Short(tally.found),
            format!("{:.1}", tally.blocks as f64 / studies as f64).into(),
            Cell::Full(tally.equal),
        ]
    });
    rows.collect()
}

impl Tally {
    /// Counts one study: p of identical arms and of arms of which the first differs, by look and arm.
    fn count(&mut self, alike: &[Vec<f64>], different: &[Vec<f64>], p_equal: &[f64], blocks: &[usize]) {
        let looks = 0..blocks.len();
        self.error.count(looks.clone().any(|look| self.claimed(&alike[look], look).contains(&true)));
        let at = looks.clone().find(|look| self.claimed(&different[*look], *look)[0]);
        self.found.count(at.is_some());
        self.blocks += blocks[at.unwrap_or(blocks.len() - 1)];
        self.equal.count(looks.clone().any(|look| p_equal[look] <= self.table[0][look]));
    }

    /// Which arms are claimed to differ at a look, by Holm's steps, from that look alone.
    fn claimed(&self, p: &[f64], look: usize) -> Vec<bool> {
        let mut order: Vec<usize> = (0..p.len()).collect();
        order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
        let mut claimed = vec![false; p.len()];
        let passes = |(step, arm): &(usize, &usize)| p[**arm] <= self.table[p.len() - 1 - step][look];
        for (_, arm) in order.iter().enumerate().take_while(passes) {
            claimed[*arm] = true;
        }
        claimed
    }
}

/// Two-sided p by look and arm.
fn p_values(differences: &[Vec<f64>], blocks: &[usize]) -> Vec<Vec<f64>> {
    let p = |d: &[f64]| 2.0 * p_above(d, 0.0).min(p_below(d, 0.0));
    blocks.iter().map(|n| differences.iter().map(|d| p(&d[..*n])).collect()).collect()
}

/// Log ratios of each arm to one baseline by block; the first arm has the effect.
fn differences(blocks: &[usize], arms: usize, effect: f64, luck: &mut Luck) -> Vec<Vec<f64>> {
    let mut runs = Runs::new(WORLDS[3], luck);
    let mut differences = vec![Vec::new(); arms];
    for _ in 0..blocks.last().copied().unwrap_or(0) {
        let baseline = runs.next(0.0);
        for (arm, of) in differences.iter_mut().enumerate() {
            of.push(runs.next(if arm == 0 { effect } else { 0.0 }) - baseline);
        }
    }
    differences
}
