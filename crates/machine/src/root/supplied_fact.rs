//! A root with a fact that the user supplies.

use std::fs::File;

use super::{ReadError, Source};

/// Answers one fact itself and passes all other questions on.
pub(super) struct SuppliedFact {
    pub(super) inner: Box<dyn Source>,
    pub(super) name: String,
    pub(super) value: String,
}

impl Source for SuppliedFact {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        self.inner.read(path)
    }

    fn each_line(&self, path: &str, take: &mut dyn FnMut(&[u8])) -> Result<(), ReadError> {
        self.inner.each_line(path, take)
    }

    fn list(&self, path: &str) -> Result<Vec<String>, ReadError> {
        self.inner.list(path)
    }

    fn link(&self, path: &str) -> Result<String, ReadError> {
        self.inner.link(path)
    }

    fn exists(&self, path: &str) -> bool {
        self.inner.exists(path)
    }

    fn resolve(&self, path: &str) -> Result<String, ReadError> {
        self.inner.resolve(path)
    }

    fn fact(&self, name: &str) -> Result<String, ReadError> {
        match name == self.name {
            true => Ok(self.value.clone()),
            false => self.inner.fact(name),
        }
    }

    fn open(&self, path: &str) -> Result<Option<File>, ReadError> {
        self.inner.open(path)
    }

    fn keep_folders(&self) {
        self.inner.keep_folders();
    }

    fn let_folders_go(&self) {
        self.inner.let_folders_go();
    }

    fn is_live(&self) -> bool {
        self.inner.is_live()
    }
}
