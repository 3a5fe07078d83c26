//! The search, driven from outside: `ask` says which block to run, `tell` takes what came out.
//!
//! 1. *Start*: arms far from each other, in blocks with one arm in common.
//! 2. *Around*: in each block the arms that lead, so that they are compared again, and arms that may be better yet:
//!    the best of draws from the model (Thompson 1933) among what is known, and beside the leaders. Arms that do not run
//!    only rest; out is only what the race has put out.
//! 3. *Confirm*: the winner on fresh blocks with all controls. Only these may make a claim about it: what was looked at
//!    while choosing flatters the chosen.
//!
//! Where all arms fit into one block, every block has all that are not out, and the race alone decides.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::gaussian_process::{Model, Seen};
use super::race::Race;
use super::space::Space;
use crate::statistics::draws::Draws;

/// The most trials that the model is fitted to: fitting takes time by their cube.
const MOST_FITTED: usize = 320;
/// The most arms that are weighed against each other before a block.
const MOST_WEIGHED: usize = 300;
/// How many leaders run in each block.
const LEADERS: usize = 2;
/// An arm that gave no figure so often is not asked for again.
const MOST_FAILURES: usize = 2;

/// How the budget is spent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Everything that is drawn is drawn from it.
    pub seed: u64,
    /// Chance that the race puts out the best arm that ever ran.
    pub alpha: f64,
    /// Arms in a block, controls not counted.
    pub arms_a_block: usize,
    /// Trials of arms before the confirmation.
    pub trials: usize,
    /// Blocks of the confirmation.
    pub confirm_blocks: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { seed: 1, alpha: 0.05, arms_a_block: 8, trials: 120, confirm_blocks: 8 }
    }
}

/// Where the search is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Arms far from each other.
    Start,
    /// All that are not out: they fit into a block.
    Race,
    /// What leads, and what may be better yet.
    Around,
    /// The winner, with controls, on fresh blocks.
    Confirm,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
pub enum Ask {
    /// Run a block of these arms, each once, in random order.
    Block {
        /// Where the search is.
        stage: Stage,
        /// The arms, as the space numbers them.
        arms: Vec<usize>,
        /// Whether the baseline (twice) and the mis-tuning run in it too.
        controls: bool,
    },
    /// Nothing more.
    Done(Outcome),
}

/// What came out.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The arm that was confirmed; `None` when not one trial gave a figure.
    pub winner: Option<usize>,
    /// What it is expected to gain over each other arm that ran and is not out: log ratios by the model, not claims.
    pub ahead_of: Vec<(usize, f64)>,
    /// Arms that are out: with chance `1 - alpha` the best that ran is not among them.
    pub out: Vec<usize>,
    /// How many arms ran.
    pub ran: usize,
    /// Arms that gave no figure too often. Nothing is claimed of them.
    pub failed: Vec<usize>,
    /// How many known arms never ran. Nothing is claimed of them.
    pub never_ran: usize,
}

/// A number with an order.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Rising(f64);

impl Eq for Rising {}

impl PartialOrd for Rising {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Rising {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// A search in progress.
#[derive(Debug, Clone)]
pub struct Searcher {
    space: Space,
    settings: Settings,
    race: Race,
    draws: Draws,
    seen: Vec<Seen>,
    blocks: usize,
    confirmed: usize,
    starters: Vec<Vec<usize>>,
    leaders: Vec<usize>,
    means: Vec<(usize, f64)>,
    model: Option<Model>,
    pending: Option<Ask>,
    winner: Option<usize>,
    /// Trials of arms that were asked for before the confirmation.
    spent: usize,
    failures: BTreeMap<usize, usize>,
}

impl Searcher {
    /// Begins a search of `space`.
    pub fn new(space: Space, settings: Settings) -> Self {
        let width = settings.arms_a_block.max(2);
        let starters = match space.len() <= width {
            true => Vec::new(),
            false => {
                let chosen = space.far_apart((2 * width - 1).min(settings.trials));
                let (first, others) = chosen.split_first().map_or((0, &[][..]), |(f, o)| (*f, o));
                others.chunks(width - 1).map(|arms| [&[first], arms].concat()).rev().collect()
            }
        };
        Self {
            race: Race::new(settings.alpha),
            draws: Draws::new(settings.seed),
            space,
            settings,
            starters,
            seen: Vec::new(),
            blocks: 0,
            confirmed: 0,
            leaders: Vec::new(),
            means: Vec::new(),
            model: None,
            pending: None,
            winner: None,
            spent: 0,
            failures: BTreeMap::new(),
        }
    }

    /// The arms; those beside good ones are added as the search finds them.
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// Trials of an arm that gave a figure, those of the confirmation not counted.
    pub fn trials_of(&self, arm: usize) -> usize {
        self.seen.iter().filter(|seen| seen.arm == arm).count()
    }

    /// The race.
    pub fn race(&self) -> &Race {
        &self.race
    }

    /// The arm that is best by what is known so far.
    pub fn best(&self) -> Option<usize> {
        self.means.first().map(|(arm, _)| *arm)
    }

    /// What to run next; the same again until its result is in.
    pub fn ask(&mut self) -> Ask {
        let ask = self.pending.take().unwrap_or_else(|| self.decide());
        self.pending = Some(ask.clone());
        ask
    }

    /// Takes the results of the block that was asked for: of each arm that gave a figure its log, signed so that more is
    /// better. Controls are not reported: the evidence of the study weighs them.
    pub fn tell(&mut self, results: &[(usize, f64)]) {
        let Some(Ask::Block { stage, arms, .. }) = self.pending.take() else { return };
        let block = self.blocks;
        self.blocks += 1;
        if stage == Stage::Confirm {
            self.confirmed += 1;
            return;
        }
        self.spent += arms.len();
        for arm in arms.into_iter().filter(|arm| !results.iter().any(|(ran, _)| ran == arm)) {
            *self.failures.entry(arm).or_default() += 1;
        }
        self.race.settle(results, &self.leaders);
        self.seen.extend(results.iter().map(|(arm, gain)| Seen { arm: *arm, block, gain: *gain }));
        self.learn();
    }

    fn decide(&mut self) -> Ask {
        let left = self.settings.trials.saturating_sub(self.spent);
        let width = self.settings.arms_a_block.max(2);
        if self.winner.is_none() && left > 0 && !self.is_decided() {
            let (stage, mut arms) = match self.starters.pop() {
                Some(arms) => (Stage::Start, arms),
                None if self.space.len() <= width => (Stage::Race, self.not_out(0..self.space.len())),
                None => (Stage::Around, self.around(width)),
            };
            arms.truncate(left.max(2));
            if !arms.is_empty() {
                // At the start, so that a load which shows nothing is seen early; what is claimed needs them at the end.
                return Ask::Block { stage, arms, controls: stage == Stage::Start };
            }
        }
        self.winner = self.winner.or(self.best());
        match self.winner {
            Some(winner) if self.confirmed < self.settings.confirm_blocks => {
                Ask::Block { stage: Stage::Confirm, arms: vec![winner], controls: true }
            }
            _ => Ask::Done(self.outcome()),
        }
    }

    /// Whether one arm alone is left of a space of which all arms ran.
    fn is_decided(&self) -> bool {
        let left = self.not_out(0..self.space.len()).len();
        // A space of one arm: that it is the best one is nothing before it has run.
        self.space.is_complete() && (left == 0 || left == 1 && !self.means.is_empty())
    }

    fn not_out(&self, arms: impl Iterator<Item = usize>) -> Vec<usize> {
        arms.filter(|arm| !self.rests_for_good(*arm)).collect()
    }

    /// Out of the race, or without a figure too often.
    fn rests_for_good(&self, arm: usize) -> bool {
        self.race.is_out(arm) || self.failures.get(&arm).is_some_and(|times| *times >= MOST_FAILURES)
    }

    /// Fits the model and orders the arms that ran.
    fn learn(&mut self) {
        self.model = self.fit();
        let Some(model) = &self.model else { return };
        let ran: BTreeSet<usize> = self.seen.iter().map(|seen| seen.arm).collect();
        let candidates = self.not_out(ran.into_iter());
        self.means =
            candidates.into_iter().map(|arm| (arm, model.mean(arm, self.space.features(arm)))).collect();
        self.means.sort_by(|a, b| b.1.total_cmp(&a.1));
        let leaders = if self.space.len() <= self.settings.arms_a_block { 3 } else { LEADERS };
        self.leaders = self.means.iter().take(leaders).map(|(arm, _)| *arm).collect();
    }

    fn fit(&self) -> Option<Model> {
        let from = self.seen.len().saturating_sub(MOST_FITTED);
        let seen = &self.seen[from..];
        let features: Vec<Vec<f64>> = seen.iter().map(|s| self.space.features(s.arm).to_vec()).collect();
        Model::fit(seen, &features, &self.space.levels_alone(), self.model.as_ref())
    }

    /// The leaders, then the best of draws from the model.
    fn around(&mut self, width: usize) -> Vec<usize> {
        let mut arms = self.leaders.clone();
        let weighed = self.weighed();
        if let Some(model) = &self.model {
            let candidates: Vec<(usize, &[f64])> =
                weighed.iter().map(|arm| (*arm, self.space.features(*arm))).collect();
            let mut draw = |_| (0..weighed.len()).map(|_| self.draws.normal()).collect();
            let normals: Vec<Vec<f64>> = (0..2 * width).map(&mut draw).collect();
            for drawn in model.draw(&candidates, &normals) {
                let free = (0..weighed.len()).filter(|at| !arms.contains(&weighed[*at]));
                let best = free.max_by(|a, b| drawn[*a].total_cmp(&drawn[*b]));
                if arms.len() < width {
                    arms.extend(best.map(|at| weighed[at]));
                }
            }
        }
        arms
    }

    /// Arms that are weighed before a block: of all that are known, with those beside the leaders, the best by the
    /// model's mean, and others at random.
    fn weighed(&mut self) -> Vec<usize> {
        if !self.space.is_complete() {
            for leader in self.leaders.clone() {
                self.space.neighbours(leader);
            }
        }
        let mut all = self.not_out(0..self.space.len());
        let Some(model) = self.model.as_ref().filter(|_| all.len() > MOST_WEIGHED) else { return all };
        let others: Vec<usize> =
            self.draws.some_of(all.len(), MOST_WEIGHED / 3).into_iter().map(|at| all[at]).collect();
        all.sort_by_cached_key(|arm| Rising(-model.mean(*arm, self.space.features(*arm))));
        let mut weighed: Vec<usize> = all.into_iter().take(MOST_WEIGHED - others.len()).collect();
        weighed.extend(others);
        let mut seen = BTreeSet::new();
        weighed.retain(|arm| seen.insert(*arm));
        weighed
    }

    fn outcome(&self) -> Outcome {
        let ran: BTreeSet<usize> = self.seen.iter().map(|seen| seen.arm).collect();
        let top = self.means.first().map_or(0.0, |(_, mean)| *mean);
        Outcome {
            winner: self.winner,
            ahead_of: self.means.iter().skip(1).map(|(arm, mean)| (*arm, top - mean)).collect(),
            out: ran.iter().copied().filter(|arm| self.race.is_out(*arm)).collect(),
            failed: self.failures.iter().filter(|(_, n)| **n >= MOST_FAILURES).map(|(arm, _)| *arm).collect(),
            never_ran: self.space.len() - ran.len(),
            ran: ran.len(),
        }
    }
}
