//! Sessions whose process has ended, or hangs, with changes in force: they are taken back without anybody asking for it.
//!
//! For arms of a study that are in force on a server in production. A study takes each back itself; what comes after `kill -9` of it, or
//! after the kernel has ended it for want of memory, is this. Nothing of it is in the ledger: the session need not be confirmed.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use machine::{Class, Fault};

use super::{Revert, When};
use crate::confirm;
use crate::kernel::now_ticks;
use crate::ledger::owner::{owner_alive, sees_owner};
use crate::record::Reverter;

/// The flag of [`confirm::VERB`] for such a session.
pub const FLAG: &str = "--orphaned";

/// Its flag for how long a change may be in force, s.
pub const MOST: &str = "--in-force-s";

/// How often it is looked whether the process is still there.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Starts what takes `session` back as soon as this process has ended; with `most_s`, also when it has written nothing to its ledger for
/// longer than so many seconds while a change is in force: then it hangs, and is killed. Says what that is.
///
/// `exe` is the pinwise binary, `state_dir` its folder of state.
///
/// # Errors
/// Neither systemd nor this machine starts it.
pub fn arm(exe: &Path, state_dir: &Path, session: &str, most_s: Option<u64>) -> Result<Reverter, Fault> {
    let most = most_s.map(|seconds| [MOST.to_string(), seconds.to_string()]);
    let flags: Vec<String> = std::iter::once(FLAG.to_string()).chain(most.into_iter().flatten()).collect();
    confirm::start(exe, state_dir, session, &flags).map_err(|fault| {
        let remedy = "nothing was changed; fix the cause: if pinwise were killed, changes would stay";
        Fault { remedy: remedy.into(), ..fault }
    })
}

impl Revert<'_> {
    /// The same for a session that is taken back once it is an orphan, and need not be confirmed: see [`arm`].
    pub fn once_orphaned(self, most_s: Option<u64>) -> Self {
        let ticks_per_s = rustix::param::clock_ticks_per_second();
        let most_ticks = most_s.map(|seconds| seconds.saturating_mul(ticks_per_s));
        Self { when: When::Orphaned { most_ticks }, ..self }
    }

    /// Waits until the process that performs the acts has ended, and kills it where it hangs; or until the ledger is gone.
    ///
    /// # Errors
    /// The process cannot be seen from here; the kernel does not report the time.
    pub(super) fn wait_for_the_owner(&mut self, most_ticks: Option<u64>) -> Result<(), Fault> {
        if !sees_owner(&self.seen, self.kernel) {
            // It would be taken for gone.
            let cause = "its process belongs to another PID namespace, and cannot be seen from here";
            let remedy = "run pinwise where systemd runs, or in a container without /run/systemd";
            let object = format!("session {}", self.seen.id());
            return Err(Fault::new(Class::MachineLacks, object, cause, remedy));
        }
        let mut still = Still { bytes: self.bytes(), since_ticks: now_ticks(self.kernel)? };
        while self.is_there() && owner_alive(&self.seen, self.kernel) {
            let now = now_ticks(self.kernel)?;
            let bytes = self.bytes();
            let is_long = most_ticks.is_some_and(|most_ticks| still.is_longer_than(most_ticks, bytes, now));
            // Reading a long ledger takes time on the machine that is measured: only where that may matter.
            if is_long && self.look() && self.is_wanted() {
                self.kill_owner();
                break;
            }
            (self.sleep)(LOOK_EVERY);
        }
        Ok(())
    }

    /// Length of the ledger; 0 where the disk has failed.
    fn bytes(&self) -> u64 {
        self.file.metadata().map_or(0, |file| file.len())
    }

    fn is_there(&self) -> bool {
        self.file.metadata().map_or(true, |file| file.nlink() > 0)
    }
}

/// Since when nothing has been written to a ledger.
struct Still {
    bytes: u64,
    since_ticks: u64,
}

impl Still {
    /// Whether that is longer ago than so many ticks, where the ledger has this length now; if so, it is counted anew.
    fn is_longer_than(&mut self, most_ticks: u64, bytes: u64, now_ticks: u64) -> bool {
        if bytes != self.bytes {
            *self = Self { bytes, since_ticks: now_ticks };
        }
        let is_longer = now_ticks.saturating_sub(self.since_ticks) > most_ticks;
        if is_longer {
            self.since_ticks = now_ticks;
        }
        is_longer
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::Arc;

    use machine::{Act, ProcessRef};

    use super::super::Reverted;
    use super::*;
    use crate::{EmulatedKernel, Hand, Processes};

    const PATH: &str = "/proc/sys/vm/swappiness";

    fn machine() -> (tempfile::TempDir, EmulatedKernel) {
        let kernel = EmulatedKernel::new();
        kernel.add_file(PATH, "60\n");
        (tempfile::tempdir().unwrap(), kernel)
    }

    fn hand(dir: &tempfile::TempDir, kernel: &EmulatedKernel) -> Hand {
        Hand::with(Arc::new(kernel.clone()), dir.path(), "study").unwrap()
    }

    fn set(hand: &mut Hand) {
        hand.perform(&Act::WriteFile { netns: None, path: PATH.into(), value: "10".into() }).unwrap();
    }

    fn value(kernel: &EmulatedKernel) -> String {
        kernel.state().files[&(None, PATH.into())].trim().to_string()
    }

    fn owner(kernel: &EmulatedKernel) -> ProcessRef {
        kernel.own().unwrap()
    }

    /// What watches over the session of `hand`, and waits by `sleep`.
    fn orphan<'a>(
        dir: &tempfile::TempDir,
        kernel: &'a EmulatedKernel,
        hand: &Hand,
        most_s: Option<u64>,
        sleep: &'a dyn Fn(Duration),
    ) -> Revert<'a> {
        Revert::of(dir.path(), kernel, hand.session(), sleep).unwrap().once_orphaned(most_s)
    }

    #[test]
    fn what_is_in_force_when_its_process_ends_is_taken_back() {
        let (dir, kernel) = machine();
        let mut hand = hand(&dir, &kernel);
        let looks = Cell::new(0);
        let sleep = |_: Duration| {
            looks.set(looks.get() + 1);
            if looks.get() == 3 {
                kernel.remove_thread(1000);
            }
        };
        let mut revert = orphan(&dir, &kernel, &hand, None, &sleep);
        set(&mut hand);
        hand.die();
        revert.wait().unwrap();
        assert_eq!((looks.get(), value(&kernel).as_str()), (3, "10"), "not before its process has ended");
        assert!(matches!(revert.take_back(), Reverted::TakenBack(report) if report.is_clean()));
        assert_eq!(value(&kernel), "60");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "its ledger is gone");
    }

    #[test]
    fn a_session_that_ends_by_itself_and_one_with_nothing_in_force_need_nothing() {
        let (dir, kernel) = machine();
        let mut ended = hand(&dir, &kernel);
        let never = |_: Duration| panic!("there is nothing to wait for");
        let mut revert = orphan(&dir, &kernel, &ended, None, &never);
        set(&mut ended);
        ended.undo_all();
        ended.finish().unwrap();
        revert.wait().unwrap();
        assert!(matches!(revert.take_back(), Reverted::NotNeeded));

        let mut between = hand(&dir, &kernel);
        let killed = |_: Duration| kernel.remove_thread(1000);
        let mut revert = orphan(&dir, &kernel, &between, None, &killed);
        set(&mut between);
        between.undo_all();
        between.die();
        revert.wait().unwrap();
        assert!(matches!(revert.take_back(), Reverted::NotNeeded));
    }

    #[test]
    fn a_process_that_hangs_with_a_change_in_force_is_killed() {
        let (dir, kernel) = machine();
        let mut hangs = hand(&dir, &kernel);
        let process = owner(&kernel);
        let ticks = |_: Duration| kernel.tick();
        let mut revert = orphan(&dir, &kernel, &hangs, Some(1), &ticks);
        set(&mut hangs);
        hangs.die();
        revert.wait().unwrap();
        assert!(!kernel.alive(&process));
        assert!(matches!(revert.take_back(), Reverted::TakenBack(report) if report.is_clean()));
        assert_eq!(value(&kernel), "60");
    }

    #[test]
    fn one_that_waits_with_nothing_in_force_is_left_alone_however_long() {
        let (dir, kernel) = machine();
        let mut waits = hand(&dir, &kernel);
        let (process, looks) = (owner(&kernel), Cell::new(0));
        let sleep = |_: Duration| {
            kernel.tick();
            looks.set(looks.get() + 1);
            if looks.get() == 1000 {
                assert!(kernel.alive(&process));
                kernel.remove_thread(1000);
            }
        };
        let mut revert = orphan(&dir, &kernel, &waits, Some(1), &sleep);
        set(&mut waits);
        waits.undo_all();
        waits.die();
        revert.wait().unwrap();
        assert_eq!(looks.get(), 1000);
        assert!(matches!(revert.take_back(), Reverted::NotNeeded));
    }

    #[test]
    fn a_ledger_that_grows_is_not_still() {
        let mut still = Still { bytes: 10, since_ticks: 0 };
        assert!(!still.is_longer_than(5, 10, 5));
        assert!(!still.is_longer_than(5, 11, 6), "it has grown");
        assert!(!still.is_longer_than(5, 11, 11));
        assert!(still.is_longer_than(5, 11, 12));
        assert!(!still.is_longer_than(5, 11, 13), "looked at once, and not ten times a second from then on");
    }
}
