//! What is reported of whoever holds the lock of the ledgers.

use std::path::Path;

use machine::{Class, Fault};

use super::flock_holder;
use crate::ledger::{self, Session};

/// That another process holds the lock of the ledgers in `dir`, and what it is about.
pub fn fault(dir: &Path) -> Fault {
    let Some(pid) = flock_holder::of(dir) else {
        let remedy = "wait for it to end; 'pinwise status' shows what it has changed";
        return Fault::new(Class::No, dir.display(), "another pinwise is changing this machine", remedy);
    };
    let sessions = ledger::sessions(dir).unwrap_or_default();
    // Whoever follows a ledger is there to take its session back.
    if let Some(session) = sessions.iter().find(|session| flock_holder::of(&session.path) == Some(pid)) {
        let cause = format!("process {pid} is undoing session {} by itself", session.id());
        let remedy =
            "wait for it to end, and do not stop it: 'pinwise status' shows what it still has to undo";
        return Fault::new(Class::No, dir.display(), cause, remedy);
    }
    let purpose = purpose_of(sessions, pid).map(|purpose| format!(" ({purpose})")).unwrap_or_default();
    let cause = format!("process {pid}{purpose} is changing this machine");
    let remedy = format!(
        "wait for it to end, or stop it with Ctrl-C or kill -INT {pid}: it undoes its changes itself; if it does not react, \
         kill -KILL {pid} and run 'pinwise undo'"
    );
    Fault::new(Class::No, dir.display(), cause, remedy)
}

/// What the session of that process is for. An undo has none.
fn purpose_of(sessions: Vec<Session>, pid: u32) -> Option<String> {
    let mut headers = sessions.into_iter().rev().filter_map(|session| session.header);
    headers.find(|header| header.owner.pid == pid).map(|header| header.purpose)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::sync::Arc;

    use super::*;
    use crate::{EmulatedKernel, Hand, MachineLock};

    #[test]
    fn what_takes_a_session_back_is_waited_for_and_nobody_is_asked_to_stop_it() {
        let dir = tempfile::tempdir().unwrap();
        let hand = Hand::with(Arc::new(EmulatedKernel::new()), dir.path(), "study").unwrap();
        let session = hand.session().to_string();
        let _lock = MachineLock::take(dir.path()).unwrap();
        let (own, ledger) = (std::process::id(), File::open(ledger::path_of(dir.path(), &session)).unwrap());
        let at_work = fault(dir.path());
        assert!(at_work.remedy.contains(&format!("kill -INT {own}")), "nothing takes back: {at_work}");

        ledger::follow(&ledger).unwrap();
        let reverts = fault(dir.path());
        assert_eq!(reverts.cause, format!("process {own} is undoing session {session} by itself"));
        assert!(reverts.class == Class::No && reverts.remedy.starts_with("wait"), "{reverts}");
        assert!(!reverts.remedy.contains("kill"), "{reverts}");
    }
}
