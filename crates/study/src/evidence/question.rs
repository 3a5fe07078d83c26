//! What a study asks of its trials.

use crate::recipe::{Direction, Precision, Recipe};

/// What a study asks of its trials.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Question<'a> {
    /// The figure that decides.
    pub metric: &'a str,
    /// Which way it is better.
    pub better: Direction,
    /// What size of difference matters, and how sure a claim must be.
    pub precision: Precision,
    /// Whether the figure is a capacity: a rate in a closed loop, which falls as the server's CPU time does.
    pub is_capacity: bool,
}

impl Recipe {
    /// What the study asks of its trials.
    pub fn question(&self) -> Question<'_> {
        let (metric, better, precision) = (self.metric.as_str(), self.direction(), self.precision);
        Question { metric, better, precision, is_capacity: self.measures_capacity() }
    }
}
