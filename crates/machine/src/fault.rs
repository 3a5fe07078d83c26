//! What every error of pinwise says: the object, the cause, the remedy - and which exit code it means.

use std::error::Error;
use std::fmt;
use std::io;
use std::sync::Arc;

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::Outside;

/// What kind of failure it is; the exit code of the binary follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// The answer is no (exit code 1).
    No,
    /// The request makes no sense: unknown key, malformed value, CPU that does not exist (exit code 2).
    Usage,
    /// The kernel or the file system refused for lack of privilege (exit code 3).
    NotPermitted,
    /// The machine does not have what the request needs (exit code 4).
    MachineLacks,
    /// The server or the load failed (exit code 5).
    WorkloadFailed,
    /// Reading or writing our own files failed: disk full, torn or malformed case (exit code 6).
    Storage,
    /// Stopped by a signal (Ctrl-C, SIGTERM, a closed terminal), and the machine is as it was (exit code 130).
    Interrupted,
}

impl Class {
    /// The process exit code, as documented in `pinwise --help`.
    pub fn exit_code(self) -> u8 {
        match self {
            Class::No => 1,
            Class::Usage => 2,
            Class::NotPermitted => 3,
            Class::MachineLacks => 4,
            Class::WorkloadFailed => 5,
            Class::Storage => 6,
            Class::Interrupted => 130,
        }
    }

    /// The class of a pinwise that ended with this exit code; `None` where no class has it.
    pub fn of_exit_code(code: i32) -> Option<Self> {
        let all = [
            Self::No,
            Self::Usage,
            Self::NotPermitted,
            Self::MachineLacks,
            Self::WorkloadFailed,
            Self::Storage,
            Self::Interrupted,
        ];
        all.into_iter().find(|class| i32::from(class.exit_code()) == code)
    }

    /// The class of the same failure where something of it is still in force: an interruption is none then.
    pub fn with_something_left(self) -> Self {
        match self {
            Class::Interrupted => Class::No,
            other => other,
        }
    }
}

/// The remedy of a failure that only a mistake in pinwise explains.
pub const IS_A_BUG: &str = "this is a bug in pinwise; please report it";

/// An error that a person can act on. Its text is `OBJECT: CAUSE` and, where there is one, ` - REMEDY`. All three quote text from outside,
/// which is kept as it is and escaped where the fault is displayed. A cause may have several lines (a parser's, the last of a log): those
/// after the first stand behind a bar.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// What kind of failure it is.
    pub class: Class,
    /// The file, CPU, process, key or command that it is about.
    pub object: String,
    /// What went wrong.
    pub cause: String,
    /// What the reader can do; empty only when nothing can be done.
    pub remedy: String,
    /// The error of the call or file operation below, where there was one; for programs, since `cause` says it.
    #[serde(skip)]
    pub source: Source,
}

/// The error of a system call or file operation that led to a fault. Two are equal that have the same kind and number.
#[derive(Debug, Clone, Default)]
pub struct Source(Option<Arc<io::Error>>);

impl Source {
    /// A copy: a fault keeps one, and an [`io::Error`] cannot be cloned.
    fn of(error: &io::Error) -> Self {
        let copy = match error.raw_os_error() {
            Some(errno) => io::Error::from_raw_os_error(errno),
            None => io::Error::new(error.kind(), error.to_string()),
        };
        Self(Some(Arc::new(copy)))
    }

    fn identity(&self) -> Option<(io::ErrorKind, Option<i32>)> {
        self.0.as_ref().map(|error| (error.kind(), error.raw_os_error()))
    }
}

impl PartialEq for Source {
    fn eq(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }
}

impl Eq for Source {}

impl Fault {
    /// A fault of `class` about `object`.
    pub fn new(
        class: Class,
        object: impl fmt::Display,
        cause: impl fmt::Display,
        remedy: impl Into<String>,
    ) -> Self {
        let (object, cause) = (object.to_string(), cause.to_string());
        Self { class, object, cause, remedy: remedy.into(), source: Source::default() }
    }

    /// The number of the system's error below, where there was one.
    pub fn errno(&self) -> Option<Errno> {
        self.source.0.as_ref()?.raw_os_error().map(Errno::from_raw_os_error)
    }

    /// A fault for a failed system call or file operation on `object`; permission errors get their own class, and a file that would
    /// grow beyond the limit on its size (EFBIG) the remedy that alone helps there.
    pub fn io(object: impl fmt::Display, error: &io::Error, remedy: impl Into<String>) -> Self {
        let class = match error.kind() {
            io::ErrorKind::PermissionDenied => Class::NotPermitted,
            _ => Class::Storage,
        };
        // Not by its kind, which a file that is too long to be read has as well.
        let remedy = match error.raw_os_error() == Some(Errno::FBIG.raw_os_error()) {
            true => "raise the limit on the size of files (ulimit -f; LimitFSIZE= of a unit)".into(),
            false => remedy.into(),
        };
        Self { source: Source::of(error), ..Self::new(class, object, error, remedy) }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", Outside(&self.object), Outside(&self.cause).barred())?;
        if !self.remedy.is_empty() {
            write!(f, " - {}", Outside(&self.remedy).barred())?;
        }
        Ok(())
    }
}

impl Error for Fault {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.0.as_deref().map(|error| error as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_names_object_cause_and_remedy() {
        let fault = Fault::new(Class::Usage, "--cpus 9", "CPU 9 does not exist", "choose from 0-1");
        assert_eq!(fault.to_string(), "--cpus 9: CPU 9 does not exist - choose from 0-1");
        assert_eq!(fault.class.exit_code(), 2);
    }

    #[test]
    fn what_a_fault_quotes_can_neither_drive_the_terminal_nor_look_like_a_line_of_ours() {
        let fault = Fault::new(Class::Storage, "a\nb", "its log\nerror: \x1b[2J", "rm 'a\nb'");
        assert_eq!(fault.to_string(), "a\\nb: its log\n  | error: \\u{1b}[2J - rm 'a\n  | b'");
        assert_eq!(fault.object, "a\nb");
    }

    #[test]
    fn a_permission_error_is_distinguished() {
        let denied = std::io::Error::from(std::io::ErrorKind::PermissionDenied);
        assert_eq!(Fault::io("/x", &denied, "run as root").class, Class::NotPermitted);
        let full = std::io::Error::from_raw_os_error(28);
        assert_eq!(Fault::io("/x", &full, "free space").class, Class::Storage);
    }

    #[test]
    fn what_lies_below_a_fault_is_kept_for_programs() {
        let fault = Fault::io("/x", &io::Error::from_raw_os_error(28), "free space");
        assert_eq!(
            (fault.errno(), fault.source().unwrap().to_string()),
            (Some(Errno::NOSPC), fault.cause.clone())
        );
        assert_eq!(fault, Fault::io("/x", &io::Error::from_raw_os_error(28), "free space"));
        assert_ne!(fault.source, Fault::io("/x", &io::Error::from_raw_os_error(5), "free space").source);
        assert!(Fault::new(Class::Usage, "--cpus", "empty", "").source().is_none());
    }

    #[test]
    fn a_file_that_is_too_large_asks_for_another_limit_and_a_full_disk_for_space() {
        let [too_large, full] = [27, 28].map(io::Error::from_raw_os_error);
        assert!(Fault::io("/x", &too_large, "free space").remedy.contains("ulimit -f"));
        assert_eq!(Fault::io("/x", &full, "free space").remedy, "free space");
        let long = io::Error::new(io::ErrorKind::FileTooLarge, "it is longer than 4096 bytes");
        assert_eq!(Fault::io("/x", &long, "name another").remedy, "name another");
    }

    #[test]
    fn an_exit_code_is_that_of_one_class_or_of_none() {
        for class in [Class::No, Class::Usage, Class::MachineLacks, Class::WorkloadFailed, Class::Interrupted]
        {
            assert_eq!(Class::of_exit_code(class.exit_code().into()), Some(class));
        }
        assert_eq!([0, 7, -1, 257].map(Class::of_exit_code), [None; 4]);
    }

    #[test]
    fn an_interruption_of_which_something_is_left_has_another_exit_code() {
        assert_eq!(Class::Interrupted.with_something_left(), Class::No);
        assert_eq!(Class::WorkloadFailed.with_something_left(), Class::WorkloadFailed);
    }
}
