//! Files of a case that no verdict rests on: one that cannot be read is a missing fact, and the case stays readable.

use std::io;

use machine::own_folder::named;
use machine::{FactId, Missing};
use serde::de::DeserializeOwned;

use super::Case;
use crate::observed_blocks::{Observed, account_file};

impl Case {
    /// Reads a JSON file of the case, by its path below the case folder.
    ///
    /// # Errors
    /// The file as a missing fact, with the reason: it does not exist, is empty, is cut off, is malformed, or may not be read.
    pub fn read_fact<T: DeserializeOwned>(&self, name: &str) -> Result<T, Missing> {
        parsed(name, &self.bytes(name)?)
    }

    /// What an observed trial saw, by the trial's number.
    ///
    /// # Errors
    /// As [`read_fact`](Self::read_fact).
    pub fn read_observed(&self, index: usize) -> Result<Observed, Missing> {
        let of = |name: &str| format!("observed/{index:04}/{name}");
        let (packed, plain) = (of(account_file::PACKED), of(account_file::PLAIN));
        if self.dir().join(&plain).is_file() {
            return self.read_fact(&plain);
        }
        let json = account_file::unpacked(&self.bytes(&packed)?)
            .map_err(|e| lost(&packed, format_args!("the file is damaged: {e}")))?;
        parsed(&packed, &json)
    }

    /// What a file of the case holds, by its path below the case folder; never nothing.
    fn bytes(&self, name: &str) -> Result<Vec<u8>, Missing> {
        let bytes = named::read(&self.dir().join(name)).map_err(|e| {
            let why = match e.kind() {
                io::ErrorKind::NotFound => "the file does not exist".to_string(),
                _ => e.to_string(),
            };
            lost(name, why)
        })?;
        if bytes.is_empty() { Err(lost(name, "the file is empty")) } else { Ok(bytes) }
    }

    /// As [`read_fact`](Self::read_fact), of a file that not every case has: `Ok(None)` where it does not exist.
    ///
    /// # Errors
    /// The file as a missing fact, where it exists and cannot be read.
    pub fn read_fact_if_there<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, Missing> {
        match self.dir().join(name).try_exists() {
            Ok(false) => Ok(None),
            _ => self.read_fact(name).map(Some),
        }
    }
}

/// The fact in a file of this name.
fn parsed<T: DeserializeOwned>(name: &str, json: &[u8]) -> Result<T, Missing> {
    serde_json::from_slice(json).map_err(|e| {
        let why = match e.is_eof() {
            true => "the file is cut off".to_string(),
            false => format!("the file is malformed: {e}"),
        };
        lost(name, why)
    })
}

/// A file of the case that is not known. Those of one trial are known as such: nothing of the study as a whole is lost with them.
fn lost(name: &str, why: impl std::fmt::Display) -> Missing {
    let missing = Missing::new(name, why);
    if name.starts_with("trials/") { missing.identified(FactId::TrialFile) } else { missing }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::case::tests::resolved;

    #[test]
    fn what_an_observed_trial_saw_is_read_from_either_file() {
        let dir = tempfile::tempdir().unwrap();
        let case = Case::create(dir.path(), resolved()).unwrap();
        let why = |index| case.read_observed(index).unwrap_err().why;
        assert_eq!(why(0), "the file does not exist");
        let observed = Observed { requests: Some(7.5), ..Observed::default() };
        for (folder, name) in
            [("observed/0000", account_file::PACKED), ("observed/0001", account_file::PLAIN)]
        {
            fs::create_dir_all(dir.path().join(folder)).unwrap();
            let bytes = match name {
                account_file::PACKED => account_file::packed(&observed).unwrap(),
                _ => serde_json::to_vec(&observed).unwrap(),
            };
            fs::write(dir.path().join(folder).join(name), bytes).unwrap();
        }
        assert_eq!((case.read_observed(0), case.read_observed(1)), (Ok(observed.clone()), Ok(observed)));
        let packed = dir.path().join("observed/0000").join(account_file::PACKED);
        fs::write(&packed, b"{\"requests\":7.5}").unwrap();
        assert!(why(0).starts_with("the file is damaged: "), "{}", why(0));
        fs::write(&packed, b"").unwrap();
        assert_eq!(why(0), "the file is empty");
    }
}
