//! `observed.jsonl` and `observed/`: the trials of observed blocks, which are in no comparison.

use std::path::PathBuf;

use machine::own_folder::Reach;
use machine::{Fault, OwnFolder};

use super::{Case, OBSERVED, OBSERVED_FOLDER};
use crate::observed_blocks::lock_waits;
use crate::trial::Trial;

impl Case {
    /// The folder of observed trial `index`.
    pub fn observed_dir(&self, index: usize) -> PathBuf {
        self.dir.join(OBSERVED_FOLDER).join(format!("{index:04}"))
    }

    /// The folder of all observed trials' folders; it is made where it does not exist.
    ///
    /// # Errors
    /// As [`trials_folder`](Self::trials_folder).
    pub fn observed_folder(&self) -> Result<OwnFolder, Fault> {
        self.folder()?.make_folder(OBSERVED_FOLDER, Reach::Passable)
    }

    /// Appends a finished observed trial and returns when it is on disk.
    pub fn append_observed(&mut self, trial: Trial) -> Result<(), Fault> {
        self.append_line(OBSERVED, &trial)?;
        self.observed.push(trial);
        Ok(())
    }

    /// From which observed block on locks are looked at: the one after the first whose threads were seen to wait much for each other. It is
    /// read from the finished trials, so that a study that is resumed within a block goes on as it began. `None`: none has been seen so.
    pub fn locks_from(&self) -> Option<usize> {
        let waited_long = |index: &usize| {
            let account = self.read_observed(*index).ok().and_then(|observed| observed.situation.account);
            account.is_some_and(|account| lock_waits::are_long(&account))
        };
        let first = (0..self.observed.len()).find(waited_long)?;
        self.observed.get(first).map(|trial| trial.block + 1)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use probe::Situation;
    use probe::account::{Account, Part, SleepReason, Stretches, ThreadAccount};

    use super::*;
    use crate::case::tests::resolved;
    use crate::observed_blocks::{Observed, account_file};

    const SECOND: u64 = 1_000_000_000;

    /// A second of two threads that slept at futexes for so long each.
    fn observed(at_futexes_ns: u64) -> Vec<u8> {
        let thread = ThreadAccount {
            on_cpu: Stretches { count: 1, total_ns: SECOND / 4, ..Stretches::default() },
            asleep_for: [(SleepReason::Futex, Part { count: 1, total_ns: at_futexes_ns })].into(),
            ..ThreadAccount::default()
        };
        let threads = vec![thread.clone(), thread];
        let account = Account { from_ns: 0, to_ns: SECOND, threads, ..Account::default() };
        let situation = Situation { account: Some(account), ..Situation::default() };
        account_file::packed(&Observed { requests: None, situation }).unwrap()
    }

    /// A case whose observed trials, two a block, slept at futexes for so long.
    fn case_of(dir: &Path, at_futexes_ns: &[u64]) -> Case {
        let mut case = Case::create(dir, resolved()).unwrap();
        for (index, slept) in at_futexes_ns.iter().enumerate() {
            let folder = case.observed_dir(index);
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join(account_file::PACKED), observed(*slept)).unwrap();
            case.observed.push(Trial { block: index / 2, position: index % 2, ..Trial::default() });
        }
        case
    }

    #[test]
    fn a_resumed_study_looks_at_locks_from_the_block_on_from_which_it_did_before() {
        let dir = tempfile::tempdir().unwrap();
        let case = case_of(dir.path(), &[0, 0, 0, SECOND / 2, SECOND / 2]);
        assert_eq!(case.locks_from(), Some(2), "the second trial of block 1 waited");
    }

    #[test]
    fn without_long_waits_locks_are_not_looked_at() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(case_of(dir.path(), &[0, SECOND / 100, 0]).locks_from(), None);
        assert_eq!(case_of(&dir.path().join("other"), &[]).locks_from(), None);
    }
}
