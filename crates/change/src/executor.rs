//! The [`Hand`], the only code that performs acts: ledger first, then the change, then reading it back.

mod latency_limit;
mod swap_file;
mod turn;

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use machine::{Act, Class, Fault, Setting};
use serde::Serialize;

use crate::acts::{TakenBack, operation, refusal};
use crate::confirm;
use crate::kernel::{Kernel, LiveKernel, now_ticks};
use crate::ledger::{self, Ledger};
use crate::lock::MachineLock;
use crate::namespace;
use crate::namespace::process_view::ProcessView;
use crate::record::{Entry, FORMAT, Header, Record, Reverter, Value};
use crate::undo::put_away_settled;
use crate::undo::rollback::{Scope, Undone, marker, take_back, undo_entries};

/// A point in a session, to which [`Hand::undo_to`] goes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark(u64);

/// What came of an act.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Receipt {
    /// Number of the act in its session.
    pub seq: u64,
    /// What it is about, in words.
    pub object: String,
    /// What was there before.
    pub old: Value,
    /// What was asked for, in words.
    pub asked: String,
    /// What is there now.
    pub read_back: Value,
    /// Whether that is what was asked for (masks, lists and menus are compared by value). When not, the act counts
    /// as done all the same, and is undone like any other.
    pub took_effect: bool,
}

/// Performs acts for one session, and takes them back.
///
/// Dropping a hand undoes everything that is outstanding; [`finish`](Hand::finish) leaves it in force.
pub struct Hand {
    pub(crate) kernel: Arc<dyn Kernel>,
    ledger: Option<Ledger>,
    session: String,
    view: Option<ProcessView>,
    entries: Vec<Entry>,
    /// Held for as long as the hand lives.
    lock: Option<MachineLock>,
}

impl Hand {
    /// A hand on the running system, with its ledger in [`ledger_dir`](crate::ledger_dir). While it lives no other can be had
    /// there, and nothing is undone. Waits until what a process that was killed left in force has been taken back, where something does
    /// that by itself.
    ///
    /// # Errors
    /// Another pinwise is changing the machine; a session waits to be confirmed, and whether the machine as it is now can be
    /// reached is not known; the ledgers cannot be read or written.
    pub fn live(purpose: &str) -> Result<Self, Fault> {
        let (dir, kernel) = (ledger::ledger_dir()?, LiveKernel::new());
        let (lock, earlier) = turn::take(&dir, &kernel, &std::thread::sleep)?;
        confirm::none_waits(&earlier, &kernel)?;
        put_away_settled(&dir, &earlier, &kernel);
        let mut hand = Self::with(Arc::new(kernel), &dir, purpose)?;
        hand.lock = Some(lock);
        Ok(hand)
    }

    /// A hand on `kernel`, with its ledger in `ledger_dir`.
    pub fn with(kernel: Arc<dyn Kernel>, ledger_dir: &Path, purpose: &str) -> Result<Self, Fault> {
        let owner = kernel.own().map_err(|e| unknown_owner(&e))?;
        let began = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let (began_unix_s, began_subsec_ns) = (began.as_secs(), began.subsec_nanos());
        let header = Header {
            format: FORMAT,
            session: session_id(began_unix_s, owner.pid),
            purpose: purpose.to_string(),
            boot_id: kernel.boot_id().unwrap_or_default(),
            owner,
            began_unix_s,
            began_ticks: kernel.now_ticks().unwrap_or_default(),
            began_subsec_ns,
            view: kernel.process_view().ok(),
        };
        let ledger = Ledger::create(ledger_dir, &header)?;
        let (view, entries) = (header.view, Vec::new());
        Ok(Self { kernel, ledger: Some(ledger), session: header.session, view, entries, lock: None })
    }

    /// Id of the session, as `pinwise status` prints it.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// Performs one act.
    ///
    /// Errors: nothing is changed then - the act was refused, its object is gone, or the ledger could not be written.
    pub fn perform(&mut self, act: &Act) -> Result<Receipt, Fault> {
        self.perform_for(act, None)
    }

    /// The same for an act that is part of a setting, by which it is known later.
    pub fn perform_for(&mut self, act: &Act, setting: Option<&Setting>) -> Result<Receipt, Fault> {
        if let Act::Launch { .. } = act {
            let cause = "cannot be performed as a plain act: processes are started by Hand::launch";
            return Err(Fault::new(Class::Usage, operation(act).object(), cause, machine::IS_A_BUG));
        }
        if let Act::HoldLatency { limit_us } = act {
            return self.hold_latency(act, *limit_us, setting);
        }
        let kernel = self.kernel.clone();
        let operation = operation(act);
        let old = found(&*kernel, act)?;
        let seq = self.intend_for(act, old.clone(), setting)?;
        let old = self.still_there(seq, act, old)?;
        let done = operation.perform(&*kernel, &old).and_then(|()| operation.read_there(&*kernel));
        match done {
            Ok(read_back) => self.done(seq, read_back),
            Err(error) => {
                let fault = refusal(&*operation, &error);
                Err(match error.kind() {
                    // Somebody else made it in this moment: it is not ours to remove.
                    io::ErrorKind::AlreadyExists => self.failed(seq, fault),
                    _ => self.give_up(seq, fault),
                })
            }
        }
    }

    /// Writes an intent down; returns the act's number.
    pub(crate) fn intend(&mut self, act: &Act, old: Value) -> Result<u64, Fault> {
        self.intend_for(act, old, None)
    }

    pub(crate) fn intend_for(
        &mut self,
        act: &Act,
        old: Value,
        setting: Option<&Setting>,
    ) -> Result<u64, Fault> {
        let seq = self.next_seq();
        let at_ticks = self.kernel.now_ticks().unwrap_or_default();
        let setting = setting.cloned();
        let subject = Some(self.kernel.subject(act)).filter(|subject| !subject.is_empty());
        let entry =
            Entry::intended((seq, at_ticks), act.clone(), old.clone(), setting.clone(), subject.clone());
        let record = Record::Intent { seq, at_ticks, act: act.clone(), old, setting, subject };
        self.append(&record).map_err(|fault| nothing_done(act, fault))?;
        self.entries.push(entry);
        Ok(seq)
    }

    /// What an act finds at the moment in which it is performed. Writing the intent down takes a disk's time, in which somebody else
    /// may have changed the object: then what they have set is recorded, for undo to put back.
    fn still_there(&mut self, seq: u64, act: &Act, old: Value) -> Result<Value, Fault> {
        let (kernel, operation) = (self.kernel.clone(), operation(act));
        if !operation.is_read_again() {
            return Ok(old);
        }
        let now = match operation.read_there(&*kernel) {
            Ok(now) => now,
            Err(error) => return Err(self.failed(seq, refusal(&*operation, &error))),
        };
        if now == old {
            return Ok(old);
        }
        if let Err(fault) = self.append(&Record::Found { seq, old: now.clone() }) {
            return Err(self.failed(seq, nothing_done(act, fault)));
        }
        if let Some(entry) = self.entry(seq) {
            entry.old = now.clone();
        }
        Ok(now)
    }

    /// Writes down that a process was forked for act `seq`, which is the latest.
    pub(crate) fn started(&mut self, seq: u64, process: machine::ProcessRef) -> Result<(), Fault> {
        self.append(&Record::Started { seq, process })?;
        if let Some(entry) = self.entry(seq) {
            entry.started = Some(process);
        }
        Ok(())
    }

    /// Records the end of an act. A change that cannot be recorded is taken back at once.
    pub(crate) fn done(&mut self, seq: u64, read_back: Value) -> Result<Receipt, Fault> {
        let kernel = self.kernel.clone();
        let Some(entry) = self.entry(seq) else { return Err(lost(seq)) };
        entry.read_back = Some(read_back.clone());
        // What it has made has an identity only now.
        let subject = operation(&entry.act).makes().then(|| kernel.subject(&entry.act));
        let subject = subject.filter(|subject| !subject.is_empty());
        entry.subject = subject.clone().or(entry.subject.take());
        if let Err(fault) = self.append(&Record::Done { seq, read_back: read_back.clone(), subject }) {
            return Err(self.give_up(seq, fault));
        }
        let Some(entry) = self.entry(seq) else { return Err(lost(seq)) };
        let operation = operation(&entry.act);
        Ok(Receipt {
            seq,
            object: operation.object(),
            old: entry.old.clone(),
            asked: operation.asked(),
            took_effect: operation.took_effect(&read_back),
            read_back,
        })
    }

    /// Ends an act that failed: whatever it left is taken back. Gives the fault to report.
    pub(crate) fn give_up(&mut self, seq: u64, fault: Fault) -> Fault {
        let marker = self.marker(seq);
        let kernel = self.kernel.clone();
        let Some(entry) = self.entry(seq) else { return fault };
        let how =
            take_back(&*kernel, &TakenBack { act: &entry.act, entry, earlier: &[], marker: &marker }, false);
        if how.is_final() {
            return self.failed(seq, fault);
        }
        entry.undone = Some(how.clone());
        // Unless it is recorded, a later undo takes what the kernel has set for somebody else's value.
        let _ = self.append(&Record::Undone { seq, how: how.clone() });
        let cause = format!("{}; and what had been done {how}", fault.cause);
        Fault { cause, remedy: "run 'pinwise undo'".into(), ..fault }
    }

    /// Records that nothing is left of an act.
    fn failed(&mut self, seq: u64, fault: Fault) -> Fault {
        if let Some(entry) = self.entry(seq) {
            entry.failed = Some(fault.cause.clone());
        }
        // Unrecorded it only means that a later undo finds the old value in place.
        let _ = self.append(&Record::Failed { seq, why: fault.cause.clone() });
        fault
    }

    /// Writes down that the session is taken back by `by` unless it is confirmed within `within_ticks` from now.
    ///
    /// # Errors
    /// The ledger could not be written.
    pub fn arm(&mut self, within_ticks: u64, by: Reverter) -> Result<(), Fault> {
        let until_ticks = now_ticks(&*self.kernel)? + within_ticks;
        self.append(&Record::Armed { until_ticks, by })
    }

    /// Where the session stands now.
    pub fn mark(&self) -> Mark {
        Mark(self.next_seq())
    }

    /// Number that the next act gets.
    pub(crate) fn next_seq(&self) -> u64 {
        self.entries.last().map_or(0, |entry| entry.seq + 1)
    }

    /// Takes back all acts since `mark`, newest first. What somebody else changed meanwhile is left alone and reported.
    pub fn undo_to(&mut self, mark: Mark) -> Vec<Undone> {
        let (kernel, ledger) = (self.kernel.clone(), &mut self.ledger);
        let scope = Scope {
            session: &self.session,
            from_seq: mark.0,
            view: self.view.as_ref(),
            same_boot: true,
            force: false,
            forget: false,
            held_by: &|_| None,
        };
        undo_entries(&*kernel, &mut self.entries, &scope, |record| {
            // Unrecorded (full disk) it only means that a later undo finds the old value in place.
            let _ = ledger.as_mut().map(|ledger| ledger.append(record));
        })
    }

    /// Takes back every act of the session.
    pub fn undo_all(&mut self) -> Vec<Undone> {
        self.undo_to(Mark(0))
    }

    /// Acts that are still in force, oldest first.
    pub fn outstanding(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.outstanding())
    }

    /// Ends the session and leaves in force what was not undone: the ledger stays then, for `pinwise undo`.
    /// When nothing is outstanding the ledger is removed.
    pub fn finish(mut self) -> Result<(), Fault> {
        self.close()
    }

    /// Ends as SIGKILL ends the process: nothing is undone, the ledger stays, and its files are closed. For tests, which go through
    /// thousands of crashes in one process.
    #[cfg(any(test, feature = "emulated"))]
    pub fn die(mut self) {
        self.ledger = None;
    }

    fn close(&mut self) -> Result<(), Fault> {
        let outstanding = self.outstanding().next().is_some();
        match self.ledger.take() {
            Some(ledger) if !outstanding => ledger.remove(),
            _ => Ok(()),
        }
    }

    /// What marks the environment of the process that act `seq` starts.
    pub(crate) fn marker(&self, seq: u64) -> String {
        marker(&self.session, seq)
    }

    fn entry(&mut self, seq: u64) -> Option<&mut Entry> {
        self.entries.iter_mut().rev().find(|entry| entry.seq == seq)
    }

    fn append(&mut self, record: &Record) -> Result<(), Fault> {
        match &mut self.ledger {
            Some(ledger) => ledger.append(record),
            None => Err(Fault::new(Class::Storage, "ledger", "the session has ended", "")),
        }
    }
}

impl Drop for Hand {
    fn drop(&mut self) {
        if self.ledger.is_some() {
            self.undo_all();
            let _ = self.close();
        }
    }
}

/// Who performs the acts is not known.
fn unknown_owner(error: &io::Error) -> Fault {
    Fault::io("/proc/self/stat", error, namespace::remedy(error).unwrap_or("mount /proc"))
}

/// What an act finds, with all that putting it back takes.
///
/// # Errors
/// It cannot be read, may not be changed as it is, or could not be put back.
pub(crate) fn found(kernel: &dyn Kernel, act: &Act) -> Result<Value, Fault> {
    let operation = operation(act);
    let mut old = operation.read_there(kernel).map_err(|e| refusal(&*operation, &e))?;
    operation.examine(kernel, &mut old)?;
    match operation.gives_up(&old).filter(|_| !kernel.may_raise_priority()) {
        None => Ok(old),
        Some(what) => {
            let cause = format!("lowering it from {what} could not be undone without CAP_SYS_NICE");
            let remedy = "run as root, or leave the priority as it is";
            Err(Fault::new(Class::NotPermitted, operation.object(), cause, remedy))
        }
    }
}

/// `SECONDS-PID`, and a number from the second session of a process on: processes and cgroups are known by it, so
/// that it must be unique on the machine and not only in one folder of ledgers.
fn session_id(began_unix_s: u64, pid: u32) -> String {
    static SESSIONS: AtomicU64 = AtomicU64::new(1);
    match SESSIONS.fetch_add(1, Ordering::Relaxed) {
        1 => format!("{began_unix_s}-{pid}"),
        n => format!("{began_unix_s}-{pid}-{n}"),
    }
}

fn nothing_done(act: &Act, fault: Fault) -> Fault {
    let cause = format!("{}; nothing was changed: {} is as it was", fault.cause, operation(act).object());
    Fault { cause, ..fault }
}

fn lost(seq: u64) -> Fault {
    Fault::new(Class::Storage, format!("act {seq}"), "is not in the ledger", machine::IS_A_BUG)
}

impl std::fmt::Debug for Hand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hand").field("session", &self.session).field("entries", &self.entries).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proc_that_is_not_there_is_mounted_and_that_of_others_is_not_mounted_over() {
        let absent = unknown_owner(&io::Error::from(io::ErrorKind::NotFound));
        assert_eq!(absent.remedy, "mount /proc");
        let of_others = unknown_owner(&namespace::of_others());
        assert!(of_others.cause.contains("another PID namespace"), "{of_others}");
        assert!(
            of_others.remedy.contains("nsenter") && !of_others.remedy.contains("mount /proc"),
            "{of_others}"
        );
    }
}
