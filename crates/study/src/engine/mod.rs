//! Runs what a case has still to run: trial by trial, each on disk before the next begins.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use machine::{Class, Fault, Missing};

use crate::arm::Arm;
use crate::boots::{self, Booted, Group, Next};
use crate::case::{Case, resume_command};
use crate::case_search::Searching;
use crate::observed_blocks;
use crate::schedule::{self, AfterFailure, Slot};
use crate::trial::Trial;

pub mod boot_parameters;
mod breach_record;
mod conclusion;
mod dose;
mod driving;
mod fsync;
mod hours;
mod housekeeping;
pub mod ledger_purpose;
pub mod live;
mod local_time;
mod netns_pair;
mod observation;
mod online_cpus;
pub mod pilot;
pub mod prepare;
pub mod prove;
pub mod requirements;
pub mod screening;
pub mod server_data;
mod short_trials;
mod small_study;
mod swap;
pub mod verify;

/// One trial that is to be run.
#[derive(Debug, Clone, Copy)]
pub struct Planned<'a> {
    /// Position in the whole order, from 0.
    pub index: usize,
    /// Block, from 0.
    pub block: usize,
    /// Position within the block, from 0.
    pub position: usize,
    /// How many trials of this position there were before, which were disturbed or failed.
    pub attempt: usize,
    /// The arm.
    pub arm: &'a Arm,
    /// Whether it is of an observed block, all of whose numbers are counted apart.
    pub observed: bool,
}

/// What happens while a case runs; progress bars and logs live on it, the engine knows neither.
#[derive(Debug)]
pub enum Event<'a> {
    /// The remaining trials begin.
    Began {
        /// Trials that there will be, as far as is known.
        total: usize,
        /// Trials that are finished already.
        finished: usize,
    },
    /// No trial may begin now.
    Waits {
        /// When one may, as a time of day.
        until: &'a str,
    },
    /// A trial begins.
    TrialBegan(Planned<'a>),
    /// A trial is finished and on disk.
    TrialEnded {
        /// The trial.
        trial: &'a Trial,
        /// Whether it is of an observed block.
        observed: bool,
        /// Trials that there will be, as far as is known by now.
        total: usize,
    },
}

/// For how long no trial may begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waits {
    /// When one may, as a time of day.
    pub until: String,
    /// How long that takes, unless the clock is set meanwhile.
    pub length: Duration,
}

/// How a run came to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// Nothing remains.
    Finished,
    /// The trials that come next belong to another boot of the machine; why this one will not do, in words.
    NeedsBoot(Group, String),
}

/// The measuring act, behind a trait so that the engine can be tested on a machine whose truth is known.
pub trait Trials {
    /// Runs one trial, leaves the machine as it was, and writes whatever else it saw under `dir`.
    fn run(&mut self, planned: &Planned<'_>, dir: &Path) -> Result<Trial, Fault>;

    /// Whether it can observe trials.
    fn observes(&self) -> bool {
        false
    }

    /// How long no trial may begin; `None` where one may begin now.
    ///
    /// # Errors
    /// The time of day is not known.
    fn waits(&mut self) -> Result<Option<Waits>, Fault> {
        Ok(None)
    }

    /// The boot that trials run in; `None` where they run under no kernel, or it does not report it.
    fn booted(&self) -> Option<Booted> {
        None
    }
}

/// Runs all that remains of `case`. A trial whose server or load fails is kept with its cause and run again, as the recipe's
/// budget says; any other fault ends the run, and what was finished stays finished. A study across boots ends with each boot.
pub fn run(
    case: &mut Case,
    trials: &mut dyn Trials,
    interrupted: &AtomicBool,
    events: &mut dyn FnMut(Event<'_>),
) -> Result<Ended, Fault> {
    let booted = trials.booted();
    if let Some(trial) = breach_record::unlisted(case, booted.as_ref())? {
        case.append(Trial { boot: booted.clone(), ..trial }).map_err(|fault| kept_with(case, fault))?;
    }
    let mut search = Searching::of(case)?;
    let of_observed = |case: &Case, observes: bool| {
        if observes { observed_blocks::expected(&case.study) } else { case.observed.len() }
    };
    let observes = trials.observes();
    let total = |case: &Case| schedule::expected(&case.study, &case.trials) + of_observed(case, observes);
    events(Event::Began { total: total(case), finished: case.trials.len() + case.observed.len() });
    loop {
        let next = boots::next(&case.study, &case.trials, booted.as_ref());
        if observes && let Some(slot) = next_observed(case, &next) {
            hours::wait(trials, interrupted, events)?;
            if interrupted.load(Ordering::Relaxed) {
                return Err(interruption(case));
            }
            run_observed(case, trials, slot, interrupted, events, &total)?;
            continue;
        }
        let slot = match next {
            Next::Run(slot) => slot,
            // Who stopped it is not to be met by a restart.
            Next::Boot(..) if interrupted.load(Ordering::Relaxed) => return Err(interruption(case)),
            Next::Boot(group, why) => return Ok(Ended::NeedsBoot(group, why)),
            Next::Nothing => match &mut search {
                Some(search) if case.study.is_searching() => {
                    let line = search.further(case)?;
                    case.append_asked(line)?;
                    continue;
                }
                _ => return Ok(Ended::Finished),
            },
        };
        hours::wait(trials, interrupted, events)?;
        if interrupted.load(Ordering::Relaxed) {
            return Err(interruption(case));
        }
        let Slot { block, position, arm, attempt } = slot;
        let arm = case.study.arms[arm].clone();
        runs_as_booted(&arm, booted.as_ref())?;
        let planned =
            Planned { index: case.trials.len(), block, position, attempt, arm: &arm, observed: false };
        events(Event::TrialBegan(planned));
        let dir = case.trial_dir(planned.index);
        let (trial, ends) = match ran(trials, &planned, &dir, interrupted) {
            Ok(trial) => (trial, None),
            Err(fault) => match after_fault(case, slot, &planned, fault) {
                Ok(kept) => kept,
                Err(fault) => return Err(in_trial(case, &planned, fault)),
            },
        };
        let appended = case.append(Trial { boot: booted.clone(), ..trial });
        appended.map_err(|fault| kept_with(case, fault))?;
        if let Some(trial) = case.trials.last() {
            events(Event::TrialEnded { trial, observed: false, total: total(case) });
        }
        if let Some(fault) = ends {
            return Err(in_trial(case, &planned, fault));
        }
    }
}

/// What is kept of a trial that did not end as it should, and the fault that ends the study with it, where one does. A guard that had ended
/// it by then is what counts, whatever failed afterwards.
///
/// # Errors
/// Nothing is kept: it never began.
fn after_fault(
    case: &Case,
    slot: Slot,
    planned: &Planned<'_>,
    fault: Fault,
) -> Result<(Trial, Option<Fault>), Fault> {
    // What cannot be read is reported when the study is resumed.
    if let Ok(Some(mut trial)) = breach_record::unlisted_at(case, slot) {
        trial.missing.push(Missing::new("what followed its end", &fault));
        return Ok((trial, Some(fault).filter(|fault| fault.class != Class::WorkloadFailed)));
    }
    match schedule::after_failure(&case.study, &case.trials, slot, &fault) {
        AfterFailure::GoesOn => Ok((failed(planned, &fault), None)),
        AfterFailure::Ends => Ok((failed(planned, &fault), Some(fault))),
        AfterFailure::NeverBegan => Err(fault),
    }
}

/// That the study was asked to end.
fn stopped() -> Fault {
    Fault::new(Class::Interrupted, "study", "stopped", "")
}

/// Runs one trial. What asked to end reaches server and load as well (scancel(1) signals all processes of a job): their end is an
/// interruption then, and no failure of theirs.
fn ran(
    trials: &mut dyn Trials,
    planned: &Planned<'_>,
    dir: &Path,
    interrupted: &AtomicBool,
) -> Result<Trial, Fault> {
    trials.run(planned, dir).map_err(|fault| match fault.class {
        Class::WorkloadFailed if interrupted.load(Ordering::Relaxed) => {
            Fault { class: Class::Interrupted, ..fault }
        }
        _ => fault,
    })
}

/// The observed trial that comes before what would come next.
fn next_observed(case: &Case, next: &Next) -> Option<observed_blocks::Slot> {
    let deciding = match next {
        Next::Run(slot) => Some(slot.block),
        Next::Boot(..) => return None,
        Next::Nothing => None,
    };
    observed_blocks::next(&case.study, &case.trials, &case.observed, deciding)
}

/// Runs one observed trial. One that fails is kept with its cause and not run again: nothing is decided by it.
fn run_observed(
    case: &mut Case,
    trials: &mut dyn Trials,
    slot: observed_blocks::Slot,
    interrupted: &AtomicBool,
    events: &mut dyn FnMut(Event<'_>),
    total: &dyn Fn(&Case) -> usize,
) -> Result<(), Fault> {
    let (index, arm) = (case.observed.len(), case.study.arms[slot.arm].clone());
    let observed_blocks::Slot { block, position, .. } = slot;
    let planned = Planned { index, block, position, attempt: 0, arm: &arm, observed: true };
    events(Event::TrialBegan(planned));
    let trial = match ran(trials, &planned, &case.observed_dir(index), interrupted) {
        Ok(trial) => trial,
        Err(fault) if fault.class == Class::WorkloadFailed => failed(&planned, &fault),
        Err(fault) => return Err(in_trial(case, &planned, fault)),
    };
    case.append_observed(trial).map_err(|fault| kept_with(case, fault))?;
    if let Some(trial) = case.observed.last() {
        events(Event::TrialEnded { trial, observed: true, total: total(case) });
    }
    Ok(())
}

/// Fails when the kernel runs without words that this arm was studied with: a proof or a verification does not go across boots.
fn runs_as_booted(arm: &Arm, booted: Option<&Booted>) -> Result<(), Fault> {
    let words = &arm.placement.boot_words;
    let Some(missing) = booted.map(|now| now.missing_words(words)).filter(|missing| !missing.is_empty())
    else {
        return Ok(());
    };
    Err(Fault::new(
        Class::MachineLacks,
        format!("{}: kernel parameters", arm.name),
        format!("the kernel runs without '{}', with which it was studied", missing.join(" ")),
        "boot it with them (a plan with a setting of boot-parameters, pinwise apply, a restart), and ask again then",
    ))
}

/// The trial that is kept of one that failed.
fn failed(planned: &Planned<'_>, fault: &Fault) -> Trial {
    Trial {
        index: planned.index,
        block: planned.block,
        position: planned.position,
        attempt: planned.attempt,
        arm: planned.arm.name.clone(),
        failed: Some(format!("{}: {}", fault.object, fault.cause)),
        ..Trial::default()
    }
}

fn interruption(case: &Case) -> Fault {
    Fault::new(
        Class::Interrupted,
        case.dir().display(),
        format!(
            "stopped after {} of {} trials",
            case.trials.len(),
            schedule::expected(&case.study, &case.trials)
        ),
        format!("continue with: {}", resume_command(case.dir())),
    )
}

fn in_trial(case: &Case, planned: &Planned<'_>, fault: Fault) -> Fault {
    if fault.class == Class::Interrupted {
        return interruption(case);
    }
    Fault {
        object: format!("trial {} ({}): {}", planned.index, planned.arm.name, fault.object),
        ..kept_with(case, fault.clone())
    }
}

/// The fault, with what is kept and how to go on.
fn kept_with(case: &Case, fault: Fault) -> Fault {
    let kept = match case.trials.len() {
        0 => String::new(),
        n => format!("; {n} finished trials are kept, continue with: {}", resume_command(case.dir())),
    };
    Fault { remedy: format!("{}{kept}", fault.remedy), ..fault }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arm::Role;

    /// A machine whose figures are known and which fails on demand.
    struct Simulated {
        fail_at: Vec<usize>,
        seen: Vec<(usize, usize)>,
    }

    impl Trials for Simulated {
        fn run(&mut self, planned: &Planned<'_>, _dir: &Path) -> Result<Trial, Fault> {
            if self.fail_at.contains(&planned.index) {
                return Err(Fault::new(Class::WorkloadFailed, "server", "died", "look at its log"));
            }
            self.seen.push((planned.block, planned.position));
            Ok(Trial {
                index: planned.index,
                block: planned.block,
                position: planned.position,
                attempt: planned.attempt,
                arm: planned.arm.name.clone(),
                ..Trial::default()
            })
        }
    }

    fn case(dir: &std::path::Path) -> Case {
        Case::create(dir, crate::case::tests::resolved()).unwrap()
    }

    #[test]
    fn what_fails_before_anything_ran_ends_the_study_and_resume_keeps_the_order() {
        let dir = tempfile::tempdir().unwrap();
        let mut simulated = Simulated { fail_at: vec![0], seen: Vec::new() };
        let go = AtomicBool::new(false);
        let mut first = case(dir.path());
        let fault = run(&mut first, &mut simulated, &go, &mut |_| {}).unwrap_err();
        assert!(fault.object.contains("trial 0") && fault.cause.contains("died"), "{fault}");
        assert_eq!(fault.class, Class::WorkloadFailed);
        drop(first);

        simulated.fail_at.clear();
        let mut again = Case::resume(dir.path()).unwrap();
        run(&mut again, &mut simulated, &go, &mut |_| {}).unwrap();
        let asked: Vec<(usize, usize)> = (0..2).flat_map(|b| (0..5).map(move |p| (b, p))).collect();
        assert_eq!(simulated.seen, asked);
        assert!(
            again
                .trials
                .iter()
                .all(|t| t.arm == again.study.arms[again.study.order[t.block][t.position]].name)
        );
    }

    #[test]
    fn what_fails_later_is_kept_with_its_cause_and_run_again() {
        let dir = tempfile::tempdir().unwrap();
        let mut simulated = Simulated { fail_at: vec![2], seen: Vec::new() };
        let mut case = case(dir.path());
        run(&mut case, &mut simulated, &AtomicBool::new(false), &mut |_| {}).unwrap();
        assert_eq!(case.trials.len(), 11);
        assert_eq!(case.trials[2].failed.as_deref(), Some("server: died"));
        let again = &case.trials[5];
        assert_eq!((again.block, again.position, again.attempt, again.failed.clone()), (0, 2, 1, None));
    }

    #[test]
    fn a_control_that_fails_each_time_ends_the_study_and_is_kept_and_run_again_when_resumed() {
        let dir = tempfile::tempdir().unwrap();
        let mut first = case(dir.path());
        let attempts = first.study.recipe.budget.attempts;
        let is_control = |case: &Case, trial: &Trial| {
            case.study.arms.iter().any(|arm| arm.name == trial.arm && arm.role == Role::Baseline)
        };
        // The second block's attempts at the baseline, which come last in that block.
        struct Fails<'a>(&'a str, usize);
        impl Trials for Fails<'_> {
            fn run(&mut self, planned: &Planned<'_>, dir: &Path) -> Result<Trial, Fault> {
                let fails = planned.block == 1 && planned.arm.name == self.0 && planned.attempt < self.1;
                let fail_at = if fails { vec![planned.index] } else { Vec::new() };
                Simulated { fail_at, seen: Vec::new() }.run(planned, dir)
            }
        }
        let baseline = first.study.arms.iter().find(|arm| arm.role == Role::Baseline).unwrap().name.clone();
        let go = AtomicBool::new(false);
        let fault = run(&mut first, &mut Fails(&baseline, attempts), &go, &mut |_| {}).unwrap_err();
        assert!(fault.cause.contains("died") && fault.remedy.contains("resume"), "{fault}");
        let kept: Vec<&Trial> = first.trials.iter().filter(|trial| trial.failed.is_some()).collect();
        assert_eq!(kept.len(), attempts);
        assert!(kept.iter().all(|trial| is_control(&first, trial)));
        drop(first);

        let mut again = Case::resume(dir.path()).unwrap();
        run(&mut again, &mut Fails(&baseline, attempts), &go, &mut |_| {}).unwrap();
        let last = again.trials.last().unwrap();
        assert_eq!((last.attempt, last.failed.as_deref()), (attempts, None));
        assert_eq!(again.trials.len(), 10 + attempts);
    }

    #[test]
    fn trials_that_guards_end_are_on_disk_and_two_of_them_end_the_study() {
        use crate::own_traffic::harm::tests::{breach, own_traffic};

        struct Harmful;
        impl Trials for Harmful {
            fn run(&mut self, planned: &Planned<'_>, _dir: &Path) -> Result<Trial, Fault> {
                let Planned { index, block, position, attempt, arm, .. } = *planned;
                let breach = (arm.role == Role::Candidate).then(|| breach(31_000.0));
                let arm = arm.name.clone();
                Ok(Trial { index, block, position, attempt, arm, breach, ..Trial::default() })
            }
        }
        let dir = tempfile::tempdir().unwrap();
        let go = AtomicBool::new(false);
        let mut first = Case::create(dir.path(), own_traffic()).unwrap();
        assert_eq!(run(&mut first, &mut Harmful, &go, &mut |_| {}).unwrap(), Ended::Finished);
        let ran = first.trials.len();
        assert_eq!(first.trials.iter().filter(|trial| trial.breach.is_some()).count(), 2);
        drop(first);

        let mut again = Case::resume(dir.path()).unwrap();
        assert_eq!(run(&mut again, &mut Harmful, &go, &mut |_| {}).unwrap(), Ended::Finished);
        assert_eq!(again.trials.len(), ran, "what guards ended does not go on");
    }

    /// Writes down that a guard ended each trial of an arm that is tried, and ends then: as pinwise does that is killed, or fails.
    struct EndsAfterBreach {
        folder: machine::OwnFolder,
        class: Class,
        ran: Vec<String>,
    }

    impl Trials for EndsAfterBreach {
        fn run(&mut self, planned: &Planned<'_>, dir: &Path) -> Result<Trial, Fault> {
            use crate::own_traffic::harm::tests::breach;

            let Planned { index, block, position, attempt, arm, .. } = *planned;
            self.ran.push(arm.name.clone());
            if arm.role == Role::Candidate {
                let name = dir.file_name().unwrap().to_str().unwrap();
                let reach = machine::own_folder::Reach::Passable;
                let folder = self.folder.fresh_folder(name, reach).unwrap();
                breach_record::keep(&folder, &self.folder, planned, 5.0, &breach(31_000.0)).unwrap();
                return Err(Fault::new(self.class, "outcome", "was lost", "look"));
            }
            let arm = arm.name.clone();
            Ok(Trial { index, block, position, attempt, arm, ..Trial::default() })
        }
    }

    #[test]
    fn a_breach_counts_whatever_fails_after_it() {
        use crate::own_traffic::harm::tests::own_traffic;

        let dir = tempfile::tempdir().unwrap();
        let go = AtomicBool::new(false);
        let mut first = Case::create(dir.path(), own_traffic()).unwrap();
        let folder = first.trials_folder().unwrap();
        let mut trials = EndsAfterBreach { folder, class: Class::Storage, ran: Vec::new() };
        let fault = run(&mut first, &mut trials, &go, &mut |_| {}).unwrap_err();
        assert!(fault.class == Class::Storage && fault.cause.contains("was lost"), "{fault}");
        let last = first.trials.last().unwrap();
        assert!(last.breach.is_some() && last.failed.is_none(), "{last:?}");
        drop(first);

        let mut again = Case::resume(dir.path()).unwrap();
        trials.class = Class::WorkloadFailed;
        assert_eq!(run(&mut again, &mut trials, &go, &mut |_| {}).unwrap(), Ended::Finished);
        let breached: Vec<&str> =
            again.trials.iter().filter(|t| t.breach.is_some()).map(|t| t.arm.as_str()).collect();
        assert_eq!(breached.len(), 2, "two end the study");
        let runs = |arm: &str| trials.ran.iter().filter(|ran| *ran == arm).count();
        assert!(breached.iter().all(|arm| runs(arm) == 1), "{breached:?}");
    }

    #[test]
    fn a_harmful_arm_does_not_run_again_where_pinwise_was_killed_before_its_trial_was_on_disk() {
        use crate::own_traffic::harm::tests::own_traffic;

        let dir = tempfile::tempdir().unwrap();
        let go = AtomicBool::new(false);
        let mut first = Case::create(dir.path(), own_traffic()).unwrap();
        let folder = first.trials_folder().unwrap();
        let mut trials = EndsAfterBreach { folder, class: Class::Storage, ran: Vec::new() };
        run(&mut first, &mut trials, &go, &mut |_| {}).unwrap_err();
        drop(first);
        // As it is when the process is killed before the line is written.
        let lines = std::fs::read_to_string(dir.path().join("trials.jsonl")).unwrap();
        let kept = lines.trim_end().rfind('\n').map_or(0, |at| at + 1);
        std::fs::write(dir.path().join("trials.jsonl"), &lines[..kept]).unwrap();

        let mut again = Case::resume(dir.path()).unwrap();
        let harmful = trials.ran.last().unwrap().clone();
        run(&mut again, &mut trials, &go, &mut |_| {}).unwrap_err();
        assert_eq!(trials.ran.iter().filter(|ran| **ran == harmful).count(), 1);
        let of_it = |trial: &&Trial| trial.arm == harmful && trial.breach.is_some();
        assert_eq!(again.trials.iter().filter(of_it).count(), 1);
    }

    #[test]
    fn ctrl_c_ends_between_trials_and_says_how_to_go_on() {
        let dir = tempfile::tempdir().unwrap();
        let stop = AtomicBool::new(false);
        let mut simulated = Simulated { fail_at: Vec::new(), seen: Vec::new() };
        let fault = run(&mut case(dir.path()), &mut simulated, &stop, &mut |event| {
            if matches!(event, Event::TrialEnded { trial, .. } if trial.index == 2) {
                stop.store(true, Ordering::Relaxed);
            }
        })
        .unwrap_err();
        assert_eq!(fault.class, Class::Interrupted);
        assert!(fault.cause.contains("3 of 10") && fault.remedy.contains("resume"), "{fault}");
    }
}
