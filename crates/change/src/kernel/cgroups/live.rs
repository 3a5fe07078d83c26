//! Cgroups of the running system.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use machine::limits::mounts;

use super::Cgroups;
use crate::kernel::live::LiveKernel;
use crate::kernel::pseudo_files;
use crate::procfs;

/// How long the last processes of a cgroup are waited for before it is removed.
const EMPTY_WITHIN: Duration = Duration::from_secs(2);

impl Cgroups for LiveKernel {
    fn is_dir(&self, path: &Path) -> bool {
        path.is_dir()
    }

    fn make_dir(&self, path: &Path) -> io::Result<()> {
        if !path.parent().is_some_and(|parent| pseudo_files::is_pseudo(parent).unwrap_or(false)) {
            return Err(invalid("a cgroup cannot be created here"));
        }
        fs::create_dir(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        let until = Instant::now() + EMPTY_WITHIN;
        loop {
            match fs::remove_dir(path) {
                Err(error) if error.raw_os_error() == Some(libc::EBUSY) && Instant::now() < until => {
                    std::thread::sleep(Duration::from_millis(10));
                }
                result => return result,
            }
        }
    }

    fn process_cgroup(&self, pid: u32, near: &Path) -> io::Result<PathBuf> {
        // A process that is ending appears at the top of version 1 hierarchies while its memory is freed
        // (proc_cgroup_show() in kernel/cgroup/cgroup.c). Nobody has moved it there.
        if procfs::stat(&format!("/proc/{pid}/stat"), |stat| is_ending(stat.flags))? {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        let mountinfo = fs::read_to_string("/proc/self/mountinfo")?;
        let mounts = mounts::parse(&mountinfo);
        let hierarchy = mounts::above(&mounts, near)
            .ok_or_else(|| invalid(format!("{} is not in a cgroup hierarchy", near.display())))?;
        let place = |text: &str| hierarchy.directory_of(text).map(PathBuf::from);
        let first = place(&fs::read_to_string(format!("/proc/{pid}/cgroup"))?)
            .ok_or_else(|| invalid("its cgroup cannot be seen from here (container)"))?;
        for tid in procfs::numbers(&format!("/proc/{pid}/task"))? {
            match fs::read_to_string(format!("/proc/{pid}/task/{tid}/cgroup")) {
                Ok(text) if place(&text).as_ref() != Some(&first) => {
                    let why = "its threads are in several cgroups; moving the process would lose that";
                    return Err(io::Error::new(io::ErrorKind::Unsupported, why));
                }
                _ => {}
            }
        }
        Ok(first)
    }

    fn join_cgroup(&self, pid: u32, path: &Path) -> io::Result<()> {
        pseudo_files::write(&path.join("cgroup.procs"), &pid.to_string())
    }
}

/// Whether a task with these flags is on its way out: PF_EXITING of include/linux/sched.h.
fn is_ending(flags: Option<u64>) -> bool {
    const PF_EXITING: u64 = 0x4;
    flags.is_some_and(|flags| flags & PF_EXITING != 0)
}

fn invalid(why: impl ToString) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_ends_is_in_no_cgroup() {
        assert!(is_ending(Some(0x40_0004)) && !is_ending(Some(0x40_0000)) && !is_ending(None));
        let kernel = LiveKernel::new();
        let near = Path::new("/sys/fs/cgroup");
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let ended = || procfs::stat(&format!("/proc/{}/stat", child.id()), |stat| stat.ended()).unwrap();
        while !ended() {
            std::thread::yield_now();
        }
        let error = kernel.process_cgroup(child.id(), near).unwrap_err();
        child.wait().unwrap();
        assert_eq!(error.raw_os_error(), Some(libc::ESRCH));
    }

    #[test]
    fn cgroups_are_made_in_cgroups_only() {
        let folder = tempfile::tempdir().unwrap();
        assert!(LiveKernel::new().make_dir(&folder.path().join("x")).is_err());
    }
}
