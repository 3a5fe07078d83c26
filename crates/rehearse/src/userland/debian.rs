//! A Debian root with systemd, for what units, irqbalance, tuned or libvirt bring about.
//!
//! The root is an image that is made once for each list of packages and never written to: a guest lays a tmpfs over it.

mod image;
mod sources;

use std::collections::BTreeSet;
use std::path::PathBuf;

use machine::{Class, Fault};

use super::Archive;
use super::program::Program;
use crate::Kernel;
use crate::cache::{self, Lock};

pub use image::check;

/// What every root has: systemd, and what it takes to look at a machine and to load its drivers.
const PACKAGES: [&str; 7] = ["systemd-sysv", "dbus", "udev", "kmod", "iproute2", "procps", "util-linux"];

/// Counts the ways in which roots were made, so that one of an older pinwise is not taken for one of this.
const RECIPE: u32 = 1;

/// Modules by which the first process reaches the root.
pub(crate) const MODULES: [&str; 4] = ["virtio_scsi", "sd_mod", "squashfs", "overlay"];

/// Longest name of a root that spells its packages out; file systems take 255 bytes.
const LONGEST: usize = 150;

/// The second part of the first process's script.
const MOVE_ON: &str = include_str!("debian/move-on");

/// Where the initramfs has what is laid over the root.
pub(super) const OVER: &str = "debian/over/";

/// Files that are laid over the root: path and content.
const LAID_OVER: [(&str, &str); 7] = [
    ("etc/systemd/system/rehearsal.service", include_str!("debian/rehearsal.service")),
    ("etc/systemd/system/rehearsal.target", include_str!("debian/rehearsal.target")),
    ("etc/hostname", "guest\n"),
    ("etc/hosts", "127.0.0.1 localhost guest\n"),
    // Where the root was made is nothing to a guest.
    ("etc/resolv.conf", ""),
    // With an identity systemd does not take this for a machine's first boot, which would ask for its settings.
    ("etc/machine-id", "52656865617273616c00000000000077\n"),
    ("etc/fstab", ""),
];

/// Links that are laid over the root: path and target.
const LINKS: [(&str, &str); 2] = [
    ("etc/systemd/system/default.target", "rehearsal.target"),
    // Network cards keep the names that the kernel gives them, as in guests without systemd.
    ("etc/systemd/network/99-default.link", "/dev/null"),
];

/// The image of a root with these packages, from the cache or made now, which is said to `making`.
///
/// # Errors
/// When a name is not a package's, a tool is missing, apt cannot deliver, or the disk is full.
pub(crate) fn root(packages: &[String], making: &mut dyn FnMut(&str)) -> Result<PathBuf, Fault> {
    let packages = wanted(packages)?;
    let roots = cache::folder()?.join("roots");
    cache::make(&roots)?;
    let _lock = Lock::wait(&roots.join("lock"))?;
    let sources = sources::read()?;
    let image = roots.join(format!("{}.squashfs", name(&sources.suite, &packages)));
    if !image.exists() {
        image::make(&sources, &packages, &image, making)?;
    }
    Ok(image)
}

/// All packages, each once.
fn wanted(asked: &[String]) -> Result<BTreeSet<String>, Fault> {
    if let Some(bad) = asked.iter().find(|name| !is_package(name)) {
        let remedy = "name a package as apt has it, such as irqbalance";
        return Err(Fault::new(Class::Usage, bad, "is not the name of a Debian package", remedy));
    }
    Ok(PACKAGES.into_iter().map(String::from).chain(asked.iter().cloned()).collect())
}

/// Whether this could be a package's name (Debian Policy 5.6.1).
fn is_package(name: &str) -> bool {
    let of_names = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    name.len() >= 2 && name.starts_with(of_names) && name.chars().all(|c| of_names(c) || "+-.".contains(c))
}

/// Name of the image: the release, the recipe, and the packages beyond those that every root has.
fn name(suite: &str, packages: &BTreeSet<String>) -> String {
    let beyond: Vec<&str> =
        packages.iter().map(String::as_str).filter(|name| !PACKAGES.contains(name)).collect();
    // No package has an underscore in its name.
    let spelt = beyond.iter().fold(format!("{suite}_{RECIPE}"), |name, package| name + "_" + package);
    match spelt.len() <= LONGEST {
        true => spelt,
        false => format!("{suite}_{RECIPE}_{:016x}", fnv(&spelt)),
    }
}

/// FNV-1a, which is the same in every release of Rust.
fn fnv(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Adds to the initramfs what the first process lays over the root.
pub(super) fn add(archive: &mut Archive, programs: &[Program], kernel: &Kernel) -> Result<(), Fault> {
    archive.file("debian/move-on", 0o644, MOVE_ON.as_bytes());
    archive.folder("debian/libraries");
    for (path, content) in LAID_OVER {
        archive.file(&format!("{OVER}{path}"), 0o644, content.as_bytes());
    }
    for (path, target) in LINKS {
        archive.link(&format!("{OVER}{path}"), target);
    }
    if let Some((name, text)) = kernel.configuration()? {
        archive.file(&format!("{OVER}boot/{name}"), 0o644, &text);
    }
    let mut taken = BTreeSet::new();
    for program in programs {
        let mut files = program.files()?.into_iter();
        if let Some((_, content)) = files.next() {
            archive.file(&format!("{OVER}usr/bin/{}", program.name), 0o755, &content);
        }
        for (path, content) in files.filter(|(path, _)| taken.insert(path.clone())) {
            archive.file(&format!("debian/libraries/{path}"), 0o755, &content);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| name.to_string()).collect()
    }

    fn named(names: &[&str]) -> String {
        name("bookworm", &wanted(&asked(names)).unwrap())
    }

    #[test]
    fn one_list_of_packages_has_one_name() {
        assert_eq!(named(&[]), "bookworm_1");
        assert_eq!(named(&["tuned", "irqbalance", "udev", "tuned"]), "bookworm_1_irqbalance_tuned");
        let many: Vec<String> = (0..40).map(|n| format!("package{n}")).collect();
        let long = name("bookworm", &wanted(&many).unwrap());
        assert!(long.len() < 40 && long != name("bookworm", &wanted(&many[1..]).unwrap()), "{long}");
    }

    #[test]
    fn only_names_of_packages_are_taken() {
        for bad in ["", "a", "-x", "a,b", "?essential", "a b", "../x", "Irqbalance", "x_y"] {
            let refused = wanted(&asked(&[bad])).unwrap_err();
            assert_eq!(refused.class, Class::Usage, "{bad}");
        }
        assert!(wanted(&asked(&["libstdc++6", "g++", "0ad"])).is_ok());
    }

    #[test]
    fn the_command_runs_when_all_is_up_and_its_end_is_the_guests() {
        let unit = LAID_OVER[0].1;
        for line in ["After=multi-user.target", "SuccessAction=poweroff-immediate", "FailureAction="] {
            assert!(unit.contains(line), "{line}");
        }
    }
}
