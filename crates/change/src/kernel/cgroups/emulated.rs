//! Cgroups of the emulated machine.

use std::io;
use std::path::{Path, PathBuf};

use super::Cgroups;
use crate::kernel::emulated::{EmulatedKernel, EmulatedThread, error};

/// Files of a new cgroup, of both versions.
const FILES_OF_A_CGROUP: [(&str, &str); 6] = [
    ("cpuset.cpus", "\n"),
    ("cpuset.mems", "\n"),
    ("memory.limit_in_bytes", "9223372036854771712\n"),
    ("memory.memsw.limit_in_bytes", "9223372036854771712\n"),
    ("memory.max", "max\n"),
    ("memory.swap.max", "max\n"),
];

impl Cgroups for EmulatedKernel {
    fn is_dir(&self, path: &Path) -> bool {
        self.inner().state.folders.contains(path)
    }

    fn make_dir(&self, path: &Path) -> io::Result<()> {
        self.change(&path.display().to_string(), |inner| {
            if !inner.state.folders.insert(path.to_path_buf()) {
                return Err(error(libc::EEXIST));
            }
            for (file, content) in FILES_OF_A_CGROUP {
                inner.state.files.insert((None, path.join(file)), content.into());
            }
            Ok(())
        })
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.change(&path.display().to_string(), |inner| {
            if inner.state.threads.values().any(|thread| thread.cgroup == path) {
                return Err(error(libc::EBUSY));
            }
            if !inner.state.folders.remove(path) {
                return Err(error(libc::ENOENT));
            }
            inner.state.files.retain(|(_, file), _| !file.starts_with(path));
            inner.identities.end_cgroup(path);
            Ok(())
        })
    }

    fn process_cgroup(&self, pid: u32, _near: &Path) -> io::Result<PathBuf> {
        Ok(self.inner().thread(pid)?.cgroup.clone())
    }

    fn join_cgroup(&self, pid: u32, path: &Path) -> io::Result<()> {
        self.change(&path.display().to_string(), |inner| {
            inner.thread(pid)?;
            // As the kernel: there is no cgroup.procs to write to.
            if path != EmulatedThread::new(pid).cgroup && !inner.state.folders.contains(path) {
                return Err(error(libc::ENOENT));
            }
            for thread in inner.state.threads.values_mut().filter(|thread| thread.pid == pid) {
                thread.cgroup = path.to_path_buf();
            }
            Ok(())
        })
    }
}
