//! The file that `pinwise apply` reads a plan from: in a folder that nobody else may enter, and gone when the verb has ended.
//!
//! The server holds a lock on it. The kernel lets go of that when the server is killed, so that the next one to start knows which files nobody
//! needs any more.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use change::ledger::state_dir;
use machine::own_folder::{OwnFolder, Reach};
use machine::{Class, Fault};
use rustix::fs::{FlockOperation, flock};

use super::super::access::HEX_DIGITS;

/// The folder, in that of pinwise's state.
const FOLDER: &str = "serve";

const REMEDY: &str = "free space, or set PINWISE_STATE_DIR to a folder on a disk that you may write to";

/// The digits of the random id of a plan.
const DIGITS: usize = HEX_DIGITS;

/// The file; it is removed when this is dropped.
#[derive(Debug)]
pub(super) struct PlanFile {
    folder: OwnFolder,
    name: String,
    /// Open, with the lock.
    locked: File,
}

/// Removes the files of servers that were killed, and returns how many there were. Files of servers that run, and whatever else is in the
/// folder, stay. Where the folder cannot be looked at nothing is done: writing the next plan says why.
pub(super) fn sweep() -> usize {
    state_dir().map_or(0, |state| sweep_in(&state.join(FOLDER)))
}

fn sweep_in(folder: &Path) -> usize {
    let Ok(folder) = OwnFolder::open(folder) else { return 0 };
    let names = folder.names().unwrap_or_default();
    let plans = names.iter().filter_map(|name| name.to_str()).filter(|name| is_of_a_plan(name));
    plans.filter(|name| is_removed(&folder, name)).count()
}

/// Removes a file that no server needs, and returns whether it did. A link is refused, and so is a file of others or with a second name.
fn is_removed(folder: &OwnFolder, name: &str) -> bool {
    // Who gets the lock knows that no server has it, and holds it until the file is gone.
    let locked = folder.append(name).ok().filter(|file| take_lock(file).is_ok());
    locked.is_some_and(|_locked| folder.remove(name).is_ok())
}

/// Takes the lock of an open file that still has its name: a server that has removed it may have made another one of that name.
///
/// # Errors
/// `WouldBlock` where somebody has it; `NotFound` where it has been removed; the file system has no locks.
fn take_lock(file: &File) -> io::Result<()> {
    flock(file, FlockOperation::NonBlockingLockExclusive)?;
    match file.metadata()?.nlink() {
        0 => Err(io::ErrorKind::NotFound.into()),
        _ => Ok(()),
    }
}

/// Whether a file of this name is one that a server has written.
fn is_of_a_plan(name: &str) -> bool {
    let id = name.strip_prefix("plan-").and_then(|rest| rest.strip_suffix(".toml"));
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    id.is_some_and(|id| id.len() == DIGITS && id.bytes().all(is_digit))
}

impl PlanFile {
    /// Writes the text of the plan of this id.
    ///
    /// # Errors
    /// The folder belongs to another user or cannot be made; the file cannot be written.
    pub(super) fn write(id: &str, text: &str) -> Result<Self, Fault> {
        Self::write_in(&state_dir()?.join(FOLDER), id, text)
    }

    fn write_in(folder: &Path, id: &str, text: &str) -> Result<Self, Fault> {
        let (folder, name) = (OwnFolder::make(folder, Reach::Owner)?, format!("plan-{id}.toml"));
        let path = folder.path().join(&name);
        let fault = |error: io::Error| Fault::io(path.display(), &error, REMEDY);
        let to = folder.create(&name).map_err(fault)?;
        let mut file = Self { folder, name, locked: to };
        file.lock().map_err(fault)?;
        file.locked.write_all(text.as_bytes()).map_err(fault)?;
        Ok(file)
    }

    /// Takes the lock.
    ///
    /// # Errors
    /// A server that starts at this very moment has taken the file for a forgotten one; the file system has no locks.
    fn lock(&self) -> io::Result<()> {
        take_lock(&self.locked).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::NotFound => {
                let why = "another pinwise serve has just started and taken it for a leftover: try again";
                io::Error::new(error.kind(), why)
            }
            _ => error,
        })
    }

    /// Its path, as an argument.
    ///
    /// # Errors
    /// It is not UTF-8.
    pub(super) fn path(&self) -> Result<String, Fault> {
        let path = self.folder.path().join(&self.name);
        let cause = "the path is not UTF-8";
        path.into_os_string()
            .into_string()
            .map_err(|path| Fault::new(Class::Storage, path.display(), cause, REMEDY))
    }
}

impl Drop for PlanFile {
    fn drop(&mut self) {
        let _ = self.folder.remove(&self.name);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn it_is_nobody_elses_to_read_and_goes_when_it_has_been_read() {
        let above = tempfile::tempdir().unwrap();
        let folder = above.path().join(FOLDER);
        let file = PlanFile::write_in(&folder, "7", "[[setting]]\n").unwrap();
        let path = file.path().unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&folder), mode(Path::new(&path))), (0o700, 0o600));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "[[setting]]\n");
        drop(file);
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
    }

    #[test]
    fn only_files_of_servers_that_are_gone_are_swept() {
        let above = tempfile::tempdir().unwrap();
        let folder = above.path().join(FOLDER);
        assert_eq!(sweep_in(&folder), 0, "it is not there yet");
        let id = |digit: &str| digit.repeat(DIGITS);
        let of_a_living = PlanFile::write_in(&folder, &id("a"), "[[setting]]\n").unwrap();
        let of_a_killed = PlanFile::write_in(&folder, &id("b"), "[[setting]]\n").unwrap();
        // As a kill does: the kernel closes the file, and nobody removes it.
        let name = of_a_killed.name.clone();
        let killed = of_a_killed.path().unwrap();
        drop(of_a_killed);
        std::fs::write(&killed, "[[setting]]\n").unwrap();
        let others = [
            "plan-7.toml".to_string(),
            format!("plan-{}.toml", id("g")),
            format!("plan-{}.toml.bak", id("c")),
            format!("xplan-{}.toml", id("c")),
            "ledger".into(),
        ];
        for other in &others {
            std::fs::write(folder.join(other), "precious").unwrap();
        }
        let precious = above.path().join("precious");
        std::fs::write(&precious, "precious").unwrap();
        let link = folder.join(format!("plan-{}.toml", id("d")));
        symlink(&precious, &link).unwrap();
        let second_name = folder.join(format!("plan-{}.toml", id("e")));
        std::fs::hard_link(&precious, &second_name).unwrap();
        assert_eq!(sweep_in(&folder), 1);
        assert!(!folder.join(&name).exists(), "{name}");
        assert!(Path::new(&of_a_living.path().unwrap()).exists());
        assert!(others.iter().all(|other| folder.join(other).exists()));
        assert!(link.is_symlink() && second_name.exists());
        assert_eq!(std::fs::read_to_string(&precious).unwrap(), "precious");
    }

    #[test]
    fn the_lock_is_that_of_a_file_which_has_its_name() {
        let above = tempfile::tempdir().unwrap();
        let path = above.path().join("plan");
        let open = || File::options().append(true).create(true).open(&path).unwrap();
        let (file, other) = (open(), open());
        take_lock(&file).unwrap();
        assert_eq!(take_lock(&other).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        // As a server does that has come to its end with it, before it makes the next one.
        std::fs::remove_file(&path).unwrap();
        drop(file);
        std::fs::write(&path, "[[setting]]\n").unwrap();
        assert_eq!(take_lock(&other).unwrap_err().kind(), io::ErrorKind::NotFound);
        take_lock(&File::open(&path).unwrap()).unwrap();
    }

    #[test]
    fn a_folder_of_somebody_else_is_not_swept() {
        use std::os::unix::fs::chown;
        if !rustix::process::geteuid().is_root() {
            return eprintln!("skipped: only root gives a folder to somebody else");
        }
        let above = tempfile::tempdir().unwrap();
        let real = above.path().join("real");
        std::fs::create_dir(&real).unwrap();
        let plan = real.join(format!("plan-{}.toml", "a".repeat(DIGITS)));
        std::fs::write(&plan, "precious").unwrap();
        chown(&real, Some(65534), None).unwrap();
        assert_eq!(sweep_in(&real), 0);
        assert!(plan.exists());
    }

    #[test]
    fn what_is_there_already_is_neither_written_to_nor_removed() {
        let above = tempfile::tempdir().unwrap();
        let (folder, precious) = (above.path().join(FOLDER), above.path().join("precious"));
        std::fs::write(&precious, "precious").unwrap();
        drop(OwnFolder::make(&folder, Reach::Owner).unwrap());
        symlink(&precious, folder.join("plan-7.toml")).unwrap();
        let fault = PlanFile::write_in(&folder, "7", "[[setting]]\n").unwrap_err();
        assert!(fault.object.ends_with("plan-7.toml"), "{fault}");
        assert!(folder.join("plan-7.toml").is_symlink());
        assert_eq!(std::fs::read_to_string(&precious).unwrap(), "precious");
    }
}
