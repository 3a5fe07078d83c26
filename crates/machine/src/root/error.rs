//! Why a file could not be read: absent, denied and malformed stay apart.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{Class, Fault};

/// What kind of failed read it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// There is no such file, directory or link.
    Absent,
    /// It is there and this process may not read it.
    Denied,
    /// It was read and does not say what it should.
    Malformed,
    /// Anything else: the driver answered with an error, the disk failed.
    Other,
}

/// A failed read. Its text names the path and, for refused ones, the remedy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadError {
    /// The path on the described machine, or the name of a fact that is no file.
    pub path: PathBuf,
    /// What kind of failure.
    pub kind: Cause,
    /// The cause in words, without the path.
    pub why: String,
}

impl ReadError {
    /// Nothing is there.
    pub fn absent(path: impl AsRef<Path>, why: impl fmt::Display) -> Self {
        Self::new(path, Cause::Absent, why)
    }

    /// It does not say what it should; `why` names what is wrong.
    pub fn malformed(path: impl AsRef<Path>, why: impl fmt::Display) -> Self {
        Self::new(path, Cause::Malformed, why)
    }

    /// A failed read of any kind.
    pub fn new(path: impl AsRef<Path>, kind: Cause, why: impl fmt::Display) -> Self {
        Self { path: path.as_ref().to_path_buf(), kind, why: why.to_string() }
    }

    /// What a failed system call means. ENODEV, ENXIO and ESRCH are `Absent` too: the file stands there, the device or
    /// the process behind it is gone.
    pub fn from_io(path: impl AsRef<Path>, error: &io::Error) -> Self {
        let (kind, why) = match rustix::io::Errno::from_io_error(error) {
            Some(rustix::io::Errno::NOENT) => (Cause::Absent, "there is no such file".to_string()),
            Some(rustix::io::Errno::NOTDIR) => (Cause::Absent, "it lies below a file".to_string()),
            Some(rustix::io::Errno::NODEV | rustix::io::Errno::NXIO) => {
                (Cause::Absent, "there is no device behind it".to_string())
            }
            // Files of a process that ended after they were opened (proc(5)).
            Some(rustix::io::Errno::SRCH) => (Cause::Absent, "the process has ended".to_string()),
            Some(rustix::io::Errno::ACCESS | rustix::io::Errno::PERM) => {
                (Cause::Denied, "permission denied".to_string())
            }
            _ => (Cause::Other, error.to_string()),
        };
        Self::new(path, kind, why)
    }

    /// Whether nothing is there.
    pub fn is_absent(&self) -> bool {
        self.kind == Cause::Absent
    }

    /// Whether this process may not read it.
    pub fn is_denied(&self) -> bool {
        self.kind == Cause::Denied
    }

    /// What the reader can do; empty when nothing can be done here.
    pub fn remedy(&self) -> &'static str {
        match self.kind {
            Cause::Denied => "run as root, outside of a container",
            Cause::Absent | Cause::Malformed | Cause::Other => "",
        }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.why)?;
        if !self.remedy().is_empty() {
            write!(f, " - {}", self.remedy())?;
        }
        Ok(())
    }
}

impl std::error::Error for ReadError {}

impl From<ReadError> for Fault {
    fn from(error: ReadError) -> Self {
        let (class, remedy) = match error.kind {
            Cause::Denied => (Class::NotPermitted, error.remedy()),
            Cause::Absent => (Class::MachineLacks, "this kernel or machine does not offer it"),
            Cause::Malformed => {
                (Class::Storage, "the file is damaged or of a kind that pinwise does not know")
            }
            Cause::Other => (Class::Storage, "see dmesg(1)"),
        };
        Fault::new(class, error.path.display(), &error.why, remedy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_denied_and_other_stay_apart() {
        let of = |errno| ReadError::from_io("/sys/x", &io::Error::from_raw_os_error(errno));
        assert_eq!(of(libc::ENOENT).kind, Cause::Absent);
        assert_eq!(of(libc::ENOTDIR).kind, Cause::Absent);
        assert_eq!(of(libc::ESRCH).kind, Cause::Absent);
        assert_eq!(of(libc::EACCES).kind, Cause::Denied);
        assert_eq!(of(libc::EPERM).kind, Cause::Denied);
        assert_eq!(of(libc::EINVAL).kind, Cause::Other);
    }

    #[test]
    fn a_refusal_names_path_and_remedy_and_becomes_a_fault() {
        let denied = ReadError::from_io("/proc/x", &io::Error::from_raw_os_error(libc::EACCES));
        assert_eq!(denied.to_string(), "/proc/x: permission denied - run as root, outside of a container");
        assert_eq!(Fault::from(denied.clone()).class, Class::NotPermitted);
        assert_eq!(Fault::from(ReadError::absent("/x", "no")).class, Class::MachineLacks);
        assert!(Fault::from(denied).to_string().contains("run as root"));
    }
}
