//! Stretches of time: how many, how long.

use serde::{Deserialize, Serialize};

use crate::bpf::{BUCKETS, STEPS_BITS, StretchesSeen, Sum, Tally};

/// Stretches of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Stretches {
    /// How many; one that goes on when the window ends counts.
    pub count: u64,
    /// All together, ns.
    pub total_ns: u64,
    /// Mean length, ns; `None` when there was none.
    pub mean_ns: Option<f64>,
    /// The shortest, ns; `None` also where only sums are kept, as the next two.
    pub shortest_ns: Option<u64>,
    /// Half of them were at most this long, ns: the upper edge of its step, at most a quarter above the true value. `None` also where
    /// lengths were not sorted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_ns: Option<u64>,
    /// The same for 99 of 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_ns: Option<u64>,
    /// The longest, ns; `None` also of sleep, of which only sums are kept.
    pub longest_ns: Option<u64>,
}

impl Stretches {
    /// Out of a kernel's tally.
    pub(super) fn of(tally: &Tally) -> Self {
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
    pub(super) fn without_shortest(seen: &StretchesSeen) -> Self {
        let longest_ns = (seen.count > 0).then_some(seen.longest_ns);
        Self { count: seen.count, total_ns: seen.total_ns, longest_ns, ..Self::default() }.with_mean()
    }

    /// Out of a sum: neither shortest nor longest.
    pub(super) fn summed(sum: &Sum) -> Self {
        Self { count: sum.count, total_ns: sum.total_ns, ..Self::default() }.with_mean()
    }

    /// The same with one more that goes on.
    pub(super) fn and(mut self, ns: u64) -> Self {
        self.count += 1;
        self.total_ns += ns;
        // An extreme that is not known of those before is not known of all.
        let first = self.count == 1;
        self.longest_ns = if first { Some(ns) } else { self.longest_ns.map(|longest| longest.max(ns)) };
        self.shortest_ns = if first { Some(ns) } else { self.shortest_ns.map(|shortest| shortest.min(ns)) };
        self.with_mean()
    }

    /// Both together; what was sorted is known of neither any more.
    pub(super) fn plus(&self, other: &Self) -> Self {
        let of_both = |mine: Option<u64>, theirs: Option<u64>, choose: fn(u64, u64) -> u64| match (
            self.count,
            other.count,
        ) {
            (0, _) => theirs,
            (_, 0) => mine,
            _ => mine.zip(theirs).map(|(mine, theirs)| choose(mine, theirs)),
        };
        Self {
            count: self.count + other.count,
            total_ns: self.total_ns + other.total_ns,
            shortest_ns: of_both(self.shortest_ns, other.shortest_ns, u64::min),
            longest_ns: of_both(self.longest_ns, other.longest_ns, u64::max),
            ..Self::default()
        }
        .with_mean()
    }

    /// The same with what the distribution tells.
    pub(super) fn sorted_by(mut self, distribution: &Distribution) -> Self {
        let of = |share| distribution.quantile_ns(share).map(|ns| ns.min(self.longest_ns.unwrap_or(ns)));
        (self.p50_ns, self.p99_ns) = (of(0.5), of(0.99));
        self
    }

    fn with_mean(mut self) -> Self {
        self.mean_ns = (self.count > 0).then(|| self.total_ns as f64 / self.count as f64);
        self
    }
}

/// How many stretches fell into each step: four steps to each power of two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Distribution(Vec<u64>);

impl Default for Distribution {
    fn default() -> Self {
        Self(vec![0; BUCKETS])
    }
}

impl Distribution {
    /// Adds what the kernel counted.
    pub(super) fn add(&mut self, steps: &[u32; BUCKETS]) {
        for (sum, count) in self.0.iter_mut().zip(steps) {
            *sum += u64::from(*count);
        }
    }

    /// Counts one stretch; asks for no memory.
    pub(crate) fn insert(&mut self, ns: u64) {
        self.0[step_of(ns)] += 1;
    }

    /// Forgets all, and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.0.fill(0);
    }

    /// Adds another distribution.
    pub(super) fn merge(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(sum, count)| *sum += count);
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The longest length of the step in which this share of all stretches ends; `None` when there was none.
    pub fn quantile_ns(&self, share: f64) -> Option<u64> {
        let count = self.count();
        let wanted = ((count as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        self.steps().find_map(|(_, longest_ns, count)| {
            seen += count;
            (seen >= wanted).then_some(longest_ns)
        })
    }

    /// The steps that something fell into: shortest and longest length in ns, and how many.
    pub fn steps(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        let counted = self.0.iter().enumerate().filter(|(_, count)| **count > 0);
        counted.map(|(step, count)| (shortest_ns(step), longest_ns(step), *count))
    }
}

/// The step into which a length falls, as `step_of` of bpf/maps.h: its power of two, then its next two bits.
fn step_of(ns: u64) -> usize {
    if ns < 1 << STEPS_BITS {
        return ns as usize;
    }
    let power = ns.ilog2();
    let part = (ns >> (power - STEPS_BITS)) & ((1 << STEPS_BITS) - 1);
    (((power as usize) << STEPS_BITS) | part as usize).min(BUCKETS - 1)
}

/// The shortest length that falls into a step (`step_of` of bpf/maps.h).
fn shortest_ns(step: usize) -> u64 {
    let (power, part) = ((step >> STEPS_BITS) as u32, (step % (1 << STEPS_BITS)) as u64);
    match power < STEPS_BITS {
        true => step as u64,
        false => ((1 << STEPS_BITS) + part) << (power - STEPS_BITS),
    }
}

/// The longest; steps 4 to 7 are never used, and the last has no end.
fn longest_ns(step: usize) -> u64 {
    match step {
        0..=3 => step as u64,
        _ if step + 1 >= BUCKETS => u64::MAX,
        _ => shortest_ns(step + 1) - 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_lies_between_the_edges_of_its_step() {
        for ns in (0..100_000).chain([1 << 20, (1 << 30) + 12_345, 3_000_000_000_000]) {
            let step = step_of(ns);
            assert!(shortest_ns(step) <= ns && ns <= longest_ns(step), "{ns} in {step}");
        }
    }

    #[test]
    fn a_quantile_is_at_most_a_quarter_too_long() {
        let mut distribution = Distribution::default();
        let mut steps = [0; BUCKETS];
        for ns in 1_000..2_000 {
            steps[step_of(ns)] += 1;
        }
        distribution.add(&steps);
        assert_eq!(distribution.count(), 1_000);
        for (share, truth) in [(0.5, 1_500.0), (0.99, 1_990.0)] {
            let told = distribution.quantile_ns(share).unwrap() as f64;
            assert!(told >= truth && told <= truth * 1.25, "{told} for {truth}");
        }
        assert_eq!(Distribution::default().quantile_ns(0.5), None);
    }

    #[test]
    fn stretches_add_up() {
        let tally = Tally { count: 2, total_ns: 30, shortest_ns: 10, longest_ns: 20 };
        let some = Stretches::of(&tally);
        let more = some.and(60);
        assert_eq!((more.count, more.total_ns, more.longest_ns, more.mean_ns), (3, 90, Some(60), Some(30.0)));
        let none = Stretches::default();
        assert_eq!(some.plus(&none), some);
        assert_eq!(none.plus(&none).longest_ns, None);
    }
}
