//! Words of ours on the command lines of boot loaders whose entries a tool of the platform's makes or changes.

pub mod line;

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, chown};
use std::path::{Path, PathBuf};

use machine::BootLoader;
use machine::boot_loader::{BOOT_FOLDERS, COMMAND_LINE};

use crate::kernel::program;

/// The lines as they are: of each entry that grubby tells, or the one of which kernel-install makes entries.
pub fn read(loader: BootLoader) -> io::Result<Option<String>> {
    match loader {
        BootLoader::Grubby => {
            let told = program::run("grubby", &["--info=ALL"])?;
            Ok(Some(line::of_grubby(&told).join("\n")))
        }
        // However many lines the file has, kernel-install makes one of them.
        BootLoader::KernelInstall => {
            let text = line_file()?;
            Ok(text.map(|text| text.split_whitespace().collect::<Vec<_>>().join(" ")))
        }
    }
}

/// The file as it is.
fn line_file() -> io::Result<Option<String>> {
    match fs::read_to_string(COMMAND_LINE) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Has them added; `fresh` is the line where there is no file of it.
pub fn add(loader: BootLoader, words: &[String], fresh: Option<&str>) -> io::Result<()> {
    match loader {
        BootLoader::Grubby => grubby("--args", words),
        BootLoader::KernelInstall => {
            let text = line_file()?.or_else(|| fresh.map(String::from)).ok_or_else(no_line)?;
            replace(&line::with(&text, words)).and_then(|()| make_entries())
        }
    }
}

/// Has them taken away. Those who read the line are told even when they are gone: an undo that was cut short may not have come to that.
pub fn remove(loader: BootLoader, words: &[String], fresh: Option<&str>) -> io::Result<()> {
    match loader {
        BootLoader::Grubby => grubby("--remove-args", words),
        BootLoader::KernelInstall => {
            remove_draft()?;
            let Some(text) = line_file()? else {
                // The file that came with our words goes last: the entries have been made without them.
                return if fresh.is_some() { Ok(()) } else { make_entries() };
            };
            let rest = line::without(&text, words);
            if rest != text {
                replace(&rest)?;
            }
            // While the line is there: without it kernel-install would take that of the running kernel, which may have our words.
            make_entries()?;
            match fresh {
                // The file came with our words, and nobody has added any since.
                Some(fresh) if rest == fresh => {
                    fs::remove_file(COMMAND_LINE)?;
                    sync_folder()
                }
                _ => Ok(()),
            }
        }
    }
}

/// The line went away since the knob looked.
pub fn no_line() -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, "there is no command line that words could be added to")
}

fn grubby(what: &str, words: &[String]) -> io::Result<()> {
    program::run("grubby", &["--update-kernel=ALL", &format!("{what}={}", words.join(" "))]).map(drop)
}

/// The folder of the line, and what a new one is written to first.
const FOLDER: &str = "/etc/kernel";
const DRAFT: &str = "/etc/kernel/.pinwise-cmdline.draft";

/// One that was killed while it wrote has left it.
fn remove_draft() -> io::Result<()> {
    match fs::remove_file(DRAFT) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

fn sync_folder() -> io::Result<()> {
    File::open(FOLDER)?.sync_all()
}

/// Puts a whole new line in the place of the old one, with its mode and owner, so that no reader meets half of it.
///
/// Errors: the folder is not there, or the file is a link to another place, which a new file would end; nothing is left of it.
fn replace(text: &str) -> io::Result<()> {
    if fs::symlink_metadata(COMMAND_LINE).is_ok_and(|file| file.is_symlink()) {
        return Err(io::Error::other(
            "it is a link: whoever made it has to change the file that it leads to",
        ));
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

/// Has kernel-install make the entries anew of which it made some before.
///
/// Errors: none of these kernels has its image here, or the tool fails.
fn make_entries() -> io::Result<()> {
    let kernels: Vec<(String, PathBuf)> = versions()?
        .into_iter()
        .filter_map(|version| {
            let image = image_of(&version)?;
            Some((version, image))
        })
        .collect();
    if kernels.is_empty() {
        let why = "no entry in loader/entries is of a kernel whose image is here (/lib/modules/VERSION/vmlinuz, /boot/vmlinuz-VERSION)";
        return Err(io::Error::new(io::ErrorKind::NotFound, why));
    }
    kernels.iter().try_for_each(|(version, image)| {
        program::run("kernel-install", &["add", version, &image.to_string_lossy()]).map(drop)
    })
}

/// Versions of the kernels that have entries.
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
