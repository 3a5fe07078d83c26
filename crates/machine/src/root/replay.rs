//! A capture read back: the same answers as when it was taken.

use std::collections::HashMap;
use std::path::PathBuf;

use super::{Cause, ReadError, Source, damaged};
use crate::Fault;
use crate::capture::{Ask, Index};

/// The plain files of a capture and the index of everything else.
pub(super) struct Replay<S> {
    files: S,
    index: Index,
    refused: HashMap<(Ask, PathBuf), ReadError>,
}

impl<S: Source> Replay<S> {
    /// Takes the index as text; a fault when it is damaged or of another format version.
    pub(super) fn new(files: S, index: &[u8], origin: &str) -> Result<Self, Fault> {
        let mut index = Index::parse(index).map_err(|why| damaged(origin, why))?;
        let errors = std::mem::take(&mut index.errors).into_iter();
        let refused = errors.map(|refused| {
            let asked = refused.asked.map_or_else(|| refused.error.path.clone(), PathBuf::from);
            ((refused.ask, asked), refused.error)
        });
        Ok(Self { files, index, refused: refused.collect() })
    }

    fn refusal(&self, ask: Ask, path: &str) -> ReadError {
        match self.refused.get(&(ask, path.into())) {
            Some(error) => error.clone(),
            None => {
                let why = format!("it is not in this capture (taken by pinwise {})", self.index.pinwise);
                ReadError::new(path, Cause::Absent, why)
            }
        }
    }
}

impl<S: Source> Source for Replay<S> {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        match self.files.read(path) {
            Ok(content) if !path.ends_with(crate::capture::INDEX) => Ok(content),
            _ => Err(self.refusal(Ask::Read, path)),
        }
    }

    fn list(&self, path: &str) -> Result<Vec<String>, ReadError> {
        self.index.lists.get(path).cloned().ok_or_else(|| self.refusal(Ask::List, path))
    }

    fn link(&self, path: &str) -> Result<String, ReadError> {
        self.index.links.get(path).cloned().ok_or_else(|| self.refusal(Ask::Link, path))
    }

    fn exists(&self, path: &str) -> bool {
        self.index.exists.get(path).copied().unwrap_or(false)
    }

    fn resolve(&self, path: &str) -> Result<String, ReadError> {
        self.index.resolved.get(path).cloned().ok_or_else(|| self.refusal(Ask::Resolve, path))
    }

    fn fact(&self, name: &str) -> Result<String, ReadError> {
        self.index.facts.get(name).cloned().ok_or_else(|| self.refusal(Ask::Fact, name))
    }
}
