//! Taking a session back that nobody has confirmed in time.
//!
//! This is what brings a machine back that nobody can reach any more, so it does not give up: not at a lock, not at a disk that has
//! gone read-only or fails, not at an apply that hangs. The ledger is opened once, and what it said last is kept in memory.

pub mod orphan;

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use machine::{Class, Fault};

use crate::kernel::{Kernel, now_ticks};
use crate::ledger::owner::{owner_alive, owner_runs};
use crate::ledger::{self, Ledger, Session};
use crate::lock::MachineLock;
use crate::record::{How, Record};
use crate::undo::{SessionUndone, UndoOptions, UndoReport, undo_sessions};

/// How often a waiting revert looks whether it is still wanted.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// The same while the apply runs, whose latest acts are to be known when the disk fails.
const LOOK_WHILE_APPLYING_EVERY: Duration = Duration::from_millis(50);

/// How long a session is waited for that is not armed in its ledger.
const ARMED_WITHIN_S: u64 = 60;

/// Looks at which an apply is seen to run and to hold the lock, after which it is taken to hang, and is killed: its own deadline has made it
/// take everything back long before.
const LOOKS_UNTIL_KILL: u32 = 60;

/// Looks after which a revert does without the lock: its holder has been killed and hangs in the kernel, or the folder of the ledgers
/// cannot be opened, so that nobody else can begin.
const LOOKS_WITHOUT_LOCK: u32 = 10;

/// Looks, an hour of them, after which what cannot be taken back is left to 'pinwise undo'.
const LOOKS: u32 = 7_200;

/// What became of a revert.
#[derive(Debug)]
pub enum Reverted {
    /// The session was confirmed, or undone, before its time.
    NotNeeded,
    /// Everything was taken back, or what could be.
    TakenBack(UndoReport),
}

/// A session that is taken back unless it is confirmed.
pub struct Revert<'a> {
    dir: PathBuf,
    kernel: &'a dyn Kernel,
    sleep: &'a dyn Fn(Duration),
    file: File,
    /// What the ledger said when it could last be read.
    seen: Session,
    when: When,
    /// Whether its process was found to hang, and is killed.
    condemned: bool,
    /// Of an orphan: for how long its process has done nothing. It goes on where the process could not be seen for a moment.
    still: Option<orphan::Still>,
}

/// When a session is to be taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    /// When nobody has confirmed it in time.
    Unconfirmed,
    /// When the process that performs its acts has ended, or leaves one of them in force for longer than so many clock ticks.
    Orphaned {
        /// `None`: for as long as it likes.
        most_ticks: Option<u64>,
    },
}

impl<'a> Revert<'a> {
    /// The revert of `session` of the ledgers in `dir`; `sleep` is how it waits.
    ///
    /// # Errors
    /// There is no such session, or it cannot be read.
    pub fn of(
        dir: &Path,
        kernel: &'a dyn Kernel,
        session: &str,
        sleep: &'a dyn Fn(Duration),
    ) -> Result<Self, Fault> {
        let path = ledger::path_of(dir, session);
        let opened = File::open(&path).and_then(|file| {
            ledger::follow(&file)?;
            Ok((read_whole(&file)?, file))
        });
        let (bytes, file) = opened.map_err(|e| Fault::io(path.display(), &e, "see 'pinwise status'"))?;
        let (seen, when) = (Session::parse(&path, &bytes), When::Unconfirmed);
        Ok(Self { dir: dir.to_path_buf(), kernel, sleep, file, seen, when, condemned: false, still: None })
    }

    /// Waits until the time of the session is over, or, of an orphan, until it is one; or until nothing is left to wait for.
    ///
    /// # Errors
    /// The kernel does not report the time.
    pub fn wait(&mut self) -> Result<(), Fault> {
        if let When::Orphaned { most_ticks } = self.when {
            return self.wait_for_the_owner(most_ticks);
        }
        // The session is armed in its ledger a moment after this process is ready.
        let ticks_per_s = rustix::param::clock_ticks_per_second();
        let begun = now_ticks(self.kernel)?;
        loop {
            let there = self.look();
            let now = now_ticks(self.kernel)?;
            let every = match owner_alive(&self.seen, self.kernel) {
                true => LOOK_WHILE_APPLYING_EVERY,
                false => LOOK_EVERY,
            };
            match &self.seen.armed {
                _ if !there => return Ok(()),
                Some(armed) if now >= armed.until_ticks => return Ok(()),
                Some(armed) => {
                    let left = Duration::from_millis((armed.until_ticks - now) * 1000 / ticks_per_s + 1);
                    (self.sleep)(left.min(every));
                }
                None if self.seen.confirmed || now > begun + ARMED_WITHIN_S * ticks_per_s => return Ok(()),
                None => (self.sleep)(LOOK_WHILE_APPLYING_EVERY),
            }
        }
    }

    /// Takes the session back unless it was confirmed; also when the apply still runs, after which it looks again. Waits for an undo that
    /// runs, and for a later session that holds an object of this one.
    pub fn take_back(&mut self) -> Reverted {
        let mut taken_back: Option<UndoReport> = None;
        for _ in 0..LOOKS {
            // Nobody waits for the lock, which a study has for hours, where nothing is to be taken back.
            if self.is_over() {
                break;
            }
            let lock = self.lock();
            if !self.look() || !self.is_wanted() {
                break;
            }
            let (report, settled) = self.take_back_once(lock.is_some());
            drop(lock);
            match &mut taken_back {
                Some(so_far) => so_far.go_on(report),
                None => taken_back = Some(report),
            }
            if settled {
                break;
            }
            (self.sleep)(LOOK_EVERY);
        }
        taken_back.map_or(Reverted::NotNeeded, Reverted::TakenBack)
    }

    /// Whether something is to be taken back.
    fn is_wanted(&self) -> bool {
        match self.when {
            When::Unconfirmed => self.seen.armed.is_some(),
            // What could not be taken back is not tried again when the service is restarted for that.
            When::Orphaned { .. } => !self.seen.reverted && self.seen.outstanding().next().is_some(),
        }
    }

    /// Whether nothing is to be taken back, nor can be: the process that could change something more has ended, too. One that cannot be
    /// seen may not have.
    fn is_over(&mut self) -> bool {
        if self.look() && (self.is_wanted() || owner_runs(&self.seen, self.kernel) != Some(false)) {
            return false;
        }
        // It may have armed the session after the look and before its end.
        !self.look() || !self.is_wanted()
    }

    /// Reads the ledger again, if that is possible; whether it is still there.
    fn look(&mut self) -> bool {
        if let Ok(bytes) = read_whole(&self.file) {
            self.seen = Session::parse(&self.seen.path, &bytes);
        }
        // A ledger is removed when nothing of it is outstanding.
        self.file.metadata().map_or(true, |file| file.nlink() > 0)
    }

    /// The lock of all who change the machine; `None` where it cannot be had although nobody else can be at work, or is not needed any more.
    fn lock(&mut self) -> Option<MachineLock> {
        // Looks at which it was held while the owner was seen to run, and looks at which it could not be tried for.
        let (mut held, mut failed) = (0, 0);
        loop {
            let is_held = match MachineLock::take_existing(&self.dir) {
                Ok(lock) => return lock,
                Err(fault) => fault.class == Class::No,
            };
            if self.is_over() {
                return None;
            }
            let runs = owner_alive(&self.seen, self.kernel);
            match self.when {
                // It only seemed to have ended, as when /proc could not be read for a moment: it works on, and has the lock.
                When::Orphaned { most_ticks } if runs && !self.condemned => {
                    let _ = self.wait_for_the_owner(most_ticks);
                }
                // An owner that cannot be seen now is neither gone nor known to hang: such a look counts for nothing.
                _ if runs && is_held => {
                    held += 1;
                    if held == LOOKS_UNTIL_KILL {
                        self.kill_owner();
                    }
                }
                _ => {}
            }
            failed += u32::from(!is_held);
            if failed > LOOKS_WITHOUT_LOCK || held > LOOKS_UNTIL_KILL + LOOKS_WITHOUT_LOCK {
                return None;
            }
            (self.sleep)(LOOK_EVERY);
        }
    }

    fn kill_owner(&self) {
        if let Some(header) = &self.seen.header {
            // One that has ended meanwhile has released the lock.
            let _ = self.kernel.signal(&header.owner, libc::SIGKILL);
        }
    }

    /// What was taken back, and whether nothing more is to be expected. Whether an owner that cannot be seen is at work, the lock shows:
    /// whoever has it `locked` is alone.
    fn take_back_once(&mut self, locked: bool) -> (UndoReport, bool) {
        let (id, alive) = (self.seen.id(), owner_runs(&self.seen, self.kernel).unwrap_or(!locked));
        let options = UndoOptions { session: Some(id), owned_too: true, ..UndoOptions::default() };
        let sessions = match ledger::sessions(&self.dir) {
            Ok(all) if all.iter().any(|session| session.path == self.seen.path) => all,
            _ => vec![self.seen.clone()],
        };
        let report = match undo_sessions(sessions, self.kernel, &options) {
            Ok(report) => report,
            // Only the sessions that are given to it can be at fault, and ours is among them.
            Err(fault) => {
                let failed = SessionUndone::of(&self.seen, Vec::new(), vec![fault]);
                UndoReport { sessions: vec![failed], refused: Vec::new() }
            }
        };
        let mut undone = report.sessions.iter().flat_map(|session| &session.undone);
        let is_to_be_tried_again =
            |how: &How| matches!(how, How::Held { .. } | How::HeldWithin { .. } | How::Refused { .. });
        let settled = !alive && !undone.any(|undone| is_to_be_tried_again(&undone.how));
        if settled && self.look() {
            // On a disk that takes no more it stays armed, and 'pinwise status' says so.
            let _ = Ledger::reopen(&self.seen, true).and_then(|mut ledger| ledger.append(&Record::Reverted));
        }
        (report, settled)
    }
}

/// Has the kernel keep this program in memory: its pages must not be read from a disk that has failed. A user may keep only some.
pub fn keep_in_memory() {
    // SAFETY: no pointers.
    unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE) };
}

/// Has the kernel end this process last when memory runs out, as systemd does for the service. Takes CAP_SYS_RESOURCE: without it, it is
/// ended as any other.
pub fn end_last() {
    let _ = std::fs::write("/proc/self/oom_score_adj", "-1000");
}

/// All of an open file, wherever it was read before.
fn read_whole(mut file: &File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}
