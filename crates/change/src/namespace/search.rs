//! Where a network namespace can be entered: by its file handle, a name of ip-netns(8), or a process that is in it.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use super::{Namespace, handle};
use crate::netns;

/// What is known of a network namespace.
#[derive(Debug)]
pub enum Found {
    /// It lives, and this opens it.
    Open(File),
    /// It has ended, for certain.
    Ended,
    /// Nothing leads to it; the kernel does not tell whether it has ended.
    Lost,
}

/// Looks for a network namespace.
pub fn find(wanted: &Namespace) -> Found {
    match wanted.id.map(|id| handle::open_network(id, wanted.inode)) {
        Some(Ok(Some(file))) => return Found::Open(file),
        Some(Ok(None)) => return Found::Ended,
        // Older than the handle, or not allowed to use it.
        Some(Err(_)) | None => {}
    }
    let is_it = |file: &File| of_file_whole(file).is_ok_and(|found| found.is(wanted));
    all().into_iter().find(is_it).map_or(Found::Lost, Found::Open)
}

/// The network namespace of a file of nsfs, with its cookie.
pub fn of_file_whole(file: &File) -> io::Result<Namespace> {
    netns::on_thread_in(file, Namespace::of_network)
}

/// Every network namespace that a name or a process leads to, once each.
pub fn all() -> Vec<File> {
    let mut seen = BTreeSet::new();
    let opened = places().into_iter().filter_map(|place| File::open(place).ok());
    opened.filter(|file| file.metadata().is_ok_and(|file| seen.insert(file.ino()))).collect()
}

/// Names first: there are few of them.
fn places() -> Vec<PathBuf> {
    let entries = |folder: &str| fs::read_dir(folder).into_iter().flatten().flatten();
    let named = entries("/run/netns").map(|entry| entry.path());
    let processes = entries("/proc").filter(|entry| {
        entry.file_name().to_str().is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
    });
    named.chain(processes.map(|entry| entry.path().join("ns/net"))).collect()
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// A process in a network namespace of its own, ended when it goes.
    struct Apart(Child);

    impl Apart {
        fn start() -> Option<Self> {
            if !rustix::process::geteuid().is_root() {
                eprintln!("skipped: network namespaces need root");
                return None;
            }
            let mut child = Command::new("unshare");
            let child = child.args(["--net", "sleep", "1000"]).stdin(Stdio::null()).spawn().unwrap();
            let apart = Self(child);
            let own = fs::read_link("/proc/self/ns/net").unwrap();
            while apart.namespace().is_none_or(|file| fs::read_link(file).is_ok_and(|there| there == own)) {
                std::thread::yield_now();
            }
            Some(apart)
        }

        fn namespace(&self) -> Option<PathBuf> {
            let path = PathBuf::from(format!("/proc/{}/ns/net", self.0.id()));
            path.exists().then_some(path)
        }
    }

    impl Drop for Apart {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn without_handles_a_namespace_is_found_by_a_process_and_otherwise_lost() {
        let Some(apart) = Apart::start() else { return };
        let file = File::open(apart.namespace().unwrap()).unwrap();
        let whole = of_file_whole(&file).unwrap();
        drop(file);
        let old_kernel = Namespace { id: None, ..whole };
        assert!(matches!(find(&old_kernel), Found::Open(_)));
        let reused = Namespace { mark: whole.mark.map(|cookie| cookie + 1), ..old_kernel };
        assert!(matches!(find(&reused), Found::Lost), "it has the number, and is another one");
    }
}
