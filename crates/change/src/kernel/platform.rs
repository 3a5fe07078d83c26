//! The platform: configuration files that its services read, boot loaders, irqbalance and libvirt.

mod boot_lines;
#[cfg(any(test, feature = "emulated"))]
mod emulated;
mod files;
mod guest_pins;
mod irqbalance;
mod live;

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;

use machine::{BootLoader, CpuSet, GuestPin, PlatformFile, ProcessRef};

pub(crate) use boot_lines::line::parameters;

/// What there is in the place of a configuration file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlacedFile {
    /// The file, with its text.
    Placed(String),
    /// No file.
    Missing {
        /// Folders above it that are missing too, the outermost first.
        folders: Vec<PathBuf>,
    },
}

/// Reads and changes what programs of the platform are configured with.
pub trait Platform {
    /// A configuration file of pinwise.
    ///
    /// # Errors
    /// `InvalidInput` when the file has no valid name.
    fn placed_file(&self, file: &PlatformFile) -> io::Result<PlacedFile>;

    /// Places such a file, whole or not at all, with the folders that are missing, and has its reader reload.
    ///
    /// # Errors
    /// `AlreadyExists`; the reader fails. Nothing is left behind then.
    fn place(&self, file: &PlatformFile, content: &str) -> io::Result<()>;

    /// Removes such a file and those of `folders` that are empty then, and has its reader reload. It is no error if
    /// the file has gone.
    fn displace(&self, file: &PlatformFile, folders: &[PathBuf]) -> io::Result<()>;

    /// Command lines of the boot loader's entries, one to a line; `None` if kernel-install has no command line file.
    ///
    /// # Errors
    /// The tool of the boot loader fails or is not installed.
    fn boot_command_lines(&self, loader: BootLoader) -> io::Result<Option<String>>;

    /// Adds kernel parameters to these lines. `fresh` is the line to begin with if there is none.
    ///
    /// # Errors
    /// As [`boot_command_lines`](Platform::boot_command_lines).
    fn add_boot_words(&self, loader: BootLoader, words: &[String], fresh: Option<&str>) -> io::Result<()>;

    /// Removes kernel parameters from these lines, and the line that was begun with `fresh` if nothing else is in it.
    ///
    /// # Errors
    /// As [`boot_command_lines`](Platform::boot_command_lines).
    fn remove_boot_words(&self, loader: BootLoader, words: &[String], fresh: Option<&str>) -> io::Result<()>;

    /// Interrupts that a running irqbalance leaves alone.
    ///
    /// # Errors
    /// `ESRCH` when the process has gone; `EPERM` for callers other than root.
    fn irq_bans(&self, process: &ProcessRef) -> io::Result<BTreeSet<u32>>;

    /// Replaces the list of interrupts that a running irqbalance leaves alone.
    ///
    /// # Errors
    /// `ESRCH` when the process has gone; `InvalidInput` when the list is longer than this version reads.
    fn set_irq_bans(&self, process: &ProcessRef, irqs: &BTreeSet<u32>) -> io::Result<()>;

    /// CPUs on which libvirt runs a part of a guest.
    ///
    /// # Errors
    /// `NotFound` when libvirt has no such guest, or no definition for it; `Unsupported` when virsh(1) is not
    /// installed; `TimedOut` when libvirt does not answer.
    fn guest_pin(&self, pin: &GuestPin) -> io::Result<CpuSet>;

    /// Has libvirt run a part of a guest on these CPUs.
    ///
    /// # Errors
    /// As [`guest_pin`](Platform::guest_pin), and what libvirt refuses the CPUs with.
    fn pin_guest(&self, pin: &GuestPin, cpus: &CpuSet) -> io::Result<()>;
}
