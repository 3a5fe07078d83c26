//! Studies across boots: which trials share a boot of the machine, and whether this boot may run the next one. Pure.
//!
//! Words of the kernel's command line are the whole-plot factor of a split plot. Two boots with the same words differ too (where things
//! lie in memory, which CPU got which interrupt), so in each block every choice of words is booted once and the baseline's words twice,
//! and a boot runs the trials of one group of arms alone (docs/journal/0019-the-boot-is-the-unit.md).

use std::collections::BTreeSet;
use std::ops::Range;

use machine::Root;
use machine::kernel::boot;
use serde::{Deserialize, Serialize};

use crate::arm::{Arm, Role};
use crate::case::Resolved;
use crate::design::Order;
use crate::looks;
use crate::schedule::{self, Slot};
use crate::trial::Trial;

/// `[boots]` of `study.toml`: which trials share a boot.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Boots {
    /// How many of the trials of `order` each boot has, by block.
    pub trials: Vec<Vec<usize>>,
    /// Words of the command line when the case was made.
    pub found: Vec<String>,
    /// The boot in which the case was made. It runs no trial: it is not as fresh as those that follow.
    pub made_in: String,
}

/// One boot of the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Group {
    /// Block, from 0.
    pub block: usize,
    /// Which boot of the block, from 0.
    pub boot: usize,
}

/// The boot that a trial ran in.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Booted {
    /// The kernel's own name for it (/proc/sys/kernel/random/boot_id, random(4)).
    pub id: String,
    /// The command line (/proc/cmdline).
    pub cmdline: String,
    /// Release of the kernel: one that is installed while a study goes on is the next boot's.
    #[serde(default)]
    pub kernel: String,
}

/// `boots.jsonl`: a boot that was asked for, its words being in place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// Block, from 0.
    pub block: usize,
    /// Which boot of the block, from 0.
    pub boot: usize,
    /// The words.
    pub words: Vec<String>,
    /// The boot in which it was asked for: while that one runs, the machine has not been started again.
    pub in_boot: String,
    /// Trials with a figure that there were then.
    pub trials: usize,
}

impl Asked {
    /// The boot that was asked for.
    pub fn group(&self) -> Group {
        Group { block: self.block, boot: self.boot }
    }
}

/// What pinwise has added to the boot loader's command lines for this case, by its ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// These words; none: nothing.
    Words(Vec<String>),
    /// An act that was cut short, so that nobody knows.
    Unfinished,
}

/// Where the preparation of a boot stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    /// Its words are to be put in place.
    ToPrepare,
    /// They are in place, and the machine has not been started again since.
    Prepared,
    /// They were in place when the machine was started, and it came up otherwise.
    CameUpOtherwise,
}

/// Who starts the machine again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restarts {
    /// The user, each time.
    ByHand,
    /// pinwise, from now on: a user has just asked for it.
    Begin,
    /// pinwise, as it did before this boot: nobody looks.
    GoOn,
}

/// What comes next in this boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// This trial.
    Run(Slot),
    /// The machine has to be started for this group; why this boot will not do, in words.
    Boot(Group, String),
    /// Nothing: the study is finished, or a search has to say what comes next.
    Nothing,
}

impl Booted {
    /// The one that runs; `None` where the kernel does not tell.
    pub fn read(root: &Root) -> Option<Self> {
        let line = |path| root.read(path).ok().map(|text| text.trim().to_string());
        let (id, cmdline) = (line("/proc/sys/kernel/random/boot_id")?, line("/proc/cmdline")?);
        Some(Self { id, cmdline, kernel: line("/proc/sys/kernel/osrelease").unwrap_or_default() })
    }

    /// Those of `words` that its command line lacks.
    pub fn lacks<'a>(&self, words: &'a [String]) -> Vec<&'a str> {
        let there = boot::words(&self.cmdline);
        words.iter().filter(|word| !there.contains(word)).map(String::as_str).collect()
    }
}

/// The arms that share a boot: those of the same words, but for the second baseline, which has one of its own.
pub fn sharing(arms: &[Arm]) -> Vec<Vec<usize>> {
    let second =
        arms.iter().enumerate().filter(|(_, arm)| arm.role == Role::Baseline).map(|(at, _)| at).nth(1);
    let mut boots: Vec<Vec<usize>> = Vec::new();
    for at in 0..arms.len() {
        let words = |other: &usize| &arms[*other].placement.boot_words;
        let same = |boot: &&mut Vec<usize>| words(&boot[0]) == words(&at) && Some(boot[0]) != second;
        match boots.iter_mut().find(same).filter(|_| Some(at) != second) {
            Some(boot) => boot.push(at),
            None => boots.push(vec![at]),
        }
    }
    boots
}

/// Whether the boots of each block have all of its trials, each some.
///
/// # Errors
/// In words: the first block of which that is not so.
pub(crate) fn cover(boots: &[Vec<usize>], order: &Order) -> Result<(), String> {
    if boots.len() != order.len() {
        return Err(format!("it has {} blocks and the boots of {}", order.len(), boots.len()));
    }
    let covered = |sizes: &Vec<usize>| {
        sizes.iter().try_fold(0usize, |sum, size| sum.checked_add(*size).filter(|_| *size > 0))
    };
    match boots.iter().zip(order).position(|(sizes, order)| covered(sizes) != Some(order.len())) {
        Some(block) => {
            Err(format!("the boots of block {block} are not those of its {} trials", order[block].len()))
        }
        None => Ok(()),
    }
}

impl Resolved {
    /// Positions of a block that share a boot, in their order; all of them where the study goes across none.
    pub fn boots_of(&self, block: usize) -> Vec<Range<usize>> {
        let whole = self.order.get(block).map_or(0, Vec::len);
        let Some(sizes) = self.boots.as_ref().and_then(|boots| boots.trials.get(block)) else {
            return std::iter::once(0..whole).collect();
        };
        let mut from = 0;
        let range = |size: &usize| {
            let range = from..(from + size).min(whole);
            from = range.end;
            range
        };
        sizes.iter().map(range).collect()
    }

    /// The boot that a position belongs to.
    pub fn group_of(&self, block: usize, position: usize) -> Group {
        let boot = self.boots_of(block).iter().position(|range| range.contains(&position));
        Group { block, boot: boot.unwrap_or(0) }
    }

    /// The words that a boot needs.
    pub fn words_of(&self, group: Group) -> &[String] {
        let first = self.boots_of(group.block).get(group.boot).map_or(0, |range| range.start);
        let arm = self.order.get(group.block).and_then(|order| self.arms.get(*order.get(first)?));
        arm.map_or(&[], |arm| &arm.placement.boot_words)
    }

    /// How many boots the study has, as far as is known by now; 0 where it goes across none.
    pub fn boots_to_run(&self, trials: &[Trial]) -> usize {
        let Some(boots) = &self.boots else { return 0 };
        let to_run = looks::blocks_to_run(self, trials).into_iter();
        to_run.filter_map(|block| boots.trials.get(block)).map(Vec::len).sum()
    }

    /// How many boots come before this one, as far as is known by now.
    pub fn boots_before(&self, trials: &[Trial], group: Group) -> usize {
        let Some(boots) = &self.boots else { return 0 };
        let before = looks::blocks_to_run(self, trials).into_iter().take_while(|block| *block < group.block);
        before.filter_map(|block| boots.trials.get(block)).map(Vec::len).sum::<usize>() + group.boot
    }
}

/// What comes next in the boot `now`.
pub fn next(study: &Resolved, trials: &[Trial], now: Option<&Booted>) -> Next {
    let Some(slot) = schedule::next(study, trials) else { return Next::Nothing };
    let group = study.group_of(slot.block, slot.position);
    match (study.boots.is_some(), now) {
        (false, _) => Next::Run(slot),
        (true, None) => Next::Boot(group, "the kernel does not tell which boot this is".into()),
        (true, Some(now)) => match unfit(study, trials, group, now) {
            None => Next::Run(slot),
            Some(why) => Next::Boot(group, why),
        },
    }
}

/// Why the boot `now` may not run trials of `group`, in words.
fn unfit(study: &Resolved, trials: &[Trial], group: Group, now: &Booted) -> Option<String> {
    is_spent(study, trials, group, now).or_else(|| amiss(study, study.words_of(group), now))
}

/// Whether another group has used this boot.
fn is_spent(study: &Resolved, trials: &[Trial], group: Group, now: &Booted) -> Option<String> {
    if study.boots.as_ref().is_some_and(|boots| boots.made_in == now.id) {
        return Some("the study begins with a fresh boot".into());
    }
    let here = |trial: &&Trial| trial.boot.as_ref().is_some_and(|boot| boot.id == now.id);
    let other = trials.iter().filter(here).any(|trial| study.group_of(trial.block, trial.position) != group);
    other.then(|| "this boot has run other trials of the study".into())
}

/// What of the command line is not as a group of these words needs it.
fn amiss(study: &Resolved, words: &[String], now: &Booted) -> Option<String> {
    let lacking = now.lacks(words);
    if !lacking.is_empty() {
        return Some(format!("the kernel runs without '{}'", lacking.join(" ")));
    }
    let found = study.boots.iter().flat_map(|boots| &boots.found);
    let fine: BTreeSet<&String> = found.chain(words).collect();
    let there = boot::words(&now.cmdline);
    let of_others: BTreeSet<&String> = study.arms.iter().flat_map(|arm| &arm.placement.boot_words).collect();
    let strange: Vec<&str> =
        of_others.difference(&fine).filter(|word| there.contains(word)).map(|word| word.as_str()).collect();
    (!strange.is_empty()).then(|| format!("the kernel runs with '{}'", strange.join(" ")))
}

/// Where the preparation of `group`, which this boot will not do for, stands.
pub fn readiness(
    study: &Resolved,
    trials: &[Trial],
    asked: &[Asked],
    (group, now): (Group, &Booted),
    standing: &Standing,
) -> Readiness {
    let in_place = matches!(standing, Standing::Words(words) if words == study.words_of(group));
    match asked.last() {
        Some(last) if in_place && last.group() == group && last.in_boot == now.id => Readiness::Prepared,
        Some(last) if in_place && last.group() == group && is_spent(study, trials, group, now).is_none() => {
            Readiness::CameUpOtherwise
        }
        _ => Readiness::ToPrepare,
    }
}

/// Why the machine is not to be started by itself once more, in words: so that no fault makes it do so for ever.
pub fn enough(
    study: &Resolved,
    trials: &[Trial],
    asked: &[Asked],
    now: &Booted,
    restarts: Restarts,
) -> Option<String> {
    if restarts == Restarts::ByHand {
        return None;
    }
    // A boot that is cut short is asked for again: some room for that, and an end to it.
    let most = 2 * study.boots_to_run(trials);
    if asked.len() >= most {
        return Some(format!("it has been asked for {most} times, twice as often as the study has boots"));
    }
    let last = asked.last().filter(|last| restarts == Restarts::GoOn && last.in_boot != now.id)?;
    (with_figure(trials) <= last.trials).then(|| "the last boot has finished no trial".into())
}

/// How many trials came to a figure.
pub fn with_figure(trials: &[Trial]) -> usize {
    trials.iter().filter(|trial| trial.failed.is_none()).count()
}

/// How many boots the trials ran in, and how many groups were cut short and went on in a further one.
pub fn used(study: &Resolved, trials: &[Trial]) -> (usize, usize) {
    let pairs: BTreeSet<(Group, &str)> = trials
        .iter()
        .filter_map(|trial| {
            Some((study.group_of(trial.block, trial.position), trial.boot.as_ref()?.id.as_str()))
        })
        .collect();
    let boots: BTreeSet<&str> = pairs.iter().map(|(_, id)| *id).collect();
    let groups: BTreeSet<Group> = pairs.iter().map(|(group, _)| *group).collect();
    (boots.len(), pairs.len() - groups.len())
}

#[cfg(test)]
mod tests;
