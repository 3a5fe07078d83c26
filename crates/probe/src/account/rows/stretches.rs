//! Stretches of time: how many, how long.

use serde::{Deserialize, Serialize};

use super::distribution::Distribution;
use super::extreme::Extreme;
use super::part::Part;
use crate::bpf::{StretchesSeen, Sum, Tally};

/// Stretches of one kind.
///
/// Of an interval between two readings, the shortest and the longest are those that ended in it or go on at its end, in their whole
/// length. The kernel keeps extremes only since counting began: where the interval did not raise them, there is a bound instead.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Stretches {
    /// How many; one that goes on when the window ends counts.
    pub count: u64,
    /// All together, ns.
    pub total_ns: u64,
    /// Mean length, ns; `None` when there was none.
    pub mean_ns: Option<f64>,
    /// The shortest, ns; `None` also where it is not kept, or where only a bound is known.
    pub shortest_ns: Option<u64>,
    /// Then: none was shorter, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shortest_at_least_ns: Option<u64>,
    /// Half of them were at most this long, ns: the upper edge of its step, at most a quarter above the true value. `None` also where
    /// lengths were not sorted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_ns: Option<u64>,
    /// The same for 99 of 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_ns: Option<u64>,
    /// The longest, ns; `None` also of sleep, of which only sums are kept, or where only a bound is known.
    pub longest_ns: Option<u64>,
    /// Then: none was longer, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_at_most_ns: Option<u64>,
    /// The one of them that goes on at the moment of reading, ns so far. Of no difference.
    #[serde(skip)]
    pub goes_on_ns: Option<u64>,
}

impl Stretches {
    /// Out of a kernel's tally.
    pub(in crate::account) fn of(tally: &Tally) -> Self {
        let some = tally.count > 0;
        Self {
            count: tally.count,
            total_ns: tally.total_ns,
            shortest_ns: some.then_some(tally.shortest_ns),
            longest_ns: some.then_some(tally.longest_ns),
            ..Self::default()
        }
        .with_mean()
    }

    /// Out of what the kernel keeps of every switch: no shortest.
    pub(in crate::account) fn without_shortest(seen: &StretchesSeen) -> Self {
        let longest_ns = (seen.count > 0).then_some(seen.longest_ns);
        Self { count: seen.count, total_ns: seen.total_ns, longest_ns, ..Self::default() }.with_mean()
    }

    /// Out of a sum: neither shortest nor longest.
    pub(in crate::account) fn summed(sum: &Sum) -> Self {
        Self { count: sum.count, total_ns: sum.total_ns, ..Self::default() }.with_mean()
    }

    /// Out of all its parts: neither shortest nor longest.
    pub(in crate::account) fn all_of<'a>(parts: impl Iterator<Item = &'a Part>) -> Self {
        let all = parts.fold(Part::default(), |all, part| all.plus(part));
        Self::summed(&Sum { count: all.count, total_ns: all.total_ns })
    }

    /// The same with one more that goes on.
    pub(in crate::account) fn and(mut self, ns: u64) -> Self {
        // An extreme that is not known of those before is not known of all.
        let first = self.count == 0;
        self.longest_ns = if first { Some(ns) } else { self.longest_ns.map(|longest| longest.max(ns)) };
        self.goes_on_ns = Some(ns);
        self.and_sum(ns)
    }

    /// The same where only sums are kept.
    pub(in crate::account) fn and_sum(mut self, ns: u64) -> Self {
        self.count += 1;
        self.total_ns += ns;
        self.with_mean()
    }

    /// What this has more than an earlier reading; `lengths` are those of the stretches that ended meanwhile, where they were sorted.
    pub(in crate::account) fn since(&self, before: &Self, lengths: Option<&Distribution>) -> Self {
        let count = self.count.saturating_sub(before.count);
        let total_ns = self.total_ns.saturating_sub(before.total_ns);
        let mut since = Self { count, total_ns, ..Self::default() };
        if count == 0 && total_ns == 0 {
            return since;
        }
        since = if self.mean_ns.is_some() { since.with_mean() } else { since };
        // Those that ended, where all of them were sorted: a program may be between its two entries when they are read.
        let ended = |all: &Self| all.count - u64::from(all.goes_on_ns.is_some());
        let lengths = lengths.filter(|lengths| lengths.count() >= ended(self).saturating_sub(ended(before)));
        // Where none goes on at either end, all lie within: one alone is as long as all together.
        let within = self.goes_on_ns.or(before.goes_on_ns).is_none();
        let alone = (within && count == 1).then_some(Extreme::Exactly(total_ns));
        let longest = self.longest_ns.map(|longest_ns| {
            let raised = before.longest_ns.is_none_or(|before| before < longest_ns);
            let whole = if within { total_ns } else { u64::MAX };
            match (raised, lengths) {
                (true, _) => Extreme::Exactly(longest_ns),
                (false, Some(lengths)) => self.longest_sorted(lengths).no_longer_than(longest_ns.min(whole)),
                (false, None) => Extreme::Bound(longest_ns.min(whole)),
            }
        });
        let shortest = self.shortest_ns.map(|shortest_ns| {
            let lowered = before.shortest_ns.is_none_or(|before| before > shortest_ns);
            if lowered { Extreme::Exactly(shortest_ns) } else { Extreme::Bound(shortest_ns) }
        });
        since.set_longest(longest.map(|longest| alone.unwrap_or(longest)));
        since.set_shortest(shortest.map(|shortest| alone.unwrap_or(shortest)));
        since
    }

    /// The longest of those that ended, by their lengths, and of the one that goes on.
    fn longest_sorted(&self, lengths: &Distribution) -> Extreme {
        let edge_ns = lengths.steps().next_back().map(|(_, longest_ns, _)| longest_ns);
        match (edge_ns, self.goes_on_ns) {
            (None, Some(ns)) => Extreme::Exactly(ns),
            (Some(edge_ns), Some(ns)) if ns >= edge_ns => Extreme::Exactly(ns),
            (edge_ns, _) => Extreme::Bound(edge_ns.unwrap_or(u64::MAX)),
        }
    }

    /// Both together; what was sorted is known of neither any more.
    pub(in crate::account) fn plus(&self, other: &Self) -> Self {
        let mut both = Self {
            // A ring may come from anybody, with any numbers in it.
            count: self.count.saturating_add(other.count),
            total_ns: self.total_ns.saturating_add(other.total_ns),
            ..Self::default()
        };
        let (longest, shortest) = match (self.is_nothing(), other.is_nothing()) {
            (true, _) => (other.longest(), other.shortest()),
            (_, true) => (self.longest(), self.shortest()),
            _ => (
                Extreme::longer(self.longest(), other.longest()),
                Extreme::shorter(self.shortest(), other.shortest()),
            ),
        };
        both.set_longest(longest);
        both.set_shortest(shortest);
        // Of work items no time is known, however many there are.
        let timed = |some: &Self| some.count == 0 || some.mean_ns.is_some();
        if timed(self) && timed(other) { both.with_mean() } else { both }
    }

    /// The same with what the distribution reports.
    pub(in crate::account) fn sorted_by(mut self, distribution: &Distribution) -> Self {
        let bound_ns = self.longest().map_or(u64::MAX, Extreme::ns);
        let within = |ns: Option<u64>| ns.map(|ns| ns.min(bound_ns));
        [self.p50_ns, self.p99_ns] = distribution.quantiles_ns([0.5, 0.99]).map(within);
        self
    }

    /// The same without them.
    pub(in crate::account) fn without_quantiles(self) -> Self {
        Self { p50_ns: None, p99_ns: None, ..self }
    }

    /// The longest, or a bound of it.
    pub fn longest(&self) -> Option<Extreme> {
        Extreme::of(self.longest_ns, self.longest_at_most_ns)
    }

    /// The shortest, or a bound of it.
    pub fn shortest(&self) -> Option<Extreme> {
        Extreme::of(self.shortest_ns, self.shortest_at_least_ns)
    }

    fn set_longest(&mut self, longest: Option<Extreme>) {
        (self.longest_ns, self.longest_at_most_ns) = Extreme::apart(longest);
    }

    fn set_shortest(&mut self, shortest: Option<Extreme>) {
        (self.shortest_ns, self.shortest_at_least_ns) = Extreme::apart(shortest);
    }

    fn is_nothing(&self) -> bool {
        self.count == 0 && self.total_ns == 0
    }

    fn with_mean(mut self) -> Self {
        self.mean_ns = (self.count > 0).then(|| self.total_ns as f64 / self.count as f64);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(lengths: &[u64]) -> Stretches {
        let (shortest, longest) = (lengths.iter().min(), lengths.iter().max());
        Stretches::of(&Tally {
            count: lengths.len() as u64,
            total_ns: lengths.iter().sum(),
            shortest_ns: shortest.copied().unwrap_or(0),
            longest_ns: longest.copied().unwrap_or(0),
        })
    }

    fn sorted(lengths: &[u64]) -> Distribution {
        let mut sorted = Distribution::default();
        lengths.iter().for_each(|ns| sorted.insert(*ns));
        sorted
    }

    #[test]
    fn stretches_add_up() {
        let some = tally(&[10, 20]);
        let more = some.and(60);
        assert_eq!((more.count, more.total_ns, more.longest_ns, more.mean_ns), (3, 90, Some(60), Some(30.0)));
        let none = Stretches::default();
        assert_eq!(some.plus(&none), some);
        assert_eq!(none.plus(&none).longest_ns, None);
    }

    #[test]
    fn an_extreme_that_the_interval_raised_is_exact() {
        let since = tally(&[10, 20, 5, 30]).since(&tally(&[10, 20]), None);
        assert_eq!((since.count, since.longest_ns, since.shortest_ns), (2, Some(30), Some(5)));
        assert_eq!((since.longest_at_most_ns, since.shortest_at_least_ns), (None, None));
    }

    #[test]
    fn one_that_it_did_not_raise_is_bounded_by_the_steps_that_grew() {
        let before = [10, 1_000_000];
        let meanwhile = [100, 100, 130];
        let now = tally(&[&before[..], &meanwhile[..]].concat());
        let since = now.since(&tally(&before), Some(&sorted(&meanwhile)));
        assert_eq!((since.longest_ns, since.longest_at_most_ns), (None, Some(159)));
        assert_eq!(since.sorted_by(&sorted(&meanwhile)).p99_ns, Some(159));
        let since = now.since(&tally(&before), None);
        assert_eq!(since.longest_at_most_ns, Some(330), "none is longer than all together");
    }

    #[test]
    fn one_alone_is_as_long_as_all_together() {
        let since = tally(&[10, 50, 20]).since(&tally(&[10, 50]), None);
        assert_eq!((since.longest_ns, since.shortest_ns), (Some(20), Some(20)));
    }

    #[test]
    fn one_that_goes_on_is_known_to_the_ns() {
        let before = tally(&[900]).and(30);
        let since = tally(&[900]).and(70).since(&before, Some(&Distribution::default()));
        assert_eq!((since.count, since.total_ns, since.longest_ns), (0, 40, Some(70)));
    }

    #[test]
    fn where_nothing_was_there_is_no_extreme() {
        let some = tally(&[10, 50]);
        assert_eq!(some.since(&some, None), Stretches::default());
    }
}
