//! How much harm a study of a running server may do to its own traffic before it ends.

use machine::{Class, Fault};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most requests that can be asked for: numbers beyond 2 to the power of 53 are not exact in every reader of JSON.
const MOST_REQUESTS: u64 = 1 << 53;

/// How much harm a study under a server's own traffic may do before it ends with what it knows by then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HarmBudget {
    /// The study ends once a guard has ended so many trials of arms that are tried.
    pub most_breaches: usize,
    /// Requests in trials of other arms than the baseline that may be slower than the guards on latency allow; the study ends when they
    /// are used up. Absent: 1 % of what its trials would see at the rate of the first trial of the baseline, or what the guards let pass
    /// where that is more (10 % of guards on latency_p90_us alone).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most_slow_requests: Option<u64>,
}

impl Default for HarmBudget {
    fn default() -> Self {
        Self { most_breaches: 2, most_slow_requests: None }
    }
}

impl HarmBudget {
    /// Whether nothing was said of it.
    pub fn is_usual(&self) -> bool {
        *self == Self::default()
    }

    /// Holds the numbers to their ranges.
    ///
    /// # Errors
    /// A budget of no trial, or numbers that no study reaches.
    pub fn check(&self) -> Result<(), Fault> {
        let wrong = |key: &str, cause: String| {
            Err(Fault::new(Class::Usage, key, cause, "choose a value in that range"))
        };
        if !(1..=100).contains(&self.most_breaches) {
            return wrong("harm.most_breaches", format!("{} is outside 1 to 100", self.most_breaches));
        }
        match self.most_slow_requests {
            Some(most) if !(1..=MOST_REQUESTS).contains(&most) => {
                wrong("harm.most_slow_requests", format!("{most} is outside 1 to {MOST_REQUESTS}"))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_has_a_range_and_a_usual_size() {
        assert!(HarmBudget::default().is_usual());
        HarmBudget::default().check().unwrap();
        let none = HarmBudget { most_breaches: 0, ..HarmBudget::default() };
        assert!(none.check().unwrap_err().object.contains("most_breaches"));
        let slow = HarmBudget { most_slow_requests: Some(0), ..HarmBudget::default() };
        assert!(!slow.is_usual() && slow.check().unwrap_err().object.contains("most_slow_requests"));
    }
}
