//! Stretches of time sorted by their length.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::bpf::{BUCKETS, STEPS_BITS};

/// How many stretches fell into each step: four steps to each power of two. Takes memory only when it has any.
#[derive(Debug, Clone, Default)]
pub struct Distribution(Vec<u64>);

impl Distribution {
    /// None yet, with the memory for them: for those that count while they may not ask for any.
    pub(crate) fn with_room() -> Self {
        Self(vec![0; BUCKETS])
    }

    /// What the kernel counted.
    pub(super) fn of(steps: &[u32; BUCKETS]) -> Self {
        match steps.iter().any(|count| *count > 0) {
            true => Self(steps.iter().map(|count| u64::from(*count)).collect()),
            false => Self::default(),
        }
    }

    /// What the kernel counted from this step on; nothing before it and after these.
    pub(super) fn from(step: usize, counts: &[u32]) -> Self {
        let mut steps = vec![0; BUCKETS];
        steps.iter_mut().skip(step).zip(counts).for_each(|(to, count)| *to = u64::from(*count));
        Self(steps)
    }

    /// Counts one stretch; asks for no memory where there is room.
    pub(crate) fn insert(&mut self, ns: u64) {
        self.0.resize(BUCKETS, 0);
        self.0[step_of(ns)] += 1;
    }

    /// Forgets all, and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.0.fill(0);
    }

    /// Adds another distribution.
    pub(super) fn merge(&mut self, other: &Self) {
        if !other.0.is_empty() {
            self.0.resize(BUCKETS, 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(sum, count)| *sum += count);
    }

    /// What this has more than an earlier one of the same counting. The kernel counts each step in 32 bits and begins anew when
    /// they are full: some days of a busy source.
    pub(super) fn since(&self, earlier: &Self) -> Self {
        let before = earlier.0.iter().copied().chain(std::iter::repeat(0));
        let more =
            self.0.iter().zip(before).map(|(now, before)| now.wrapping_sub(before) & u64::from(u32::MAX));
        let more: Vec<u64> = more.collect();
        if more.iter().any(|count| *count > 0) { Self(more) } else { Self::default() }
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|count| *count == 0)
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
    pub fn steps(&self) -> impl DoubleEndedIterator<Item = (u64, u64, u64)> + '_ {
        self.counted().map(|(step, count)| (shortest_ns(step), longest_ns(step), count))
    }

    fn counted(&self) -> impl DoubleEndedIterator<Item = (usize, u64)> + '_ {
        self.0.iter().copied().enumerate().filter(|(_, count)| *count > 0)
    }
}

impl PartialEq for Distribution {
    fn eq(&self, other: &Self) -> bool {
        self.counted().eq(other.counted())
    }
}

impl Eq for Distribution {}

/// The steps that something fell into, by number, each with how many: most are empty.
impl Serialize for Distribution {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.counted())
    }
}

impl<'de> Deserialize<'de> for Distribution {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut read = Self::default();
        for (step, count) in Vec::<(usize, u64)>::deserialize(deserializer)? {
            read.0.resize(BUCKETS, 0);
            let of_step = read.0.get_mut(step);
            *of_step.ok_or_else(|| serde::de::Error::custom(format_args!("there is no step {step}")))? +=
                count;
        }
        Ok(read)
    }
}

/// The step into which a length falls, as `step_of` of bpf/maps.h: its power of two, then its next two bits.
pub(super) fn step_of(ns: u64) -> usize {
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
        (1_000..2_000).for_each(|ns| distribution.insert(ns));
        assert_eq!(distribution.count(), 1_000);
        for (share, truth) in [(0.5, 1_500.0), (0.99, 1_990.0)] {
            let told = distribution.quantile_ns(share).unwrap() as f64;
            assert!(told >= truth && told <= truth * 1.25, "{told} for {truth}");
        }
        assert_eq!(Distribution::default().quantile_ns(0.5), None);
    }

    #[test]
    fn one_without_memory_is_one_without_stretches() {
        let none = Distribution::with_room();
        assert!(none == Distribution::default() && none.is_empty());
        let mut one = Distribution::default();
        one.insert(77);
        assert_ne!(none, one);
        assert_eq!(one.since(&one), none);
        let mut both = one.clone();
        both.merge(&none);
        assert_eq!(both, one);
    }

    #[test]
    fn a_step_whose_32_bits_are_full_begins_anew() {
        let mut steps = [0; BUCKETS];
        steps[9] = u32::MAX;
        let before = Distribution::of(&steps);
        steps[9] = 4;
        assert_eq!(Distribution::of(&steps).since(&before).count(), 5);
    }

    #[test]
    fn it_is_written_as_the_steps_that_have_any() {
        let mut some = Distribution::default();
        [2, 2, 1_000].iter().for_each(|ns| some.insert(*ns));
        let text = serde_json::to_string(&some).unwrap();
        assert_eq!(text, "[[2,2],[39,1]]");
        assert_eq!(serde_json::from_str::<Distribution>(&text).unwrap(), some);
        assert!(serde_json::from_str::<Distribution>("[[160,1]]").is_err());
    }
}
