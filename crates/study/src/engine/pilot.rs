//! Runs a pilot: a few short trials in a folder of their own, before the case that they are for is made.

use std::path::Path;
use std::time::{Duration, Instant};

use machine::{Class, Fault};

use super::{Planned, Trials};
use crate::arm::Arm;
use crate::case::{Case, Resolved};
use crate::design;
use crate::pilot;
use crate::recipe::Recipe;
use crate::trial::Trial;

/// No further trial begins after this time.
const LONGEST: Duration = Duration::from_millis(4_200);

/// Length of a trial's window, and of its warm-up, s: those of the recipe where they are shorter.
const WINDOW_S: f64 = 0.5;
const WARM_UP_S: f64 = 0.2;

/// Rounds over the arms, as far as the time allows; the first is always run whole.
const ROUNDS: usize = 2;

/// Tells the order of a pilot from that of its study.
const SALT: u64 = 0x7069_6c6f_7421_0001;

/// The case of the pilot of `study` in `dir`: its arms, and short windows.
///
/// # Errors
/// The folder cannot be written.
pub fn case(study: &Resolved, dir: &Path) -> Result<Case, Fault> {
    let mut recipe = Recipe { search: None, ..study.recipe.clone() };
    recipe.budget.window_s = recipe.budget.window_s.min(WINDOW_S);
    recipe.budget.warm_up_cap_s = recipe.budget.warm_up_cap_s.min(WARM_UP_S);
    recipe.budget.looks = Vec::new();
    let arms = pilot::arms(study);
    let order = design::draw_order(arms.len(), ROUNDS, recipe.seed.unwrap_or_default() ^ SALT);
    Case::create(
        dir,
        Resolved { order, boots: None, recipe, arms, stages: Vec::new(), found: None, ..study.clone() },
    )
}

/// Runs what there is time for. `interrupted` is asked before each trial.
///
/// # Errors
/// A server or load that fails: then the study would, too. An interruption.
pub fn run(
    case: &mut Case,
    trials: &mut dyn Trials,
    interrupted: &dyn Fn() -> bool,
) -> Result<Vec<Trial>, Fault> {
    let began = Instant::now();
    let order = case.study.order.clone();
    for (block, round) in order.iter().enumerate() {
        for (position, at) in round.iter().enumerate() {
            if block > 0 && began.elapsed() > LONGEST {
                return Ok(case.trials.clone());
            }
            if interrupted() {
                let cause = "stopped in its pilot; nothing was measured yet, and the machine is as it was";
                return Err(Fault::new(Class::Interrupted, "study", cause, "run it again"));
            }
            let arm: Arm = case.study.arms[*at].clone();
            let planned = Planned { index: case.trials.len(), block, position, attempt: 0, arm: &arm };
            let dir = case.trial_dir(planned.index);
            let trial = trials.run(&planned, &dir)?;
            case.append(trial)?;
        }
    }
    Ok(case.trials.clone())
}
