//! What a study has placed for the boots that come, found again in the ledger by what it was for.

use std::path::PathBuf;

use change::ledger::{self, Session};
use change::{LiveKernel, UndoOptions, ledger_dir, undo};
use machine::Fault;

/// All that was done for one purpose, in whichever boot.
#[derive(Debug)]
pub struct LedgerPurpose {
    purpose: String,
    ledger: PathBuf,
}

impl LedgerPurpose {
    /// What was, and will be, done for `purpose`: the word that its sessions of the ledger have.
    ///
    /// # Errors
    /// No place for a ledger.
    pub fn by(purpose: String) -> Result<Self, Fault> {
        Ok(Self { purpose, ledger: ledger_dir()? })
    }

    /// The purpose.
    pub fn purpose(&self) -> &str {
        &self.purpose
    }

    /// The sessions of the ledger in which something was done for it.
    ///
    /// # Errors
    /// A ledger that cannot be read.
    pub fn sessions(&self) -> Result<Vec<Session>, Fault> {
        let ours =
            |session: &Session| session.header.as_ref().is_some_and(|header| header.purpose == self.purpose);
        Ok(ledger::sessions(&self.ledger)?.into_iter().filter(ours).collect())
    }

    /// Takes all of it back.
    ///
    /// # Errors
    /// What cannot be taken back; the rest of its session is.
    pub fn take_back(&self) -> Result<(), Fault> {
        for session in self.sessions()? {
            let options =
                UndoOptions { session: Some(session.id()), owned_too: true, ..UndoOptions::default() };
            let report = undo(&self.ledger, &LiveKernel::new(), &options)?;
            report.fault().map_or(Ok(()), Err)?;
        }
        Ok(())
    }
}
