//! Sequences whose break is known by construction.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use super::*;

/// Times in us by the message's number; whatever is put is got after, in a tenth of the time of a put of before the break.
struct World {
    messages: usize,
    /// From this put on each takes seven times as long and swaps 2,000 pages.
    holds: usize,
    seed: u64,
}

fn normal(rng: &mut ChaCha8Rng) -> f64 {
    let mut uniform = || ((rng.next_u64() >> 11) as f64 + 1.0) / (1u64 << 53) as f64;
    (-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos()
}

impl World {
    fn run(&self) -> (Vec<Operation>, Vec<Interval>) {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let (mut operations, mut begun_us) = (Vec::new(), 500);
        let mut swapped: Vec<(u64, u64)> = Vec::new();
        for number in 0..2 * self.messages {
            let is_put = number < self.messages;
            let is_slow = is_put && number >= self.holds;
            let spike = if number % 40 == 17 { 20.0 } else { 1.0 };
            let level = if is_slow { 56_000.0 } else { 8_000.0 };
            let took_us = (level * spike * (0.15 * normal(&mut rng)).exp()) as u64;
            let (kind, phase) = if is_put { (Kind::Put, Phase::Fill) } else { (Kind::Get, Phase::Drain) };
            operations.push(Operation { number: number as u64, kind, phase, begun_us, took_us });
            begun_us += took_us + 20;
            swapped.push((begun_us, if is_slow { 2_000 } else { 0 }));
        }
        // Sampled each 10 ms; a few stray pages from the start.
        let end_ms = begun_us / 1000 + 20;
        let intervals = (0..end_ms / 10).map(|n| {
            let (from_us, to_us) = (n * 10_000, (n + 1) * 10_000);
            let of_ours: u64 =
                swapped.iter().filter(|(at, _)| (from_us..to_us).contains(at)).map(|(_, pages)| pages).sum();
            let pages = of_ours as i64 + i64::from(n % 50 == 3);
            let system = BTreeMap::from([("memory/pswpout".to_string(), pages), ("stat/ctxt".into(), 100)]);
            let [from_ns, to_ns] = [from_us, to_us].map(|us| 1_000_000 + us * 1000);
            Interval { from_ns, to_ns, system, ..Interval::default() }
        });
        (operations, intervals.collect())
    }

    fn cliff(&self) -> Cliff {
        let (operations, series) = self.run();
        of_run(&operations, 1_000_000, &series).unwrap()
    }
}

#[test]
fn the_break_is_found_within_a_few_operations_with_the_counter_that_moved() {
    for (messages, holds) in [(128, 83), (256, 83), (512, 310), (100, 60)] {
        for seed in 0..5 {
            let cliff = World { messages, holds, seed }.cliff();
            let broke = cliff.breaks.unwrap_or_else(|| panic!("{messages} {holds} {seed}"));
            assert!(broke.place.nth.abs_diff(holds + 1) <= 3, "{messages} {holds} {seed}: {broke:?}");
            assert_eq!(
                (broke.place.kind, broke.place.phase, broke.place.of),
                (Kind::Put, Phase::Fill, messages)
            );
            assert!(broke.after_us / broke.before_us > 5.0, "{broke:?}");
            let [moved] = &broke.moved[..] else { panic!("{broke:?}") };
            assert_eq!(moved.counter, "memory/pswpout");
            assert!(moved.operation.abs_diff(holds as u64) <= 5 && moved.after > 1000.0, "{moved:?}");
            let first = cliff.first_swap.unwrap();
            assert!(first.operation.abs_diff(holds as u64) <= 2, "{first:?}");
        }
    }
}

#[test]
fn what_fits_does_not_break_at_more_than_the_nominal_rate() {
    // Two parts, each at 1 %: of 300 runs 6 are to be expected; 3 standard deviations more would be no luck.
    let broke =
        (0..300).filter(|seed| World { messages: 100, holds: 1000, seed: *seed }.cliff().breaks.is_some());
    assert!(broke.count() <= 13);
    let cliff = World { messages: 100, holds: 1000, seed: 1 }.cliff();
    assert!(cliff.first_swap.is_none() && cliff.breaks.is_none(), "a few stray pages are no swapping");
    assert_eq!(cliff.parts.iter().map(|part| part.operations).collect::<Vec<_>>(), [100, 100]);
}

#[test]
fn a_break_without_a_counter_is_reported_without_one() {
    let (operations, _) = World { messages: 128, holds: 83, seed: 3 }.run();
    let cliff = of_run(&operations, 1_000_000, &[]).unwrap();
    assert!(cliff.breaks.unwrap().moved.is_empty() && cliff.first_swap.is_none());
}

#[test]
fn operations_that_grow_faster_do_not_break() {
    let (mut operations, series) = World { messages: 128, holds: 83, seed: 3 }.run();
    let longest = operations.iter().map(|operation| operation.took_us).max().unwrap();
    operations.iter_mut().for_each(|operation| operation.took_us = longest + 1 - operation.took_us);
    assert!(of_run(&operations, 1_000_000, &series).unwrap().breaks.is_none());
    assert!(of_run(&[], 0, &series).is_none());
}

#[test]
fn totals_lie_on_lines_between_the_samples() {
    let points = [(10.0, 0.0), (20.0, 100.0), (30.0, 100.0)];
    let at = [0.0, 10.0, 15.0, 20.0, 25.0, 99.0].map(|ns| total_at(&points, ns));
    assert_eq!(at, [0.0, 0.0, 50.0, 100.0, 100.0, 100.0]);
    assert_eq!(total_at(&[], 5.0), 0.0);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(30))]
    #[test]
    fn no_times_break_it(times in proptest::collection::vec(0u64..1_000_000, 0..80), puts in 0usize..80) {
        let operations: Vec<Operation> = times
            .iter()
            .enumerate()
            .map(|(at, took_us)| {
                let (kind, phase) = if at < puts { (Kind::Put, Phase::Fill) } else { (Kind::Get, Phase::Drain) };
                Operation { number: at as u64, kind, phase, begun_us: 1_000 * at as u64, took_us: *took_us }
            })
            .collect();
        if let Some(cliff) = of_run(&operations, 5, &[]) {
            proptest::prop_assert_eq!(cliff.parts.iter().map(|part| part.operations).sum::<usize>(), times.len());
        }
    }
}
