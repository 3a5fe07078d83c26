//! Looks at a study before its end, fixed before it begins: how much of the error each may spend.
//!
//! Whoever tests after 8, 12 and 16 blocks at 0.05 each time errs in 9 studies of 100. A spending function (Lan and DeMets
//! 1983, Biometrika 70) says how much of the error may have been spent by each look. What a look spends beyond those before
//! it follows from the joint normal distribution of the test statistics (Armitage, McPherson, Rowe 1969, JRSS A 132): the
//! correlation of two looks is the root of the ratio of their blocks. The signed-rank test has few attainable levels when
//! blocks are few; what a look could not spend for that reason is left for the next one, and a look that could claim nothing
//! spends nothing.
//!
//! For several claims, Holm's steps are taken with boundaries made anew for alpha / m (Maurer and Bretz 2013, Statistics in
//! Biopharmaceutical Research 5): dividing the levels themselves by m errs more often than alpha, since far out in the tail the
//! looks are nearly independent. Which spending serves best was simulated: docs/statistics.md.

use machine::{Class, Fault};
use serde::{Deserialize, Serialize};

use super::normal::{density, upper_quantile, upper_tail};
use super::signed_rank::{MOST_BLOCKS, attained_level};

/// How the error is spread over the looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spending {
    /// Little at first (Lan and DeMets' form of O'Brien and Fleming's boundary): the last look is almost as good as a study
    /// without looks, and only large effects end a study early.
    #[default]
    OBrienFleming,
    /// Nearly even (Lan and DeMets' form of Pocock's boundary): ends early most often, and finds less.
    Pocock,
    /// The same share for each look, and no use made of looks being alike (Bonferroni).
    Even,
}

/// Looks fixed before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Looks {
    /// After how many blocks, rising.
    blocks: Vec<usize>,
    /// Chance of even one false claim at any of them.
    alpha: f64,
    /// How it is spread.
    spending: Spending,
}

impl Looks {
    /// Looks after each of `blocks` blocks, `alpha` shared out among them.
    ///
    /// # Errors
    /// `Usage` when no look is given, they do not rise, the last is beyond [`MOST_BLOCKS`] or alpha is no level.
    pub fn new(blocks: &[usize], alpha: f64) -> Result<Self, Fault> {
        Self::spending(blocks, alpha, Spending::default())
    }

    /// The same with another spending function.
    ///
    /// # Errors
    /// As [`Looks::new`].
    pub fn spending(blocks: &[usize], alpha: f64, spending: Spending) -> Result<Self, Fault> {
        let rising = blocks.windows(2).all(|pair| pair[0] < pair[1]);
        let in_range = |n: &usize| (1..=MOST_BLOCKS).contains(n);
        if blocks.is_empty() || !rising || !blocks.iter().all(in_range) {
            return Err(Fault::new(
                Class::Usage,
                format!("looks {blocks:?}"),
                "looks are numbers of blocks, each larger than the one before",
                format!("give one or more rising numbers from 1 to {MOST_BLOCKS}, such as 8, 12, 16"),
            ));
        }
        if !(alpha > 0.0 && alpha < 1.0) {
            return Err(Fault::new(
                Class::Usage,
                format!("alpha {alpha}"),
                "it is not a level",
                "give a value such as 0.05",
            ));
        }
        Ok(Self { blocks: blocks.to_vec(), alpha, spending })
    }

    /// After how many blocks each look is.
    pub fn blocks(&self) -> &[usize] {
        &self.blocks
    }

    /// Those of the looks, by their blocks, at which nothing can be claimed: their level is 0.
    pub fn without_level(&self) -> Vec<usize> {
        let levels = self.levels(self.alpha).into_iter();
        self.blocks
            .iter()
            .copied()
            .zip(levels)
            .filter(|(_, level)| *level <= 0.0)
            .map(|(look, _)| look)
            .collect()
    }

    /// The level at look `look` (from 0) of a single two-sided signed-rank test; 0 where nothing can be claimed at this look.
    /// An interval at `1 - level_at(look)` covers at all looks together with probability 1 - alpha.
    pub fn level_at(&self, look: usize) -> f64 {
        self.level_for(look, 1)
    }

    /// The level at look `look` for each of `claims` claims that are still to be made (a step of Holm's).
    pub fn level_for(&self, look: usize, claims: usize) -> f64 {
        self.table(claims.max(1)).last().and_then(|levels| levels.get(look).copied()).unwrap_or(0.0)
    }

    /// The levels of all looks while 1, 2, ... `claims` claims are still to be made: `table[m - 1][look]`. They fall with m,
    /// which Holm's steps rest on; levels carried over from a look that could not spend would not always.
    pub fn table(&self, claims: usize) -> Vec<Vec<f64>> {
        let mut table: Vec<Vec<f64>> = Vec::with_capacity(claims);
        for m in 1..=claims {
            let mut levels = self.levels(self.alpha / m as f64);
            if let Some(fewer) = table.last() {
                levels.iter_mut().zip(fewer).for_each(|(level, fewer)| *level = level.min(*fewer));
            }
            table.push(levels);
        }
        table
    }

    /// The levels of all looks of one test at `alpha`.
    fn levels(&self, alpha: f64) -> Vec<f64> {
        let alpha = if self.blocks.len() > 1 { alpha * self.spending.safely() } else { alpha };
        let last = self.blocks.last().copied().unwrap_or(1) as f64;
        let mut walk = Walk::default();
        let mut spent = 0.0;
        self.blocks
            .iter()
            .enumerate()
            .map(|(look, n)| {
                let share = (look + 1) as f64 / self.blocks.len() as f64;
                let may = self.spending.spent(alpha, *n as f64 / last, share) - spent;
                let nominal = match self.spending {
                    Spending::Even => may,
                    _ => walk.level_that_spends(may, *n),
                };
                let level = attained_level(*n, nominal);
                spent += match self.spending {
                    Spending::Even => level,
                    _ => walk.step(level, *n),
                };
                level
            })
            .collect()
    }

    /// Which of the claims with these unadjusted two-sided `p` may be made at look `look`; `made` says which were made
    /// at earlier looks, and those stay made.
    pub fn claims(&self, look: usize, p: &[f64], made: &[bool]) -> Vec<bool> {
        let mut may: Vec<bool> = (0..p.len()).map(|i| made.get(i).copied().unwrap_or(false)).collect();
        let mut open: Vec<usize> = (0..p.len()).filter(|i| !may[*i]).collect();
        open.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
        let table = self.table(open.len());
        let passes = |(step, claim): &(usize, &usize)| {
            table[open.len() - 1 - step].get(look).is_some_and(|level| p[**claim] <= *level)
        };
        for (_, claim) in open.iter().enumerate().take_while(passes) {
            may[*claim] = true;
        }
        may
    }
}

impl Spending {
    /// How much of the error to spend, as the rank sums of few blocks are jointly not quite normal. Of 400,000 and more
    /// simulated studies 5.12 of 100 erred with all of it by Pocock's levels after 6, 10, 14, 20 blocks, 5.19 with 0.97 of it at
    /// nine looks from 6 to 40; by O'Brien and Fleming's at most 4.94 with 0.97. Bonferroni's rest on nothing joint.
    fn safely(self) -> f64 {
        match self {
            Spending::OBrienFleming => 0.97,
            Spending::Pocock => 0.93,
            Spending::Even => 1.0,
        }
    }

    /// The error that may have been spent when a share `time` of the blocks and a share `share` of the looks is past.
    fn spent(self, alpha: f64, time: f64, share: f64) -> f64 {
        match self {
            // Each side half of it, as the usual programs have it.
            Spending::OBrienFleming => 4.0 * upper_tail(upper_quantile(alpha / 4.0) / time.sqrt()),
            Spending::Pocock => alpha * (1.0 + (std::f64::consts::E - 1.0) * time).ln(),
            Spending::Even => alpha * share,
        }
    }
}

/// The sum of standard normal steps, one a block, as far as no look has stopped it: its density on an even grid.
#[derive(Debug, Default)]
struct Walk {
    /// Blocks so far.
    blocks: usize,
    /// Place and probability mass of each point of the grid; empty at the start (all mass at 0).
    points: Vec<(f64, f64)>,
}

/// Points of the grid; with so many the levels are right to 4 digits.
const POINTS: usize = 201;

impl Walk {
    /// The mass, with the start as one point.
    fn mass(&self) -> &[(f64, f64)] {
        if self.points.is_empty() { &[(0.0, 1.0)] } else { &self.points }
    }

    /// The mass that earlier looks have stopped.
    fn lost(&self) -> f64 {
        1.0 - self.mass().iter().map(|(_, mass)| mass).sum::<f64>()
    }

    /// The probability of being stopped at a look after `blocks` blocks at level `level`, and at none before.
    fn stopped(&self, level: f64, blocks: usize) -> f64 {
        let boundary = upper_quantile(level / 2.0) * (blocks as f64).sqrt();
        let sd = ((blocks - self.blocks) as f64).sqrt();
        let out = |s: f64| upper_tail((boundary - s) / sd) + upper_tail((boundary + s) / sd);
        self.mass().iter().map(|(s, mass)| mass * out(*s)).sum()
    }

    /// The level of a look after `blocks` blocks whose chance to stop first there is `error`.
    fn level_that_spends(&self, error: f64, blocks: usize) -> f64 {
        if error <= 0.0 {
            return 0.0;
        }
        // At this look alone no more can be spent than the level, and no less of it than what stopping first leaves.
        let (mut low, mut high) = (error, 1.0_f64.min(error + self.lost()));
        while high - low > 1e-6 * low {
            let middle = (low + high) / 2.0;
            if self.stopped(middle, blocks) <= error { low = middle } else { high = middle }
        }
        low
    }

    /// Goes on to a look after `blocks` blocks at `level`; answers with the error that it spent.
    fn step(&mut self, level: f64, blocks: usize) -> f64 {
        let spent = self.stopped(level, blocks);
        let sd = ((blocks - self.blocks) as f64).sqrt();
        let reach = upper_quantile(level / 2.0).min(8.0) * (blocks as f64).sqrt();
        let width = 2.0 * reach / (POINTS - 1) as f64;
        let at = |i: usize| {
            let s = -reach + width * i as f64;
            let density: f64 =
                self.mass().iter().map(|(from, mass)| mass * density((s - from) / sd) / sd).sum();
            let ends = if i == 0 || i == POINTS - 1 { 0.5 } else { 1.0 };
            (s, density * width * ends)
        };
        self.points = (0..POINTS).map(at).collect();
        self.blocks = blocks;
        spent
    }
}

#[cfg(test)]
mod tests;
