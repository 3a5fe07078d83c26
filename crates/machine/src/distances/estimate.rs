//! A measured figure and how sure it is.

use serde::{Deserialize, Serialize};

/// A median over rounds with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Estimate {
    /// Median of the rounds.
    pub median: f64,
    /// Ends of the exact 95 % interval from order statistics; `None` below six rounds, which allow none.
    pub interval: Option<(f64, f64)>,
    /// How many rounds there were.
    pub rounds: usize,
}

impl Estimate {
    /// How wide the interval is; `None` without one.
    pub fn width(&self) -> Option<f64> {
        self.interval.map(|(low, high)| high - low)
    }

    /// Whether the intervals of both have no value in common. Not known without both.
    pub fn apart_from(&self, other: &Self) -> Option<bool> {
        let ((low, high), (other_low, other_high)) = (self.interval?, other.interval?);
        Some(high < other_low || other_high < low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_apart_when_they_share_no_value() {
        let of = |low, high| Estimate { median: low, interval: Some((low, high)), rounds: 12 };
        assert_eq!(of(1.0, 2.0).apart_from(&of(2.0, 3.0)), Some(false));
        assert_eq!(of(1.0, 2.0).apart_from(&of(2.5, 3.0)), Some(true));
        assert_eq!(of(4.0, 5.0).apart_from(&of(2.5, 3.0)), Some(true));
        assert_eq!(Estimate::default().apart_from(&of(1.0, 2.0)), None);
    }
}
