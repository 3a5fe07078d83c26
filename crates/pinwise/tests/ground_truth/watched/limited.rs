//! A cgroup of our own that limits what is in it.

use std::path::{Path, PathBuf};
use std::time::Duration;

/// A cgroup with its limits, of version 1 or 2; it is removed at the end.
pub struct Limited {
    folder: PathBuf,
    second: bool,
}

/// Where the cgroups of a controller are, by version.
struct Top {
    folder: PathBuf,
    second: bool,
}

impl Limited {
    /// A cgroup with these values in these files, of version 1 and of version 2; `None` where there is no such controller or none can
    /// be made.
    pub fn new(controller: &str, first: &[(&str, &str)], second: &[(&str, &str)]) -> Option<Self> {
        let top = Top::of(controller)?;
        let folder = top.folder.join(format!("pinwise-truth-{}", std::process::id()));
        std::fs::create_dir(&folder).ok()?;
        let limited = Self { folder, second: top.second };
        let limits = if top.second { second } else { first };
        let set = |(file, value): &(&str, &str)| std::fs::write(limited.folder.join(file), value).is_ok();
        limits.iter().all(set).then_some(limited)
    }

    /// A cgroup of version 2 without limits; `None` where there are none.
    pub fn of_second() -> Option<Self> {
        let mut tops = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].into_iter().map(PathBuf::from);
        let top = tops.find(|top| top.join("cgroup.controllers").exists())?;
        let folder = top.join(format!("pinwise-truth-{}", std::process::id()));
        std::fs::create_dir(&folder).ok()?;
        Some(Self { folder, second: true })
    }

    /// Its directory.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether it is of version 2.
    pub fn is_second(&self) -> bool {
        self.second
    }

    /// A figure of its cpu.stat.
    pub fn cpu_stat(&self, key: &str) -> u64 {
        let text = std::fs::read_to_string(self.folder.join("cpu.stat")).unwrap();
        let found = text.lines().find_map(|line| line.strip_prefix(key)?.trim().parse().ok());
        found.unwrap_or_else(|| panic!("no {key} in {text}"))
    }
}

impl Top {
    fn of(controller: &str) -> Option<Self> {
        let second = PathBuf::from("/sys/fs/cgroup");
        let handed_down = std::fs::read_to_string(second.join("cgroup.subtree_control")).unwrap_or_default();
        if handed_down.split_whitespace().any(|name| name == controller) {
            return Some(Self { folder: second, second: true });
        }
        let first = second.join(controller);
        first.join("cgroup.procs").exists().then_some(Self { folder: first, second: false })
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        // The kernel lets go of a cgroup a moment after its last process.
        for _ in 0..100 {
            if std::fs::remove_dir(&self.folder).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
