//! The study of one host, as a verb there, and its case, which comes here.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use hosts::survey::answers_in_parallel;
use hosts::{HostSpec, RemoteFile, RemoteVerb, Verb};
use machine::{Class, Fault};
use report::fleet::NotRead;
use serde::Serialize;

use super::super::there::{NotRun, There};
use crate::notes::note;
use crate::output::CANNOT_TELL;

/// Names in the folder of the run there.
const RECIPE: &str = "recipe.toml";
const CASE: &str = "case";

/// A study to be made.
pub(super) struct Task {
    /// Id of the shape that its host stands for.
    pub(super) shape: String,
    /// The host.
    pub(super) host: HostSpec,
    /// Where its case goes here.
    pub(super) case: PathBuf,
}

/// A study that was made.
#[derive(Debug, Serialize)]
pub(super) struct Studied {
    /// Id of the shape that the host stands for.
    pub(super) shape: String,
    /// The host.
    pub(super) host: String,
    /// Its case here.
    pub(super) case: PathBuf,
    /// The exit code of the study: 1 or 8 where it did not show what the recipe expects.
    pub(super) exit_code: i32,
}

/// Makes the studies, `at_most` at the same time. A host that fails is listed, and stops no other. Both lists are in the order of the
/// tasks.
///
/// # Errors
/// No temporary folder can be made, or a signal stopped it: then the hosts have taken everything back.
pub(super) fn study_all(
    tasks: &[Task],
    recipe: &str,
    at_most: usize,
    interrupted: &AtomicBool,
) -> Result<(Vec<Studied>, Vec<NotRead>), Fault> {
    let there = There::new()?;
    let end_of = |task: &Task| {
        note!("pinwise: {} for shape {}: the study begins", task.host.name, task.shape);
        let end = study(task, recipe, &there, interrupted);
        note!(
            "pinwise: {}: the study {}",
            task.host.name,
            if end.is_ok() { "has ended" } else { "has failed" }
        );
        end
    };
    let ends = answers_in_parallel(tasks, at_most, interrupted, &end_of);
    if interrupted.load(Ordering::Relaxed) {
        return Err(stopped());
    }
    let (mut studied, mut failed) = (Vec::new(), Vec::new());
    // Without a signal each has one.
    for (end, task) in ends.into_iter().flatten().zip(tasks) {
        let (shape, host, case) = (task.shape.clone(), task.host.name.clone(), task.case.clone());
        match end {
            Ok(exit_code) => studied.push(Studied { shape, host, case, exit_code }),
            Err(fault) => failed.push(NotRead { host, fault }),
        }
    }
    Ok((studied, failed))
}

/// Runs one study there and brings its case here; the exit code.
fn study(task: &Task, recipe: &str, there: &There, interrupted: &AtomicBool) -> Result<i32, Fault> {
    let words = [RECIPE, "--output", CASE, "--format", "json"];
    let verb = RemoteVerb {
        verb: Verb::Study,
        arguments: words.map(String::from).to_vec(),
        files: vec![RemoteFile { name: RECIPE.into(), content: recipe.as_bytes().to_vec() }],
    };
    let stop = || interrupted.load(Ordering::Relaxed);
    let mut ran = there.run(&task.host, &verb, &stop).map_err(NotRun::fault)?;
    let (exit_code, folder) = (ran.end.exit_code, ran.end.folder.clone());
    if stop() {
        ran.tidy();
        return Err(stopped());
    }
    if ![0, i32::from(Class::No.exit_code()), i32::from(CANNOT_TELL)].contains(&exit_code) {
        // Trials that it has made are worth more than a tidy folder.
        let remedy = format!("see its case on that host, if there is one: {}/{CASE}", folder.display());
        return Err(Fault { remedy, ..ran.failed() });
    }
    if let Err(fault) = ran.connection.fetch_folder(&folder, CASE, &task.case) {
        // Where it was refused there is no case.
        return Err(if exit_code == 0 { fault } else { ran.failed() });
    }
    ran.tidy();
    Ok(exit_code)
}

fn stopped() -> Fault {
    Fault::new(Class::Interrupted, "fleet study", "stopped by a signal", "")
}
