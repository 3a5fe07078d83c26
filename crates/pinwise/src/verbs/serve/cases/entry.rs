//! A case in the list: what is known of it without all of its files.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use advise::next_steps::own_name;
use machine::{Fault, OwnFolder};
use report::case::headline;
use serde::Serialize;
use study::{Case, Facts, Resolved, schedule};

use super::search::Found;
use crate::case_size::{self, FILES};
use crate::server_host::SERVER_HOST;

/// When each of the files was written to that are read of a case, and its length: by these it is seen whether the case has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stamp([Option<(SystemTime, u64)>; FILES.len()]);

impl Stamp {
    pub(super) fn of(folder: &Path) -> Self {
        Self(FILES.map(|name| {
            let about = folder.join(name).metadata().ok()?;
            Some((about.modified().ok()?, about.len()))
        }))
    }
}

/// What the list says of a case. What is not known is null.
#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct Entry {
    id: String,
    /// The server by its own name.
    server: Option<String>,
    /// The host of the server, where the study went to another one.
    host: Option<String>,
    /// Whether nothing of the study is left to be run.
    finished: Option<bool>,
    /// Whether a process runs it now.
    running: Option<bool>,
    /// Trials that were run.
    trials: Option<usize>,
    blocks: Option<Blocks>,
    /// The answer in one sentence.
    headline: Option<String>,
    /// When a trial was added last, or the study was made, seconds since 1970.
    modified_s: Option<u64>,
    /// Why it cannot be read.
    fault: Option<Fault>,
}

/// The blocks of a study.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
struct Blocks {
    /// Those of which every trial has a figure.
    done: usize,
    /// Those that it has in all; `None` of a search that goes on.
    planned: Option<usize>,
}

/// Reads a case, as far as there is time for: `earlier` is what was known of it, with the same files.
pub(super) fn read(found: &Found, earlier: Option<Entry>, until: Instant) -> Entry {
    let is_late = || Instant::now() >= until;
    match earlier {
        Some(entry) if entry.headline.is_some() || is_late() => entry,
        None if is_late() => of_id(found),
        _ => of_case(found, is_late).unwrap_or_else(|fault| Entry { fault: Some(fault), ..of_id(found) }),
    }
}

fn of_id(found: &Found) -> Entry {
    let since_1970 = found.modified.and_then(|modified| modified.duration_since(UNIX_EPOCH).ok());
    Entry { id: found.id.clone(), modified_s: since_1970.map(|length| length.as_secs()), ..Entry::default() }
}

fn of_case(found: &Found, is_late: impl Fn() -> bool) -> Result<Entry, Fault> {
    case_size::fits(&found.folder)?;
    let case = Case::open(&found.folder)?;
    let headline = if is_late() { None } else { Some(answer(&case)?) };
    Ok(Entry {
        server: server(&case.study),
        host: case.study.recipe.notes.get(SERVER_HOST).cloned(),
        finished: Some(!case.study.is_searching() && case.next().is_none()),
        trials: Some(case.trials.len()),
        blocks: Some(blocks(&case)),
        headline,
        ..of_id(found)
    })
}

/// The answer, as the report has it.
fn answer(case: &Case) -> Result<String, Fault> {
    let facts = Facts::read(case)?;
    Ok(headline::read(&facts, &advise::examine(&facts)).title)
}

/// The server by its own name; `None` of one that is started through a shell or the like.
fn server(study: &Resolved) -> Option<String> {
    let spec = &study.recipe.server;
    match &spec.running {
        Some(running) => Some(running.clone()),
        None if spec.is_unnamed() && study.string_rounds.is_some() => Some("string-server".into()),
        None => own_name(&spec.command).map(String::from),
    }
}

fn blocks(case: &Case) -> Blocks {
    let (study, trials) = (&case.study, &case.trials);
    let counted = schedule::counted(trials);
    let figures: BTreeSet<(usize, usize)> =
        counted.iter().map(|trial| (trial.block, trial.position)).collect();
    let left_out = schedule::left_out(study, trials);
    let is_done = |(block, arms): &(usize, &Vec<usize>)| {
        arms.iter().enumerate().all(|(position, arm)| {
            figures.contains(&(*block, position)) || left_out.get(arm).is_some_and(|since| since < block)
        })
    };
    let done = study.order.iter().enumerate().filter(is_done).count();
    Blocks { done, planned: (!study.is_searching()).then_some(study.order.len()) }
}

impl Entry {
    /// Whether `text`, in small letters, stands in it.
    pub(super) fn has(&self, text: &str) -> bool {
        let names = [Some(&self.id), self.server.as_ref(), self.host.as_ref()];
        names.into_iter().flatten().any(|name| name.to_lowercase().contains(text))
    }

    /// Whether its files were looked at, readable or not.
    pub(super) fn is_read(&self) -> bool {
        self.is_known() || self.fault.is_some()
    }

    /// Whether its files were read.
    pub(super) fn is_known(&self) -> bool {
        self.trials.is_some()
    }

    /// The same with whether a process runs it. Of a finished one none does.
    pub(super) fn with_running(self, folder: &Path) -> Self {
        let running = match self.finished {
            Some(true) => Some(false),
            Some(false) => is_held(folder),
            None => None,
        };
        Self { running, ..self }
    }
}

/// Whether a process has the lock of a case; `None` where that cannot be found out, as in a folder of somebody else.
fn is_held(folder: &Path) -> Option<bool> {
    OwnFolder::open(folder).ok()?.is_locked().ok()
}
