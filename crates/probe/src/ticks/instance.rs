//! An instance of tracefs of our own (Documentation/trace/ftrace.rst, "Instances"): a folder in which events can be
//! counted without touching what anybody else traces.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use machine::{Missing, ReadError};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

/// Where tracefs is mounted: by itself, or below debugfs as on older systems.
const MOUNTS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// What names of instances of ours begin with; the process number and a serial number follow.
const PREFIX: &str = "pinwise-";

/// Held while an instance is made, so that no other thread sweeps it in between.
static MAKING: Mutex<()> = Mutex::new(());

/// Number of the next instance of this process.
static SERIAL: AtomicU32 = AtomicU32::new(0);

/// The folder in which tracefs is mounted.
pub(super) fn tracefs() -> Result<PathBuf, Missing> {
    let mut failed = None;
    for mount in MOUNTS {
        match fs::metadata(format!("{mount}/instances")) {
            Ok(_) => return Ok(mount.into()),
            Err(e) if e.kind() == ErrorKind::PermissionDenied => failed = Some(missing(Path::new(mount), &e)),
            Err(_) => {}
        }
    }
    Err(failed.unwrap_or_else(|| {
        Missing::new(
            MOUNTS[0],
            "tracefs is not mounted - mount -t tracefs tracefs /sys/kernel/tracing (root)",
        )
    }))
}

/// Named `pinwise-PID-N`; removed when it is dropped. While its process lives the kernel itself refuses to remove it,
/// because a file of it is open.
#[derive(Debug)]
pub(super) struct Instance {
    path: PathBuf,
    held: Option<File>,
}

impl Instance {
    /// Makes one below `tracefs`, after it has removed those of processes that were killed.
    ///
    /// Its ring buffer is made as small as the kernel allows: it stays empty. For a moment the kernel takes what it
    /// takes for any instance, 1.4 MB an online CPU; where there is not enough memory it refuses.
    pub fn make(tracefs: &Path) -> Result<Self, Missing> {
        let _alone = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
        let instances = tracefs.join("instances");
        sweep(&instances);
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let path = instances.join(format!("{PREFIX}{}-{serial}", std::process::id()));
        fs::create_dir(&path).map_err(|e| missing(&path, &e))?;
        let mut instance = Self { path, held: None };
        let hold = instance.path.join("tracing_on");
        instance.held = Some(File::open(&hold).map_err(|e| missing(&hold, &e))?);
        // Not worth a word when it is refused: the buffer is then larger than it need be, for as long as we count.
        let _ = instance.write("buffer_size_kb", "1");
        Ok(instance)
    }

    /// Writes a line into a file of the instance, in one write(2).
    pub fn write(&self, file: &str, line: &str) -> io::Result<()> {
        // Opened to write only, never made: a file that is not there is an error.
        let mut open = fs::OpenOptions::new().write(true).open(self.path.join(file))?;
        io::Write::write_all(&mut open, format!("{line}\n").as_bytes())
    }

    /// The path of a file of the instance.
    pub fn file(&self, file: &str) -> PathBuf {
        self.path.join(file)
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.held = None;
        // If it fails, the next start sweeps it: nobody here could report it.
        let _ = fs::remove_dir(&self.path);
    }
}

/// Removes instances of ours whose process is gone. One in use stays: the kernel refuses (EBUSY).
fn sweep(instances: &Path) {
    let Ok(entries) = fs::read_dir(instances) else { return };
    for entry in entries.flatten() {
        let of = entry.file_name().to_str().and_then(owner);
        if of.is_some_and(|pid| pid == std::process::id() || is_gone(pid)) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// The process that made an instance of this name; `None` for those of other programs.
fn owner(name: &str) -> Option<u32> {
    let rest = name.strip_prefix(PREFIX)?;
    let (pid, serial) = rest.split_once('-')?;
    serial.parse::<u32>().ok()?;
    pid.parse().ok()
}

fn is_gone(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_none_or(|pid| test_kill_process(pid) == Err(Errno::SRCH))
}

/// A file operation that failed, with what can be done.
pub(super) fn missing(path: &Path, error: &io::Error) -> Missing {
    let why = ReadError::from_io(path, error);
    match why.remedy() {
        "" => Missing::new(path.display(), &why.why),
        remedy => Missing::new(path.display(), format_args!("{} - {remedy}", why.why)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Past the highest number that a kernel gives (PID_MAX_LIMIT, 2^22).
    const NOBODY: u32 = 4_194_305;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap().flatten();
        let mut names: Vec<String> = entries.map(|e| e.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn those_of_dead_processes_are_swept_and_no_others() {
        let (tracefs, own) = (tempfile::tempdir().unwrap(), std::process::id());
        let instances = tracefs.path().join("instances");
        for name in [format!("{PREFIX}{NOBODY}-0"), format!("{PREFIX}{own}-77")] {
            fs::create_dir_all(instances.join(name)).unwrap();
        }
        let others = ["pinwise-1-0", "pinwise-notes", "pinwise-4194305-old", "someone"];
        for name in others {
            fs::create_dir(instances.join(name)).unwrap();
        }
        sweep(&instances);
        let mut left = others.to_vec();
        left.sort_unstable();
        assert_eq!(names(&instances), left);
    }

    #[test]
    fn a_folder_that_is_no_tracefs_is_named_and_left_as_it_was() {
        let tracefs = tempfile::tempdir().unwrap();
        let none = Instance::make(tracefs.path()).unwrap_err();
        assert!(none.why.contains("no such file"), "{none:?}");
        fs::create_dir(tracefs.path().join("instances")).unwrap();
        let missing = Instance::make(tracefs.path()).unwrap_err();
        assert!(missing.fact.ends_with("/tracing_on"), "{missing:?}");
        assert!(names(&tracefs.path().join("instances")).is_empty());
    }

    #[test]
    fn a_refusal_says_what_to_do() {
        let denied = missing(Path::new("/x"), &io::Error::from(Errno::ACCESS));
        assert_eq!(denied.why, "permission denied - run as root, outside of a container");
    }
}
