//! Files that somebody else may have made: they are opened so that nothing can hang or act, and read up to a bound.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

/// Opens a regular file that the user named; a link is followed, as the user may have named one.
///
/// # Errors
/// Those of open(2); `InvalidInput` for a device, a pipe or a socket, which is not opened; `IsADirectory`.
pub fn open_named(path: &Path) -> io::Result<File> {
    regular(path, OFlags::CLOEXEC)
}

/// Opens a regular file in a folder that others may write to. A link is refused, as it could lead anywhere.
///
/// # Errors
/// As for [`open_named`]; `InvalidInput` for a link, too.
pub fn open_found(path: &Path) -> io::Result<File> {
    regular(path, OFlags::NOFOLLOW | OFlags::CLOEXEC)
}

/// Reads a regular file that the user named, of at most `most_bytes`.
///
/// # Errors
/// As for [`open_named`]; `FileTooLarge` where it is longer.
pub fn read_named(path: &Path, most_bytes: u64) -> io::Result<Vec<u8>> {
    read_open(open_named(path)?, most_bytes)
}

/// Reads a regular file in a folder that others may write to, of at most `most_bytes`.
///
/// # Errors
/// As for [`open_found`]; `FileTooLarge` where it is longer.
pub fn read_found(path: &Path, most_bytes: u64) -> io::Result<Vec<u8>> {
    read_open(open_found(path)?, most_bytes)
}

/// Reads text from a file that the user named, which may also be a pipe, of at most `most_bytes`.
///
/// # Errors
/// Those of open(2) and read(2); `FileTooLarge` where it is longer, as a device without end is; `InvalidData` for what is no UTF-8.
pub fn read_text(path: &Path, most_bytes: u64) -> io::Result<String> {
    let content = read_open(File::open(path)?, most_bytes)?;
    String::from_utf8(content).map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e))
}

/// The rest of an open file, of at most `most_bytes`; `FileTooLarge` where it is longer. The length that the file system
/// reports is not enough: in /proc it is 0, and a file can grow.
pub(crate) fn read_open(file: File, most_bytes: u64) -> io::Result<Vec<u8>> {
    let too_long =
        || io::Error::new(io::ErrorKind::FileTooLarge, format!("it is longer than {most_bytes} bytes"));
    // Where a length is known, nothing is read in vain.
    if file.metadata()?.len() > most_bytes {
        return Err(too_long());
    }
    let mut content = Vec::new();
    file.take(most_bytes.saturating_add(1)).read_to_end(&mut content)?;
    if content.len() as u64 > most_bytes { Err(too_long()) } else { Ok(content) }
}

/// What is opened cannot make the reader wait, nor become its terminal.
const READING: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

fn regular(path: &Path, flags: OFlags) -> io::Result<File> {
    let place = rustix::fs::open(path, flags | OFlags::PATH, Mode::empty())?;
    match open_place(place) {
        // There is no /proc. What is put there in between does not block, either.
        Err(Errno::NOENT) => Ok(File::from(rustix::fs::open(path, flags | READING, Mode::empty())?)),
        Ok(file) => Ok(File::from(file)),
        Err(Errno::NOTSUP) => Err(io::Error::new(io::ErrorKind::InvalidInput, NOT_REGULAR)),
        Err(e) => Err(e.into()),
    }
}

/// Why a file is not opened, in words.
pub(crate) const NOT_REGULAR: &str =
    "it is not a regular file but a device, a pipe, a socket or a link; these are not read";

/// Opens for reading what a descriptor of `O_PATH` stands for, if it is a regular file: to open a device can act already,
/// and a pipe waits for its writer. Nobody can put something else in its place in between.
///
/// Errors: `NOTSUP` for what is none, `ISDIR` for a directory, and those of open(2).
pub(crate) fn open_place(place: impl AsFd) -> Result<OwnedFd, Errno> {
    let mode = rustix::fs::fstat(&place)?.st_mode;
    match FileType::from_raw_mode(mode) {
        FileType::RegularFile => {}
        FileType::Directory => return Err(Errno::ISDIR),
        _ => return Err(Errno::NOTSUP),
    }
    let own = format!("/proc/thread-self/fd/{}", place.as_fd().as_raw_fd());
    rustix::fs::open(own, READING | OFlags::CLOEXEC, Mode::empty())
}

#[cfg(test)]
mod tests {
    use rustix::fs::CWD;

    use super::*;

    #[test]
    fn only_regular_files_are_opened() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("file"), "text").unwrap();
        std::os::unix::fs::symlink("file", at("link")).unwrap();
        // Nobody writes into it: to open it in the usual way would never end.
        rustix::fs::mknodat(CWD, at("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        assert_eq!(read_named(&at("file"), 4).unwrap(), b"text");
        assert_eq!(read_named(&at("link"), 4).unwrap(), b"text");
        assert!(open_found(&at("file")).is_ok());
        let refused =
            |name: &str| [open_named(&at(name)), open_found(&at(name))].map(|file| file.unwrap_err().kind());
        assert_eq!(refused("pipe"), [io::ErrorKind::InvalidInput; 2]);
        assert_eq!(refused("socket"), [io::ErrorKind::InvalidInput; 2]);
        assert_eq!(refused("/dev/zero"), [io::ErrorKind::InvalidInput; 2]);
        assert_eq!(refused(""), [io::ErrorKind::IsADirectory; 2]);
        assert_eq!(refused("none"), [io::ErrorKind::NotFound; 2]);
        assert_eq!(open_found(&at("link")).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn a_file_is_read_up_to_its_bound() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sparse");
        File::create(&path).unwrap().set_len(1 << 40).unwrap();
        let error = read_named(&path, 4096).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        assert!(error.to_string().contains("4096 bytes"), "{error}");
        assert_eq!(read_text(Path::new("/dev/zero"), 4096).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert!(
            !read_named(Path::new("/proc/self/stat"), 4096).unwrap().is_empty(),
            "its length is reported as 0"
        );
    }
}
