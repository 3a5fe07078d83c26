//! Taking back what sessions left behind whose owner is gone: after kill -9, a crash, or a plan that is to go.

mod inheritance;
pub(crate) mod object_lookup;
mod report;
pub(crate) mod rollback;

use std::fs;
use std::io;
use std::path::Path;

use machine::{Class, Fault, OwnFolder};

use crate::acts::outlives_boots;
use crate::kernel::Kernel;
use crate::ledger::owner::{owner_alive, same_boot};
use crate::ledger::{self, Ledger, Session};
use crate::lock::MachineLock;
use crate::record::Entry;
use rollback::{Scope, undo_entries, waits_for};

pub use report::{SessionUndone, UndoReport};
pub use rollback::Undone;

/// What to undo, and how hard.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UndoOptions {
    /// Also what somebody else has changed since.
    pub force: bool,
    /// Also sessions whose owner still runs.
    pub owned_too: bool,
    /// Only this session; `None`: all.
    pub session: Option<String>,
    /// Only what was done after this point, which itself stays.
    pub to: Option<Point>,
}

/// A point in the history of changes: a session, or one of its acts, with all that came before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Point {
    /// Id of the session.
    pub session: String,
    /// The last of its acts that stays; `None`: all of them do.
    pub seq: Option<u64>,
}

impl std::str::FromStr for Point {
    type Err = String;

    /// `SESSION` or `SESSION.ACT`, as `pinwise status` prints them.
    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('.') {
            None => Ok(Self { session: text.to_string(), seq: None }),
            Some((session, seq)) => {
                let seq = seq
                    .parse()
                    .map_err(|_| format!("'{seq}' is not the number of an act: write SESSION.ACT"))?;
                Ok(Self { session: session.to_string(), seq: Some(seq) })
            }
        }
    }
}

/// Takes back the outstanding acts of the sessions in `dir`, newest session and newest act first.
///
/// As often as one likes: what is restored already is left alone. A ledger with nothing outstanding is removed.
///
/// # Errors
/// Another pinwise is changing the machine, the session does not exist, the folder cannot be read, or every session that was meant
/// is still owned by a running process.
pub fn undo(dir: &Path, kernel: &dyn Kernel, options: &UndoOptions) -> Result<UndoReport, Fault> {
    match MachineLock::take_existing(dir)? {
        Some(_lock) => undo_sessions(ledger::sessions(dir)?, kernel, options),
        None => unknown(options),
    }
}

/// The same for the holder of the lock, which has read the ledgers.
pub(crate) fn undo_sessions(
    sessions: Vec<Session>,
    kernel: &dyn Kernel,
    options: &UndoOptions,
) -> Result<UndoReport, Fault> {
    let mut report = UndoReport { sessions: Vec::new(), refused: Vec::new() };
    let sessions = chosen(sessions, options)?;
    if sessions.iter().all(|(_, from_seq)| from_seq.is_none()) {
        return unknown(options);
    }
    // What sessions that were looked at before, which are later ones, still hold.
    let mut held: Vec<(String, Entry)> = Vec::new();
    for (mut session, from_seq) in sessions.into_iter().rev() {
        let alive = owner_alive(&session, kernel);
        match (from_seq, session.header.as_ref()) {
            (None, _) => {}
            (Some(_), None) if !(options.force && options.session.is_some()) => {
                // Its ledger does not say of which boot it is.
                let problems = session.problems.clone();
                report.sessions.push(SessionUndone::of(&session, Vec::new(), problems));
            }
            (Some(_), Some(header)) if alive && !options.owned_too => {
                report.refused.push(owned(&session, header.owner.pid));
            }
            (Some(from_seq), _) => {
                let undone = undo_session(&mut session, kernel, options, alive, from_seq, &held);
                report.sessions.push(undone);
            }
        }
        let same_boot = same_boot(&session, kernel);
        let in_force = |entry: &&Entry| same_boot || outlives_boots(entry, session.outstanding());
        held.extend(session.outstanding().filter(in_force).map(|entry| (session.id(), entry.clone())));
    }
    match report.refused.first() {
        Some(fault) if report.sessions.is_empty() => Err(fault.clone()),
        _ => Ok(report),
    }
}

/// All sessions, oldest first, and of those that are meant the first act that is to be undone.
fn chosen(sessions: Vec<Session>, options: &UndoOptions) -> Result<Vec<(Session, Option<u64>)>, Fault> {
    let wanted = |session: &Session| options.session.as_ref().is_none_or(|id| *id == session.id());
    let at = match &options.to {
        None => None,
        Some(to) => {
            let at = sessions.iter().position(|session| session.id() == to.session);
            Some((at.ok_or_else(|| no_such(&to.session))?, to.seq))
        }
    };
    let from = |i: usize| match at {
        None => Some(0),
        Some((at, _)) if i > at => Some(0),
        Some((at, seq)) if i == at => seq.and_then(|seq| seq.checked_add(1)),
        Some(_) => None,
    };
    let with_first = |(i, session): (usize, Session)| {
        let first = from(i).filter(|_| wanted(&session));
        (session, first)
    };
    Ok(sessions.into_iter().enumerate().map(with_first).collect())
}

fn unknown(options: &UndoOptions) -> Result<UndoReport, Fault> {
    match &options.session {
        None => Ok(UndoReport { sessions: Vec::new(), refused: Vec::new() }),
        Some(id) => Err(no_such(id)),
    }
}

fn no_such(session: &str) -> Fault {
    let cause = "there is no such session, or none of its changes is in force";
    let remedy = "'pinwise status' lists the sessions";
    Fault::new(Class::Usage, format!("session {session}"), cause, remedy)
}

fn owned(session: &Session, pid: u32) -> Fault {
    let cause = format!("process {pid} still works in it");
    let remedy = format!(
        "stop that first, with Ctrl-C or kill -INT {pid}: it undoes its changes itself; if it does not react, kill -KILL {pid} and \
         run 'pinwise undo'"
    );
    Fault::new(Class::No, format!("session {}", session.id()), cause, remedy)
}

fn undo_session(
    session: &mut Session,
    kernel: &dyn Kernel,
    options: &UndoOptions,
    owner_alive: bool,
    from_seq: u64,
    held: &[(String, Entry)],
) -> SessionUndone {
    let (id, force) = (session.id(), options.force);
    let forget = force && options.session.is_some();
    let mut problems = session.problems.clone();
    // Without it (full disk, read-only) nothing is recorded; the next undo then finds the old values in place.
    let mut ledger = Ledger::reopen(session, !owner_alive).ok();
    let held_by = |entry: &Entry| {
        let later =
            held.iter().find(|(_, other)| waits_for(entry, other) && !entry.is_about_another_than(other));
        later.map(|(session, _)| session.clone())
    };
    let same_boot = same_boot(session, kernel);
    let view = session.header.as_ref().and_then(|header| header.view);
    let scope =
        Scope { session: &id, from_seq, view: view.as_ref(), same_boot, force, forget, held_by: &held_by };
    let undone = undo_entries(kernel, &mut session.entries, &scope, |record| {
        let _ = ledger.as_mut().map(|ledger| ledger.append(record));
    });
    let settled = session.outstanding().next().is_none();
    if settled && !owner_alive {
        problems.extend(put_away(session, force).err());
    }
    SessionUndone::of(session, undone, problems)
}

/// Removes what processes that were killed have left among the ledgers in `dir`: those of `sessions` of which nothing is outstanding, and
/// files that were to become one. For the holder of the lock, who has read the ledgers and does without what cannot be removed.
pub(crate) fn put_away_settled(dir: &Path, sessions: &[Session], kernel: &dyn Kernel) {
    let Ok(folder) = OwnFolder::open(dir) else { return };
    folder.sweep();
    let is_settled = |session: &&Session| {
        session.armed.is_none() && session.outstanding().next().is_none() && !owner_alive(session, kernel)
    };
    for session in sessions.iter().filter(is_settled) {
        let _ = put_away(session, false);
    }
}

/// Removes a ledger of which nothing is outstanding. One with lines that make no sense stays until somebody has
/// looked; forced, it is put aside under another name.
fn put_away(session: &Session, force: bool) -> Result<(), Fault> {
    match (session.problems.is_empty(), force) {
        (true, _) => session.remove(),
        (false, false) => Ok(()),
        (false, true) => match fs::rename(&session.path, session.path.with_extension("damaged")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Fault::io(
                session.path.display(),
                &error,
                "remove it manually: nothing in it is outstanding",
            )),
            _ => Ok(()),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use machine::Act;

    use super::*;
    use crate::{EmulatedKernel, Hand};

    #[test]
    fn what_killed_processes_left_goes_and_what_is_in_force_or_damaged_stays() {
        let (dir, kernel) = (tempfile::tempdir().unwrap(), EmulatedKernel::new());
        let path = "/proc/sys/vm/swappiness";
        kernel.add_file(path, "60\n");
        let hand = || Hand::with(Arc::new(kernel.clone()), dir.path(), "test").unwrap();
        hand().die();
        let mut in_force = hand();
        in_force.perform(&Act::WriteFile { netns: None, path: path.into(), value: "10".into() }).unwrap();
        let kept = format!("{}.jsonl", in_force.session());
        in_force.die();
        fs::write(dir.path().join("damaged.jsonl"), "").unwrap();
        fs::write(dir.path().join(format!(".x.jsonl.{:032x}.part", 7)), "").unwrap();
        let names = || {
            let names = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name());
            let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
            names.sort();
            names
        };
        let put_away = || put_away_settled(dir.path(), &ledger::sessions(dir.path()).unwrap(), &kernel);
        put_away();
        assert_eq!(names().len(), 3, "the process still runs: {:?}", names());
        kernel.remove_thread(1000);
        put_away();
        assert_eq!(names(), [kept, "damaged.jsonl".into()]);
    }
}
