//! Studies across boots: a run that needs another boot either asks the user to reboot or reboots by itself.

mod resume_unit;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use machine::{Class, Fault, Root};
use serde::Serialize;
use study::boots::{self, Booted, Group, Restarts, Standing};
use study::case::{quoted, resume_command};
use study::engine::Ended;
use study::engine::boot_parameters::{BootLoader, LiveBootLoader, prepare};
use study::{Case, Recipe};

use self::resume_unit::ResumeUnit;
use crate::format::Format;
use crate::notes::note;
use crate::output::{self, Answer};
use crate::{conclusion, rollback, run_case};

/// What a study that waits for a restart says in JSON.
#[derive(Debug, Serialize)]
struct Waits<'a> {
    case: String,
    boots_done: usize,
    boots: usize,
    words: &'a [String],
    why: &'a str,
    then: String,
}

/// Holds `--reboot` against recipe and machine, before there is a case.
pub fn may_begin(recipe: &Recipe, by_itself: bool) -> Result<(), Fault> {
    match (by_itself, recipe.asks_for_boots()) {
        (false, _) => Ok(()),
        (true, false) => not_across(true),
        (true, true) => resume_unit::can_be_had(),
    }
}

/// Says before the first trial how often the machine will be started.
pub fn announce(case: &Case, by_itself: bool) {
    let study = &case.study;
    let Some(plan) = &study.boots else { return };
    let (all, blocks) = (study.boots_to_run(&case.trials), plan.trials.len());
    let each = plan.trials.first().map_or(0, Vec::len);
    let who = match by_itself {
        true => {
            format!(
                "pinwise reboots it {all} times, and once more at the end if the kernel then has parameters of the study; to stop it: systemctl stop \
                 pinwise-resume"
            )
        }
        false => "each time pinwise asks you to reboot it (or reboots it itself: --reboot)".into(),
    };
    note!("pinwise: this study takes {all} boots of the machine ({blocks} blocks of {each}): {who}");
}

fn not_across(by_itself: bool) -> Result<(), Fault> {
    match by_itself {
        false => Ok(()),
        true => Err(Fault::new(
            Class::Usage,
            "--reboot",
            "this study needs no reboot: it varies no boot parameters",
            "leave it out",
        )),
    }
}

/// Runs what remains of a case, in this boot and, `by_itself`, in those that follow; says what came out, or what is to be done.
pub fn run(
    case: &mut Case,
    interrupted: &Arc<AtomicBool>,
    by_itself: bool,
    format: Format,
) -> Result<Answer, Fault> {
    if case.study.boots.is_none() {
        not_across(by_itself)?;
        run_case::to_its_end(case, interrupted)?;
        return conclusion::conclude(case, format);
    }
    if by_itself && case.folder()?.is_of_caller() {
        let cause = "it belongs to you; after the reboot a service continues with it, and trusts only folders of root";
        let remedy = format!("chown root {}", quoted(case.dir()));
        return Err(Fault::new(Class::NotPermitted, case.dir().display(), cause, remedy));
    }
    let mut loader = LiveBootLoader::of_case(case.dir())?;
    let mut unit = ResumeUnit::of_case(case.dir())?;
    if !by_itself {
        // A run that was killed left its service behind: whoever resumes manually also reboots manually.
        unit.take_back()?;
        let boot = one_boot(case, &mut loader, None, interrupted, format);
        return boot.map_err(|fault| with_what_stands(fault, &loader));
    }
    let boot = resume_unit::can_be_had()
        .and_then(|()| one_boot(case, &mut loader, Some(&mut unit), interrupted, format));
    // Who started it looks away: whatever goes wrong ends it, with everything taken back.
    boot.map_err(|fault| with_what_is_left(fault, unit.take_back().and(loader.take_back())))
}

/// Takes back what a study that starts the machine by itself has placed, where its case cannot be gone on with.
pub fn give_up(case: &Path, fault: Fault) -> Fault {
    let taken_back = ResumeUnit::of_case(case).and_then(|mut unit| {
        // Who holds the case goes on with it: then what is placed is that one's.
        if Case::is_held(case) {
            Ok(())
        } else {
            unit.take_back().and(LiveBootLoader::of_case(case)?.take_back())
        }
    });
    with_what_is_left(fault, taken_back)
}

fn with_what_is_left(fault: Fault, taken_back: Result<(), Fault>) -> Fault {
    match taken_back {
        Ok(()) => fault,
        Err(left) => rollback::left_in_place(fault, &format!("not everything could be undone: {left}")),
    }
}

/// Fails when the study was stopped: checked until right before the reboot.
fn goes_on(case: &Path, interrupted: &AtomicBool) -> Result<(), Fault> {
    if !interrupted.load(Ordering::Relaxed) {
        return Ok(());
    }
    Err(Fault::new(
        Class::Interrupted,
        "rebooting the machine",
        "the study was stopped",
        format!("continue with: {}", resume_command(case)),
    ))
}

/// What stopped the study leaves what the next start is to have: then the machine is not quite as it was.
fn with_what_stands(fault: Fault, loader: &LiveBootLoader) -> Fault {
    match loader.standing() {
        Ok(Standing::Words(words)) if words.is_empty() => fault,
        _ => rollback::left_in_place(
            fault,
            "the study's parameters stay on the kernel command line of the boot loader",
        ),
    }
}

fn one_boot(
    case: &mut Case,
    loader: &mut LiveBootLoader,
    unit: Option<&mut ResumeUnit>,
    interrupted: &Arc<AtomicBool>,
    format: Format,
) -> Result<Answer, Fault> {
    let ended = run_case::to_its_end(case, interrupted)?;
    let dir = case.dir().to_path_buf();
    let restart = || goes_on(&dir, interrupted).and_then(|()| change::reboot::reboot());
    match ended {
        Ended::Finished => finished(case, loader, unit, &restart, format),
        Ended::NeedsBoot(group, why) => next_boot(case, (group, &why), loader, unit, &restart, format),
    }
}

/// Gets the next boot ready, and starts it or asks for it.
fn next_boot(
    case: &mut Case,
    (group, why): (Group, &str),
    loader: &mut LiveBootLoader,
    unit: Option<&mut ResumeUnit>,
    restart: &dyn Fn() -> Result<(), Fault>,
    format: Format,
) -> Result<Answer, Fault> {
    let now = Booted::read(&Root::live()).ok_or_else(|| {
        let path = "/proc/sys/kernel/random/boot_id";
        Fault::new(Class::MachineLacks, path, "the kernel does not report which boot this is", "mount /proc")
    })?;
    unit.as_ref().map_or(Ok(()), |unit| unit.is_still_wanted())?;
    let restarts = match &unit {
        None => Restarts::ByHand,
        Some(unit) if unit.stood => Restarts::GoOn,
        Some(_) => Restarts::Begin,
    };
    prepare(case, (group, &now), loader, restarts)?;
    let (done, all) = (case.study.boots_before(&case.trials, group), case.study.boots_to_run(&case.trials));
    let words = case.study.words_of(group);
    let then = resume_command(case.dir());
    let case_dir = case.dir().display().to_string();
    let printed = match format {
        Format::Json => output::json(&Waits {
            case: case_dir,
            boots_done: done,
            boots: all,
            words,
            why,
            then: then.clone(),
        }),
        Format::Text => Ok(()),
    };
    let for_next = match words.is_empty() {
        true => "the next boot has no parameters of the study, and none are set".into(),
        false => format!("the parameters for the next boot are set: {}", words.join(" ")),
    };
    match unit {
        None => note!(
            "pinwise: {done} of {all} boots are done ({why}); {for_next}. Reboot the machine, then: {then}"
        ),
        Some(unit) => {
            note!(
                "pinwise: {done} of {all} boots are done ({why}); {for_next}. The machine will be rebooted"
            );
            unit.place()?;
            restart()?;
        }
    }
    // Where the answer goes does not stop the study.
    printed.map(|()| Answer::Reboot)
}

/// Takes back what the last boot needed, and says what came out.
fn finished(
    case: &Case,
    loader: &mut LiveBootLoader,
    unit: Option<&mut ResumeUnit>,
    restart: &dyn Fn() -> Result<(), Fault>,
    format: Format,
) -> Result<Answer, Fault> {
    loader.take_back()?;
    let last = case.trials.last().map(|trial| case.study.group_of(trial.block, trial.position));
    let words = last.map_or(&[][..], |group| case.study.words_of(group));
    let runs_with =
        Booted::read(&Root::live()).filter(|now| !words.is_empty() && now.missing_words(words).is_empty());
    // What fails here is an error after all is as it was.
    let answer = conclusion::conclude(case, format);
    let by_itself = unit.as_ref().is_some_and(|unit| unit.is_still_wanted().is_ok());
    if let Some(unit) = unit {
        unit.take_back()?;
    }
    let (boots, _) = boots::used(&case.study, &case.trials);
    note!("pinwise: all trials are done, in {boots} boots; the boot loader's settings are as before");
    if runs_with.is_some() {
        let until = if by_itself { "now: the machine is being rebooted" } else { "the machine is rebooted" };
        note!("pinwise: the kernel runs with '{}' until {until}", words.join(" "));
        if by_itself {
            restart()?;
        }
    }
    answer
}
