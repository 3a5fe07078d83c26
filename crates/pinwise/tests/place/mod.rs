//! A folder of its own in which a user runs pinwise.

use std::path::PathBuf;
use std::process::{Command, Output};

/// The folder; it goes when this is dropped.
pub struct Place {
    pub dir: tempfile::TempDir,
}

impl Place {
    pub fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn pinwise(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_pinwise"))
            .args(arguments)
            .env("PINWISE_STATE_DIR", self.path("state"))
            .current_dir(self.dir.path())
            .output()
            .unwrap()
    }
}
