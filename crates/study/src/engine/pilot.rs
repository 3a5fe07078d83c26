//! Runs a pilot: a few short trials in a folder of their own, before the case that they are for is made.

use std::path::Path;
use std::time::{Duration, Instant};

use machine::Fault;

use super::{Trials, short_trials};
use crate::case::{Case, Resolved};
use crate::pilot;
use crate::trial::Trial;

/// No further trial begins after this time.
const LONGEST: Duration = Duration::from_millis(4_200);

/// Rounds over the arms, as far as the time allows; the first is always run whole.
const ROUNDS: usize = 2;

/// Makes the order of a pilot differ from that of its study.
const SALT: u64 = 0x7069_6c6f_7421_0001;

/// The case of the pilot of `study` in `dir`: its arms, and short windows.
///
/// # Errors
/// The folder cannot be written.
pub fn case(study: &Resolved, dir: &Path) -> Result<Case, Fault> {
    short_trials::case(study, pilot::arms(study), ROUNDS, SALT, dir)
}

/// Runs what there is time for. `interrupted` is checked before each trial.
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
            short_trials::one(case, trials, (block, position, *at), interrupted)?;
        }
    }
    Ok(case.trials.clone())
}
