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
/// A server or load that fails in every trial: then the study would, too, which goes on where only some arms fail. An interruption.
pub fn run(
    case: &mut Case,
    trials: &mut dyn Trials,
    interrupted: &dyn Fn() -> bool,
) -> Result<Vec<Trial>, Fault> {
    let began = Instant::now();
    let order = case.study.order.clone();
    let mut fault = None;
    'rounds: for (block, round) in order.iter().enumerate() {
        for (position, at) in round.iter().enumerate() {
            if block > 0 && began.elapsed() > LONGEST {
                break 'rounds;
            }
            fault = short_trials::one(case, trials, (block, position, *at), interrupted)?.or(fault);
        }
    }
    short_trials::any_measured(&case.trials, fault)?;
    Ok(case.trials.clone())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use machine::Class;

    use super::*;
    use crate::arm::tests::alike;
    use crate::engine::Planned;
    use crate::engine::prepare::resolve;
    use crate::recipe::Recipe;

    /// A load that comes up with the server on some CPUs only.
    struct Simulated {
        fails: fn(u32) -> bool,
    }

    impl Trials for Simulated {
        fn run(&mut self, planned: &Planned<'_>, _dir: &Path) -> Result<Trial, Fault> {
            if planned.arm.placement.server_cpus.iter().flat_map(|cpus| cpus.iter()).any(self.fails) {
                return Err(Fault::new(
                    Class::WorkloadFailed,
                    "load",
                    "publishers are blocked",
                    "see its log",
                ));
            }
            let figures = BTreeMap::from([("requests_per_s".to_string(), 1000.0)]);
            let Planned { index, block, position, attempt, arm, .. } = *planned;
            Ok(Trial { index, block, position, attempt, arm: arm.name.clone(), figures, ..Trial::default() })
        }
    }

    fn piloted(fails: fn(u32) -> bool) -> Result<Vec<Trial>, Fault> {
        let dir = tempfile::tempdir().unwrap();
        let study = resolve(Recipe { seed: Some(1), ..Recipe::default() }, &alike(4)).unwrap();
        let mut case = case(&study, dir.path()).unwrap();
        run(&mut case, &mut Simulated { fails }, &|| false)
    }

    #[test]
    fn an_arm_that_fails_does_not_end_a_study_before_it_begins() {
        let trials = piloted(|cpu| cpu == 0).unwrap();
        let (failed, measured): (Vec<&Trial>, Vec<&Trial>) =
            trials.iter().partition(|trial| trial.failed.is_some());
        assert!(!failed.is_empty() && !measured.is_empty(), "{trials:?}");
        assert!(failed.iter().all(|trial| trial.failed.as_ref().unwrap().contains("publishers are blocked")));
        assert!(measured.iter().all(|trial| trial.figures["requests_per_s"] > 0.0));
    }

    #[test]
    fn a_study_whose_every_arm_fails_is_not_begun() {
        let fault = piloted(|_| true).unwrap_err();
        assert_eq!((fault.class, fault.cause.as_str()), (Class::WorkloadFailed, "publishers are blocked"));
    }
}
