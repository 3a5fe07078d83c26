//! How a choice of CPUs is written: words between `&` and commas, and parentheses around a choice that stands for a word. Pure; knows
//! no machine.

mod print;
mod read;

use crate::CpuSet;
use crate::cpu_groups::GroupKind;

pub(super) use read::parse;

/// An end of a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Number(u32),
    /// `N`, the last one that there can be.
    Last,
}

impl End {
    fn number(self) -> Option<u32> {
        match self {
            Self::Number(number) => Some(number),
            Self::Last => None,
        }
    }
}

/// The first `used` of every `group`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stride {
    pub(super) used: u32,
    pub(super) group: u32,
}

/// `0-15:1/2`: numbers as the kernel's lists have them; both ends are the same where there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) from: End,
    pub(super) to: End,
    pub(super) stride: Option<Stride>,
}

impl Range {
    /// Whether it goes up to the last, whichever that is.
    pub(super) fn is_open(&self) -> bool {
        self.to == End::Last && self.from != End::Last
    }

    /// The ends in numbers where the last is `last`; `None` when it then runs backwards.
    pub(super) fn ends(&self, last: u32) -> Option<(u32, u32)> {
        let (from, to) = (self.from.number().unwrap_or(last), self.to.number().unwrap_or(last));
        (from <= to).then_some((from, to))
    }

    /// Whether a number between the ends is one of those that the stride takes.
    pub(super) fn takes(&self, from: u32, number: u32) -> bool {
        self.stride.is_none_or(|stride| number.saturating_sub(from) % stride.group < stride.used)
    }
}

/// CPUs that the kernel keeps apart: since boot, or by a cpuset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Apart {
    Isolated,
    NohzFull,
}

impl Apart {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Isolated => "isolated",
            Self::NohzFull => "nohz_full",
        }
    }
}

/// Which groups of a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Which {
    Numbered(Range),
    Named(String),
}

/// What CPUs are named by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Word {
    All,
    Siblings,
    Listed(Range),
    Apart(Apart, Option<Range>),
    Groups(GroupKind, Which),
    /// A choice in parentheses.
    Parenthesised(Choice),
}

/// A word, or with `!` all others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Factor {
    pub(super) negated: bool,
    pub(super) word: Word,
}

/// What stands between two commas: the CPUs that all of its factors have in common. At least one factor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Term(pub(super) Vec<Factor>);

impl Term {
    /// The word that it takes away: a `!` that stands alone.
    pub(super) fn taken_away(&self) -> Option<&Word> {
        match self.0.as_slice() {
            [Factor { negated: true, word }] => Some(word),
            _ => None,
        }
    }

    /// The range of CPUs that it is, if it is nothing else.
    fn listed(&self) -> Option<&Range> {
        match self.0.as_slice() {
            [Factor { negated: false, word: Word::Listed(range) }] => Some(range),
            _ => None,
        }
    }
}

/// A whole choice: terms in the order in which they add and take away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Choice(pub(super) Vec<Term>);

impl Choice {
    /// The choice of these numbers.
    pub(super) fn of(cpus: &CpuSet) -> Self {
        let term = |(from, to)| {
            let range = Range { from: End::Number(from), to: End::Number(to), stride: None };
            Term(vec![Factor { negated: false, word: Word::Listed(range) }])
        };
        Self(cpus.runs().map(term).collect())
    }

    /// The CPUs where all of them are named by number.
    pub(super) fn numbers(&self) -> Option<CpuSet> {
        let mut set = CpuSet::new();
        for term in &self.0 {
            let range = term.listed()?;
            let (from, to) = (range.from.number()?, range.to.number()?);
            set.extend((from..=to).filter(|number| range.takes(from, *number)));
        }
        Some(set)
    }
}

#[cfg(test)]
mod tests;
