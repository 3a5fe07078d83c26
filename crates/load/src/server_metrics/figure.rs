//! A figure and its error. Pure.

/// A figure and what is known of its error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figure {
    /// The figure, in the unit that its name ends in.
    pub value: f64,
    /// The true one is no smaller: the lower bound of a histogram's bucket. Of all others the value itself.
    pub at_least: f64,
    /// The true one is no larger: the upper bound of a histogram's bucket. `None`: nothing is known above `at_least`, which `value` then is.
    pub at_most: Option<f64>,
    /// Of how many observations or lines it is; `None`: not known, or a single number.
    pub observations: Option<f64>,
}

impl Figure {
    /// A figure without an error.
    pub(super) fn exactly(value: f64) -> Self {
        Self { value, at_least: value, at_most: Some(value), observations: None }
    }

    /// The same, of so many observations.
    pub(super) fn of(self, observations: f64) -> Self {
        Self { observations: Some(observations), ..self }
    }

    /// In another unit.
    pub(super) fn times(self, factor: f64) -> Self {
        Self {
            value: self.value * factor,
            at_least: self.at_least * factor,
            at_most: self.at_most.map(|most| most * factor),
            observations: self.observations,
        }
    }

    /// Itself, if all of it are numbers.
    pub(super) fn finite(self) -> Result<Self, String> {
        let bounds = self.at_least.is_finite() && self.at_most.is_none_or(f64::is_finite);
        match bounds && self.value.is_finite() {
            true => Ok(self),
            false => Err(format!("gives {}, which is not a number", self.value)),
        }
    }
}
