//! What runs in a guest beside its kernel: an initramfs of busybox, the programs that were asked for, and modules; and,
//! where it is wanted, a Debian root that the initramfs hands over to.

pub mod debian;
pub mod program;

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;

use cpio::NewcBuilder;
use cpio::newc::{ModeFileType, trailer};
use machine::{Class, Fault};

use crate::Kernel;
use crate::guest::Laid;
use crate::kernel::modules::Packed;
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

/// The first process of a guest.
pub const INIT: &str = include_str!("userland/init");

/// Where Debian has the busybox that needs no libraries (package busybox-static).
const BUSYBOX: &str = "/bin/busybox";

/// An archive in the form that the kernel unpacks (Documentation/driver-api/early-userspace/buffer-format.rst).
#[derive(Default)]
pub struct Archive {
    bytes: Vec<u8>,
    folders: BTreeSet<String>,
    entries: u32,
}

impl Archive {
    /// Adds a file with the folders above it.
    pub fn file(&mut self, path: &str, mode: u32, content: &[u8]) -> &mut Self {
        self.folders_above(path);
        self.entry(path, ModeFileType::Regular, mode, content)
    }

    /// Adds a folder with those above it.
    pub fn folder(&mut self, path: &str) -> &mut Self {
        self.folders_above(path);
        if self.folders.insert(path.to_string()) {
            self.entry(path, ModeFileType::Directory, 0o755, &[]);
        }
        self
    }

    /// Adds a link to `target`.
    pub fn link(&mut self, path: &str, target: &str) -> &mut Self {
        self.folders_above(path);
        self.entry(path, ModeFileType::Symlink, 0o777, target.as_bytes())
    }

    /// The archive's bytes, with its end mark.
    pub fn finish(self) -> Vec<u8> {
        trailer(self.bytes).unwrap_or_default()
    }

    fn folders_above(&mut self, path: &str) {
        for (at, _) in path.match_indices('/') {
            let above = path[..at].to_string();
            if self.folders.insert(above.clone()) {
                self.entry(&above, ModeFileType::Directory, 0o755, &[]);
            }
        }
    }

    fn entry(&mut self, path: &str, kind: ModeFileType, mode: u32, content: &[u8]) -> &mut Self {
        self.entries += 1;
        let size = u32::try_from(content.len()).unwrap_or(u32::MAX);
        let builder = NewcBuilder::new(path).ino(self.entries).nlink(1).mode(mode).set_mode_file_type(kind);
        let mut writer = builder.write(&mut self.bytes, size);
        // Writing to memory does not fail; a file of 4 GB does not fit the format and is cut off by it.
        let _ = writer.write_all(content).and_then(|()| writer.finish().map(drop));
        self
    }
}

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
    if let Some((name, text)) = configuration(kernel)? {
        archive.file(&format!("boot/{name}"), 0o644, &text);
    }
    Ok(())
}

/// The kernel's configuration, with the name that it has in /boot.
fn configuration(kernel: &Kernel) -> Result<Option<(String, Vec<u8>)>, Fault> {
    let Some(config) = &kernel.config else { return Ok(None) };
    let text = std::fs::read(config)
        .map_err(|e| Fault::io(config.display(), &e, "see to it that it can be read"))?;
    Ok(Some((format!("config-{}", kernel.release), text)))
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
    let lacks = |why: &dyn std::fmt::Display| {
        Fault::new(Class::MachineLacks, BUSYBOX, why, "install it without libraries (Debian: busybox-static)")
    };
    let bytes = std::fs::read(BUSYBOX).map_err(|e: io::Error| lacks(&e))?;
    match program::interpreter(&bytes) {
        None => Ok(bytes),
        Some(_) => Err(lacks(&"needs libraries, which a guest's first process does not have")),
    }
}

/// Whether a guest's userland can be made here.
///
/// # Errors
/// When busybox is not there or needs libraries.
pub fn check() -> Result<(), Fault> {
    busybox().map(drop)
}

/// The name under which a program is found in a guest.
pub(crate) fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(bytes: &[u8]) -> Vec<String> {
        let mut names = Vec::new();
        let mut rest = bytes;
        loop {
            let reader = cpio::NewcReader::new(rest).unwrap();
            if reader.entry().is_trailer() {
                return names;
            }
            names.push(reader.entry().name().to_string());
            rest = reader.finish().unwrap();
        }
    }

    #[test]
    fn folders_stand_before_what_is_in_them_and_once() {
        let mut archive = Archive::default();
        archive.file("a/b/c", 0o644, b"x").file("a/b/d", 0o644, b"").folder("a").link("a/l", "b/c");
        assert_eq!(names(&archive.finish()), ["a", "a/b", "a/b/c", "a/b/d", "a/l"]);
    }

    #[test]
    fn tables_lie_where_the_kernel_looks() {
        let names = names(&tables(&[("apic", vec![1])]));
        assert_eq!(names.last().unwrap(), "kernel/firmware/acpi/apic.aml");
    }
}
