//! Heat: one figure for each CPU, whatever it counts, and the scale by which it becomes a colour.

use std::collections::BTreeMap;

use machine::Machine;

use crate::number;

/// Steps of colour, palest first.
pub const STEPS: usize = 10;

/// Above this ratio of the largest to the smallest figure the scale is logarithmic: on a linear one all CPUs but the
/// busiest would look alike.
const LINEAR_UP_TO: f64 = 100.0;

/// One figure for each CPU that is to be shown as colour.
///
/// A CPU that is not in `values` is drawn without colour: not known, which is not the same as 0.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Heat {
    /// What is counted, as the legend says it: `interrupts of devices since boot`.
    pub what: String,
    /// Unit of a figure, as it follows one: `interrupts`, `%`, `softirqs/s`.
    pub unit: String,
    /// The figure of each CPU; none is negative, and what is not finite is not drawn.
    pub values: BTreeMap<u32, f64>,
}

impl Heat {
    /// The interrupts of devices that each CPU has taken since boot (/proc/interrupts, numbered lines only);
    /// `None` when no count is known.
    pub fn interrupts(machine: &Machine) -> Option<Self> {
        let mut values: BTreeMap<u32, f64> = BTreeMap::new();
        for (cpu, count) in machine.irqs.iter().filter_map(|irq| irq.counts.as_ref()).flatten() {
            *values.entry(*cpu).or_default() += *count as f64;
        }
        let heat =
            Self { what: "interrupts of devices taken since boot".into(), unit: "interrupts".into(), values };
        (!heat.values.is_empty()).then_some(heat)
    }

    /// The figure of a CPU in words; `None` where it is not known.
    pub fn words(&self, cpu: u32) -> Option<String> {
        let value = self.values.get(&cpu).filter(|value| value.is_finite())?;
        let decimals = if value.fract() == 0.0 { 0 } else { number::decimals_for(*value) };
        let unit = match self.unit.as_str() {
            "interrupts" if *value == 1.0 => "interrupt",
            unit => unit,
        };
        Some(format!("{} {unit}", number::grouped(*value, decimals)))
    }

    /// The CPU with the largest figure above 0 (the lowest number of several).
    pub fn busiest(&self) -> Option<u32> {
        let known = self.values.iter().filter(|(_, value)| value.is_finite() && **value > 0.0);
        known.max_by(|a, b| a.1.total_cmp(b.1).then(b.0.cmp(a.0))).map(|(cpu, _)| *cpu)
    }
}

/// How figures become steps of colour.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    low: f64,
    high: f64,
    /// The smallest figure above 0, where the scale is logarithmic.
    log_from: Option<f64>,
}

impl Scale {
    /// The scale for these figures; `None` when there is none.
    pub fn of(heat: &Heat) -> Option<Self> {
        let known = || heat.values.values().copied().filter(|value| value.is_finite());
        let (low, high) = (known().reduce(f64::min)?.max(0.0), known().reduce(f64::max)?.max(0.0));
        let least = known().filter(|value| *value > 0.0).reduce(f64::min);
        let log_from = least.filter(|least| high / least > LINEAR_UP_TO);
        Some(Self { low, high, log_from })
    }

    /// The step of a figure, 0 to [`STEPS`] - 1. Figures that are all alike are all pale.
    pub fn step(&self, value: f64) -> Option<usize> {
        if !value.is_finite() {
            return None;
        }
        let share = match self.log_from {
            Some(_) if value <= 0.0 => 0.0,
            Some(least) => (value / least).ln() / (self.high / least).ln(),
            None if self.high <= 0.0 => 0.0,
            None => (value - self.low) / self.high,
        };
        Some(((share * STEPS as f64) as usize).min(STEPS - 1))
    }

    /// The largest figure and the smallest, for the ends of the legend.
    pub fn ends(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// The deepest step that is in use.
    pub fn deepest(&self) -> usize {
        self.step(self.high).unwrap_or(0)
    }

    /// Whether equal steps of colour are equal ratios.
    pub fn is_logarithmic(&self) -> bool {
        self.log_from.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::irqs::Irq;

    fn heat(values: &[f64]) -> Heat {
        let values = values.iter().enumerate().map(|(cpu, value)| (cpu as u32, *value)).collect();
        Heat { what: "x".into(), unit: "events".into(), values }
    }

    #[test]
    fn interrupts_are_summed_by_cpu_and_unknown_is_not_zero() {
        let irq =
            |counts: &[(u32, u64)]| Irq { counts: Some(counts.iter().copied().collect()), ..Irq::default() };
        let irqs = vec![irq(&[(0, 5), (2, 1)]), irq(&[(2, 7)]), Irq::default()];
        let heat = Heat::interrupts(&Machine { irqs, ..Machine::default() }).unwrap();
        assert_eq!(heat.values, BTreeMap::from([(0, 5.0), (2, 8.0)]));
        assert_eq!((heat.words(2).as_deref(), heat.words(1)), (Some("8 interrupts"), None));
        assert_eq!(heat.busiest(), Some(2));
        assert_eq!(Heat::interrupts(&Machine::default()), None);
    }

    #[test]
    fn alike_is_pale_and_skewed_is_logarithmic() {
        let alike = Scale::of(&heat(&[50.0, 50.0])).unwrap();
        assert_eq!((alike.step(50.0), alike.deepest()), (Some(0), 0));
        let linear = Scale::of(&heat(&[0.0, 50.0, 100.0])).unwrap();
        assert_eq!([0.0, 50.0, 100.0].map(|v| linear.step(v)), [Some(0), Some(5), Some(9)]);
        let skewed = Scale::of(&heat(&[0.0, 1.0, 1e3, 1e6])).unwrap();
        assert!(skewed.is_logarithmic());
        assert_eq!([0.0, 1.0, 1e3, 1e6].map(|v| skewed.step(v)), [Some(0), Some(0), Some(5), Some(9)]);
    }

    #[test]
    fn nothing_and_nonsense_have_no_colour() {
        assert_eq!(Scale::of(&heat(&[])), None);
        assert_eq!(Scale::of(&heat(&[f64::NAN])), None);
        let scale = Scale::of(&heat(&[0.0, f64::INFINITY])).unwrap();
        assert_eq!((scale.step(f64::INFINITY), scale.step(0.0)), (None, Some(0)));
        assert_eq!(heat(&[f64::NAN]).words(0), None);
    }

    proptest::proptest! {
        #[test]
        fn more_is_never_paler(values in proptest::collection::vec(0.0f64..1e9, 1..20)) {
            let heat = heat(&values);
            let scale = Scale::of(&heat).unwrap();
            let mut sorted = values.clone();
            sorted.sort_by(f64::total_cmp);
            let steps: Vec<_> = sorted.iter().map(|v| scale.step(*v).unwrap()).collect();
            proptest::prop_assert!(steps.windows(2).all(|pair| pair[0] <= pair[1]) && steps.iter().all(|s| *s < STEPS));
        }
    }
}
