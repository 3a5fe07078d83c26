//! Which way a figure is better. Pure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which way a figure is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// More is better: throughput.
    Higher,
    /// Less is better: latency.
    Lower,
}

impl Direction {
    /// The log of a positive figure, signed so that more is better.
    pub fn gain(self, figure: f64) -> f64 {
        match self {
            Direction::Higher => figure.ln(),
            Direction::Lower => -figure.ln(),
        }
    }

    /// The ratio of figures that a difference of gains stands for.
    pub fn ratio(self, gain: f64) -> f64 {
        match self {
            Direction::Higher => gain.exp(),
            Direction::Lower => (-gain).exp(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gain_is_positive_where_it_is_better() {
        assert!(Direction::Higher.gain(2.0) > 0.0 && Direction::Lower.gain(2.0) < 0.0);
        assert!((Direction::Lower.ratio(Direction::Lower.gain(3.0)) - 3.0).abs() < 1e-12);
    }
}
