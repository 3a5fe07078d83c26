//! The quantile of all values of several blocks together, and the ratio of two of them with an interval over whole blocks.
//!
//! It asks another question than the median of per-run quantiles: what the slowest of all requests took, where a run in which
//! they pile up counts with all of them. Whole blocks are drawn, since requests of one run are alike (see [`bootstrap`]).

use super::bootstrap::{self, Bootstrapped, Draws};

/// How often each value was counted, rising by value.
pub type Counts = Vec<(u64, u64)>;

/// The values of some blocks, ready to be pooled over any choice of them.
#[derive(Debug, Clone)]
pub struct Pool {
    /// All values, rising.
    values: Vec<u64>,
    /// By value, and within it by block: how many of the block's values are not above it.
    up_to: Vec<u64>,
    blocks: usize,
}

impl Pool {
    /// Of each block the counts of one or several runs.
    pub fn new(blocks: &[Vec<&Counts>]) -> Self {
        let mut values: Vec<u64> =
            blocks.iter().flatten().flat_map(|counts| counts.iter().map(|(v, _)| *v)).collect();
        values.sort_unstable();
        values.dedup();
        let mut up_to = vec![0; values.len() * blocks.len()];
        for (block, runs) in blocks.iter().enumerate() {
            for (value, count) in runs.iter().flat_map(|counts| counts.iter()) {
                if let Ok(at) = values.binary_search(value) {
                    let of_block: &mut u64 = &mut up_to[at * blocks.len() + block];
                    *of_block = of_block.saturating_add(*count);
                }
            }
        }
        for at in blocks.len()..up_to.len() {
            up_to[at] = up_to[at].saturating_add(up_to[at - blocks.len()]);
        }
        Self { values, up_to, blocks: blocks.len() }
    }

    /// How many values all blocks have.
    pub fn count(&self) -> u64 {
        self.values
            .len()
            .checked_sub(1)
            .map_or(0, |last| self.row(last).iter().copied().fold(0, u64::saturating_add))
    }

    /// How many blocks have values.
    pub fn blocks(&self) -> usize {
        self.blocks
    }

    fn row(&self, at: usize) -> &[u64] {
        &self.up_to[at * self.blocks..(at + 1) * self.blocks]
    }

    /// The smallest value that at least `share` of the values of the chosen blocks are not above, as HDR histograms have it; NaN
    /// where they have no value. A block that is chosen several times counts as often.
    pub fn quantile(&self, share: f64, chosen: &[usize]) -> f64 {
        let up_to = |at: usize| chosen.iter().map(|block| self.row(at)[*block]).fold(0, u64::saturating_add);
        let all = self.values.len().checked_sub(1).map_or(0, up_to);
        if all == 0 {
            return f64::NAN;
        }
        let rank = ((share.clamp(0.0, 1.0) * all as f64).ceil() as u64).max(1);
        let (mut low, mut high) = (0, self.values.len() - 1);
        while low < high {
            let middle = low.midpoint(high);
            match up_to(middle) >= rank {
                true => high = middle,
                false => low = middle + 1,
            }
        }
        self.values[low] as f64
    }
}

/// A quantile with fewer values beyond it than this in a block, on average, is given no interval: with 0.5 it held the truth as often as with 3,
/// below that it was not measured (docs/statistics.md), and in the end it is the one slowest value.
pub const FEWEST_BEYOND: f64 = 0.5;

/// Why no interval of the ratio of quantiles is given, in words; `None` where one can be.
pub fn why_not(a: &Pool, b: &Pool, share: f64) -> Option<String> {
    if a.blocks() < bootstrap::FEWEST_BLOCKS {
        return Some(format!("{} blocks; an interval takes {}", a.blocks(), bootstrap::FEWEST_BLOCKS));
    }
    let beyond = |pool: &Pool| pool.count() as f64 * (1.0 - share) / pool.blocks() as f64;
    let fewest = beyond(a).min(beyond(b));
    (fewest < FEWEST_BEYOND).then(|| {
        format!("{fewest:.2} values a block lie beyond the quantile; an interval takes {FEWEST_BEYOND}: longer windows have more")
    })
}

/// The ratio of the quantile of `a` to that of `b`, whose blocks are the same; NaN where either has none.
pub fn ratio(a: &Pool, b: &Pool, share: f64) -> f64 {
    let all: Vec<usize> = (0..a.blocks().min(b.blocks())).collect();
    a.quantile(share, &all) / b.quantile(share, &all)
}

/// The same with its BCa interval over whole blocks; `None` where [`why_not`] says why, or where the ratio is no number.
pub fn ratio_with_interval(a: &Pool, b: &Pool, share: f64, draws: Draws) -> Option<Bootstrapped> {
    if a.blocks() != b.blocks() || why_not(a, b, share).is_some() {
        return None;
    }
    bootstrap::interval(a.blocks(), draws, |chosen| a.quantile(share, chosen) / b.quantile(share, chosen))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: Draws = Draws { level: 0.95, samples: 500, seed: 3 };

    fn pool(blocks: &[Counts]) -> Pool {
        Pool::new(&blocks.iter().map(|counts| vec![counts]).collect::<Vec<_>>())
    }

    #[test]
    fn a_quantile_is_that_of_the_values_laid_end_to_end() {
        let of = pool(&[vec![(1, 90), (5, 10)], vec![(2, 50), (9, 50)], vec![]]);
        assert_eq!((of.count(), of.blocks()), (200, 3));
        assert_eq!(of.quantile(0.5, &[0, 1, 2]), 2.0);
        assert_eq!(of.quantile(0.7, &[0, 1, 2]), 2.0);
        assert_eq!(of.quantile(0.75, &[0, 1, 2]), 5.0);
        assert_eq!(of.quantile(0.76, &[0, 1, 2]), 9.0);
        assert_eq!((of.quantile(0.0, &[0]), of.quantile(1.0, &[0])), (1.0, 5.0));
        assert_eq!(of.quantile(0.9, &[0, 0, 0]), 1.0, "a block counts as often as it is chosen");
        assert!(of.quantile(0.5, &[2]).is_nan() && pool(&[]).quantile(0.5, &[]).is_nan());
        let (first, second) = (vec![(1, 1)], vec![(3, 1)]);
        assert_eq!(
            Pool::new(&[vec![&first, &second]]).quantile(1.0, &[0]),
            3.0,
            "two runs of a block are one"
        );
    }

    #[test]
    fn counts_without_bound_are_added_up() {
        let of = pool(&[vec![(1, u64::MAX), (5, u64::MAX)], vec![(1, u64::MAX)]]);
        assert_eq!((of.count(), of.quantile(1.0, &[0, 1, 1])), (u64::MAX, 1.0));
    }

    #[test]
    fn one_bad_run_of_three_shows_in_the_tail_and_not_in_the_median() {
        let good = || vec![(100, 990), (200, 10)];
        let bad = || vec![(100, 900), (5000, 100)];
        let plain = pool(&vec![good(); 12]);
        let spiky = pool(&(0..12).map(|n| if n % 3 == 0 { bad() } else { good() }).collect::<Vec<_>>());
        assert_eq!(ratio(&spiky, &plain, 0.5), 1.0);
        let tail = ratio_with_interval(&spiky, &plain, 0.995, DRAWS).unwrap();
        assert_eq!(tail.estimate, 25.0);
        assert!(tail.low <= 25.0 && tail.high >= 25.0);
    }

    #[test]
    fn too_few_blocks_and_too_few_values_beyond_are_reported() {
        let of = |blocks: usize| pool(&vec![vec![(1, 99), (7, 1)]; blocks]);
        assert!(why_not(&of(7), &of(7), 0.5).unwrap().contains("7 blocks; an interval takes 8"));
        assert_eq!(ratio_with_interval(&of(7), &of(7), 0.5, DRAWS), None);
        assert!(why_not(&of(8), &of(8), 0.999).unwrap().contains("0.10 values a block"));
        assert_eq!(why_not(&of(8), &of(8), 0.99), None);
        assert_eq!(ratio_with_interval(&of(9), &of(8), 0.5, DRAWS), None, "not the same blocks");
        assert!(ratio(&pool(&[]), &of(8), 0.5).is_nan());
    }

    proptest::proptest! {
        #[test]
        fn it_is_what_sorting_all_values_gives(
            blocks in proptest::collection::vec(proptest::collection::vec(1u64..50, 0..20), 1..5), share in 0.0f64..1.0,
        ) {
            let counted: Vec<Counts> = blocks.iter().map(|values| {
                let mut rising = values.clone();
                rising.sort_unstable();
                rising.into_iter().map(|value| (value, 1)).collect()
            }).collect();
            let mut all = blocks.concat();
            all.sort_unstable();
            let found = pool(&counted).quantile(share, &(0..blocks.len()).collect::<Vec<_>>());
            match all.is_empty() {
                true => proptest::prop_assert!(found.is_nan()),
                false => {
                    let rank = ((share * all.len() as f64).ceil() as usize).max(1);
                    proptest::prop_assert_eq!(found, all[rank - 1] as f64);
                }
            }
        }
    }
}
