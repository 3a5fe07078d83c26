//! Orders that a seed repeats.

/// Random numbers: SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014). Fast enough to
/// lay out a buffer of gigabytes, and good enough for orders.
pub(super) struct Random(u64);

impl Random {
    /// The same seed gives the same numbers on every machine.
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number in 0..bound; the bias of less than bound / 2^64 is none that an order could show.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }

    /// Puts a list into a random order (Durstenfeld 1964).
    pub(super) fn shuffle<T>(&mut self, list: &mut [T]) {
        for last in (1..list.len()).rev() {
            list.swap(last, self.below(last + 1));
        }
    }

    /// One cycle through 0..n: `next[i]` comes after i, and all are met before the first comes again (Sattolo 1986).
    pub(super) fn cycle(&mut self, n: u32) -> Vec<u32> {
        let mut next: Vec<u32> = (0..n).collect();
        for last in (1..next.len()).rev() {
            next.swap(last, self.below(last));
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_has_everything_once_and_the_seed_repeats_it() {
        let of = |seed| {
            let mut list: Vec<u32> = (0..50).collect();
            Random::new(seed).shuffle(&mut list);
            list
        };
        let mut sorted = of(7);
        assert_ne!(sorted, of(8));
        assert_eq!(sorted, of(7));
        sorted.sort_unstable();
        assert_eq!(sorted, (0..50).collect::<Vec<_>>());
    }

    #[test]
    fn places_are_taken_alike() {
        let mut random = Random::new(1);
        let mut firsts = [0; 4];
        for _ in 0..4_000 {
            let mut list = [0, 1, 2, 3];
            random.shuffle(&mut list);
            firsts[list[0]] += 1;
        }
        assert!(firsts.iter().all(|n| (900..1_100).contains(n)), "{firsts:?}");
    }

    proptest::proptest! {
        #[test]
        fn a_cycle_meets_all_before_it_comes_back(n in 1_u32..500, seed: u64) {
            let next = Random::new(seed).cycle(n);
            let (mut at, mut steps) = (next[0], 1);
            while at != 0 && steps <= n {
                (at, steps) = (next[at as usize], steps + 1);
            }
            proptest::prop_assert_eq!(steps, n);
        }
    }
}
