//! Whose turn it is to change the machine: a new session begins once nothing of an orphan is left to be taken back.
//!
//! A study that is resumed at once after `kill -9` would else have the lock before what takes the arm back
//! ([`orphan`](crate::revert::orphan)), and that would wait for hours with the arm in force.

use std::path::Path;
use std::time::Duration;

use machine::{Class, Fault};

use crate::kernel::Kernel;
use crate::ledger::owner::is_being_taken_back;
use crate::ledger::{self, Session};
use crate::lock::MachineLock;

/// How often it is looked whether an orphan has been taken back.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Looks, half a minute of them, after which it is not waited for any longer.
const LOOKS: u32 = 300;

/// The lock of the ledgers in `dir`, with the sessions of earlier processes. `sleep` is how it waits.
///
/// # Errors
/// As [`MachineLock::take`]; the ledgers cannot be read; an orphan is still being taken back.
pub(super) fn take(
    dir: &Path,
    kernel: &dyn Kernel,
    sleep: &dyn Fn(Duration),
) -> Result<(MachineLock, Vec<Session>), Fault> {
    let mut looks = 0;
    loop {
        let (lock, sessions) = (MachineLock::take(dir), ledger::sessions(dir));
        let mut all = sessions.iter().flatten();
        let orphan = all.find(|session| is_being_taken_back(session, kernel)).map(Session::id);
        match orphan {
            None => return Ok((lock?, sessions?)),
            Some(id) if looks == LOOKS => return Err(still_taken_back(&id)),
            // Not while it sleeps: what takes it back needs the lock.
            Some(_) => drop(lock),
        }
        sleep(LOOK_EVERY);
        looks += 1;
    }
}

fn still_taken_back(session: &str) -> Fault {
    let cause = "its process has ended, and its changes are still being undone";
    let remedy = "see 'pinwise status', and start when none of its changes is in force any more";
    Fault::new(Class::No, format!("session {session}"), cause, remedy)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::fs::File;
    use std::sync::Arc;

    use machine::Act;

    use super::*;
    use crate::{EmulatedKernel, Hand};

    /// A machine on which a process was killed with a change in force, and its ledger, which is followed for as long as it is open.
    fn killed() -> (tempfile::TempDir, EmulatedKernel, File) {
        let (dir, kernel) = (tempfile::tempdir().unwrap(), EmulatedKernel::new());
        let path = "/proc/sys/vm/swappiness";
        kernel.add_file(path, "60\n");
        let mut hand = Hand::with(Arc::new(kernel.clone()), dir.path(), "study").unwrap();
        hand.perform(&Act::WriteFile { netns: None, path: path.into(), value: "10".into() }).unwrap();
        let ledger = File::open(ledger::path_of(dir.path(), hand.session())).unwrap();
        ledger::follow(&ledger).unwrap();
        hand.die();
        kernel.remove_thread(1000);
        (dir, kernel, ledger)
    }

    #[test]
    fn a_session_begins_once_an_orphan_has_been_taken_back() {
        let (dir, kernel, ledger) = killed();
        let follower = Cell::new(Some(ledger));
        let looks = Cell::new(0);
        let sleep = |_: Duration| {
            MachineLock::take(dir.path()).map(drop).unwrap();
            looks.set(looks.get() + 1);
            if looks.get() == 3 {
                drop(follower.take());
            }
        };
        let (lock, sessions) = take(dir.path(), &kernel, &sleep).unwrap();
        assert_eq!((looks.get(), sessions.len()), (3, 1));
        MachineLock::take(dir.path()).unwrap_err();
        drop(lock);
    }

    #[test]
    fn it_is_waited_for_also_while_that_has_the_lock() {
        let (dir, kernel, ledger) = killed();
        let lock = MachineLock::take(dir.path()).unwrap();
        let reverts = Cell::new(Some((lock, ledger)));
        let sleep = |_: Duration| drop(reverts.take());
        take(dir.path(), &kernel, &sleep).unwrap();
    }

    #[test]
    fn what_does_not_come_to_an_end_is_reported() {
        let (dir, kernel, _follower) = killed();
        let looks = Cell::new(0);
        let sleep = |_: Duration| looks.set(looks.get() + 1);
        let fault = take(dir.path(), &kernel, &sleep).unwrap_err();
        assert!(fault.class == Class::No && fault.cause.contains("still being undone"), "{fault}");
        assert_eq!(looks.get(), LOOKS);
        MachineLock::take(dir.path()).unwrap();
    }

    #[test]
    fn what_nobody_takes_back_by_itself_and_who_works_are_not_waited_for() {
        let never = |_: Duration| panic!("there is nothing to wait for");
        let (dir, kernel, ledger) = killed();
        drop(ledger);
        take(dir.path(), &kernel, &never).unwrap();

        let (dir, kernel, _follower) = killed();
        kernel.stand_on(1, 1, 1);
        take(dir.path(), &kernel, &never).unwrap();

        let dir = tempfile::tempdir().unwrap();
        let _works = MachineLock::take(dir.path()).unwrap();
        assert_eq!(take(dir.path(), &kernel, &never).unwrap_err().class, Class::No);
    }
}
