//! The boots of a plan, one after the other: which trials are theirs, and which words they need. Pure.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::case::Resolved;
use crate::trial::Trial;

/// One boot of the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Group {
    /// Block, from 0.
    pub block: usize,
    /// Which boot of the block, from 0.
    pub boot: usize,
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
