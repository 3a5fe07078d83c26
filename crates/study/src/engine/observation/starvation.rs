//! Whether a load got nothing answered in the measured window: a finding about its arm, and no error.

use load::{Counted, LoadSpec, Outcome};

use crate::recipe::{Direction, Recipe};
use std::collections::BTreeMap;

/// Whether no request was answered. `figures` are those of the measured window.
///
/// Requests that failed in another way than for want of an answer in time are an error of the load or the server, and a command
/// whose figure is 0 is starved only where higher is better: no latency is 0.
pub(in crate::engine) fn is_starved(
    recipe: &Recipe,
    outcome: &Outcome,
    figures: &BTreeMap<String, f64>,
) -> bool {
    if matches!(recipe.load, LoadSpec::Command(_)) {
        return recipe.direction() == Direction::Higher && figures.get(&recipe.metric) == Some(&0.0);
    }
    let whole_run = |name: &str| outcome.figures.get(name).copied().unwrap_or(0.0);
    let only_timeouts = whole_run("failed") <= whole_run("failed_timed_out");
    let counts_requests = outcome.counted == Counted::Requests && !outcome.intervals.is_empty();
    counts_requests && only_timeouts && figures.get("completed") == Some(&0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn driven(whole_run: &[(&str, f64)]) -> Outcome {
        let latency = String::new();
        let interval = load::Interval { from_ns: 0, to_ns: 1, completed: 0, failed: 0, latency };
        let figures = whole_run.iter().map(|(name, value)| (name.to_string(), *value)).collect();
        Outcome { figures, intervals: vec![interval], ..Outcome::default() }
    }

    fn figures(name: &str, value: f64) -> BTreeMap<String, f64> {
        BTreeMap::from([(name.to_string(), value)])
    }

    #[test]
    fn a_load_without_an_answer_is_starved_and_one_with_errors_is_not() {
        let recipe = Recipe::default();
        let starved =
            |outcome: &Outcome, completed| is_starved(&recipe, outcome, &figures("completed", completed));
        assert!(starved(&driven(&[]), 0.0));
        assert!(starved(&driven(&[("failed", 3.0), ("failed_timed_out", 3.0)]), 0.0));
        assert!(!starved(&driven(&[("failed", 3.0), ("failed_refused", 3.0)]), 0.0));
        assert!(!starved(&driven(&[]), 1.0));
        assert!(!starved(&Outcome { intervals: Vec::new(), ..driven(&[]) }, 0.0), "it reports no requests");
        assert!(!starved(&Outcome { counted: Counted::Packets, ..driven(&[]) }, 0.0));
    }

    #[test]
    fn a_command_is_starved_where_its_rate_is_0() {
        let text = "metric = \"qps\"\n[load]\ndriver = \"command\"\ncommand = \"true\"\n[load.figures]\nqps = { regex = '(x)' }\n";
        let recipe = Recipe::from_toml(text, "x").unwrap();
        let outcome = Outcome::default();
        assert!(is_starved(&recipe, &outcome, &figures("qps", 0.0)));
        assert!(!is_starved(&recipe, &outcome, &figures("qps", 0.1)));
        assert!(!is_starved(&recipe, &outcome, &figures("tps", 0.0)));
        let lower = Recipe { better: Some(Direction::Lower), ..recipe };
        assert!(!is_starved(&lower, &outcome, &figures("qps", 0.0)));
    }
}
