use probe::account::Distribution;
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use super::*;
use crate::outcome::latency::Latency;

/// What a guarded trial gives this test.
const CHANCE: f64 = 1e-4;

fn lasted(count: u64, ms: u64) -> Distribution {
    let mut all = Distribution::default();
    (0..count).for_each(|_| all.insert(ms * 1_000_000));
    all
}

/// So many requests that were answered soon, and so many that wait for two seconds.
fn ages(answered: u64, waiting: u64) -> Ages {
    Ages { answered: lasted(answered, 1), waiting: lasted(waiting, 2_000), ..Ages::default() }
}

fn slice(ages: Ages) -> Slice {
    Slice {
        from_ns: 0,
        to_ns: 100_000_000,
        requests: ages.answered.count(),
        latency: Latency::new(),
        ages,
        figures: Default::default(),
    }
}

#[test]
fn connections_that_hang_end_a_trial_although_a_quantile_lets_them_pass() {
    let mut test = Unanswered::new(0, &ages(4_000, 0), CHANCE).unwrap();
    assert!(test.take(&slice(ages(800, 0))).is_none());
    let found = test.take(&slice(ages(75, 8))).unwrap();
    assert_eq!((found.value, found.requests), (8.0, 883));
    assert!(found.limit < 8.0, "{}", found.limit);
    let mut fewer = Unanswered::new(0, &ages(4_000, 0), CHANCE).unwrap();
    assert!(fewer.take(&slice(ages(875, 4))).is_none(), "so few may be chance");
}

#[test]
fn long_polls_that_the_baseline_has_too_are_no_harm() {
    let mut same = Unanswered::new(0, &ages(4_000, 40), CHANCE).unwrap();
    assert!((0..40).all(|_| same.take(&slice(ages(100, 1))).is_none()));
    let mut none = Unanswered::new(0, &ages(4_000, 0), CHANCE).unwrap();
    assert!((0..40).any(|_| none.take(&slice(ages(100, 1))).is_some()));
}

#[test]
fn a_request_that_check_after_check_sees_counts_once_and_so_does_one_that_is_answered_at_last() {
    let mut test = Unanswered::new(0, &ages(400, 0), CHANCE).unwrap();
    test.take(&slice(ages(10, 3)));
    let again = Ages { waiting_before: lasted(3, 1_900), ..ages(10, 3) };
    assert!((0..100).all(|_| test.take(&slice(again.clone())).is_none()));
    let answered = Ages { answered: lasted(3, 9_000), answered_before: lasted(3, 8_900), ..Ages::default() };
    test.take(&slice(answered));
    assert_eq!(test.so_far, 3);
}

#[test]
fn what_a_guard_of_latency_allows_counts_from_there_on() {
    let mut test = Unanswered::new(5_000_000_000, &ages(400, 0), CHANCE).unwrap();
    assert!(test.take(&slice(ages(10, 100))).is_none(), "they wait for two seconds");
    assert!(Unanswered::new(0, &Ages::default(), CHANCE).is_none());
}

#[test]
fn the_parts_of_the_chance_are_the_whole() {
    let parts: f64 = (FIRST_LEVEL..60).map(part).sum();
    assert!((parts - 1.0).abs() < 1e-9, "{parts}");
    assert_eq!([0.001, 0.2, 1.0, 1.1, 2.5].map(level), [FIRST_LEVEL, -2, 0, 1, 2]);
}

#[test]
fn traffic_like_the_baselines_hardly_ever_breaches_it() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    // So many events in a stretch in which one in a hundred of a thousand draws is one.
    let mut uniform = || (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
    let mut events = || (0..1000).filter(|_| uniform() <= 0.01).count() as u64;
    let mut breaches = 0;
    for _ in 0..300 {
        let of_baseline: u64 = (0..4).map(|_| events()).sum();
        // With a chance of one in twenty: high enough to occur.
        let mut test = Unanswered::new(0, &ages(4_000, of_baseline), 0.05).unwrap();
        breaches += usize::from((0..8).any(|_| test.take(&slice(ages(1000, events()))).is_some()));
    }
    assert!(breaches <= 25, "{breaches} of 300, where 15 are expected at most");
}
