//! How often the test is wrong, and how soon it is right, by simulation. The seeds are fixed, and so is what comes out.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use super::*;

/// The share of slow requests that a p99 allows.
const ALLOWED: f64 = 0.01;
/// The chance that is asked for in simulations of false breaches: high enough for them to occur in 1000 trials.
const CHANCE: f64 = 0.01;
/// The most false breaches in 1000 trials that such a chance explains: 10 are expected at most, with a standard deviation of 3.2.
const MOST_FALSE: usize = 20;
/// That of a usual study, which divides nine tenths of a thousandth among three guards, and each of these between its test and the baseline.
const USUAL: f64 = 0.0009 / 6.0;

struct Random(ChaCha8Rng);

impl Random {
    fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// From 0 to 1, without 0.
    fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) as f64 + 1.0) / (1u64 << 53) as f64
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.uniform().ln()
    }

    /// How many of `requests` are slow, of which each is by itself with this chance, over what is allowed.
    fn independent(&mut self, requests: u32, chance: f64) -> f64 {
        let slow = (0..requests).filter(|_| self.uniform() <= chance).count();
        slow as f64 / f64::from(requests) / ALLOWED
    }
}

/// The block, counted from 1, at which a trial of so many ends.
fn ends_at(false_breach: f64, blocks: usize, mut ratio: impl FnMut(usize) -> f64) -> Option<usize> {
    let mut evidence = Evidence::new(false_breach);
    (1..=blocks).find(|block| evidence.take(ratio(*block), 1.0))
}

/// In each of two states for a time without memory: the share of each block that lies in stalls of one length, which take a hundredth of
/// the time altogether.
struct Stalls {
    random: Random,
    /// Blocks.
    length: f64,
    /// When the next stall begins, or the present one began, in blocks.
    begins: f64,
}

impl Stalls {
    fn new(seed: u64, length: f64) -> Self {
        let mut random = Random::new(seed);
        let begins = random.exponential(length * 99.0);
        Self { random, length, begins }
    }

    /// The share of the block that ends at `to`.
    fn share(&mut self, to: f64) -> f64 {
        let mut stalled = 0.0;
        while self.begins < to {
            let ends = self.begins + self.length;
            stalled += ends.min(to) - self.begins.max(to - 1.0);
            if ends > to {
                break;
            }
            self.begins = ends + self.random.exponential(self.length * 99.0);
        }
        stalled
    }
}

#[test]
fn a_figure_at_its_very_limit_is_hardly_ever_said_to_be_beyond_whatever_the_number_of_requests_between_looks()
{
    for (requests, trials, most) in [(1u32, 1000, MOST_FALSE), (5, 1000, MOST_FALSE), (100, 200, 9)] {
        let mut random = Random::new(u64::from(requests));
        let ends = |_| ends_at(CHANCE, 300, |_| random.independent(requests, ALLOWED)).is_some();
        let breaches = (0..trials).map(ends).filter(|ended| *ended).count();
        assert!(breaches <= most, "{requests} requests a block: {breaches} of {trials}");
    }
}

#[test]
fn stalls_no_longer_than_a_block_do_not_make_it_wrong_more_often() {
    for length in [0.2, 0.6, 1.0] {
        let breaches = (0..1000).filter(|seed| stalls_end_it(*seed, length, CHANCE)).count();
        assert!(breaches <= MOST_FALSE, "stalls of {length} blocks: {breaches}");
    }
}

#[test]
fn stalls_of_three_blocks_that_take_all_that_is_allowed_end_few_trials_of_a_minute() {
    let breaches = (0..500).filter(|seed| stalls_end_it(*seed, 3.0, USUAL)).count();
    assert!(breaches <= 10, "{breaches} of 500");
}

fn stalls_end_it(seed: u64, length: f64, false_breach: f64) -> bool {
    let mut stalls = Stalls::new(seed, length);
    ends_at(false_breach, 600, |block| stalls.share(block as f64) / ALLOWED).is_some()
}

#[test]
fn a_mean_at_its_very_limit_is_hardly_ever_said_to_be_beyond_however_skewed_it_is() {
    let mut random = Random::new(7);
    // The square of an exponential variate has a mean of 2 and a long tail.
    let mut skewed = || random.exponential(1.0).powi(2) / 2.0;
    let breaches = (0..1000).filter(|_| ends_at(CHANCE, 300, |_| skewed()).is_some()).count();
    assert!(breaches <= MOST_FALSE, "{breaches}");
}

#[test]
fn latencies_that_are_ten_times_too_long_end_a_trial_within_seven_blocks() {
    let mut random = Random::new(8);
    // Of exponential latencies whose p99 is ten times the limit, these are above it.
    let slow = ALLOWED.powf(0.1);
    let soon =
        |_: &usize| ends_at(USUAL, 600, |_| random.independent(20, slow)).is_some_and(|block| block <= 7);
    let ended = (0..200).filter(soon).count();
    assert!(ended >= 190, "{ended} of 200 within 140 requests");
    assert_eq!(ends_at(USUAL, 600, |_| 1.0 / ALLOWED), Some(5));
}

#[test]
fn harm_that_begins_after_a_minute_is_seen_within_twelve_blocks() {
    let ratio = |block| if block <= 600 { 0.0 } else { 1.0 / ALLOWED };
    assert!(ends_at(USUAL, 700, ratio).is_some_and(|block| (601..=612).contains(&block)));
}

#[test]
fn a_mean_of_three_times_its_limit_ends_a_trial_within_25_blocks() {
    assert!(ends_at(USUAL, 600, |_| 3.0).is_some_and(|block| block <= 25));
    assert_eq!(ends_at(USUAL, 600, |_| 1.0), None);
    assert_eq!(ends_at(USUAL, 600, |_| 0.0), None);
}

#[test]
fn a_block_of_few_requests_counts_for_little() {
    let ends = |weight: f64| {
        let mut evidence = Evidence::new(USUAL);
        evidence.take(0.0, 1000.0);
        (2..=60).find(|_| evidence.take(1.0 / ALLOWED, weight))
    };
    let (many, few) = (ends(1000.0), ends(10.0));
    assert!(
        many.is_some_and(|block: usize| block <= 7) && few.is_none_or(|block| block > 10),
        "{many:?} {few:?}"
    );
}
