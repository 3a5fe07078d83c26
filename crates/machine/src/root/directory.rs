//! A directory that holds the /sys and /proc of another machine.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::live::not_a_link;
use super::{ReadError, Source, descriptor, paths};
use crate::{Class, Fault, untrusted};

/// Most names in one folder. The captures that the tests read have 1042, /proc of a machine with a hundred thousand
/// processes as many.
const MOST_NAMES: usize = 1_000_000;

/// Files below one directory, opened with openat2(2) and RESOLVE_IN_ROOT: `/` in links means that directory. Only regular
/// files are opened at all ([`foreign`]).
pub(super) struct Directory {
    root: OwnedFd,
}

impl Directory {
    /// Opens the directory; a fault when that fails or the kernel has no openat2 (before 5.6).
    pub(super) fn open(path: &Path) -> Result<Self, Fault> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::openat(CWD, path, flags, Mode::empty())
            .map_err(|e| Fault::io(path.display(), &e.into(), "check the path"))?;
        let directory = Self { root };
        match directory.open_below("/", OFlags::PATH) {
            Err(Errno::NOSYS | Errno::PERM) => Err(Fault::new(
                Class::MachineLacks,
                path.display(),
                "this kernel or container has no openat2(2), without which links could lead out of the directory",
                "pack the directory as .tar.gz and give that file",
            )),
            _ => Ok(directory),
        }
    }

    /// The same for a folder right below it, which no link may stand for.
    pub(super) fn into_folder(self, name: &str) -> Result<Self, Fault> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW;
        let root = self.open_below(name, flags).map_err(|e| Fault::io(name, &e.into(), "check the path"))?;
        Ok(Self { root })
    }

    fn open_file(&self, path: &str) -> Result<OwnedFd, ReadError> {
        let place = self.open_below(path, OFlags::PATH);
        place.and_then(untrusted::file::open_place).map_err(|e| refused(path, e))
    }

    fn open_below(&self, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
        // RESOLVE_IN_ROOT fails with EAGAIN when something is renamed meanwhile; the manual says to try again.
        let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        for _ in 0..16 {
            match rustix::fs::openat2(&self.root, path, flags | OFlags::CLOEXEC, Mode::empty(), resolve) {
                Err(Errno::AGAIN) => continue,
                other => return other,
            }
        }
        Err(Errno::AGAIN)
    }
}

impl Source for Directory {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        descriptor::content(self.open_file(path)?, path).map_err(|e| refused(path, e))
    }

    fn open(&self, path: &str) -> Result<Option<File>, ReadError> {
        let file = File::from(self.open_file(path)?);
        let length = file.metadata().map_err(|e| ReadError::from_io(path, &e))?.len();
        match length > descriptor::MOST_BYTES as u64 {
            true => Err(refused(path, Errno::FBIG)),
            false => Ok(Some(file)),
        }
    }

    fn list(&self, path: &str) -> Result<Vec<String>, ReadError> {
        let folder = self.open_below(path, OFlags::RDONLY | OFlags::DIRECTORY);
        folder.and_then(|folder| descriptor::names(folder, MOST_NAMES)).map_err(|e| match e {
            Errno::FBIG => {
                ReadError::malformed(path, format!("there are more than {MOST_NAMES} names in it"))
            }
            e => ReadError::from_io(path, &e.into()),
        })
    }

    fn resolve(&self, path: &str) -> Result<String, ReadError> {
        let error = |e: Errno| ReadError::from_io(path, &e.into());
        let place = self.open_below(path, OFlags::PATH).map_err(error)?;
        let below = descriptor::place(&place).zip(descriptor::place(&self.root)).and_then(|(place, root)| {
            let below = place.strip_prefix(root.trim_end_matches('/'))?;
            match below {
                "" => Some("/".to_string()),
                _ => below.starts_with('/').then(|| below.to_string()),
            }
        });
        match below {
            Some(place) => Ok(place),
            // The directory was moved meanwhile, or there is no /proc.
            None => paths::resolve(path, |prefix| self.link(prefix).ok(), |whole| self.exists(whole)),
        }
    }

    fn link(&self, path: &str) -> Result<String, ReadError> {
        let fd = self
            .open_below(path, OFlags::PATH | OFlags::NOFOLLOW)
            .map_err(|e| ReadError::from_io(path, &e.into()))?;
        let target = rustix::fs::readlinkat(&fd, c"", Vec::new()).map_err(|e| match e {
            // On the descriptor of something that is no link the answer is ENOENT instead of EINVAL.
            Errno::NOENT => not_a_link(path, &Errno::INVAL.into()),
            e => not_a_link(path, &e.into()),
        })?;
        target.into_string().map_err(|_| ReadError::malformed(path, "its target is not UTF-8"))
    }

    fn exists(&self, path: &str) -> bool {
        self.open_below(path, OFlags::PATH).is_ok()
    }

    fn fact(&self, name: &str) -> Result<String, ReadError> {
        Err(ReadError::absent(name, "only the running system and captures know it"))
    }
}

/// Why a file is not read.
fn refused(path: &str, error: Errno) -> ReadError {
    match error {
        Errno::NOTSUP => ReadError::malformed(path, untrusted::file::NOT_REGULAR),
        Errno::FBIG => {
            let why =
                format!("the file is too large: it is longer than {} MiB", descriptor::MOST_BYTES >> 20);
            ReadError::malformed(path, why)
        }
        e => ReadError::from_io(path, &e.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absolute_links_stay_inside_and_kinds_stay_apart() {
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("secret"), "outside").unwrap();
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("sys/class")).unwrap();
        std::fs::write(dir.path().join("sys/x"), "inside").unwrap();
        let link = |to: &Path, name: &str| std::os::unix::fs::symlink(to, dir.path().join(name)).unwrap();
        link(Path::new("/sys/x"), "absolute");
        link(Path::new("../../../../sys/x"), "upwards");
        link(&outside.path().join("secret"), "out");
        link(Path::new("round"), "round");

        let root = Directory::open(dir.path()).unwrap();
        assert_eq!(root.read("/absolute").unwrap(), b"inside");
        assert_eq!(root.read("/upwards").unwrap(), b"inside");
        assert!(root.read("/out").unwrap_err().is_absent());
        assert!(root.read("/round").is_err());
        assert!(root.read("/sys").is_err(), "a directory is not a file");
        assert_eq!(root.link("/absolute").unwrap(), "/sys/x");
        assert!(root.link("/sys/x").unwrap_err().is_absent());
        assert_eq!(root.resolve("/upwards").unwrap(), "/sys/x");
        let mut names = root.list("/sys").unwrap();
        names.sort();
        assert_eq!(names, ["class", "x"]);
        assert!(root.exists("/sys/class") && !root.exists("/sys/none"));
    }
}
