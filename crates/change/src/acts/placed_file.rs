//! A file of our own among those that the platform reads.

use std::io;
use std::path::PathBuf;

use machine::act::platform_file::Notified;
use machine::{Act, Class, Fault, PlatformFile};

use super::operation::refusal::{Refusal, is_missing, is_permission};
use super::{Lifetime, Operation, TakenBack};
use crate::kernel::{self, Kernel};
use crate::record::{Entry, How, Value};
use crate::subject::Scope;

/// Places a file, and informs the program that reads it.
pub struct PlacedFile<'a> {
    pub file: &'a PlatformFile,
    pub content: &'a str,
}

impl PlacedFile<'_> {
    /// What is there, as the ledger keeps it.
    fn found(&self, kernel: &dyn Kernel) -> io::Result<Value> {
        Ok(match kernel.placed_file(self.file)? {
            kernel::PlacedFile::Placed(text) => Value::Text(text),
            kernel::PlacedFile::Missing { folders } => Value::Unplaced { folders },
        })
    }

    /// Removes it. The program that reads it is informed even when it is gone: an undo that was cut short may not have come to that.
    fn displace(&self, kernel: &dyn Kernel, entry: &Entry, force: bool) -> How {
        let folders: &[PathBuf] = match &entry.old {
            Value::Unplaced { folders } => folders,
            _ => &[],
        };
        let now = match self.found(kernel) {
            Ok(now) => now,
            Err(error) => return How::Refused { why: error.to_string() },
        };
        let there = matches!(now, Value::Text(_));
        if there && !force && !self.took_effect(&now) {
            return How::Conflict { now: Value::Another.into() };
        }
        match (kernel.displace(self.file, folders), there) {
            (Ok(()), true) => How::Restored,
            (Ok(()), false) => How::Already,
            // It never came to be, so nobody has read it.
            (Err(_), false) if force || entry.read_back.is_none() => How::Already,
            (Err(error), _) => How::Refused { why: error.to_string() },
        }
    }
}

impl Operation for PlacedFile<'_> {
    fn scope(&self) -> Scope<'_> {
        Scope::Files
    }

    fn is_about_same(&self, other: &Act) -> bool {
        matches!(other, Act::PlaceFile { file, .. } if file == self.file)
    }

    fn lifetime(&self) -> Lifetime {
        Lifetime::Lasting
    }

    fn read(&self, kernel: &dyn Kernel) -> io::Result<Value> {
        self.found(kernel)
    }

    fn is_read_again(&self) -> bool {
        false
    }

    fn examine(&self, _kernel: &dyn Kernel, old: &mut Value) -> Result<(), Fault> {
        match old {
            Value::Text(_) => {
                let remedy = "if a session placed it ('pinwise status'), undo that first; pinwise does not replace files of others";
                Err(Fault::new(Class::No, self.object(), "the file already exists", remedy))
            }
            _ => Ok(()),
        }
    }

    fn perform(&self, kernel: &dyn Kernel, _now: &Value) -> io::Result<()> {
        kernel.place(self.file, self.content)
    }

    fn take_back(&self, kernel: &dyn Kernel, of: &TakenBack, force: bool) -> Option<How> {
        Some(self.displace(kernel, of.entry, force))
    }

    fn took_effect(&self, now: &Value) -> bool {
        matches!(now, Value::Text(now) if now == self.content)
    }

    fn object(&self) -> String {
        let path = self.file.path().map(|path| path.display().to_string());
        path.unwrap_or_else(|| "a file with an invalid name".into())
    }

    fn asked(&self) -> String {
        format!("{} lines", self.content.lines().count())
    }

    fn call(&self) -> String {
        let informed = match self.file.notified() {
            Notified::Nobody => "",
            Notified::Systemd => ", systemctl daemon-reload",
            Notified::BootLoader => ", update-grub",
        };
        format!("place {}{informed}, read {}", self.object(), self.file.takes_effect())
    }

    fn still_in_force(&self) -> Option<String> {
        match self.file {
            PlatformFile::UnitDropIn { unit, .. } | PlatformFile::UnitStart { unit, .. } => {
                Some(format!("running processes of {unit} keep it until: systemctl restart {unit}"))
            }
            PlatformFile::GrubDefaults => {
                Some("a kernel that was booted with it keeps it until the next boot".into())
            }
            _ => None,
        }
    }

    fn refused(&self, error: &io::Error) -> Option<Refusal> {
        match error.raw_os_error() {
            Some(libc::EROFS) => Some(Refusal::unavailable(
                "/etc is read-only, as in an image-based system or a container",
                "put the setting into the image, or into the definition of the container",
            )),
            _ if is_permission(error) || is_missing(error) => None,
            _ => Some(Refusal::storage("fix the cause; nothing is left of the file")),
        }
    }
}

/// A file of settings, for the tests that cover every kind.
#[cfg(any(test, feature = "emulated"))]
pub mod sample {
    use machine::{Act, PlatformFile, Setting};

    use super::PlacedFile;
    use crate::acts::samples::{ERRNOS_OF_DISKS, Machine, Sampled, alter};
    use crate::kernel::EmulatedKernel;
    use crate::kernel::emulated::EmulatedState;

    /// One that keeps a setting.
    pub fn acts(_machine: &Machine) -> Vec<Act> {
        let (knob, target, value) = ("dirty-bytes".into(), "machine".into(), "4096000".into());
        vec![Act::PlaceFile {
            file: PlatformFile::Sysctl { session: "1-1".into() },
            content: "vm.dirty_bytes = 4096000\n".into(),
            keeps: vec![Setting { knob, target, value }],
        }]
    }

    impl Sampled for PlacedFile<'_> {
        fn errnos(&self) -> &'static [i32] {
            ERRNOS_OF_DISKS
        }

        fn change_by_others(&self, state: &mut EmulatedState) -> bool {
            let Some(path) = self.file.path() else { return false };
            state.files.insert((None, path), "theirs\n".into());
            true
        }

        fn remove(&self, kernel: &EmulatedKernel) -> bool {
            let Some(path) = self.file.path() else { return false };
            alter(kernel, |state| {
                state.files.remove(&(None, path));
            })
        }
    }
}
