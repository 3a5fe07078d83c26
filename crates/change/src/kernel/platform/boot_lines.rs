//! Kernel parameters of ours on the command lines of a boot loader, where a tool of the platform writes its entries:
//! grubby(8) or kernel-install(8).

pub mod line;

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, chown};
use std::path::{Path, PathBuf};

use machine::BootLoader;
use machine::act::boot_loader::{BOOT_FOLDERS, COMMAND_LINE};

use crate::kernel::program;

/// The lines at present: that of each entry that grubby lists, or the one that kernel-install takes; `None` if its file
/// is missing.
pub fn read(loader: BootLoader) -> io::Result<Option<String>> {
    match loader {
        BootLoader::Grubby => {
            let listed = program::run("grubby", &["--info=ALL"])?;
            Ok(Some(line::of_grubby(&listed).join("\n")))
        }
        // kernel-install joins the lines of the file.
        BootLoader::KernelInstall => {
            let text = line_file()?;
            Ok(text.map(|text| text.split_whitespace().collect::<Vec<_>>().join(" ")))
        }
    }
}

/// Content of the file that kernel-install takes the line from.
fn line_file() -> io::Result<Option<String>> {
    match fs::read_to_string(COMMAND_LINE) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Adds words to the lines. `fresh` is the line to begin with if its file is missing.
pub fn add(loader: BootLoader, words: &[String], fresh: Option<&str>) -> io::Result<()> {
    match loader {
        BootLoader::Grubby => grubby("--args", words),
        BootLoader::KernelInstall => {
            let text = line_file()?.or_else(|| fresh.map(String::from)).ok_or_else(no_line)?;
            replace(&line::with(&text, words)).and_then(|()| make_entries())
        }
    }
}

/// Removes words from the lines. The entries are made anew even if the words are gone: an undo may have been cut short
/// before it came to that.
pub fn remove(loader: BootLoader, words: &[String], fresh: Option<&str>) -> io::Result<()> {
    match loader {
        BootLoader::Grubby => grubby("--remove-args", words),
        BootLoader::KernelInstall => {
            remove_draft()?;
            let Some(text) = line_file()? else {
                // A file that we made is removed last, so that the entries have been made without our words.
                return if fresh.is_some() { Ok(()) } else { make_entries() };
            };
            let rest = line::without(&text, words);
            if rest != text {
                replace(&rest)?;
            }
            // Before the file is removed: without it kernel-install takes the line of the running kernel, which may have
            // our words.
            make_entries()?;
            match fresh {
                // We made the file, and nobody has added words since.
                Some(fresh) if rest == fresh => {
                    fs::remove_file(COMMAND_LINE)?;
                    sync_folder()
                }
                _ => Ok(()),
            }
        }
    }
}

/// The error for a line that has gone since it was looked for.
pub fn no_line() -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, "there is no command line that words could be added to")
}

fn grubby(what: &str, words: &[String]) -> io::Result<()> {
    program::run("grubby", &["--update-kernel=ALL", &format!("{what}={}", words.join(" "))]).map(drop)
}

/// Folder of the file, and the draft that a new one is written to first.
const FOLDER: &str = "/etc/kernel";
const DRAFT: &str = "/etc/kernel/.pinwise-cmdline.draft";

/// Removes the draft of a process that was killed while it wrote.
fn remove_draft() -> io::Result<()> {
    match fs::remove_file(DRAFT) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

fn sync_folder() -> io::Result<()> {
    File::open(FOLDER)?.sync_all()
}

/// Replaces the file at once, with its mode and owner, so that no reader sees half a line.
///
/// # Errors
/// The folder is missing; the file is a link, which a new file would break. No draft is left then.
fn replace(text: &str) -> io::Result<()> {
    if fs::symlink_metadata(COMMAND_LINE).is_ok_and(|file| file.is_symlink()) {
        return Err(io::Error::other("it is a symbolic link: change the file that it points to"));
    }
    draft(text).and_then(|()| fs::rename(DRAFT, COMMAND_LINE)).inspect_err(|_| _ = remove_draft())?;
    sync_folder()
}

fn draft(text: &str) -> io::Result<()> {
    remove_draft()?;
    let before = fs::metadata(COMMAND_LINE).ok();
    let mode = before.as_ref().map_or(0o644, |before| before.mode() & 0o7777);
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(DRAFT)?;
    file.write_all(text.as_bytes())?;
    if let Some(before) = before {
        chown(DRAFT, Some(before.uid()), Some(before.gid()))?;
    }
    file.sync_all()
}

/// Runs kernel-install for each kernel that has an entry.
///
/// # Errors
/// None of these kernels has its image here; the tool fails.
fn make_entries() -> io::Result<()> {
    let kernels: Vec<(String, PathBuf)> = versions()?
        .into_iter()
        .filter_map(|version| {
            let image = image_of(&version)?;
            Some((version, image))
        })
        .collect();
    if kernels.is_empty() {
        let why = "no entry in loader/entries is for a kernel whose image is here (/lib/modules/VERSION/vmlinuz, /boot/vmlinuz-VERSION)";
        return Err(io::Error::new(io::ErrorKind::NotFound, why));
    }
    kernels.iter().try_for_each(|(version, image)| {
        program::run("kernel-install", &["add", version, &image.to_string_lossy()]).map(drop)
    })
}

/// Versions of the kernels that have entries (Boot Loader Specification).
fn versions() -> io::Result<Vec<String>> {
    let mut versions = Vec::new();
    for folder in BOOT_FOLDERS {
        let entries = match fs::read_dir(Path::new(folder).join("loader/entries")) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        for entry in entries {
            let path = entry?.path();
            if path.extension().is_some_and(|kind| kind == "conf") {
                versions.extend(line::version_of_entry(&fs::read_to_string(&path)?));
            }
        }
    }
    versions.sort();
    versions.dedup();
    Ok(versions)
}

fn image_of(version: &str) -> Option<PathBuf> {
    let places = [format!("/lib/modules/{version}/vmlinuz"), format!("/boot/vmlinuz-{version}")];
    places.into_iter().map(PathBuf::from).find(|path| path.is_file())
}
