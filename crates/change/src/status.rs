//! What is outstanding: sessions, their owners, and what each act changed from what to what.

use std::fmt;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use machine::wording::counted;
use machine::{Act, Fault, Outside, ProcessRef, Setting, knobs};
use serde::Serialize;

use crate::acts::{operation, outlives_boots};
use crate::kernel::{Kernel, LiveKernel};
use crate::ledger::owner::{is_being_taken_back, owner_runs, same_boot, sees_owner};
use crate::ledger::{self, Session, is_followed};
use crate::lock::flock_holder;
use crate::record::{Armed, Entry, OutOfReach, Reverter};
use crate::undo::object_lookup::{Location, locate};

/// All sessions that have a ledger.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Status {
    /// Oldest first.
    pub sessions: Vec<SessionStatus>,
}

/// One session.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SessionStatus {
    /// Its id.
    pub session: String,
    /// What it is for.
    pub purpose: String,
    /// The process that performs its acts; `None` when the ledger's first line cannot be read.
    pub owner: Option<ProcessRef>,
    /// Whether that process still runs.
    pub owner_alive: bool,
    /// Whether it is one of another PID namespace, so that whether it runs cannot be seen from here.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub owner_elsewhere: bool,
    /// Whether the machine was rebooted since: run-time changes are gone then.
    pub before_this_boot: bool,
    /// When it began, in seconds since 1970 (UTC).
    pub began_unix_s: u64,
    /// How long it still waits to be confirmed before it is taken back, s; negative when that is overdue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_confirm_within_s: Option<f64>,
    /// Who takes it back then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reverted_by: Option<Reverter>,
    /// Whether that one has gone, so that nobody takes it back.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reverter_gone: bool,
    /// Whether a second process is undoing it by itself, since its own has ended.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub being_undone: bool,
    /// The number of that process, where it can be seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undone_by_pid: Option<u32>,
    /// Acts in force, oldest first.
    pub outstanding: Vec<ActStatus>,
    /// Lines of the ledger that make no sense.
    pub problems: Vec<Fault>,
}

/// One act that is in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ActStatus {
    /// Number in the session.
    pub seq: u64,
    /// What it is about, in words.
    pub object: String,
    /// What was there before.
    pub old: String,
    /// What it was changed to: what was read back, or what was asked for where that was not recorded.
    pub new: String,
    /// What is there now; `None` when it is gone or cannot be read, or the machine was rebooted since.
    pub now: Option<String>,
    /// Whether somebody else has changed it since; `None` when that is not known.
    pub changed_since: Option<bool>,
    /// Why it cannot be reached from here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub out_of_reach: Option<OutOfReach>,
    /// The setting of a plan that it is part of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub setting: Option<Setting>,
    /// Who else may own it, by its knob.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<&'static str>,
    /// What became of a try to undo it.
    pub undo: Option<String>,
}

/// What is outstanding by the ledgers in `dir`, see [`ledger_dir`](crate::ledger_dir).
pub fn status(dir: &Path) -> Result<Status, Fault> {
    status_with(dir, &LiveKernel::new())
}

/// The same, asking `kernel` which owners live.
pub fn status_with(dir: &Path, kernel: &dyn Kernel) -> Result<Status, Fault> {
    let sessions = ledger::sessions(dir)?;
    Ok(Status { sessions: sessions.iter().map(|session| session_status(session, kernel)).collect() })
}

fn session_status(session: &Session, kernel: &dyn Kernel) -> SessionStatus {
    let header = session.header.as_ref();
    let owner = header.map(|header| header.owner);
    let before_this_boot = !same_boot(session, kernel);
    let armed = session.armed.as_ref().filter(|_| !before_this_boot);
    let runs = owner_runs(session, kernel);
    // An owner that cannot be seen may be at work.
    let being_undone = runs == Some(false) && is_being_taken_back(session, kernel);
    SessionStatus {
        session: session.id(),
        purpose: header.map(|header| header.purpose.clone()).unwrap_or_default(),
        owner,
        owner_alive: runs == Some(true),
        owner_elsewhere: !before_this_boot && !sees_owner(session, kernel),
        before_this_boot,
        began_unix_s: header.map_or(0, |header| header.began_unix_s),
        to_confirm_within_s: armed.and_then(|armed| left_s(armed, kernel)),
        reverted_by: armed.map(|armed| armed.by.clone()),
        reverter_gone: armed.is_some() && is_followed(&session.path).is_ok_and(|followed| !followed),
        being_undone,
        undone_by_pid: if being_undone { flock_holder::of(&session.path) } else { None },
        outstanding: outstanding(session, kernel, before_this_boot),
        problems: session.problems.clone(),
    }
}

/// Seconds until an armed session is taken back.
fn left_s(armed: &Armed, kernel: &dyn Kernel) -> Option<f64> {
    let now = kernel.now_ticks().ok()?;
    Some((armed.until_ticks as f64 - now as f64) / rustix::param::clock_ticks_per_second() as f64)
}

fn outstanding(session: &Session, kernel: &dyn Kernel, before_this_boot: bool) -> Vec<ActStatus> {
    let entries: Vec<&Entry> = session.outstanding().collect();
    let view = session.header.as_ref().and_then(|header| header.view.as_ref());
    let acts = entries.iter().enumerate().map(|(i, entry)| {
        let gone = before_this_boot && !outlives_boots(entry, session.outstanding());
        let (now, out_of_reach) = match locate(kernel, entry, view, !before_this_boot) {
            _ if gone => (None, None),
            Location::Here => (operation(&entry.act).read_there(kernel).ok(), None),
            Location::There(there, act) => (operation(&act).read_there(&*there).ok(), None),
            Location::Gone => (None, None),
            Location::OutOfReach(why) => (None, Some(why)),
        };
        let now = now.filter(|_| !matches!(entry.act, Act::Launch { .. }));
        // Of several acts on one object only the last shows.
        let of_act = operation(&entry.act);
        let last = !entries[i + 1..].iter().any(|later| of_act.is_about_same(&later.act));
        let left = entry.read_back.as_ref().filter(|_| last);
        let changed_since = now.as_ref().zip(left).map(|(now, left)| !of_act.same(now, left));
        ActStatus { now: now.map(|now| now.to_string()), changed_since, out_of_reach, ..act_status(entry) }
    });
    acts.collect()
}

fn act_status(entry: &Entry) -> ActStatus {
    let knob = entry.setting.as_ref().and_then(|setting| knobs::find(&setting.knob));
    let operation = operation(&entry.act);
    let process = entry.started.map(|process| operation.running(process.pid));
    ActStatus {
        seq: entry.seq,
        object: operation.object(),
        old: entry.old.to_string(),
        new: process
            .or_else(|| entry.read_back.as_ref().map(ToString::to_string))
            .unwrap_or_else(|| operation.asked()),
        now: None,
        changed_since: None,
        out_of_reach: None,
        setting: entry.setting.clone(),
        owner: knob.map(|knob| knob.about().owner),
        undo: entry.undone.as_ref().map(ToString::to_string),
    }
}

impl Status {
    /// How many acts are in force, over all sessions.
    pub fn outstanding(&self) -> usize {
        self.sessions.iter().map(|session| session.outstanding.len()).sum()
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.sessions.is_empty() {
            return writeln!(f, "Nothing is changed on this machine by pinwise.");
        }
        self.sessions.iter().try_for_each(|session| session.fmt(f))?;
        if self.sessions.iter().any(|session| !session.owner_alive && !session.being_undone) {
            writeln!(f, "Undo with: pinwise undo")?;
        }
        Ok(())
    }
}

impl fmt::Display for ActStatus {
    /// One line, whatever a ledger holds.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let since = match (self.changed_since, &self.now) {
            (Some(true), Some(now)) => {
                let owner = self.owner.map(|owner| format!(", who may be: {owner}")).unwrap_or_default();
                format!(", now {now}: changed since by something else{owner}")
            }
            _ => String::new(),
        };
        let out = self.out_of_reach.iter().map(|why| format!(", {why}")).collect::<String>();
        let undo = self.undo.iter().map(|undo| format!(" [{undo}]")).collect::<String>();
        let line =
            format!("{:>3}  {}: {} -> {}{since}{out}{undo}", self.seq, self.object, self.old, self.new);
        Outside(&line).fmt(f)
    }
}

impl fmt::Display for SessionStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        write!(f, "Session {}", Outside(&self.session))?;
        if !self.purpose.is_empty() {
            write!(f, " ({})", Outside(&self.purpose))?;
        }
        if let Some(owner) = self.owner {
            let began = age(now.saturating_sub(self.began_unix_s));
            let state = match (self.owner_elsewhere, self.owner_alive) {
                (true, _) => "of another PID namespace",
                (false, true) => "which runs",
                (false, false) => "which is gone",
            };
            write!(f, ", begun {began} ago by process {}, {state}", owner.pid)?;
        }
        let count = self.outstanding.len();
        writeln!(f, ": {} in force", counted(count, "change"))?;
        if let (Some(left), Some(by)) = (self.to_confirm_within_s, &self.reverted_by) {
            let by = by.to_string();
            let by = Outside(&by);
            match (self.reverter_gone, left > 0.0) {
                (true, true) => writeln!(
                    f,
                    "  waits {left:.0} s to be confirmed, but {by}, which would undo it, is gone: pinwise confirm, or pinwise undo"
                )?,
                (false, true) => {
                    writeln!(f, "  to be undone in {left:.0} s by {by}, unless confirmed: pinwise confirm")?;
                }
                (true, false) => {
                    writeln!(f, "  was not confirmed in time, and {by} did not undo it: pinwise undo")?;
                }
                (false, false) => writeln!(f, "  was not confirmed in time: {by} is undoing it")?,
            }
        }
        if self.being_undone {
            let who = self.undone_by_pid.map_or("a second process".into(), |pid| format!("process {pid}"));
            writeln!(f, "  {who} is undoing it by itself, since its own process has ended: wait for that")?;
        }
        if self.before_this_boot && count > 0 {
            let kept = self.outstanding.iter().filter(|act| act.now.is_some()).count();
            match kept {
                0 => writeln!(f, "  the machine was rebooted since, which ended them")?,
                kept => writeln!(f, "  the machine was rebooted since; {kept} of them survived that")?,
            }
        }
        self.outstanding.iter().try_for_each(|act| writeln!(f, "  {act}"))?;
        self.problems.iter().try_for_each(|problem| writeln!(f, "  {problem}"))
    }
}

fn age(s: u64) -> String {
    match s {
        0..=119 => format!("{s} s"),
        120..=7_199 => format!("{} min", s / 60),
        7_200..=172_799 => format!("{} h", s / 3_600),
        _ => format!("{} days", s / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::sync::Arc;

    use super::*;
    use crate::{EmulatedKernel, Hand};

    const PATH: &str = "/proc/sys/vm/swappiness";

    /// A machine on which a process has changed something, with its ledger.
    fn changed() -> (tempfile::TempDir, EmulatedKernel, File) {
        let (dir, kernel) = (tempfile::tempdir().unwrap(), EmulatedKernel::new());
        kernel.add_file(PATH, "60\n");
        let mut hand = Hand::with(Arc::new(kernel.clone()), dir.path(), "study").unwrap();
        hand.perform(&Act::WriteFile { netns: None, path: PATH.into(), value: "10".into() }).unwrap();
        let ledger = File::open(ledger::path_of(dir.path(), hand.session())).unwrap();
        hand.die();
        (dir, kernel, ledger)
    }

    fn seen(dir: &tempfile::TempDir, kernel: &EmulatedKernel) -> (SessionStatus, String) {
        let status = status_with(dir.path(), kernel).unwrap();
        (status.sessions[0].clone(), status.to_string())
    }

    #[test]
    fn what_a_second_process_is_undoing_is_shown_with_its_number() {
        let (dir, kernel, ledger) = changed();
        kernel.remove_thread(1000);
        ledger::follow(&ledger).unwrap();
        let (session, text) = seen(&dir, &kernel);
        let own = std::process::id();
        assert_eq!((session.being_undone, session.undone_by_pid), (true, Some(own)));
        assert!(text.contains(&format!("process {own} is undoing it by itself")), "{text}");
        assert!(!text.contains("Undo with"), "there is nothing to do: {text}");
    }

    #[test]
    fn nobody_is_undoing_what_is_not_followed_or_whose_process_runs_or_cannot_be_seen() {
        let (dir, kernel, ledger) = changed();
        let is_undone = || seen(&dir, &kernel).0.being_undone;
        ledger::follow(&ledger).unwrap();
        assert!(!is_undone(), "its process runs, and is only watched");
        kernel.refuse_to_read("/proc", libc::EMFILE);
        assert!(!is_undone(), "whether it runs could not be read");
        kernel.permit_to_read("/proc");
        kernel.remove_thread(1000);
        drop(ledger);
        let (session, text) = seen(&dir, &kernel);
        assert!(!session.being_undone && session.undone_by_pid.is_none(), "{text}");
        assert!(text.contains("Undo with: pinwise undo"), "{text}");
    }
}
