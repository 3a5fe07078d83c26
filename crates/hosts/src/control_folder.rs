//! The folder in which ssh keeps its control sockets (ControlPath).

use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use machine::Fault;
use rustix::fs::{AtFlags, Dir, FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, geteuid, test_kill_process};

/// How the name of such a folder begins; the number of its process and a moment follow.
const PREFIX: &str = "pinwise-";

/// A control socket has to fit into sun_path: 108 bytes, of which ssh needs some for a name that it makes itself.
const LONGEST_PATH: usize = 48;

/// A folder for control sockets; it goes with this.
#[derive(Debug)]
pub(crate) struct ControlFolder {
    path: PathBuf,
    /// Open and locked, so that others see that its process lives, also where they cannot see that process; none where the file system has
    /// no locks.
    _lock: Option<OwnedFd>,
}

impl ControlFolder {
    /// Makes one below the folder `above`; none where its path would be too long for a socket. Those that killed processes of this user
    /// have left there are removed.
    ///
    /// # Errors
    /// It cannot be made.
    pub(crate) fn make(above: &Path) -> Result<Option<Self>, Fault> {
        let path = above.join(format!("{PREFIX}{}-{}", std::process::id(), load::monotonic_ns()));
        if path.as_os_str().len() > LONGEST_PATH {
            return Ok(None);
        }
        sweep(above);
        rustix::fs::mkdir(&path, Mode::from_raw_mode(0o700)).map_err(|error| {
            Fault::io(path.display(), &error.into(), "set TMPDIR to a folder that you may write to")
        })?;
        let lock = locked(&path).ok();
        Ok(Some(Self { path, _lock: lock }))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for ControlFolder {
    fn drop(&mut self) {
        // The masters end by themselves when nobody has used them for a while.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Removes what processes that were killed have left.
fn sweep(above: &Path) {
    let Ok(entries) = std::fs::read_dir(above) else { return };
    for entry in entries.flatten() {
        if entry.file_name().to_str().and_then(process_of).is_some_and(is_gone) {
            // What cannot be removed is in nobody's way.
            let _ = remove(&entry.path());
        }
    }
}

/// The process that has made a folder of this name.
fn process_of(name: &str) -> Option<Pid> {
    let (process, moment) = name.strip_prefix(PREFIX)?.split_once('-')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(process) || !is_number(moment) {
        return None;
    }
    Pid::from_raw(process.parse().ok()?)
}

fn is_gone(process: Pid) -> bool {
    test_kill_process(process) == Err(Errno::SRCH)
}

/// Opens a folder, not through a link, and takes its lock.
fn locked(path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = rustix::fs::open(path, flags, Mode::empty())?;
    rustix::fs::flock(&folder, FlockOperation::NonBlockingLockExclusive)?;
    Ok(folder)
}

/// Removes a folder of this user alone that nobody has locked and that holds nothing but sockets; any other stays.
fn remove(path: &Path) -> rustix::io::Result<()> {
    let folder = locked(path)?;
    let about = rustix::fs::fstat(&folder)?;
    if about.st_uid != geteuid().as_raw() || about.st_mode & 0o7777 != 0o700 {
        return Ok(());
    }
    let mut sockets: Vec<CString> = Vec::new();
    for entry in Dir::read_from(&folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        let about = rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if !FileType::from_raw_mode(about.st_mode).is_socket() {
            return Ok(());
        }
        sockets.push(name.to_owned());
    }
    for name in &sockets {
        rustix::fs::unlinkat(&folder, name.as_c_str(), AtFlags::empty())?;
    }
    rustix::fs::rmdir(path)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::os::unix::net::UnixListener;

    use super::*;

    /// More than the kernel ever gives.
    const GONE: i32 = i32::MAX;

    fn names(above: &Path) -> BTreeSet<String> {
        fs::read_dir(above).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn it_is_ours_alone_locked_and_goes() {
        let above = tempfile::tempdir().unwrap();
        let Some(folder) = ControlFolder::make(above.path()).unwrap() else {
            return eprintln!("skipped: TMPDIR is too long for control sockets");
        };
        let path = folder.path().to_path_buf();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o700);
        assert_eq!(remove(&path), Err(Errno::AGAIN), "its process lives");
        drop(folder);
        assert!(names(above.path()).is_empty());
    }

    #[test]
    fn only_what_a_killed_process_left_there_is_removed() {
        let above = tempfile::tempdir().unwrap();
        let at = |name: &str| above.path().join(name);
        let own = std::process::id();
        let [empty, used, with_file, open_to_all, link] =
            [1, 2, 3, 4, 5].map(|moment| format!("pinwise-{GONE}-{moment}"));
        let others =
            [format!("pinwise-{own}-1"), format!("pinwise-fleet-{GONE}-1"), "pinwise-x-1".to_string()];
        for name in [&empty, &used, &with_file, &open_to_all].into_iter().chain(&others) {
            fs::create_dir(at(name)).unwrap();
            fs::set_permissions(at(name), fs::Permissions::from_mode(0o700)).unwrap();
        }
        fs::set_permissions(at(&open_to_all), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(at(&with_file).join("notes"), "mine").unwrap();
        symlink(at(&others[2]), at(&link)).unwrap();
        drop(UnixListener::bind(at(&used).join("s")).unwrap());
        sweep(above.path());
        let kept: BTreeSet<String> = [with_file, open_to_all, link].into_iter().chain(others).collect();
        assert_eq!(names(above.path()), kept);
    }

    #[test]
    fn names_of_another_form_are_those_of_others() {
        for name in
            ["pinwise-1", "pinwise--1", "pinwise-1-", "pinwise-0-1", "pinwise-+1-1", "pinwise-1-1x", "x-1-1"]
        {
            assert_eq!(process_of(name), None, "{name}");
        }
        assert_eq!(process_of("pinwise-99999999999-1"), None);
        assert_eq!(process_of("pinwise-7-1"), Pid::from_raw(7));
    }
}
