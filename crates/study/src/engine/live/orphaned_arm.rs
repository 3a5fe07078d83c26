//! What takes an arm back that is in force on a running server when pinwise is killed: a process of its own, or a service of systemd.

use std::path::Path;

use change::ledger;
use change::revert::orphan;
use machine::Fault;

use crate::recipe::Recipe;

/// What an arm may be in force for beyond the longest trial, s: starting the load, and putting everything back.
const SLACK_S: f64 = 60.0;

/// For how long an arm may be in force, s, before pinwise is taken to hang. Known only where nothing but arms is changed: under another load
/// some changes stay in force from trial to trial.
fn longest_s(recipe: &Recipe) -> Option<u64> {
    recipe.has_own_traffic().then(|| (recipe.budget.trial_timeout_s + SLACK_S).ceil() as u64)
}

/// Starts what takes `session` back when this process ends with an arm in force, of a study whose server runs already. A server that pinwise
/// has started serves nobody, and 'pinwise undo' is soon enough.
///
/// # Errors
/// It cannot be started: then no arm may be put in force.
pub(super) fn provide(recipe: &Recipe, exe: &Path, session: &str) -> Result<(), Fault> {
    if recipe.server.running.is_none() {
        return Ok(());
    }
    orphan::arm(exe, &ledger::state_dir()?, session, longest_s(recipe)).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::own_traffic::harm::tests::own_traffic;

    #[test]
    fn an_arm_may_be_in_force_for_the_longest_trial_and_a_little_more() {
        let mut recipe = own_traffic().recipe;
        recipe.budget.trial_timeout_s = 120.5;
        assert_eq!(longest_s(&recipe), Some(181));
        let driven = Recipe { load: Recipe::default().load, ..recipe };
        assert_eq!(longest_s(&driven), None);
    }

    #[test]
    fn a_server_that_is_started_here_needs_nobody_to_take_its_arms_back() {
        let recipe = Recipe::default();
        provide(&recipe, Path::new("/nowhere/at/all"), "1-1").unwrap();
    }
}
