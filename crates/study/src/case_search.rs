//! Drives a search in a case: what the searcher asks for becomes blocks of arms, what trials gave goes back to it. Pure but for the
//! case: with the same recipe, machine and trials it asks for the same blocks.

mod space;

use std::collections::BTreeMap;

use machine::{Class, Fault, Machine, Setting, knobs};

use crate::arm::{Arm, Common, Role};
use crate::case::search_log::{Asked, Found, Line, Ran};
use crate::case::{Case, Resolved};
use crate::levels::Level;
use crate::recipe::Recipe;
use crate::schedule;
use crate::search::{Ask, Outcome, Searcher, Settings, Stage};
use crate::statistics::draws::Draws;
use crate::trial::Trial;
use space::Levels;

/// Keeps the draws of the order within blocks apart from those of the search itself.
const ORDER_SALT: u64 = 0x6f72_6465_7221_0001;

/// The controls of a search, with which its case begins; what it searches is held against the machine.
///
/// # Errors
/// CPUs, levels or knobs that this machine cannot have.
pub fn controls(recipe: &Recipe, machine: &Machine) -> Result<Vec<Arm>, Fault> {
    let (_, levels) = space::of(recipe, machine)?;
    settings_of(levels).iter().try_for_each(|setting| knobs::named(&setting.knob).map(drop))?;
    let common = Common::of(recipe, machine)?;
    let mut arms = common.baselines()?;
    arms.extend(common.positive_control(&arms)?);
    Ok(arms)
}

/// What the arms of a search may set.
///
/// # Errors
/// CPUs or levels that this machine cannot have.
pub fn settings(recipe: &Recipe, machine: &Machine) -> Result<Vec<Setting>, Fault> {
    Ok(settings_of(space::levels(recipe, machine, &Common::of(recipe, machine)?)?))
}

/// The arms that a search knows of before it has asked for any, without its controls: all that it may ask for, or, where there are too many,
/// those from which it steps to others. Two may have the same name.
///
/// # Errors
/// CPUs or levels that this machine cannot have.
pub(crate) fn listed_arms(study: &Resolved, machine: &Machine) -> Result<Vec<Arm>, Fault> {
    let searching = Searching::new(study, machine.clone())?;
    (0..searching.searcher.space().len()).map(|point| searching.arm(point, &[])).collect()
}

fn settings_of(levels: Levels) -> Vec<Setting> {
    levels.into_iter().flat_map(|(_, levels)| levels).flat_map(|level| level.settings).collect()
}

/// A search in a case.
#[derive(Debug)]
pub struct Searching {
    recipe: Recipe,
    machine: Machine,
    levels: Levels,
    searcher: Searcher,
    /// Index in the case of each arm of the space that was asked for.
    arm_of: BTreeMap<usize, usize>,
    /// Blocks whose results the searcher has.
    reported: usize,
}

impl Searching {
    /// The search of a case, as far as its trials are; `None` where the case has none or has ended it.
    ///
    /// # Errors
    /// The machine of the case cannot be read, its placements cannot be listed, or its blocks are not those that this pinwise
    /// would have asked for.
    pub fn of(case: &Case) -> Result<Option<Self>, Fault> {
        if !case.study.is_searching() {
            return Ok(None);
        }
        let machine: Machine = case.read_json("machine.json")?.ok_or_else(|| {
            Fault::new(
                Class::Storage,
                case.dir().join("machine.json").display(),
                "it is missing, and a search needs it",
                "restore the file from a copy, or run the study again",
            )
        })?;
        let mut searching = Self::new(&case.study, machine)?;
        searching.replay(&case.study, &case.trials).map_err(|why| {
            Fault::new(
                Class::Storage,
                case.dir().join("search.jsonl").display(),
                why,
                format!("use the pinwise that made it (version {})", case.study.pinwise),
            )
        })?;
        Ok(Some(searching))
    }

    fn new(study: &Resolved, machine: Machine) -> Result<Self, Fault> {
        let recipe = study.recipe.clone();
        let search = recipe.search.clone().unwrap_or_default();
        let (space, levels) = space::of(&recipe, &machine)?;
        let settings = Settings {
            seed: recipe.seed.unwrap_or_default(),
            alpha: recipe.precision.alpha,
            arms_a_block: search.arms_a_block,
            trials: search.trials,
            confirm_blocks: recipe.budget.blocks,
        };
        let searcher = Searcher::new(space, settings);
        Ok(Self { recipe, machine, levels, searcher, arm_of: BTreeMap::new(), reported: 0 })
    }

    /// Repeats the blocks that were asked for before, with their results.
    fn replay(&mut self, study: &Resolved, trials: &[Trial]) -> Result<(), String> {
        let known = study.order.len();
        let mut so_far = Resolved { order: Vec::new(), stages: Vec::new(), ..study.clone() };
        so_far.arms.truncate(study.arms.iter().filter(|arm| arm.role != Role::Candidate).count());
        for block in 0..known {
            self.report_up_to(&so_far, trials, block);
            let line = self.line(&so_far).map_err(|fault| fault.to_string())?;
            let Line::Block(Asked { stage, arms, order }) = line else {
                return Err(format!("it has a block {block} where the search would have ended"));
            };
            so_far.arms.extend(arms);
            let same = so_far.arms.iter().zip(&study.arms).all(|(a, b)| a == b)
                && study.order.get(block) == Some(&order)
                && study.stages.get(block) == Some(&stage);
            if !same {
                return Err(format!("its block {block} is not what the search would have asked for"));
            }
            so_far.order.push(order);
            so_far.stages.push(stage);
        }
        Ok(())
    }

    /// What the case needs next, when all its blocks are done: another block, or what was found.
    ///
    /// # Errors
    /// A level that a recipe cannot have.
    pub fn further(&mut self, case: &Case) -> Result<Line, Fault> {
        self.report_up_to(&case.study, &case.trials, case.study.order.len());
        self.line(&case.study)
    }

    fn line(&mut self, study: &Resolved) -> Result<Line, Fault> {
        Ok(match self.searcher.ask() {
            Ask::Done(outcome) => Line::Found(self.found(study, &outcome)),
            Ask::Block { stage, arms, controls } => Line::Block(self.asked(study, stage, &arms, controls)?),
        })
    }

    /// Gives the searcher the results of the blocks before `end`.
    fn report_up_to(&mut self, study: &Resolved, trials: &[Trial], end: usize) {
        for block in self.reported..end {
            let counted = schedule::counted(trials.iter().filter(|trial| trial.block == block));
            let figure = |arm: &usize| {
                let name = &study.arms.get(*arm)?.name;
                let trial = counted.iter().find(|trial| trial.arm == *name)?;
                trial.figures.get(&self.recipe.metric).copied().filter(|x| x.is_finite() && *x > 0.0)
            };
            let results: Vec<(usize, f64)> = self
                .arm_of
                .iter()
                .filter_map(|(point, arm)| Some((*point, self.recipe.direction().gain(figure(arm)?))))
                .collect();
            self.searcher.tell(&results);
            self.reported = block + 1;
        }
    }

    fn asked(
        &mut self,
        study: &Resolved,
        stage: Stage,
        points: &[usize],
        controls: bool,
    ) -> Result<Asked, Fault> {
        let mut arms: Vec<Arm> = Vec::new();
        let mut order: Vec<usize> = Vec::new();
        for point in points {
            let index = match self.arm_of.get(point) {
                Some(known) => *known,
                None => {
                    let known = study.arms.iter().chain(&arms);
                    let names: Vec<String> = known.map(|arm| arm.name.clone()).collect();
                    arms.push(self.arm(*point, &names)?);
                    let index = study.arms.len() + arms.len() - 1;
                    self.arm_of.insert(*point, index);
                    index
                }
            };
            order.push(index);
        }
        if controls {
            let are_controls = study.arms.iter().enumerate().filter(|(_, arm)| arm.role != Role::Candidate);
            order.extend(are_controls.map(|(index, _)| index));
        }
        let block = study.order.len() as u64;
        let mut draws = Draws::new(self.recipe.seed.unwrap_or_default() ^ ORDER_SALT.wrapping_mul(block + 1));
        draws.shuffle(&mut order);
        Ok(Asked { stage, arms, order })
    }

    /// The arm of a point of the space, by a name that none of `names` is.
    fn arm(&self, point: usize, names: &[String]) -> Result<Arm, Fault> {
        let space = self.searcher.space();
        let at = space
            .point(point)
            .ok_or_else(|| Fault::new(Class::Storage, "search", "it asked for no arm", machine::IS_A_BUG))?;
        let load = (!at.class.load.is_empty()).then(|| at.class.load.clone());
        let mut place = Level {
            name: at.class.name.clone(),
            server: Some(at.class.server.clone()),
            load,
            ..Level::default()
        };
        let common = Common::of(&self.recipe, &self.machine)?;
        let others = self.levels.iter().zip(&at.levels);
        let others: Vec<(&str, &Level)> = others
            .filter_map(|((factor, levels), level)| Some((factor.as_str(), levels.get(*level)?)))
            .collect();
        if at.class.server.is_empty() {
            let arm = common.candidate(&others)?;
            let name =
                if names.contains(&arm.name) { format!("{} (arm {point})", arm.name) } else { arm.name };
            return Ok(Arm { name, ..arm });
        }
        let of = |place: &Level| common.candidate(&[&[("cpus", place)], others.as_slice()].concat());
        let arm = of(&place)?;
        if !names.contains(&arm.name) {
            return Ok(arm);
        }
        place.name = match at.class.load.is_empty() {
            true => format!("{} (CPUs {})", place.name, at.class.server),
            false => format!("{} (CPUs {}; {})", place.name, at.class.server, at.class.load),
        };
        of(&place)
    }

    fn found(&self, study: &Resolved, outcome: &Outcome) -> Found {
        let name = |point: &usize| {
            let arm = self.arm_of.get(point).and_then(|arm| study.arms.get(*arm));
            arm.map_or_else(|| self.searcher.space().name(*point), |arm| arm.name.clone())
        };
        let space = self.searcher.space();
        let ahead = outcome.ahead_of.iter().map(|(point, ahead)| (*point, *ahead));
        let ran = outcome.winner.map(|winner| (winner, 0.0)).into_iter().chain(ahead);
        let better = self.recipe.direction();
        let ran = ran.map(|(point, ahead)| Ran {
            arm: name(&point),
            trials: self.searcher.trials_of(point),
            to_winner: better.ratio(-ahead),
        });
        Found {
            winner: outcome.winner.as_ref().map(name),
            ran: ran.collect(),
            out: outcome.out.iter().map(name).collect(),
            failed: outcome.failed.iter().map(name).collect(),
            never_ran: outcome.never_ran,
            placements: space.listed.sets.to_string(),
            classes: space.symmetry().map(|_| space.listed.of.to_string()).unwrap_or_default(),
            left_out: space.listed.left_out.clone(),
            differences: space.symmetry().map(|of| of.differences.clone()).unwrap_or_default(),
            notes: space.symmetry().map(|of| of.notes.clone()).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests;
