//! Files of a case that no verdict rests on: one that cannot be read is a missing fact, and the case stays readable.

use std::io;

use machine::own_folder::named;
use machine::{FactId, Missing};
use serde::de::DeserializeOwned;

use super::Case;

impl Case {
    /// Reads a JSON file of the case, by its path below the case folder.
    ///
    /// # Errors
    /// The file as a missing fact, with the reason: it does not exist, is empty, is cut off, is malformed, or may not be read.
    pub fn read_fact<T: DeserializeOwned>(&self, name: &str) -> Result<T, Missing> {
        let bytes = named::read(&self.dir().join(name)).map_err(|e| {
            let why = match e.kind() {
                io::ErrorKind::NotFound => "the file does not exist".to_string(),
                _ => e.to_string(),
            };
            lost(name, why)
        })?;
        if bytes.is_empty() {
            return Err(lost(name, "the file is empty"));
        }
        serde_json::from_slice(&bytes).map_err(|e| {
            let why = match e.is_eof() {
                true => "the file is cut off".to_string(),
                false => format!("the file is malformed: {e}"),
            };
            lost(name, why)
        })
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

/// A file of the case that is not known. Those of one trial are known as such: nothing of the study as a whole is lost with them.
fn lost(name: &str, why: impl std::fmt::Display) -> Missing {
    let missing = Missing::new(name, why);
    if name.starts_with("trials/") { missing.identified(FactId::TrialFile) } else { missing }
}
