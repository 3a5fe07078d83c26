//! Series whose changes are known by construction.

use super::*;

struct Luck(ChaCha8Rng);

impl Luck {
    fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        let (u, v) = (1.0 - self.uniform(), self.uniform());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    /// A smooth stretch: 8 ms give or take a tenth, every 40th operation a garbage collection of up to 50 times that.
    fn smooth(&mut self, operations: usize) -> Vec<f64> {
        (0..operations)
            .map(|i| {
                let spike = if i % 40 == 17 { 1.0 + 49.0 * self.uniform() } else { 1.0 };
                8.0 * spike * (0.1 * self.normal()).exp()
            })
            .collect()
    }

    /// Erratic: about the same median as before, a factor of 8 up and down.
    fn erratic(&mut self, operations: usize, median: f64) -> Vec<f64> {
        (0..operations).map(|_| median * (2.0 * self.normal()).exp()).collect()
    }
}

fn found(times: &[f64]) -> Vec<usize> {
    change_points(times, Search::default()).changes.iter().map(|c| c.at).collect()
}

#[test]
fn the_memory_cliff_of_e2_is_found_where_it_is() {
    // 512 messages of 10 MB: smooth until about message 310, then in and out of swap.
    for seed in 0..10 {
        let mut luck = Luck::new(seed);
        let times = [luck.smooth(310), luck.erratic(202, 30.0)].concat();
        let changes = found(&times);
        assert_eq!(changes.len(), 1, "seed {seed}: {changes:?}");
        assert!(changes[0].abs_diff(310) <= 12, "seed {seed}: {changes:?}");
    }
}

#[test]
fn a_change_of_spread_alone_is_found_and_named() {
    let mut luck = Luck::new(3);
    let times = [luck.smooth(310), luck.erratic(202, 8.0)].concat();
    let segmentation = change_points(&times, Search::default());
    assert_eq!(segmentation.changes.len(), 1, "{:?}", segmentation.changes);
    assert_eq!(segmentation.changes[0].what, What::Spread);
    assert!(segmentation.changes[0].at.abs_diff(310) <= 12);
    let [before, after] = segmentation.regimes[..] else { panic!("{:?}", segmentation.regimes) };
    assert!(after.quartile_3 / after.quartile_1 > 3.0 * before.quartile_3 / before.quartile_1);
}

#[test]
fn fill_get_and_drain_are_three_regimes() {
    let mut luck = Luck::new(4);
    let mut level = |operations: usize, us: f64| -> Vec<f64> {
        (0..operations).map(|_| us * (0.2 * luck.normal()).exp()).collect()
    };
    let times = [level(256, 10.0), level(512, 25.0), level(256, 8.0)].concat();
    let changes = found(&times);
    assert_eq!(changes.len(), 2, "{changes:?}");
    assert!(changes[0].abs_diff(256) <= 4 && changes[1].abs_diff(768) <= 4, "{changes:?}");
}

#[test]
fn spikes_are_no_change() {
    let mut luck = Luck::new(5);
    let mut times = luck.smooth(400);
    times[200..205].iter_mut().for_each(|t| *t *= 1000.0);
    assert_eq!(found(&times), [] as [usize; 0]);
}

/// How many of `series` made-up series without a change are said to have one.
fn false_alarms(series: u64, mut make: impl FnMut(&mut Luck) -> Vec<f64>) -> usize {
    (0..series)
        .filter(|seed| {
            let search = Search { alpha: 0.05, orders: 199, seed: *seed, ..Search::default() };
            !change_points(&make(&mut Luck::new(*seed)), search).changes.is_empty()
        })
        .count()
}

#[test]
fn no_change_is_found_where_there_is_none_at_the_stated_rate() {
    // 5 % of 400 are 20, with a standard error of 4.4: three of them beyond would be no luck.
    for operations in [40, 300] {
        let alarms = false_alarms(400, |luck| luck.erratic(operations, 8.0));
        assert!(alarms <= 33, "{alarms} of 400 with {operations} operations");
    }
    let alarms = false_alarms(400, |luck| luck.smooth(300));
    assert!(alarms <= 33, "{alarms} of 400 with regular spikes");
}

#[test]
fn operations_that_depend_on_those_before_are_no_change() {
    let alarms = false_alarms(300, |luck| {
        let mut state = 0.0;
        (0..300)
            .map(|_| {
                state = 0.5 * state + luck.normal();
                f64::exp(state)
            })
            .collect()
    });
    assert!(alarms <= 26, "{alarms} of 300");
}

#[test]
fn short_empty_constant_and_failed_series_make_no_change() {
    assert_eq!(change_points(&[], Search::default()).regimes, []);
    assert_eq!(found(&[1.0; 19]), [] as [usize; 0]);
    assert_eq!(found(&[1.0; 500]), [] as [usize; 0]);
    assert_eq!(found(&[f64::NAN; 100]), [] as [usize; 0]);
    let then_failed = [[1.0, 1.1].repeat(30), vec![f64::NAN; 60]].concat();
    assert_eq!(found(&then_failed), [60]);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(40))]
    #[test]
    fn only_the_order_of_the_times_matters(seed in 0u64..1000, power in 0.2f64..3.0) {
        let mut luck = Luck::new(seed);
        let times = [luck.smooth(60), luck.erratic(60, 40.0)].concat();
        let bent: Vec<f64> = times.iter().map(|t| t.powf(power)).collect();
        proptest::prop_assert_eq!(found(&times), found(&bent));
    }

    #[test]
    fn regimes_cover_the_series_and_are_long_enough(
        times in proptest::collection::vec(0.0f64..1e3, 0..150),
    ) {
        let found = change_points(&times, Search { alpha: 0.5, orders: 19, ..Search::default() });
        let covered: usize = found.regimes.iter().map(|r| r.to - r.from).sum();
        proptest::prop_assert_eq!(covered, times.len());
        for regime in &found.regimes {
            proptest::prop_assert!(regime.to - regime.from >= 10.min(times.len()));
            proptest::prop_assert!(regime.quartile_1 <= regime.median && regime.median <= regime.quartile_3);
        }
    }
}
