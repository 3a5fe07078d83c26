//! Whether a load got nothing answered in the measured window: a finding about its arm, and no error.

use std::collections::BTreeMap;

use load::{Counted, LoadSpec, Outcome};
use machine::{Class, Fault};

use crate::arm::Role;
use crate::recipe::{Direction, Recipe};

/// Where the baseline had fewer requests than this, none at all is a lull of the traffic.
const NO_LULL: u64 = 50;

/// Whether no request was answered. `figures` are those of the measured window.
///
/// Requests that failed in another way than for want of an answer in time are an error of the load or the server, and a command
/// whose figure is 0 is starved only where higher is better: no latency is 0. Under a server's own traffic an arm is starved where the
/// baseline before it had many requests, and the baseline never is: then there is no traffic.
pub(in crate::engine) fn is_starved(
    recipe: &Recipe,
    role: Role,
    outcome: &Outcome,
    figures: &BTreeMap<String, f64>,
) -> bool {
    if let LoadSpec::OwnTraffic(own) = &recipe.load {
        let usual = own.reference.as_ref().map_or(0, |reference| reference.requests);
        return role != Role::Baseline && figures.get("completed") == Some(&0.0) && usual >= NO_LULL;
    }
    if matches!(recipe.load, LoadSpec::Command(_)) {
        return recipe.direction() == Direction::Higher && figures.get(&recipe.metric) == Some(&0.0);
    }
    let whole_run = |name: &str| outcome.figures.get(name).copied().unwrap_or(0.0);
    let only_timeouts = whole_run("failed") <= whole_run("failed_timed_out");
    let counts_requests = outcome.counted == Counted::Requests && !outcome.intervals.is_empty();
    counts_requests && only_timeouts && figures.get("completed") == Some(&0.0)
}

/// A lull of the server's own traffic has no figure, and says nothing of its arm.
///
/// # Errors
/// No request came in the measured window, so that the deciding figure is not there.
pub(in crate::engine) fn require_traffic(
    recipe: &Recipe,
    figures: &BTreeMap<String, f64>,
) -> Result<(), Fault> {
    let is_lull = figures.get("completed") == Some(&0.0) && !figures.contains_key(&recipe.metric);
    if !recipe.has_own_traffic() || !is_lull {
        return Ok(());
    }
    let remedy = "study it at an hour with more traffic (--hours), or with longer windows (--window)";
    Err(Fault::new(Class::WorkloadFailed, "traffic", "no request came in the measured window", remedy))
}

#[cfg(test)]
mod tests {
    use load::guard::Reference;

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
        let starved = |outcome: &Outcome, completed| {
            is_starved(&recipe, Role::Candidate, outcome, &figures("completed", completed))
        };
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
        assert!(is_starved(&recipe, Role::Candidate, &outcome, &figures("qps", 0.0)));
        assert!(!is_starved(&recipe, Role::Candidate, &outcome, &figures("qps", 0.1)));
        assert!(!is_starved(&recipe, Role::Candidate, &outcome, &figures("tps", 0.0)));
        let lower = Recipe { better: Some(Direction::Lower), ..recipe };
        assert!(!is_starved(&lower, Role::Candidate, &outcome, &figures("qps", 0.0)));
    }

    #[test]
    fn without_requests_an_arm_is_starved_where_the_baseline_had_many_and_else_there_is_a_lull() {
        let mut recipe =
            Recipe::from_toml("metric = 'latency_p99_us'\n[load]\ndriver = 'own-traffic'\n", "x").unwrap();
        let none = figures("completed", 0.0);
        let starved = |recipe: &Recipe, role| is_starved(recipe, role, &Outcome::default(), &none);
        assert!(!starved(&recipe, Role::Candidate), "nothing is known of the baseline");
        let fault = require_traffic(&recipe, &none).unwrap_err();
        assert_eq!(fault.class, Class::WorkloadFailed);
        let LoadSpec::OwnTraffic(own) = &mut recipe.load else { panic!("another load") };
        own.reference = Some(Reference { requests: 1000, ..Reference::default() });
        assert!(starved(&recipe, Role::Candidate) && !starved(&recipe, Role::Baseline));
        require_traffic(&recipe, &figures("completed", 1.0)).unwrap();
        require_traffic(&Recipe::default(), &none).unwrap();
    }
}
