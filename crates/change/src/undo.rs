//! Taking back what sessions left behind whose owner is gone: after kill -9, a crash, or a plan that is to go.

use std::fmt;
use std::fs;
use std::io;
use std::path::Path;

use machine::{Class, Fault, Outside, OwnFolder};
use serde::Serialize;

use crate::acts::outlives_boots;
use crate::kernel::Kernel;
use crate::ledger::{self, Ledger, Session};
use crate::lock::MachineLock;
use crate::owner::{owner_alive, same_boot};
use crate::record::{Entry, How};
use crate::take_back::{Scope, Undone, undo_entries, waits_for};

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
                let seq =
                    seq.parse().map_err(|_| format!("'{seq}' is no number of an act: write SESSION.ACT"))?;
                Ok(Self { session: session.to_string(), seq: Some(seq) })
            }
        }
    }
}

/// What came of an undo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UndoReport {
    /// Newest first, as they were undone.
    pub sessions: Vec<SessionUndone>,
    /// Sessions that were left alone because their owner runs.
    pub refused: Vec<Fault>,
}

/// One session that was undone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SessionUndone {
    /// Its id.
    pub session: String,
    /// What it was for.
    pub purpose: String,
    /// Its acts, newest first.
    pub undone: Vec<Undone>,
    /// Lines of its ledger that make no sense, and ledger files that could not be removed.
    pub problems: Vec<Fault>,
}

impl SessionUndone {
    /// What came of the acts of a session; none of them where it was left as it is.
    pub(crate) fn of(session: &Session, undone: Vec<Undone>, problems: Vec<Fault>) -> Self {
        let purpose = session.header.as_ref().map(|header| header.purpose.clone()).unwrap_or_default();
        Self { session: session.id(), purpose, undone, problems }
    }

    /// `7 restored, 1 already as it was, 2 left as they are`.
    fn count(&self) -> String {
        let of = |is: fn(&How) -> bool| self.undone.iter().filter(|undone| is(&undone.how)).count();
        let counts = [
            (of(|how| matches!(how, How::Restored)), "restored"),
            (of(|how| matches!(how, How::Already)), "as before already"),
            (of(|how| matches!(how, How::Gone | How::Expired)), "gone"),
            (of(|how| matches!(how, How::GivenUp { .. } | How::Forgotten)), "given up"),
            (of(|how| !how.is_final()), "NOT undone"),
        ];
        let told: Vec<String> = counts
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        if told.is_empty() { "nothing undone".into() } else { told.join(", ") }
    }
}

impl UndoReport {
    /// Adds what came of a further try: of each act the latest result counts.
    pub(crate) fn go_on(&mut self, later: Self) {
        for session in later.sessions {
            match self.sessions.iter_mut().find(|known| known.session == session.session) {
                Some(known) => {
                    known.undone.retain(|undone| session.undone.iter().all(|later| later.seq != undone.seq));
                    known.undone.extend(session.undone);
                    known.problems = session.problems;
                }
                None => self.sessions.push(session),
            }
        }
        self.refused = later.refused;
    }

    /// Whether everything is as it was.
    pub fn is_clean(&self) -> bool {
        self.fault().is_none()
    }

    /// The first thing that stands in the way of that, for the exit code.
    pub fn fault(&self) -> Option<Fault> {
        let left =
            self.sessions.iter().flat_map(|session| &session.undone).find(|undone| !undone.how.is_final());
        let problem = self.sessions.iter().flat_map(|session| &session.problems).next();
        left.map(left_fault).or_else(|| problem.cloned()).or_else(|| self.refused.first().cloned())
    }
}

fn left_fault(undone: &Undone) -> Fault {
    match &undone.how {
        How::Held { by } => {
            let remedy =
                format!("run 'pinwise undo --session {by}' first, or wait for it to end where it still runs");
            Fault::new(Class::No, &undone.object, &undone.how, remedy)
        }
        How::HeldWithin { .. } => {
            let remedy = "fix what keeps the later act from being undone, and run 'pinwise undo' again";
            Fault::new(Class::No, &undone.object, &undone.how, remedy)
        }
        How::Conflict { .. } => {
            let remedy = "if nobody needs the present value, run 'pinwise undo --force'";
            Fault::new(Class::No, &undone.object, &undone.how, remedy)
        }
        How::OutOfReach { what } => Fault::new(Class::No, &undone.object, &undone.how, what.remedy()),
        How::Unproven { .. } => {
            let remedy = "look at them (ps -fp); end those that the launch has left, then run 'pinwise undo --force', which leaves the rest alone";
            Fault::new(Class::No, &undone.object, &undone.how, remedy)
        }
        How::Incomplete { .. } => {
            let remedy = "free what holds it and run 'pinwise undo' again, or leave it at that with --force";
            Fault::new(Class::MachineLacks, &undone.object, &undone.how, remedy)
        }
        how => {
            let (class, remedy) = match rustix::process::geteuid().is_root() {
                true => (Class::MachineLacks, "fix the cause and run 'pinwise undo' again"),
                false => (Class::NotPermitted, "run 'pinwise undo' as root"),
            };
            Fault::new(class, &undone.object, how, remedy)
        }
    }
}

impl fmt::Display for UndoReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.sessions.is_empty() && self.refused.is_empty() {
            return writeln!(f, "Nothing to undo.");
        }
        for session in &self.sessions {
            let (id, purpose) = (Outside(&session.session), Outside(&session.purpose));
            writeln!(f, "Session {id} ({purpose}): {}", session.count())?;
            session.undone.iter().try_for_each(|undone| writeln!(f, "  {undone}"))?;
            session.problems.iter().try_for_each(|problem| writeln!(f, "  {problem}"))?;
        }
        self.refused.iter().try_for_each(|refused| writeln!(f, "{refused}"))
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
    let cause = "there is no such session, or nothing of it is in force";
    let remedy = "see 'pinwise status' for those that there are";
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
    let ground = session.header.as_ref().and_then(|header| header.ground);
    let scope = Scope {
        session: &id,
        from_seq,
        ground: ground.as_ref(),
        same_boot,
        force,
        forget,
        held_by: &held_by,
    };
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
                "remove it by hand: nothing in it is outstanding",
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
