//! Runs what a case has still to run: trial by trial, each on disk before the next begins.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use machine::{Class, Fault};

use crate::arm::Arm;
use crate::case::Case;
use crate::trial::Trial;

pub mod as_run;
mod conclude;
pub mod live;
pub mod prepare;
pub mod prove;
mod small_study;
mod still_placed;
pub mod verify;
pub mod window;

/// One trial that is to be run.
#[derive(Debug, Clone, Copy)]
pub struct Planned<'a> {
    /// Position in the whole order, from 0.
    pub index: usize,
    /// Block, from 0.
    pub block: usize,
    /// Position within the block, from 0.
    pub position: usize,
    /// The arm.
    pub arm: &'a Arm,
}

/// What happens while a case runs; progress bars and logs live on it, the engine knows neither.
#[derive(Debug)]
pub enum Event<'a> {
    /// The remaining trials begin.
    Began {
        /// Trials in the whole order.
        total: usize,
        /// Trials that are finished already.
        finished: usize,
    },
    /// A trial begins.
    TrialBegan(Planned<'a>),
    /// A trial is finished and on disk.
    TrialEnded(&'a Trial),
}

/// The measuring act, behind a trait so that the engine can be tested on a machine whose truth is known.
pub trait Trials {
    /// Runs one trial, leaves the machine as it was, and writes whatever else it saw under `dir`.
    fn run(&mut self, planned: &Planned<'_>, dir: &Path) -> Result<Trial, Fault>;
}

/// Runs all that remains of `case`. A failing trial ends the run; what was finished stays finished.
pub fn run(
    case: &mut Case,
    trials: &mut dyn Trials,
    interrupted: &AtomicBool,
    events: &mut dyn FnMut(Event<'_>),
) -> Result<(), Fault> {
    let arms = case.study.arms.clone();
    let remaining = case.remaining();
    events(Event::Began { total: case.planned().count(), finished: case.trials.len() });
    for (index, block, position, arm) in remaining {
        if interrupted.load(Ordering::Relaxed) {
            return Err(interruption(case));
        }
        let planned = Planned { index, block, position, arm: &arms[arm] };
        events(Event::TrialBegan(planned));
        let trial =
            trials.run(&planned, &case.trial_dir(index)).map_err(|fault| in_trial(case, &planned, fault))?;
        case.append(trial)?;
        if let Some(trial) = case.trials.last() {
            events(Event::TrialEnded(trial));
        }
    }
    Ok(())
}

fn interruption(case: &Case) -> Fault {
    Fault::new(
        Class::Interrupted,
        case.dir().display(),
        format!(
            "stopped after {} of {} trials; the machine is as it was",
            case.trials.len(),
            case.planned().count()
        ),
        format!("go on with: pinwise resume {}", case.dir().display()),
    )
}

fn in_trial(case: &Case, planned: &Planned<'_>, fault: Fault) -> Fault {
    if fault.class == Class::Interrupted {
        return interruption(case);
    }
    let kept = match case.trials.len() {
        0 => String::new(),
        n => format!("; {n} finished trials are kept, go on with: pinwise resume {}", case.dir().display()),
    };
    Fault {
        object: format!("trial {} ({}): {}", planned.index, planned.arm.name, fault.object),
        remedy: format!("{}{kept}", fault.remedy),
        ..fault
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::{FORMAT, Resolved};
    use crate::recipe::Recipe;
    use machine::CpuSet;

    /// A machine whose figures are known and which fails when told to.
    struct Simulated {
        fail_at: Option<usize>,
        seen: Vec<usize>,
    }

    impl Trials for Simulated {
        fn run(&mut self, planned: &Planned<'_>, _dir: &Path) -> Result<Trial, Fault> {
            if self.fail_at == Some(planned.index) {
                return Err(Fault::new(Class::WorkloadFailed, "server", "died", "look at its log"));
            }
            self.seen.push(planned.index);
            Ok(Trial {
                index: planned.index,
                block: planned.block,
                arm: planned.arm.name.clone(),
                ..Trial::default()
            })
        }
    }

    fn case(dir: &std::path::Path) -> Case {
        let both = CpuSet::from_list("0-1").unwrap();
        let arms = crate::arm::each_cpu_in_turn(&both, &both, None).unwrap();
        let order = crate::design::draw_order(arms.len(), 2, 9);
        let recipe = Recipe::from_toml("", "x").unwrap();
        let study = Resolved {
            format: FORMAT,
            pinwise: "t".into(),
            made_unix_s: 0,
            command: vec![],
            order,
            string_rounds: None,
            recipe,
            arms,
        };
        Case::create(dir, study).unwrap()
    }

    #[test]
    fn a_failure_keeps_what_is_finished_and_resume_keeps_the_order() {
        let dir = tempfile::tempdir().unwrap();
        let mut simulated = Simulated { fail_at: Some(4), seen: Vec::new() };
        let go = AtomicBool::new(false);
        let mut first = case(dir.path());
        let planned: Vec<_> = first.planned().collect();
        let fault = run(&mut first, &mut simulated, &go, &mut |_| {}).unwrap_err();
        assert!(fault.object.contains("trial 4") && fault.remedy.contains("pinwise resume"), "{fault}");
        assert_eq!(fault.class, Class::WorkloadFailed);
        drop(first);

        simulated.fail_at = None;
        let mut again = Case::resume(dir.path()).unwrap();
        run(&mut again, &mut simulated, &go, &mut |_| {}).unwrap();
        assert_eq!(simulated.seen, (0..10).collect::<Vec<_>>());
        let ran: Vec<&str> = again.trials.iter().map(|t| t.arm.as_str()).collect();
        let asked: Vec<&str> = planned.iter().map(|p| again.study.arms[p.3].name.as_str()).collect();
        assert_eq!(ran, asked);
    }

    #[test]
    fn ctrl_c_ends_between_trials_and_says_how_to_go_on() {
        let dir = tempfile::tempdir().unwrap();
        let stop = AtomicBool::new(false);
        let mut simulated = Simulated { fail_at: None, seen: Vec::new() };
        let fault = run(&mut case(dir.path()), &mut simulated, &stop, &mut |event| {
            if matches!(event, Event::TrialEnded(t) if t.index == 2) {
                stop.store(true, Ordering::Relaxed);
            }
        })
        .unwrap_err();
        assert_eq!(fault.class, Class::Interrupted);
        assert!(fault.cause.contains("3 of 10") && fault.remedy.contains("resume"), "{fault}");
    }
}
