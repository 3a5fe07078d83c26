//! What an agent that was killed has left in the ledgers of this host.

use std::path::Path;

use change::{LiveKernel, UndoOptions, ledger};

/// Takes back what is in the ledgers of `dir` for `purpose` and whose process is gone. What cannot be taken back stays there, for
/// `pinwise undo`; so does all that others have changed, whose processes may have gone on purpose.
pub(super) fn settle(dir: &Path, purpose: &str) {
    let sessions = ledger::sessions(dir).unwrap_or_default();
    let is_meant =
        |session: &&ledger::Session| session.header.as_ref().is_some_and(|header| header.purpose == purpose);
    for session in sessions.iter().filter(is_meant) {
        let options = UndoOptions { session: Some(session.id()), ..UndoOptions::default() };
        // Refused while its process runs, and while another pinwise is changing this host.
        let _ = change::undo(dir, &LiveKernel::new(), &options);
    }
}

#[cfg(test)]
mod tests {
    use change::Processes as _;
    use change::ledger::Ledger;
    use change::record::{FORMAT, Header};
    use machine::ProcessRef;

    use super::*;

    /// A process number that no kernel gives.
    const GONE: ProcessRef = ProcessRef { pid: u32::MAX >> 1, start_time_ticks: 1 };

    #[test]
    fn only_what_agents_left_whose_process_is_gone_is_settled() {
        let dir = tempfile::tempdir().unwrap();
        let own = LiveKernel::new().own().unwrap();
        for (session, purpose, owner) in
            [("1-1", "agent", GONE), ("2-2", "apply", GONE), ("3-3", "agent", own)]
        {
            let (session, purpose) = (session.to_string(), purpose.to_string());
            let header = Header {
                format: FORMAT,
                session,
                purpose,
                boot_id: String::new(),
                owner,
                began_unix_s: 1,
                began_ticks: 1,
                began_subsec_ns: 0,
                view: None,
            };
            Ledger::create(dir.path(), &header).unwrap();
        }
        settle(dir.path(), "agent");
        let left: Vec<String> =
            ledger::sessions(dir.path()).unwrap().iter().map(ledger::Session::id).collect();
        assert_eq!(left, ["2-2", "3-3"]);
        settle(&dir.path().join("missing"), "agent");
    }
}
