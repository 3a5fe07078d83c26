//! Taking one act back: only what is still ours, as often as one likes.

use std::fmt;
use std::io;

use machine::Outside;
use machine::wording::counted;
use serde::Serialize;

use super::inheritance;
use super::object_lookup::{Location, locate};
use crate::acts::{Lifetime, Operation, TakenBack, operation, outlives_boots};
use crate::kernel::Kernel;
use crate::namespace::process_view::ProcessView;
use crate::record::{Entry, How, Reading, Record, Value};

/// One act that was taken back, or tried to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Undone {
    /// Number of the act in its session.
    pub seq: u64,
    /// What it is about, in words.
    pub object: String,
    /// What it was before the act.
    pub old: String,
    /// What came of it.
    #[serde(flatten)]
    pub how: How,
    /// Threads that had inherited the change and were restored with it.
    pub heirs: usize,
    /// What goes on as it was started, and until when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl fmt::Display for Undone {
    /// One line, whatever a ledger holds.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let note = self.note.iter().map(|note| format!("; {note}")).collect::<String>();
        let heirs = match self.heirs {
            0 => String::new(),
            n => format!(", with {} that inherited it", counted(n, "thread")),
        };
        Outside(&format!("{}: {} ({}){note}{heirs}", self.object, self.how, self.old)).fmt(f)
    }
}

/// Which acts are to be taken back, and how.
pub struct Scope<'a> {
    /// Id of the session.
    pub session: &'a str,
    /// The first act.
    pub from_seq: u64,
    /// Namespaces and root directory of the process that performed them, where they are known.
    pub view: Option<&'a ProcessView>,
    /// Whether this is still the boot in which they were performed.
    pub same_boot: bool,
    /// Whether to overwrite what somebody else has set since.
    pub force: bool,
    /// Whether to give up what cannot be reached from here.
    pub forget: bool,
    /// The later session, still in force, that has set the object of an act since.
    pub held_by: &'a dyn Fn(&Entry) -> Option<String>,
}

/// Takes back the outstanding acts of a session, newest first, and hands each result to `record`.
pub fn undo_entries(
    kernel: &dyn Kernel,
    entries: &mut [Entry],
    scope: &Scope,
    mut record: impl FnMut(&Record),
) -> Vec<Undone> {
    let chosen = |entry: &Entry| entry.seq >= scope.from_seq && entry.outstanding();
    let chosen: Vec<usize> = (0..entries.len()).rev().filter(|i| chosen(&entries[*i])).collect();
    let mut undone = Vec::new();
    for (done, i) in chosen.iter().enumerate() {
        let entry = &entries[*i];
        let (mut how, mut heirs) = (How::Expired, 0);
        let outlives = outlives_boots(entry, entries.iter());
        let held = (scope.held_by)(entry).filter(|_| (scope.same_boot || outlives) && !scope.force);
        if let Some(by) = held {
            how = How::Held { by };
        } else if let Some(later) = not_undone_yet(entry, &entries[*i + 1..]).filter(|_| scope.same_boot) {
            how = How::HeldWithin { seq: later };
        } else if scope.same_boot {
            let marker = marker(scope.session, entry.seq);
            how = take_back_there(kernel, entry, &entries[..*i], &marker, scope);
            // With the oldest act on a process its other threads are back already, and no more heirs can be born.
            let older = chosen[done + 1..].iter().map(|older| &entries[*older]);
            let is_reached = !matches!(how, How::OutOfReach { .. } | How::Forgotten);
            if is_reached && older.into_iter().all(|older| !inheritance::of_same_process(older, entry)) {
                heirs = inheritance::restore(kernel, entry, entries, scope.from_seq);
            }
        } else if outlives {
            how = match take_back_there(kernel, entry, &entries[..*i], "", scope) {
                // What the file brings back may not have come back yet, or somebody has set it since that start.
                How::Conflict { .. } if operation(&entry.act).lifetime() != Lifetime::Lasting => How::Expired,
                how => how,
            };
        }
        undone.push(Undone {
            seq: entry.seq,
            object: operation(&entry.act).object(),
            old: entry.old.to_string(),
            note: operation(&entry.act).still_in_force().filter(|_| how == How::Restored),
            how: how.clone(),
            heirs,
        });
        // A revert tries again and again: the same result is not recorded each time.
        if entry.undone.as_ref() != Some(&how) {
            record(&Record::Undone { seq: entry.seq, how: how.clone() });
        }
        entries[*i].undone = Some(how);
    }
    undone
}

/// The later act of the same session that has to be undone before this one and could not be.
fn not_undone_yet(entry: &Entry, later: &[Entry]) -> Option<u64> {
    later
        .iter()
        .filter(|later| later.outstanding())
        .find(|later| waits_for(entry, later))
        .map(|later| later.seq)
}

/// Whether undoing `entry` has to wait until `later` is undone. What a later act on the same object found is what this one left:
/// undoing this one first would find its old value in place by chance, or put the later one's back in the end. Undoing what a later
/// act needs for its own way back would cut that off.
pub(crate) fn waits_for(entry: &Entry, later: &Entry) -> bool {
    let operation = operation(&entry.act);
    operation.is_held_by(&later.act)
        || operation.shares_object(&entry.old, &later.act, &later.old)
        || operation.is_needed_by(&later.act, &later.old)
}

/// What marks the environment of the process that act `seq` of a session starts.
pub fn marker(session: &str, seq: u64) -> String {
    format!("{session}.{seq}")
}

/// Takes an act back wherever its object is, if it can be reached.
fn take_back_there(
    kernel: &dyn Kernel,
    entry: &Entry,
    earlier: &[Entry],
    marker: &str,
    scope: &Scope,
) -> How {
    match locate(kernel, entry, scope.view, scope.same_boot) {
        Location::Here => {
            let of = TakenBack { act: &entry.act, entry, earlier, marker };
            take_back(kernel, &of, scope.force)
        }
        Location::There(there, act) => {
            let of = TakenBack { act: &act, entry, earlier, marker };
            take_back(&*there, &of, scope.force)
        }
        Location::Gone => How::Gone,
        Location::OutOfReach(_) if scope.forget => How::Forgotten,
        Location::OutOfReach(what) => How::OutOfReach { what },
    }
}

/// Takes one act back, here.
pub fn take_back(kernel: &dyn Kernel, of: &TakenBack, force: bool) -> How {
    let operation = operation(of.act);
    operation.take_back(kernel, of, force).unwrap_or_else(|| put_back(&*operation, kernel, of, force))
}

/// Puts the old value back, if what is there now is ours.
fn put_back(operation: &dyn Operation, kernel: &dyn Kernel, of: &TakenBack, force: bool) -> How {
    let entry = of.entry;
    let now = match operation.read_there(kernel) {
        Ok(now) => now,
        Err(error) => return gone_or_refused(operation, kernel, &error),
    };
    if operation.same(&now, &entry.old) {
        return How::Already;
    }
    let ours = operation.is_ours(&entry.old, entry.read_back.as_ref(), &now)
        || operation.is_half_restored(&entry.old, &now)
        || is_as_the_last_try_left_it(operation, entry, &now);
    if !ours && has_gone_further_back(of, &now) {
        return How::Already;
    }
    if is_anothers(kernel, of) {
        return How::Conflict { now: Value::Another.into() };
    }
    if !ours && !force {
        return How::Conflict { now: now.into() };
    }
    let restored = operation.put_back(kernel, &entry.old, &now);
    match restored.and_then(|()| operation.read_there(kernel)) {
        Ok(now) if operation.same(&now, &entry.old) => How::Restored,
        Ok(now) if force => How::GivenUp { now: now.into() },
        Ok(now) => How::Incomplete { now: now.into() },
        Err(error) => gone_or_refused(operation, kernel, &error),
    }
}

/// Whether an undo that was cut short has gone further back than this act, on the same object.
fn has_gone_further_back(of: &TakenBack, now: &Value) -> bool {
    let operation = operation(&of.entry.act);
    let mut earlier = of.earlier.iter().filter(|other| other.outstanding());
    earlier.any(|other| operation.is_what_was_found(now, &other.act, &other.old))
}

/// Whether what stands where the act made something was made by somebody else. Of two namespaces either may be there.
fn is_anothers(kernel: &dyn Kernel, of: &TakenBack) -> bool {
    let made = of.entry.subject.as_ref().map(|subject| &subject.made[..]).unwrap_or_default();
    let now = if made.is_empty() { Vec::new() } else { kernel.subject(of.act).made };
    now.iter().any(|now| made.iter().all(|made| !made.is(now)))
}

fn gone_or_refused(operation: &dyn Operation, kernel: &dyn Kernel, error: &io::Error) -> How {
    match operation.is_gone(kernel, error) {
        Ok(true) => How::Gone,
        Ok(false) => How::Refused { why: error.to_string() },
        Err(why) => How::Refused { why: format!("{error}; {why}") },
    }
}

/// Whether it reads what the kernel made of the old value when that was written back before.
fn is_as_the_last_try_left_it(operation: &dyn Operation, entry: &Entry, now: &Value) -> bool {
    match &entry.undone {
        Some(How::Incomplete { now: Reading::Value(left) }) => operation.is_as_left(left, now),
        Some(How::Incomplete { now: Reading::Words(left) }) => {
            *left == now.to_string() || operation.is_as_left(&Value::Text(left.clone()), now)
        }
        _ => false,
    }
}
