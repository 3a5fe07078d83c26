//! Studies across boots: which trials share a boot of the machine, and whether this boot may run the next one. Pure.
//!
//! Words of the kernel's command line are the whole-plot factor of a split plot. Two boots with the same words differ too (where things
//! lie in memory, which CPU got which interrupt), so in each block every choice of words is booted once and the baseline's words twice,
//! and a boot runs the trials of one group of arms alone (docs/journal/0019-the-boot-is-the-unit.md).

pub(crate) mod groups;
mod kernel_boot;
mod plan;

use std::collections::BTreeSet;

use machine::kernel::boot;
use serde::{Deserialize, Serialize};

pub use self::groups::{Group, used};
pub use self::kernel_boot::Booted;
pub(crate) use self::plan::cover;
pub use self::plan::{Boots, sharing};
use crate::case::Resolved;
use crate::looks;
use crate::schedule::{self, Slot};
use crate::trial::Trial;

/// `boots.jsonl`: a boot that was asked for, its words being in place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// Block, from 0.
    pub block: usize,
    /// Which boot of the block, from 0.
    pub boot: usize,
    /// The words.
    pub words: Vec<String>,
    /// The boot in which it was asked for: while that one runs, the machine has not been rebooted.
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
    /// They are in place, and the machine has not been rebooted since.
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

impl Resolved {
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
        (true, None) => Next::Boot(group, "the kernel does not report which boot this is".into()),
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
    let missing = now.missing_words(words);
    if !missing.is_empty() {
        return Some(format!("the kernel runs without '{}'", missing.join(" ")));
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

#[cfg(test)]
mod tests;
