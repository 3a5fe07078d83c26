//! What guards a study under a server's own traffic, said before it runs.

use load::{LoadSpec, latency};
use study::Case;
use study::own_traffic::harm;

/// What guards a study that is about to run, and what of its budget of harm is used: one line. `None` of any other study.
pub fn in_words(case: &Case) -> Option<String> {
    let LoadSpec::OwnTraffic(own) = &case.study.recipe.load else { return None };
    if own.guards.is_empty() {
        return Some("no guard is on: nothing ends an arm that does harm".into());
    }
    let guards: Vec<String> = own.guards.iter().map(|guard| guard.to_string()).collect();
    let guards = format!("guards: {}", guards.join(", "));
    if !own.guards.iter().any(|guard| latency::quantile_of(&guard.figure).is_some()) {
        return Some(guards);
    }
    let slow = harm::of(&case.study, &case.trials)?.slow_requests;
    let most = slow.and_then(|slow| slow.most).or(case.study.recipe.harm.most_slow_requests);
    let most = most.map_or_else(
        || format!("{:.0} % of the requests of all trials", harm::slow_share(&case.study.recipe) * 1e2),
        |most| format!("{most} requests"),
    );
    let so_far = match slow {
        Some(slow) => slow.so_far.to_string(),
        None if case.trials.is_empty() => "0".into(),
        None => "not counted".into(),
    };
    Some(format!(
        "{guards}; in arms other than the baseline, at most {most} may be slower than they allow; so far {so_far}"
    ))
}
