//! What came of an undo: of each session, and of each of its acts.

use std::fmt;

use machine::{Class, Fault, Outside};
use serde::Serialize;

use super::rollback::Undone;
use crate::ledger::Session;
use crate::record::How;

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
            (of(|how| matches!(how, How::Already)), "already as before"),
            (of(|how| matches!(how, How::Gone | How::Expired)), "gone"),
            (of(|how| matches!(how, How::GivenUp { .. } | How::Forgotten)), "given up"),
            (of(|how| !how.is_final()), "NOT undone"),
        ];
        let counts: Vec<String> = counts
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        if counts.is_empty() { "nothing undone".into() } else { counts.join(", ") }
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
            let remedy = format!(
                "run 'pinwise undo --session {by}' first, or wait for that session to end if it still runs"
            );
            Fault::new(Class::No, &undone.object, &undone.how, remedy)
        }
        How::HeldWithin { .. } => {
            let remedy = "fix what keeps the later act from being undone, and run 'pinwise undo' again";
            Fault::new(Class::No, &undone.object, &undone.how, remedy)
        }
        How::Conflict { .. } => {
            let remedy = "if nothing needs the current value, run 'pinwise undo --force'";
            Fault::new(Class::No, &undone.object, &undone.how, remedy)
        }
        How::OutOfReach { what } => Fault::new(Class::No, &undone.object, &undone.how, what.remedy()),
        How::Unproven { .. } => {
            let remedy = "check them (ps -fp); end those that the launch has left, then run 'pinwise undo --force', which leaves the rest alone";
            Fault::new(Class::No, &undone.object, &undone.how, remedy)
        }
        How::Incomplete { .. } => {
            let remedy = "free what holds it and run 'pinwise undo' again, or leave it as it is with --force";
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
