//! Kernels from Debian's packages, fetched by name with the machine's own apt and unpacked into the cache.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use machine::{Class, Fault};

use super::Kernel;
use crate::cache::{self, Lock};

/// The kernel of this flavour (`amd64`) or package (`linux-image-6.1.0-55-amd64`), from the cache or fetched.
///
/// # Errors
/// When apt knows no such package, or fetching or unpacking fails.
pub(super) fn find(asked: &str, making: &mut dyn FnMut(&str)) -> Result<Kernel, Fault> {
    find_in(&cache::folder()?.join("kernels"), asked, making)
}

fn find_in(kernels: &Path, asked: &str, making: &mut dyn FnMut(&str)) -> Result<Kernel, Fault> {
    cache::make(kernels)?;
    let _lock = Lock::wait(&kernels.join("lock"))?;
    let named = match asked.starts_with("linux-image-") {
        true => asked.to_string(),
        false => format!("linux-image-{asked}"),
    };
    let folder = kernels.join(&named);
    if !folder.join("complete").exists() {
        making(&format!("fetching kernel package {named} (once; kept in {})", kernels.display()));
        fetch(&named, &folder)?;
    }
    of_folder(asked, &folder)
}

/// The kernel that was unpacked into `folder`.
fn of_folder(asked: &str, folder: &Path) -> Result<Kernel, Fault> {
    let complete = folder.join("complete");
    let release =
        fs::read_to_string(&complete).map_err(|e| cache::storage(&complete, &e))?.trim().to_string();
    let modules = folder.join("lib/modules").join(&release);
    let image = folder.join("vmlinux");
    let packed = folder.join("boot").join(format!("vmlinuz-{release}"));
    let image = if image.exists() { image } else { packed };
    let config = Some(folder.join("boot").join(format!("config-{release}"))).filter(|path| path.exists());
    Ok(Kernel { name: asked.into(), image, modules, config, release })
}

/// Fetches and unpacks a kernel package; `complete` is written last, and holds the release.
fn fetch(named: &str, folder: &Path) -> Result<(), Fault> {
    let package = resolve(named)?;
    match fs::remove_dir_all(folder) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(cache::storage(folder, &e)),
        _ => cache::make(folder)?,
    }
    run(Command::new("apt-get").args(["download", "--quiet", &package]).current_dir(folder))?;
    let archive = find_archive(folder)?;
    run(Command::new("dpkg-deb").arg("--extract").arg(&archive).arg(folder))?;
    let _ = fs::remove_file(&archive);
    // Newer packages have their modules below /usr.
    let merged = folder.join("usr/lib/modules");
    if merged.exists() {
        cache::make(&folder.join("lib"))?;
        fs::rename(&merged, folder.join("lib/modules")).map_err(|e| cache::storage(&merged, &e))?;
    }
    let release = package.trim_start_matches("linux-image-").trim_end_matches("-unsigned").to_string();
    let packed = folder.join("boot").join(format!("vmlinuz-{release}"));
    let bytes = fs::read(&packed).map_err(|e| cache::storage(&packed, &e))?;
    super::unpacked(&packed, &bytes, folder)?;
    run(Command::new(tool("depmod")).arg("-b").arg(folder).arg(&release))?;
    let complete = folder.join("complete");
    fs::write(&complete, &release).map_err(|e| cache::storage(&complete, &e))
}

/// The package that holds the image: a flavour's package depends on it.
fn resolve(named: &str) -> Result<String, Fault> {
    let text = run(Command::new("apt-cache").args(["depends", "--important", named]))?;
    Ok(image_package(&text).unwrap_or_else(|| named.to_string()))
}

/// The image package in the answer of `apt-cache depends`.
fn image_package(text: &str) -> Option<String> {
    let needs = text.lines().filter_map(|line| line.trim_start().strip_prefix("Depends: "));
    needs.map(str::trim).find(|package| package.starts_with("linux-image-")).map(String::from)
}

fn find_archive(folder: &Path) -> Result<PathBuf, Fault> {
    let entries = fs::read_dir(folder).map_err(|e| cache::storage(folder, &e))?;
    let mut archives =
        entries.flatten().map(|entry| entry.path()).filter(|p| p.extension().is_some_and(|e| e == "deb"));
    archives.next().ok_or_else(|| {
        Fault::new(
            Class::Storage,
            folder.display(),
            "apt-get download left no package there",
            "run it by hand to see why",
        )
    })
}

/// A tool that ordinary users do not have in their PATH.
pub(crate) fn tool(name: &str) -> PathBuf {
    let below = ["/sbin", "/usr/sbin"].iter().map(|folder| Path::new(folder).join(name));
    below.into_iter().find(|path| path.exists()).unwrap_or_else(|| PathBuf::from(name))
}

/// Runs a tool to its end; when it fails, its last output becomes the cause.
pub(crate) fn run(command: &mut Command) -> Result<String, Fault> {
    let name = command.get_program().to_string_lossy().into_owned();
    let failed = |e: std::io::Error| {
        let remedy =
            format!("install {name}; or name a kernel of this machine (--kernel running, --kernel PATH)");
        Fault::new(Class::MachineLacks, &name, e, remedy)
    };
    // Its answers are read.
    let done = command.env("LC_ALL", "C").output().map_err(failed)?;
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
    }
    let words = String::from_utf8_lossy(&done.stderr);
    let last: Vec<&str> = words.lines().rev().take(3).collect();
    let said: Vec<&str> = last.into_iter().rev().collect();
    let arguments: Vec<_> = command.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
    Err(Fault::new(
        Class::MachineLacks,
        format!("{name} {}", arguments.join(" ")),
        format!("failed ({}): {}", done.status, said.join("; ")),
        "see to it that apt's lists are there (apt-get update), or use --kernel running",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_that_apt_does_not_know_is_reported_and_leaves_nothing() {
        let kernels = tempfile::tempdir().unwrap();
        let why = find_in(kernels.path(), "of-no-flavour", &mut |_| {}).unwrap_err();
        assert_eq!(why.class, Class::MachineLacks);
        // Where there is no apt, that is reported.
        let why = why.to_string();
        assert!(why.contains("apt-cache") && why.contains("--kernel running"), "{why}");
        assert!(!kernels.path().join("linux-image-of-no-flavour").exists());
    }

    #[test]
    fn the_image_package_of_a_flavour() {
        let text = "linux-image-rt-amd64\n  Depends: linux-image-6.1.0-55-rt-amd64\n";
        assert_eq!(image_package(text).as_deref(), Some("linux-image-6.1.0-55-rt-amd64"));
        assert_eq!(image_package("linux-image-6.1.0-55-amd64\n  Depends: kmod\n"), None);
    }
}
