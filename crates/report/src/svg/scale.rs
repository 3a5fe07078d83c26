//! From values to places on an axis, with round ticks.

use crate::number;

/// A tick: where, and what it says.
#[derive(Debug, Clone, PartialEq)]
pub struct Tick {
    /// The value.
    pub value: f64,
    /// Its label.
    pub label: String,
}

/// How values are spread over an axis.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Spread {
    Linear,
    /// Common logarithm.
    Log,
    /// -log10(1 - p / 100): equal steps for 90, 99, 99.9 %.
    Nines,
}

/// A mapping from a range of values to a range of coordinates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    spread: Spread,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Scale {
    /// A linear scale over `low`..`high`, drawn from coordinate `from` to `to`. An empty range is widened.
    pub fn linear((low, high): (f64, f64), (from, to): (f64, f64)) -> Self {
        let (low, high) = widened(low, high);
        Self { spread: Spread::Linear, low, high, from, to }
    }

    /// A logarithmic scale; both ends are moved outward to 1, 2 or 5 times a power of ten.
    pub fn log((low, high): (f64, f64), (from, to): (f64, f64)) -> Self {
        // Outside these bounds lies nothing that anybody measures, and powers of ten run out of numbers.
        let held = |v: f64| if v.is_finite() { v.clamp(1e-12, 1e15) } else { 1.0 };
        let (low, high) = (held(low), held(high).max(held(low)));
        let below = |v: f64| steps_around(v).into_iter().rfind(|s| *s <= v * 1.000_001).unwrap_or(v);
        let above = |v: f64| steps_around(v).into_iter().find(|s| *s >= v * 0.999_999).unwrap_or(v);
        let (low, high) = (below(low), above(high));
        let high = if high > low { high } else { low * 10.0 };
        Self { spread: Spread::Log, low, high, from, to }
    }

    /// A scale of percentiles that gives the tail its room, from 0 to `high` percent (below 100).
    pub fn nines(high: f64, (from, to): (f64, f64)) -> Self {
        Self { spread: Spread::Nines, low: 0.0, high: high.clamp(90.0, 99.999_999), from, to }
    }

    /// The place of a value; values outside the range are held at its ends.
    pub fn place(&self, value: f64) -> f64 {
        let (low, high) = (self.spread(self.low), self.spread(self.high));
        let share = (self.spread(value.clamp(self.low, self.high)) - low) / (high - low);
        self.from + share * (self.to - self.from)
    }

    /// About `wanted` round ticks within the range.
    pub fn ticks(&self, wanted: usize) -> Vec<Tick> {
        match self.spread {
            Spread::Linear => self.linear_ticks(wanted),
            Spread::Log => self.log_ticks(wanted),
            Spread::Nines => [0.0, 50.0, 75.0, 90.0, 99.0, 99.9, 99.99, 99.999]
                .into_iter()
                .filter(|p| *p <= self.high)
                .map(|value| Tick { value, label: format!("{value} %") })
                .collect(),
        }
    }

    fn spread(&self, value: f64) -> f64 {
        match self.spread {
            Spread::Linear => value,
            Spread::Log => value.log10(),
            Spread::Nines => -(1.0 - value / 100.0).log10(),
        }
    }

    fn linear_ticks(&self, wanted: usize) -> Vec<Tick> {
        let rough = (self.high - self.low) / wanted.max(1) as f64;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 2.5, 5.0, 10.0]
            .map(|m| m * power)
            .into_iter()
            .find(|s| *s >= rough * 0.999)
            .unwrap_or(rough);
        let decimals = (0..9).find(|d| (step * 10f64.powi(*d)).fract().abs() < 1e-6).unwrap_or(2) as usize;
        let first = (self.low / step - 1e-9).ceil();
        (0..100)
            .map(|i| (first + f64::from(i)) * step)
            .take_while(|v| *v <= self.high + step * 1e-9)
            .map(|value| Tick { value, label: number::grouped(value, decimals) })
            .collect()
    }

    fn log_ticks(&self, wanted: usize) -> Vec<Tick> {
        let decades = (self.low.log10().floor() as i32)..=(self.high.log10().ceil() as i32);
        let all = |multiples: &[f64]| -> Vec<f64> {
            decades
                .clone()
                .flat_map(|d| multiples.iter().map(move |m| m * 10f64.powi(d)))
                .filter(|v| *v >= self.low * 0.999_999 && *v <= self.high * 1.000_001)
                .collect()
        };
        let values = [all(&[1.0, 2.0, 5.0]), all(&[1.0, 3.0]), all(&[1.0])]
            .into_iter()
            .find(|v| v.len() <= wanted.max(2))
            .unwrap_or_else(|| {
                let powers = all(&[1.0]);
                powers.iter().copied().step_by(powers.len().div_ceil(wanted.max(2))).collect()
            });
        let decimals = |v: f64| if v >= 1.0 { 0 } else { (-v.log10().floor()) as usize };
        values
            .into_iter()
            .map(|value| Tick { value, label: number::grouped(value, decimals(value)) })
            .collect()
    }
}

fn widened(low: f64, high: f64) -> (f64, f64) {
    match (low.is_finite() && high.is_finite(), low < high) {
        (false, _) => (0.0, 1.0),
        (true, true) => (low, high),
        (true, false) => (low - low.abs().max(1.0) * 0.05, low + low.abs().max(1.0) * 0.05),
    }
}

/// 1, 2 and 5 times the powers of ten around a positive value, ascending.
fn steps_around(value: f64) -> Vec<f64> {
    let decade = value.log10().floor() as i32;
    (decade - 1..=decade + 1).flat_map(|d| [1.0, 2.0, 5.0].map(|m| m * 10f64.powi(d))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: &Scale, wanted: usize) -> Vec<String> {
        scale.ticks(wanted).into_iter().map(|t| t.label).collect()
    }

    #[test]
    fn linear_ticks_are_round() {
        let scale = Scale::linear((0.0, 10_352.0), (0.0, 100.0));
        assert_eq!(labels(&scale, 5), ["0", "2,500", "5,000", "7,500", "10,000"]);
        assert_eq!(labels(&Scale::linear((-0.31, 0.02), (0.0, 1.0)), 4), ["-0.3", "-0.2", "-0.1", "0.0"]);
        assert_eq!(scale.place(5_176.0), 50.0);
        assert_eq!(scale.place(1e9), 100.0);
    }

    #[test]
    fn log_ticks_fall_on_one_two_five() {
        let scale = Scale::log((33.0, 1_800.0), (0.0, 100.0));
        assert_eq!(labels(&scale, 8), ["20", "50", "100", "200", "500", "1,000", "2,000"]);
        assert_eq!((scale.place(20.0), scale.place(2_000.0)), (0.0, 100.0));
        assert_eq!(labels(&Scale::log((1.0, 1e6), (0.0, 1.0)), 8).len(), 7);
    }

    #[test]
    fn percentiles_give_each_nine_the_same_room() {
        let scale = Scale::nines(99.9, (0.0, 300.0));
        assert!((scale.place(90.0) - 100.0).abs() < 1e-6 && (scale.place(99.0) - 200.0).abs() < 1e-6);
    }

    proptest::proptest! {
        #[test]
        fn no_range_breaks_a_scale(low in proptest::num::f64::ANY, high in proptest::num::f64::ANY, v in proptest::num::f64::NORMAL) {
            for scale in [Scale::linear((low, high), (0.0, 1.0)), Scale::log((low, high), (0.0, 1.0))] {
                proptest::prop_assert!(scale.ticks(6).len() <= 200);
                if low.abs() < 1e12 && high.abs() < 1e12 && low.abs() > 1e-12 && high.abs() > 1e-12 {
                    let place = scale.place(v);
                    proptest::prop_assert!((-0.001..=1.001).contains(&place), "{} {} {} {}", low, high, v, place);
                }
            }
        }
    }
}
