//! A root that keeps every answer that it gives.

use std::collections::BTreeMap;
use std::fs::File;
use std::sync::{Arc, Mutex, PoisonError};

use super::{FACTS, ReadError, Source};
use crate::capture::{Answers, Capture};

/// The answers so far.
#[derive(Default)]
pub(super) struct Record(Mutex<Answers>);

impl Record {
    /// Ends the record and hands it out, with the facts that are no files.
    pub(super) fn take(&self, fact: impl Fn(&str) -> Result<String, ReadError>) -> Capture {
        let known = FACTS.iter().filter_map(|name| Some((name.to_string(), fact(name).ok()?)));
        let mut facts: BTreeMap<String, String> = known.collect();
        let mut answers = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for (name, answer) in &answers.facts {
            facts.extend(answer.as_ref().ok().map(|value| (name.clone(), value.clone())));
        }
        answers.facts.retain(|_, answer| answer.is_err());
        Capture::new(answers, facts)
    }

    /// The answer that was given before, or the one that is got now and kept.
    fn once<T: Clone>(
        &self,
        of: impl Fn(&mut Answers) -> &mut BTreeMap<String, T>,
        path: &str,
        ask: impl FnOnce() -> T,
    ) -> T {
        if let Some(known) = of(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner)).get(path) {
            return known.clone();
        }
        let answer = ask();
        let mut answers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        of(&mut answers).entry(path.to_string()).or_insert(answer).clone()
    }
}

/// Passes questions on to `inner` and keeps the answers.
pub(super) struct Recording {
    inner: Box<dyn Source>,
    record: Arc<Record>,
}

impl Recording {
    pub(super) fn new(inner: Box<dyn Source>, record: Arc<Record>) -> Self {
        Self { inner, record }
    }
}

impl Source for Recording {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        self.record.once(|answers| &mut answers.files, path, || self.inner.read(path))
    }

    fn list(&self, path: &str) -> Result<Vec<String>, ReadError> {
        self.record.once(|answers| &mut answers.lists, path, || self.inner.list(path))
    }

    fn link(&self, path: &str) -> Result<String, ReadError> {
        self.record.once(|answers| &mut answers.links, path, || self.inner.link(path))
    }

    fn exists(&self, path: &str) -> bool {
        self.record.once(|answers| &mut answers.exists, path, || self.inner.exists(path))
    }

    fn resolve(&self, path: &str) -> Result<String, ReadError> {
        self.record.once(|answers| &mut answers.resolved, path, || self.inner.resolve(path))
    }

    fn fact(&self, name: &str) -> Result<String, ReadError> {
        self.record.once(|answers| &mut answers.facts, name, || self.inner.fact(name))
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

#[cfg(test)]
mod tests {
    use crate::{Root, Tree};

    #[test]
    fn it_records_only_what_was_asked_and_answers_the_same_again() {
        let root = Root::recording(Root::from_tree(Tree::new().file("/a/b", "1").file("/a/secret", "2")));
        assert_eq!(root.read("/a/b").unwrap(), "1");
        assert!(root.read("/a/none").is_err());
        let capture = root.take_capture().unwrap();
        assert_eq!(capture.files().collect::<Vec<_>>(), ["/a/b"]);
        assert_eq!(root.take_capture().unwrap().files().count(), 0);
        assert!(Root::live().take_capture().is_none());
    }

    #[test]
    fn the_same_question_gets_the_same_answer() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("x"), "1").unwrap();
        std::fs::write(dir.path().join("y"), "1").unwrap();
        let root = Root::recording(Root::at(dir.path()).unwrap());
        assert_eq!(root.read("/x").unwrap(), "1");
        std::fs::write(dir.path().join("x"), "2").unwrap();
        assert_eq!(root.read("/x").unwrap(), "1");
    }
}
