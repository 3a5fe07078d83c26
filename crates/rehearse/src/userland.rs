//! What runs in a guest beside its kernel: an initramfs of busybox, the requested programs, and modules; and,
//! where it is wanted, a Debian root that the initramfs hands over to.

mod archive;
pub mod debian;
pub mod program;

use std::collections::BTreeSet;
use std::io;

use machine::{Class, Fault};

use crate::Kernel;
use crate::kernel::modules::Packed;
pub use archive::Archive;
use program::Program;

/// What a guest's command finds around itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Userland {
    /// An initramfs with busybox: up in seconds, and nothing runs but the command.
    #[default]
    Busybox,
    /// A Debian root with systemd, of the release that this machine has; its services run when the command begins.
    Debian {
        /// Packages beyond those that every root has, as apt names them.
        packages: Vec<String>,
    },
}

/// A file that is there before anything of the userland starts: where, from its root on, and what is in it.
pub type Laid = (String, Vec<u8>);

/// The first process of a guest.
pub const INIT: &str = include_str!("userland/init");

/// Where Debian has the busybox that needs no libraries (package busybox-static).
const BUSYBOX: &str = "/bin/busybox";

/// The initramfs: the first process, busybox, programs with the libraries that they need, what is laid over the userland, modules,
/// and the kernel's configuration.
///
/// # Errors
/// When busybox, a program or the configuration cannot be read.
pub fn initramfs(
    userland: &Userland,
    programs: &[Program],
    laid: &[Laid],
    kernel: &Kernel,
    modules: &Packed,
) -> Result<Vec<u8>, Fault> {
    let release = &kernel.release;
    let mut archive = Archive::default();
    archive.file("init", 0o755, INIT.as_bytes());
    archive.file("bin/busybox", 0o755, &busybox()?);
    // The kernel asks for /sbin/modprobe.
    archive.link("sbin", "bin");
    for folder in ["dev", "proc", "sys", "run", "tmp", "mnt", "root", "rehearsal"] {
        archive.folder(folder);
    }
    archive.file(
        "etc/passwd",
        0o644,
        b"root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n",
    );
    archive.file("etc/group", 0o644, b"root:x:0:\nnogroup:x:65534:\n");
    match userland {
        Userland::Busybox => add(&mut archive, programs, kernel)?,
        Userland::Debian { .. } => debian::add(&mut archive, programs, kernel)?,
    }
    let over = if *userland == Userland::Busybox { "" } else { debian::OVER };
    for (path, content) in laid {
        archive.file(&format!("{over}{path}"), 0o644, content);
    }
    for (path, content) in &modules.files {
        archive.file(&format!("lib/modules/{release}/{path}"), 0o644, content);
    }
    Ok(archive.finish())
}

/// Adds what a command finds that runs in the initramfs itself.
fn add(archive: &mut Archive, programs: &[Program], kernel: &Kernel) -> Result<(), Fault> {
    let mut taken = BTreeSet::new();
    for program in programs {
        for (path, content) in program.files()? {
            if taken.insert(path.clone()) {
                archive.file(&path, 0o755, &content);
            }
        }
    }
    if let Some((name, text)) = kernel.configuration()? {
        archive.file(&format!("boot/{name}"), 0o644, &text);
    }
    Ok(())
}

/// Tables for the kernel, as an archive that stands in front of the initramfs, where it looks for them before it
/// unpacks anything.
pub fn tables(tables: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut archive = Archive::default();
    for (name, table) in tables {
        archive.file(&format!("kernel/firmware/acpi/{name}.aml"), 0o644, table);
    }
    archive.finish()
}

fn busybox() -> Result<Vec<u8>, Fault> {
    let unusable = |why: &dyn std::fmt::Display| {
        Fault::new(Class::MachineLacks, BUSYBOX, why, "install it without libraries (Debian: busybox-static)")
    };
    let bytes = std::fs::read(BUSYBOX).map_err(|e: io::Error| unusable(&e))?;
    match program::interpreter(&bytes) {
        None => Ok(bytes),
        Some(_) => Err(unusable(&"needs libraries, which a guest's first process does not have")),
    }
}

/// Whether a guest's userland can be made here.
///
/// # Errors
/// When busybox is not there or needs libraries.
pub fn check() -> Result<(), Fault> {
    busybox().map(drop)
}

#[cfg(test)]
mod tests {
    use super::archive::tests::names;
    use super::*;

    #[test]
    fn tables_lie_where_the_kernel_looks() {
        let names = names(&tables(&[("apic", vec![1])]));
        assert_eq!(names.last().unwrap(), "kernel/firmware/acpi/apic.aml");
    }
}
