//! Folders of the running system that stay open while a machine is read.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::CWD;

/// The folder that was listed last and those above it that were listed before it, each open.
///
/// A reader lists a folder and then reads the files in it. From the open folder the kernel has only the rest of a path to
/// walk; each name costs 0.3 us in sysfs, where it locks and asks whether the name still holds, and a link like
/// /sys/class/net/eth0 3 us and more.
#[derive(Debug, Default)]
pub(super) struct FolderCache {
    keepers: usize,
    open: Vec<(String, OwnedFd)>,
}

impl FolderCache {
    /// Folders are kept from now on, until [`FolderCache::let_go`] was called as often.
    pub(super) fn keep(&mut self) {
        self.keepers += 1;
    }

    /// Closes all folders when nobody else keeps them.
    pub(super) fn let_go(&mut self) {
        self.keepers = self.keepers.saturating_sub(1);
        if self.keepers == 0 {
            self.open.clear();
        }
    }

    /// A folder that was just listed; closed at once when none are kept.
    pub(super) fn listed(&mut self, path: &str, folder: OwnedFd) {
        if self.keepers > 0 {
            self.open.retain(|(above, _)| rest_of(path, above).is_some());
            self.open.push((path.to_string(), folder));
        }
    }

    /// Where to begin the walk to a path: the nearest open folder above it and what is left of the path from there.
    pub(super) fn nearest<'a>(&'a self, path: &'a str) -> (BorrowedFd<'a>, &'a str) {
        let mut nearest_first = self.open.iter().rev();
        let found = nearest_first.find_map(|(above, open)| Some((open.as_fd(), rest_of(path, above)?)));
        found.unwrap_or((CWD, path))
    }
}

/// What is left of a path below a folder; `None` when it is not below it.
fn rest_of<'a>(path: &'a str, folder: &str) -> Option<&'a str> {
    path.strip_prefix(folder)?.strip_prefix('/').filter(|rest| !rest.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(folders: &mut FolderCache, path: &str) {
        folders.listed(path, std::fs::File::open("/").unwrap().into());
    }

    #[test]
    fn a_walk_begins_at_the_nearest_folder() {
        let mut folders = FolderCache::default();
        list(&mut folders, "/sys/class");
        assert_eq!(folders.nearest("/sys/class/net").1, "/sys/class/net", "none is kept");
        folders.keep();
        for path in ["/sys/class/net", "/sys/class/net/eth0", "/sys/class/net/eth0/queues"] {
            list(&mut folders, path);
        }
        let rest = |folders: &FolderCache, path: &str| folders.nearest(path).1.to_string();
        assert_eq!(rest(&folders, "/sys/class/net/eth0/queues/rx-0/rps_cpus"), "rx-0/rps_cpus");
        assert_eq!(rest(&folders, "/sys/class/net/eth0/queues"), "queues", "the folder itself");
        assert_eq!(rest(&folders, "/sys/class/net/eth01/speed"), "eth01/speed");
        assert_eq!(rest(&folders, "/sys/class/network"), "/sys/class/network");
        list(&mut folders, "/sys/class/net/eth1");
        assert_eq!(
            rest(&folders, "/sys/class/net/eth0/speed"),
            "eth0/speed",
            "closed, and its parent is not"
        );
        list(&mut folders, "/sys/class/net");
        assert_eq!(
            (folders.open.len(), rest(&folders, "/sys/class/net/eth1/speed").as_str()),
            (1, "eth1/speed")
        );
    }

    #[test]
    fn the_last_keeper_closes_all() {
        let mut folders = FolderCache::default();
        folders.keep();
        folders.keep();
        list(&mut folders, "/proc");
        folders.let_go();
        assert_eq!(folders.nearest("/proc/stat").1, "stat");
        folders.let_go();
        assert_eq!(folders.nearest("/proc/stat").1, "/proc/stat");
    }
}
