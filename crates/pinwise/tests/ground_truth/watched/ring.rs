//! What a recorder kept, read out of its ring.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::watching::{Sheet, Stage};

/// The sheet of a ring, or of the part of it that is named.
pub fn replay(stage: &Stage, ring: &Path, more: &[&str]) -> Sheet {
    let ring = ring.display().to_string();
    let arguments = [&["watch", "--replay", &ring, "--format", "json"], more].concat();
    Sheet::of(stage.command(&arguments).output().unwrap())
}

/// A ring of 3 s of a timer storm on the CPU of the actors.
pub struct OfStorm {
    path: PathBuf,
    _folder: TempDir,
}

/// A table of a ring: its head, and a row for each interval and thing.
pub struct Series {
    pub head: String,
    pub rows: Vec<BTreeMap<String, String>>,
}

impl OfStorm {
    /// Records it with a variable of the environment; `None` where there can be no storm.
    pub fn recorded(stage: &Stage, rate: u32, every: &str, (name, value): (&str, &str)) -> Option<Self> {
        let storm = crate::storms::start(stage.cpu, rate)?;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ring");
        let ring = path.display().to_string();
        let flags = ["watch", "--record", &ring, "--for", "3s", "--every", every];
        let out = stage.command(&flags).env(name, value).output().unwrap();
        drop(storm);
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        Some(Self { path, _folder: folder })
    }

    pub fn replay(&self, stage: &Stage, more: &[&str]) -> Sheet {
        replay(stage, &self.path, more)
    }

    /// A table without commas in its cells.
    pub fn series(&self, stage: &Stage, table: &str) -> Series {
        let ring = self.path.display().to_string();
        let flags = ["watch", "--replay", &ring, "--series", "--format", "csv", "--table", table];
        let text = String::from_utf8(stage.command(&flags).output().unwrap().stdout).unwrap();
        let mut lines = text.lines();
        let head = lines.next().unwrap_or_default().to_string();
        let names = || head.split(',').map(String::from);
        let rows = lines.map(|line| names().zip(line.split(',').map(String::from)).collect());
        Series { rows: rows.collect(), head }
    }
}
