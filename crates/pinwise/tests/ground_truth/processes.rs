//! Processes as /proc shows them: which of them a study has started.

use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::process::Child;

/// A child that is killed when this goes.
pub struct Killed(pub Child);

impl Deref for Killed {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl DerefMut for Killed {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Processes of which `holds` is so.
fn processes(holds: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let all = std::fs::read_dir("/proc").unwrap().filter_map(|entry| Some(entry.ok()?.path()));
    all.filter(|dir| dir.join("environ").exists() && holds(dir)).collect()
}

/// What a file of a process has in it, words apart by blanks.
pub fn file(dir: &Path, name: &str) -> String {
    let bytes = std::fs::read(dir.join(name)).unwrap_or_default();
    String::from_utf8_lossy(&bytes).replace('\0', " ")
}

/// Every process that was started with this folder in its environment: a server and whatever it starts.
pub fn of_folder(folder: &str) -> Vec<PathBuf> {
    processes(|dir| file(dir, "environ").contains(folder))
}

/// The number of a process.
pub fn number(dir: &Path) -> Option<i32> {
    dir.file_name()?.to_str()?.parse().ok()
}

/// Whether a load of ours drives whatever listens on this port.
pub fn is_driven(port: &str) -> bool {
    let load = format!("--port {port} ");
    let driven = processes(|dir| {
        let line = file(dir, "cmdline");
        line.contains(" drive ") && line.contains(&load)
    });
    !driven.is_empty()
}
