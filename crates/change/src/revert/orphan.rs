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
use crate::kernel::{Kernel, now_ticks};
use crate::ledger::owner::{owner_alive, sees_owner};
use crate::ledger::{self, Session, is_followed};

/// The flag of [`confirm::VERB`] for such a session.
pub const FLAG: &str = "--orphaned";

/// Its flag for how long a change may be in force, s.
pub const MOST: &str = "--in-force-s";

/// How often it is looked whether the process is still there.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Of the time between two looks, what counts at most, s. Whoever was suspended or stopped in between, as the whole machine may have been,
/// has not seen that the process did nothing.
const MOST_BETWEEN_LOOKS_S: u64 = 1;

const SEE: &str = "see 'pinwise status'";

/// Sees to it that `session` is taken back as soon as this process has ended; with `most_s`, also when it has written nothing to its
/// ledger for longer than so many seconds while a change is in force: then it hangs, and is killed. Does nothing where that is seen to
/// already, so that it can be asked for again and again: what sees to it may have been killed.
///
/// `exe` is the pinwise binary, `state_dir` its folder of state.
///
/// # Errors
/// Neither systemd nor this machine starts what sees to it; the ledger cannot be read.
pub fn arm(exe: &Path, state_dir: &Path, session: &str, most_s: Option<u64>) -> Result<(), Fault> {
    let ledger = ledger::path_of(&ledger::within(state_dir), session);
    if is_followed(&ledger).map_err(|e| Fault::io(ledger.display(), &e, SEE))? {
        return Ok(());
    }
    let most = most_s.map(|seconds| [MOST.to_string(), seconds.to_string()]);
    let flags: Vec<String> = std::iter::once(FLAG.to_string()).chain(most.into_iter().flatten()).collect();
    confirm::start(exe, state_dir, session, &flags).map(drop).map_err(|fault| {
        let remedy =
            "nothing was changed; fix the cause first: if pinwise were killed, its changes would stay";
        Fault { remedy: remedy.into(), ..fault }
    })
}

impl<'a> Revert<'a> {
    /// As [`of`](Self::of), of a session that is taken back once it is an orphan, and need not be confirmed: see [`arm`].
    ///
    /// # Errors
    /// As [`of`](Self::of); its process cannot be seen from here, and would be taken for gone.
    pub fn of_orphan(
        dir: &Path,
        kernel: &'a dyn Kernel,
        session: &str,
        sleep: &'a dyn Fn(Duration),
        most_s: Option<u64>,
    ) -> Result<Self, Fault> {
        let path = ledger::path_of(dir, session);
        let bytes = std::fs::read(&path).map_err(|e| Fault::io(path.display(), &e, SEE))?;
        // Before the ledger is followed: that tells the waiting study that it is watched.
        if !sees_owner(&Session::parse(&path, &bytes), kernel) {
            let cause = "its process belongs to another PID namespace, and cannot be seen from here";
            let remedy = "start this where that process runs";
            return Err(Fault::new(Class::MachineLacks, format!("session {session}"), cause, remedy));
        }
        let ticks_per_s = rustix::param::clock_ticks_per_second();
        let most_ticks = most_s.map(|seconds| seconds.saturating_mul(ticks_per_s));
        Ok(Self { when: When::Orphaned { most_ticks }, ..Self::of(dir, kernel, session, sleep)? })
    }

    /// Waits until the process that performs the acts has ended, and kills it where it hangs; or until it cannot be seen, since then the lock
    /// shows whether it is at work; or until the ledger is gone.
    ///
    /// # Errors
    /// The kernel does not report the time.
    pub(super) fn wait_for_the_owner(&mut self, most_ticks: Option<u64>) -> Result<(), Fault> {
        while self.is_there() && owner_alive(&self.seen, self.kernel) {
            let (now, bytes) = (now_ticks(self.kernel)?, self.bytes());
            let still = self.still.get_or_insert_with(|| Still::since(now, bytes));
            let is_long = most_ticks.is_some_and(|most_ticks| still.is_longer_than(most_ticks, bytes, now));
            // Reading a long ledger takes time on the machine that is measured: only where that may matter.
            if is_long && self.look() && self.is_wanted() {
                self.condemned = true;
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

/// For how long nothing has been written to a ledger, as far as that was seen.
pub(super) struct Still {
    bytes: u64,
    looked_ticks: u64,
    for_ticks: u64,
}

impl Still {
    /// From this moment on, where the ledger has this length.
    fn since(now_ticks: u64, bytes: u64) -> Self {
        Self { bytes, looked_ticks: now_ticks, for_ticks: 0 }
    }

    /// Whether that is longer than so many ticks, where the ledger has this length now; if so, it is counted anew.
    fn is_longer_than(&mut self, most_ticks: u64, bytes: u64, now_ticks: u64) -> bool {
        let most_between = MOST_BETWEEN_LOOKS_S * rustix::param::clock_ticks_per_second();
        let since_ticks = now_ticks.saturating_sub(self.looked_ticks).min(most_between);
        self.for_ticks = if bytes == self.bytes { self.for_ticks + since_ticks } else { 0 };
        (self.bytes, self.looked_ticks) = (bytes, now_ticks);
        let is_longer = self.for_ticks > most_ticks;
        if is_longer {
            self.for_ticks = 0;
        }
        is_longer
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::sync::Arc;

    use machine::{Act, ProcessRef};

    use super::super::Reverted;
    use super::*;
    use crate::{EmulatedKernel, Hand, MachineLock, Processes};

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
        Revert::of_orphan(dir.path(), kernel, hand.session(), sleep, most_s).unwrap()
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
    fn a_process_that_only_seemed_to_have_ended_is_neither_killed_nor_taken_back() {
        let (dir, kernel) = machine();
        let mut works = hand(&dir, &kernel);
        let (process, thread) = (owner(&kernel), kernel.state().threads[&1000].clone());
        let lock = Cell::new(Some(MachineLock::take(dir.path()).unwrap()));
        let looks = Cell::new(0);
        let sleep = |_: Duration| {
            looks.set(looks.get() + 1);
            match looks.get() {
                1 => kernel.remove_thread(1000),
                2 => kernel.insert_thread(1000, thread.clone()),
                500 => {
                    assert!(kernel.alive(&process), "it is not killed");
                    assert_eq!(value(&kernel), "10");
                    kernel.remove_thread(1000);
                    drop(lock.take());
                }
                _ => {}
            }
        };
        let mut revert = orphan(&dir, &kernel, &works, None, &sleep);
        set(&mut works);
        works.die();
        revert.wait().unwrap();
        assert!(matches!(revert.take_back(), Reverted::TakenBack(report) if report.is_clean()));
        assert!(looks.get() >= 500, "{}", looks.get());
        assert_eq!(value(&kernel), "60");
    }

    #[test]
    fn a_process_that_hangs_is_killed_also_where_it_cannot_be_seen_now_and_then() {
        let (dir, kernel) = machine();
        let mut hangs = hand(&dir, &kernel);
        let is_there = || kernel.state().threads.contains_key(&1000);
        let lock = Cell::new(Some(MachineLock::take(dir.path()).unwrap()));
        let looks = Cell::new(0);
        let sleep = |_: Duration| {
            kernel.tick();
            looks.set(looks.get() + 1);
            assert!(looks.get() < 100_000, "it is never found to hang");
            match looks.get() % 10 {
                0 => kernel.refuse_to_read("/proc", libc::EMFILE),
                1 => kernel.permit_to_read("/proc"),
                _ => {}
            }
            if !is_there() {
                drop(lock.take());
            }
        };
        let mut revert = orphan(&dir, &kernel, &hangs, Some(1), &sleep);
        set(&mut hangs);
        hangs.die();
        revert.wait().unwrap();
        assert!(is_there(), "it could not be seen, which is not to hang");
        assert!(matches!(revert.take_back(), Reverted::TakenBack(report) if report.is_clean()));
        assert!(!is_there());
        assert_eq!(value(&kernel), "60");
    }

    #[test]
    fn a_process_that_cannot_be_seen_may_still_change_something() {
        let (dir, kernel) = machine();
        let works = RefCell::new(Some(hand(&dir, &kernel)));
        let lock = Cell::new(Some(MachineLock::take(dir.path()).unwrap()));
        let looks = Cell::new(0);
        let sleep = |_: Duration| {
            looks.set(looks.get() + 1);
            match looks.get() {
                1 => kernel.refuse_to_read("/proc", libc::EMFILE),
                5 => works.borrow_mut().iter_mut().for_each(set),
                10 => kernel.permit_to_read("/proc"),
                20 => {
                    assert_eq!(value(&kernel), "10", "it works on");
                    works.borrow_mut().take().into_iter().for_each(Hand::die);
                    kernel.remove_thread(1000);
                    drop(lock.take());
                }
                _ => {}
            }
        };
        let session = works.borrow().as_ref().map(|hand| hand.session().to_string()).unwrap();
        let mut revert = Revert::of_orphan(dir.path(), &kernel, &session, &sleep, None).unwrap();
        revert.wait().unwrap();
        assert!(matches!(revert.take_back(), Reverted::TakenBack(report) if report.is_clean()));
        assert_eq!((value(&kernel).as_str(), looks.get() >= 20), ("60", true));
    }

    #[test]
    fn the_lock_is_not_waited_for_where_nothing_is_to_be_taken_back() {
        let (dir, kernel) = machine();
        let mut ended = hand(&dir, &kernel);
        let _others = MachineLock::take(dir.path()).unwrap();
        let never = |_: Duration| panic!("there is nothing to wait for");
        let mut revert = orphan(&dir, &kernel, &ended, None, &never);
        set(&mut ended);
        ended.undo_all();
        kernel.remove_thread(1000);
        assert!(matches!(revert.take_back(), Reverted::NotNeeded), "nothing is in force");
        ended.finish().unwrap();
        assert!(matches!(revert.take_back(), Reverted::NotNeeded), "its ledger is gone");
    }

    #[test]
    fn what_cannot_be_taken_back_is_tried_once_and_not_again_when_the_service_is_restarted() {
        let (dir, kernel) = machine();
        let mut killed = hand(&dir, &kernel);
        let session = killed.session().to_string();
        set(&mut killed);
        killed.die();
        kernel.add_file(PATH, "33\n");
        kernel.remove_thread(1000);
        let never = |_: Duration| panic!("there is nothing to wait for");
        let started = || Revert::of_orphan(dir.path(), &kernel, &session, &never, None).unwrap();
        let tried = started().take_back();
        assert!(
            matches!(tried, Reverted::TakenBack(report) if !report.is_clean()),
            "others have set it since"
        );
        assert_eq!(value(&kernel), "33");
        assert!(matches!(started().take_back(), Reverted::NotNeeded));
        assert_eq!(ledger::sessions(dir.path()).unwrap().len(), 1, "it stays for 'pinwise undo'");
    }

    #[test]
    fn a_process_that_cannot_be_seen_is_not_taken_for_gone() {
        let (dir, kernel) = machine();
        let mut elsewhere = hand(&dir, &kernel);
        set(&mut elsewhere);
        let session = elsewhere.session().to_string();
        kernel.stand_on(1, 1, 1);
        let never = |_: Duration| panic!("there is nothing to wait for");
        let refused = Revert::of_orphan(dir.path(), &kernel, &session, &never, None);
        let fault = refused.map(drop).unwrap_err();
        assert!(fault.cause.contains("PID namespace") && fault.object.contains(&session), "{fault}");
        assert!(!is_followed(&ledger::path_of(dir.path(), &session)).unwrap(), "nobody relies on it");
        elsewhere.die();
    }

    #[test]
    fn another_process_of_the_same_number_is_not_the_owner() {
        let (dir, kernel) = machine();
        let mut killed = hand(&dir, &kernel);
        let never = |_: Duration| panic!("there is nothing to wait for");
        let mut revert = orphan(&dir, &kernel, &killed, None, &never);
        set(&mut killed);
        killed.die();
        kernel.remove_thread(1000);
        kernel.add_process(1000, 1);
        revert.wait().unwrap();
        assert!(matches!(revert.take_back(), Reverted::TakenBack(report) if report.is_clean()));
        assert_eq!(value(&kernel), "60");
    }

    #[test]
    fn a_session_that_is_followed_already_needs_nothing_more() {
        let (dir, kernel) = machine();
        let folder = ledger::within(dir.path());
        let hand = Hand::with(Arc::new(kernel.clone()), &folder, "study").unwrap();
        let nowhere = Path::new("/nowhere/pinwise");
        let never = |_: Duration| panic!("nothing waits");
        let revert = Revert::of_orphan(&folder, &kernel, hand.session(), &never, None).unwrap();
        arm(nowhere, dir.path(), hand.session(), Some(5)).unwrap();
        drop(revert);
        let fault = arm(nowhere, dir.path(), "1-1", None).unwrap_err();
        assert!(fault.object.contains("1-1.jsonl"), "{fault}");
    }

    #[test]
    fn a_ledger_that_grows_is_not_still() {
        let mut still = Still::since(0, 10);
        assert!(!still.is_longer_than(5, 10, 5));
        assert!(!still.is_longer_than(5, 11, 6), "it has grown");
        assert!(!still.is_longer_than(5, 11, 11));
        assert!(still.is_longer_than(5, 11, 12));
        assert!(!still.is_longer_than(5, 11, 13), "looked at once, and not ten times a second from then on");
    }

    #[test]
    fn a_time_in_which_nobody_looked_does_not_count() {
        let ticks = |s: u64| s * rustix::param::clock_ticks_per_second();
        let mut still = Still::since(0, 10);
        assert!(!still.is_longer_than(ticks(180), 10, ticks(3_600)), "the machine was suspended");
        let is_long = |s: &u64| still.is_longer_than(ticks(180), 10, ticks(3_600 + *s));
        assert_eq!((1..1_000).find(is_long), Some(180), "so many seconds were seen");
    }
}
