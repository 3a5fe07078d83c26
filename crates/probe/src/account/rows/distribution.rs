//! Stretches of time sorted by their length.

use std::ops::Range;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::bpf::{BUCKETS, STEPS_BITS};

/// How many stretches fell into each step: four steps to each power of two. Takes memory only for steps from the first to the last that
/// have any.
#[derive(Debug, Clone, Default)]
pub struct Distribution {
    /// The step that the first of the counts is of.
    first: usize,
    counts: Vec<u64>,
}

impl Distribution {
    /// None yet, with the memory for them: for those that count while they may not ask for any.
    pub(crate) fn with_room() -> Self {
        Self { first: 0, counts: vec![0; BUCKETS] }
    }

    /// What the kernel counted.
    pub(crate) fn of(steps: &[u32; BUCKETS]) -> Self {
        let Some(first) = steps.iter().position(|count| *count > 0) else { return Self::default() };
        let last = steps.iter().rposition(|count| *count > 0).unwrap_or(first);
        Self::from(first, last + 1 - first, [&steps[first..=last]])
    }

    /// What the kernel counted from this step on, in parts that are so many steps together; nothing before them and after them.
    pub(in crate::account) fn from<'a>(
        first: usize,
        steps: usize,
        parts: impl IntoIterator<Item = &'a [u32]>,
    ) -> Self {
        let mut counts = Vec::with_capacity(steps);
        parts.into_iter().for_each(|part| counts.extend(part.iter().copied().map(u64::from)));
        Self { first, counts }
    }

    /// Counts one stretch; asks for no memory where there is room.
    pub fn insert(&mut self, ns: u64) {
        self.add(step_of(ns), 1);
    }

    /// Adds to a step, which is one of [`BUCKETS`].
    fn add(&mut self, step: usize, count: u64) {
        self.make_room(step..step + 1);
        let sum = &mut self.counts[step - self.first];
        *sum = sum.saturating_add(count);
    }

    /// Takes in these steps.
    fn make_room(&mut self, steps: Range<usize>) {
        if self.counts.is_empty() {
            self.first = steps.start;
        }
        if steps.start < self.first {
            self.counts.splice(0..0, std::iter::repeat_n(0, self.first - steps.start));
            self.first = steps.start;
        }
        if steps.end > self.range().end {
            self.counts.resize(steps.end - self.first, 0);
        }
    }

    fn range(&self) -> Range<usize> {
        self.first..self.first + self.counts.len()
    }

    /// Forgets all, and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.counts.fill(0);
    }

    /// Adds another distribution.
    pub fn merge(&mut self, other: &Self) {
        if other.counts.is_empty() {
            return;
        }
        self.make_room(other.range());
        let from = other.first - self.first;
        self.counts[from..]
            .iter_mut()
            .zip(&other.counts)
            .for_each(|(sum, count)| *sum = sum.saturating_add(*count));
    }

    /// What this has more than an earlier one of the same counting. The kernel counts each step in 32 bits and begins anew when
    /// they are full: some days of a busy source.
    pub(in crate::account) fn since(&self, earlier: &Self) -> Self {
        let mut since = self.clone();
        if since.counts.is_empty() || earlier.counts.is_empty() {
            return since;
        }
        since.make_room(earlier.range());
        let from = earlier.first - since.first;
        for (now, before) in since.counts.iter_mut().skip(from).zip(&earlier.counts) {
            *now = now.wrapping_sub(*before);
        }
        since.counts.iter_mut().for_each(|more| *more &= u64::from(u32::MAX));
        if since.is_empty() { Self::default() } else { since }
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.counts.iter().fold(0, |sum: u64, count| sum.saturating_add(*count))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.counts.iter().all(|count| *count == 0)
    }

    /// The longest length of the step in which this share of all stretches ends; `None` when there was none.
    pub fn quantile_ns(&self, share: f64) -> Option<u64> {
        let [quantile_ns] = self.quantiles_ns([share]);
        quantile_ns
    }

    /// The same of several shares in ascending order, in one go.
    pub(in crate::account) fn quantiles_ns<const N: usize>(&self, shares: [f64; N]) -> [Option<u64>; N] {
        let count = self.count();
        let (mut steps, mut seen, mut step_ns) = (self.steps(), 0, None);
        shares.map(|share| {
            let wanted = ((count as f64 * share).ceil() as u64).max(1);
            while seen < wanted {
                let (_, longest_ns, count) = steps.next()?;
                (seen, step_ns) = (u64::saturating_add(seen, count), Some(longest_ns));
            }
            step_ns
        })
    }

    /// The steps that something fell into: shortest and longest length in ns, and how many.
    pub fn steps(&self) -> impl DoubleEndedIterator<Item = (u64, u64, u64)> + '_ {
        self.counted().map(|(step, count)| (shortest_ns(step), longest_ns(step), count))
    }

    fn counted(&self) -> impl DoubleEndedIterator<Item = (usize, u64)> + '_ {
        self.range().zip(self.counts.iter().copied()).filter(|(_, count)| *count > 0)
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
            if step >= BUCKETS {
                return Err(serde::de::Error::custom(format_args!("there is no step {step}")));
            }
            read.add(step, count);
        }
        Ok(read)
    }
}

/// The step into which a length falls, as `step_of` of bpf/steps.h: its power of two, then its next two bits.
#[inline]
pub(in crate::account) fn step_of(ns: u64) -> usize {
    if ns < 1 << STEPS_BITS {
        return ns as usize;
    }
    let power = ns.ilog2();
    let part = (ns >> (power - STEPS_BITS)) & ((1 << STEPS_BITS) - 1);
    (((power as usize) << STEPS_BITS) | part as usize).min(BUCKETS - 1)
}

/// The shortest length that falls into a step (`step_of` of bpf/steps.h).
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
    use std::fs::File;
    use std::path::Path;
    use std::process::Command;

    use super::*;

    #[test]
    fn every_length_lies_between_the_edges_of_its_step() {
        for ns in (0..100_000).chain([1 << 20, (1 << 30) + 12_345, 3_000_000_000_000]) {
            let step = step_of(ns);
            assert!(shortest_ns(step) <= ns && ns <= longest_ns(step), "{ns} in {step}");
        }
    }

    /// Compiled for this machine, to be asked.
    const ASKED: &str = "#include \"steps.h\"\nint scanf(const char *, ...);\nint printf(const char *, ...);\n\
        int main(void) { u64 ns; while (scanf(\"%llu\", &ns) == 1) printf(\"%llu\\n\", step_of(ns)); return 0; }\n";

    #[test]
    fn the_programs_find_the_same_steps() {
        let folder = tempfile::tempdir().unwrap();
        let (source, program) = (folder.path().join("steps.c"), folder.path().join("steps"));
        std::fs::write(&source, ASKED).unwrap();
        let headers = Path::new(env!("CARGO_MANIFEST_DIR")).join("bpf");
        // Rust itself links with it.
        let mut compile = Command::new("cc");
        compile.args(["-O1", "-fms-extensions", "-w", "-I"]).arg(headers).arg(&source);
        let compiled = compile.arg("-o").arg(&program).output().unwrap();
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        // Each power of two, and each quarter of the way to the next.
        let edges = (2..63).flat_map(|power| (4..8).map(move |part: u64| part << (power - 2)));
        let edges = edges.flat_map(|edge| [edge - 1, edge, edge + 1]);
        let lengths: Vec<u64> = (0..70_000).chain(edges).chain([u64::MAX]).collect();
        let words: String = lengths.iter().map(|ns| format!("{ns}\n")).collect();
        let asked = folder.path().join("lengths");
        std::fs::write(&asked, words).unwrap();
        let reported = Command::new(&program).stdin(File::open(&asked).unwrap()).output().unwrap();
        let reported = String::from_utf8(reported.stdout).unwrap();
        assert_eq!(reported.lines().count(), lengths.len());
        for (ns, reported) in lengths.into_iter().zip(reported.lines()) {
            assert_eq!(reported.parse(), Ok(step_of(ns)), "{ns} ns");
        }
    }

    #[test]
    fn a_quantile_is_at_most_a_quarter_too_long() {
        let mut distribution = Distribution::default();
        (1_000..2_000).for_each(|ns| distribution.insert(ns));
        assert_eq!(distribution.count(), 1_000);
        for (share, truth) in [(0.5, 1_500.0), (0.99, 1_990.0)] {
            let reported = distribution.quantile_ns(share).unwrap() as f64;
            assert!(reported >= truth && reported <= truth * 1.25, "{reported} for {truth}");
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
    fn steps_are_taken_in_on_either_side() {
        let of = |lengths: &[u64]| {
            let mut all = Distribution::default();
            lengths.iter().for_each(|ns| all.insert(*ns));
            all
        };
        let (long, short, both) = (of(&[1 << 40, 1 << 50]), of(&[3, 90]), of(&[90, 1 << 50, 3, 1 << 40]));
        let (mut one, mut other) = (long.clone(), short.clone());
        one.merge(&short);
        other.merge(&long);
        assert!(one == both && other == both);
        assert_eq!((both.since(&long), both.since(&short)), (short.clone(), long));
        assert_eq!(both.since(&Distribution::default()), both);
        assert_eq!(Distribution::default().since(&Distribution::with_room()), Distribution::default());
        assert!(short.counts.len() < BUCKETS);
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
