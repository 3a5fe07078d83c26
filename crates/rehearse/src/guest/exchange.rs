//! Files that go into a guest and come back. A guest is not trusted: what it leaves is opened without following links,
//! must be plain, and is read up to a bound.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use machine::{Class, Fault};
use rustix::fs::{Mode, OFlags};

use crate::cache::storage;

/// Most that is read of what a command prints, or of one file: more is no answer, but a disk filling up.
pub(super) const MOST_BYTES: u64 = 64 << 20;

/// Opens a plain file that a guest may have written.
pub(super) fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "is no plain file")),
    }
}

/// Reads a file that a guest may have written.
pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(MOST_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The same as text; what is no UTF-8 is marked.
pub(super) fn read_text(path: &Path) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&read(path)?).into_owned())
}

/// Copies a file or folder of this machine into `folder`, under its own name. Links in it stay links.
///
/// # Errors
/// When it cannot be read, has no name of its own (`/`), or holds what is neither a file, a folder nor a link.
pub(super) fn copy_in(from: &Path, folder: &Path) -> Result<(), Fault> {
    let whole = from.canonicalize().map_err(|e| unreadable(from, &e))?;
    let Some(name) = whole.file_name() else {
        return Err(Fault::new(
            Class::Usage,
            from.display(),
            "is the root of all files",
            "name a folder below it",
        ));
    };
    copy(&whole, &folder.join(name))
}

fn unreadable(path: &Path, error: &io::Error) -> Fault {
    Fault::io(path.display(), error, "name a file or folder that can be read")
}

fn copy(from: &Path, to: &Path) -> Result<(), Fault> {
    let kind = fs::symlink_metadata(from).map_err(|e| unreadable(from, &e))?.file_type();
    if kind.is_symlink() {
        let target = fs::read_link(from).map_err(|e| unreadable(from, &e))?;
        return std::os::unix::fs::symlink(target, to).map_err(|e| storage(to, &e));
    }
    if kind.is_dir() {
        fs::create_dir_all(to).map_err(|e| storage(to, &e))?;
        for entry in fs::read_dir(from).map_err(|e| unreadable(from, &e))? {
            let entry = entry.map_err(|e| unreadable(from, &e))?;
            copy(&entry.path(), &to.join(entry.file_name()))?;
        }
        return Ok(());
    }
    let mut source = open(from).map_err(|e| unreadable(from, &e))?;
    let mode = source.metadata().map_err(|e| unreadable(from, &e))?.permissions();
    let mut copied = File::create_new(to).map_err(|e| storage(to, &e))?;
    io::copy(&mut source, &mut copied).map_err(|e| storage(to, &e))?;
    fs::set_permissions(to, mode).map_err(|e| storage(to, &e))
}

/// Copies what a guest left into a folder of this machine, as plain files with an ordinary mode. Gives the names of
/// what was neither a file nor a folder, and was left.
///
/// # Errors
/// When a file cannot be read or written.
pub(super) fn copy_out(from: &Path, to: &Path) -> Result<Vec<PathBuf>, Fault> {
    let mut left = Vec::new();
    let failed =
        |path: &Path, e: &io::Error| Fault::io(path.display(), e, "name a folder that you may write");
    fs::create_dir_all(to).map_err(|e| failed(to, &e))?;
    for entry in fs::read_dir(from).map_err(|e| failed(from, &e))?.flatten() {
        let [inside, outside] = [entry.path(), to.join(entry.file_name())];
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => left.extend(copy_out(&inside, &outside)?),
            Ok(kind) if kind.is_file() => {
                let mut source = open(&inside).map_err(|e| failed(&inside, &e))?;
                // A link that stands where the file is to be would lead elsewhere.
                let _ = fs::remove_file(&outside);
                let mut copied = File::create_new(&outside).map_err(|e| failed(&outside, &e))?;
                io::copy(&mut source, &mut copied).map_err(|e| failed(&outside, &e))?;
            }
            _ => left.push(inside),
        }
    }
    Ok(left)
}

/// Reads what is added to a file of a guest.
pub(super) struct Follow {
    path: PathBuf,
    at: u64,
}

impl Follow {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, at: 0 }
    }

    /// Hands on what was added; false when there was more than may be.
    pub(super) fn read(&mut self, mut on_bytes: impl FnMut(&[u8])) -> bool {
        let mut added = Vec::new();
        let read = open(&self.path).and_then(|mut file| {
            file.seek(SeekFrom::Start(self.at))?;
            file.take(MOST_BYTES).read_to_end(&mut added)
        });
        if read.is_ok() && !added.is_empty() {
            self.at += added.len() as u64;
            on_bytes(&added);
        }
        self.at < MOST_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_pipes_and_folders_are_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("secret"), "s").unwrap();
        std::os::unix::fs::symlink(path("secret"), path("link")).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            path("pipe"),
            rustix::fs::FileType::Fifo,
            Mode::RUSR | Mode::WUSR,
            0,
        )
        .unwrap();
        assert_eq!(read(&path("secret")).unwrap(), b"s");
        for name in ["link", "pipe", "."] {
            assert!(read(&path(name)).is_err(), "{name}");
        }
    }

    #[test]
    fn what_has_no_name_of_its_own_gets_its_real_one_and_originals_stay() {
        let folder = tempfile::tempdir().unwrap();
        let [from, to] = ["from", "to"].map(|name| folder.path().join(name));
        fs::create_dir_all(from.join("deep")).unwrap();
        fs::create_dir(&to).unwrap();
        fs::write(from.join("f"), "text").unwrap();
        std::os::unix::fs::symlink(".", from.join("loop")).unwrap();
        copy_in(&from.join("deep/.."), &to).unwrap();
        assert_eq!(fs::read(to.join("from/f")).unwrap(), b"text");
        assert_eq!(fs::read(from.join("f")).unwrap(), b"text");
        assert!(fs::symlink_metadata(to.join("from/loop")).unwrap().is_symlink());
        assert!(copy_in(Path::new("/"), &to).unwrap_err().to_string().contains("root of all files"));
        assert!(copy_in(Path::new("/dev/null"), &to).is_err());
    }

    #[test]
    fn what_comes_back_is_plain() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let [from, to] = ["from", "to"].map(|name| folder.path().join(name));
        fs::create_dir(&from).unwrap();
        fs::write(from.join("tool"), "x").unwrap();
        fs::set_permissions(from.join("tool"), fs::Permissions::from_mode(0o4755)).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", from.join("link")).unwrap();
        let left = copy_out(&from, &to).unwrap();
        assert_eq!(left, [from.join("link")]);
        assert_eq!(fs::metadata(to.join("tool")).unwrap().permissions().mode() & 0o7111, 0);
    }
}
