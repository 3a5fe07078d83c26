//! What the lines of a log have said so far: how many matched, and how their figures are spread. Pure.

use std::collections::BTreeMap;

use super::figure::Figure;
use super::histogram::NOTHING;

/// Figures are kept apart in no more groups than this.
const MOST_GROUPS: usize = 8192;
/// A group is all figures whose exponent and first 7 bits of the mantissa are the same: none is off by more than 0.8 %.
const SHIFT: u32 = 52 - 7;

/// Counts since reading began; two of them are compared.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Lines {
    matched: u64,
    figures: u64,
    sum: f64,
    groups: BTreeMap<i64, u64>,
    /// How often lines were lost, and why the last time.
    gaps: u64,
    why: String,
    /// The last that should have been a figure, and is none.
    odd: Option<String>,
}

impl Lines {
    /// A line matches.
    pub(super) fn matched(&mut self) {
        self.matched += 1;
    }

    /// The figure of a line that matches, or why it has none.
    pub(super) fn figure(&mut self, figure: Result<f64, String>) {
        let value = match figure {
            Ok(value) if value.is_finite() => value,
            Ok(value) => return self.odd = Some(format!("gives {value}")),
            Err(why) => return self.odd = Some(why),
        };
        if self.groups.len() == MOST_GROUPS && !self.groups.contains_key(&group(value)) {
            return self.lost("the figures of its lines are too many different ones");
        }
        *self.groups.entry(group(value)).or_default() += 1;
        self.figures += 1;
        self.sum += value;
    }

    /// Lines are not known that should be.
    pub(super) fn lost(&mut self, why: &str) {
        self.gaps += 1;
        self.why = why.to_string();
    }

    /// What was added since `before`. The error says why that is not known.
    pub(super) fn since(&self, before: &Self) -> Result<Self, String> {
        if self.gaps != before.gaps {
            return Err(self.why.clone());
        }
        let less = || "was read anew in this time".to_string();
        let mut groups = BTreeMap::new();
        for (group, count) in &self.groups {
            let count = count.checked_sub(before.groups.get(group).copied().unwrap_or(0)).ok_or_else(less)?;
            if count > 0 {
                groups.insert(*group, count);
            }
        }
        Ok(Self {
            matched: self.matched.checked_sub(before.matched).ok_or_else(less)?,
            figures: self.figures.checked_sub(before.figures).ok_or_else(less)?,
            sum: self.sum - before.sum,
            groups,
            odd: self.odd.clone(),
            ..Self::default()
        })
    }

    /// How many lines matched.
    pub(super) fn count(&self) -> u64 {
        self.matched
    }

    /// The mean of their figures. The error says why there is none.
    pub(super) fn mean(&self) -> Result<Figure, String> {
        let count = self.some()?;
        Ok(Figure::exactly(self.sum / count).of(count))
    }

    /// The figure that this share of lines does not exceed, within the bounds of its group. The error says why there is none.
    pub(super) fn quantile(&self, share: f64) -> Result<Figure, String> {
        let count = self.some()?;
        let (rank, mut before) = (share * count, 0.0);
        for (group, of_group) in &self.groups {
            let of_group = *of_group as f64;
            if before + of_group >= rank {
                let (least, most) = bounds(*group);
                let value = least + (most - least) * ((rank - before) / of_group).clamp(0.0, 1.0);
                return Ok(Figure { value, at_least: least, at_most: Some(most), observations: Some(count) });
            }
            before += of_group;
        }
        Err(NOTHING.into())
    }

    /// How many figures there are, if any.
    fn some(&self) -> Result<f64, String> {
        match (self.figures, &self.odd) {
            (0, Some(odd)) if self.matched > 0 => {
                Err(format!("matches {} lines, none with a figure: it {odd}", self.matched))
            }
            (0, _) => Err("no line with a figure was appended in this time".into()),
            (figures, _) => Ok(figures as f64),
        }
    }
}

/// Rises with the value. Bits of floating-point numbers that are not negative rise as these do.
fn group(value: f64) -> i64 {
    let size = (value.abs().to_bits() >> SHIFT) as i64;
    if value < 0.0 { -size - 1 } else { size }
}

/// Between which values a group lies.
fn bounds(group: i64) -> (f64, f64) {
    let is_negative = group < 0;
    let size = if is_negative { -(group + 1) } else { group };
    let size = size as u64;
    let (near, far) = (f64::from_bits(size << SHIFT), f64::from_bits((size + 1) << SHIFT));
    if is_negative { (-far, -near) } else { (near, far) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl IntoIterator<Item = f64>) -> Lines {
        let mut lines = Lines::default();
        for value in values {
            lines.matched();
            lines.figure(Ok(value));
        }
        lines
    }

    #[test]
    fn figures_of_a_window_are_of_its_lines_alone() {
        let before = of([1000.0; 50]);
        let mut after = before.clone();
        (1..=100).for_each(|value| {
            after.matched();
            after.figure(Ok(f64::from(value)));
        });
        let window = after.since(&before).unwrap();
        assert_eq!((window.count(), window.mean().unwrap().value), (100, 50.5));
        let p99 = window.quantile(0.99).unwrap();
        assert!((p99.value / 99.0 - 1.0).abs() < 0.01, "{p99:?}");
        assert!(p99.at_least <= 99.0 && p99.at_most.unwrap() >= 99.0 && p99.observations == Some(100.0));
    }

    #[test]
    fn lost_lines_and_silence_give_no_figure() {
        let before = of([1.0]);
        let mut after = before.clone();
        assert!(after.since(&before).unwrap().mean().unwrap_err().contains("no line"));
        assert_eq!(after.since(&before).unwrap().count(), 0, "no line is a count");
        after.matched();
        after.figure(Err("gives '-', which is not a number".into()));
        assert!(after.since(&before).unwrap().quantile(0.5).unwrap_err().contains("gives '-'"));
        assert_eq!(after.since(&before).unwrap().count(), 1);
        after.lost("was cut");
        assert_eq!(after.since(&before).unwrap_err(), "was cut");
        assert!(before.since(&of([1.0, 2.0])).unwrap_err().contains("anew"));
        assert!(of([f64::NAN, f64::INFINITY]).mean().unwrap_err().contains("matches 2 lines"));
    }

    #[test]
    fn memory_is_bounded() {
        let mut lines = Lines::default();
        for exponent in 0..1000 {
            (0..16).for_each(|part| lines.figure(Ok(2f64.powi(exponent) * (1.0 + f64::from(part) / 16.0))));
        }
        assert_eq!(lines.groups.len(), MOST_GROUPS);
        assert!(lines.since(&Lines::default()).unwrap_err().contains("too many"));
    }

    proptest::proptest! {
        #[test]
        fn groups_rise_and_hold_their_values(a in proptest::num::f64::NORMAL | proptest::num::f64::ZERO, b in -1e9f64..1e9) {
            for value in [a, b] {
                let (least, most) = bounds(group(value));
                proptest::prop_assert!(least <= value && value <= most, "{} {} {}", least, value, most);
            }
            proptest::prop_assert_eq!(group(a) <= group(b), a <= b || group(a) == group(b));
            let _ = of([a, b]).quantile(0.5);
        }
    }
}
