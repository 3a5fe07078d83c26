//! Configuration files of pinwise for the platform: placed whole or not at all, and removed with the folders that were made
//! for them.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use machine::PlatformFile;
use machine::act::platform_file::Notified;

use super::PlacedFile;
use crate::kernel::program::run;

/// The file, or which of its folders are missing.
pub fn read(file: &PlatformFile) -> io::Result<PlacedFile> {
    let path = path_of(file)?;
    match fs::read_to_string(&path) {
        Ok(text) => Ok(PlacedFile::Placed(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Ok(PlacedFile::Missing { folders: missing_folders(&path) })
        }
        Err(error) => Err(error),
    }
}

/// Places the file and has its reader reload. On an error nothing is left behind.
pub fn place(file: &PlatformFile, content: &str) -> io::Result<()> {
    let path = path_of(file)?;
    let (draft, folders) = (draft_of(&path), missing_folders(&path));
    let placed = link(&path, &draft, &folders, content).and_then(|()| {
        let reloaded = sync_folder(&path).and_then(|()| reload(file.notified()));
        reloaded.inspect_err(|_| _ = fs::remove_file(&path))
    });
    let drafted = absent_is_fine(fs::remove_file(&draft));
    if placed.is_err() {
        let _ = remove_folders(&path, &folders);
    }
    placed.and(drafted)
}

/// Writes a draft and links it to `path`.
///
/// # Errors
/// Another file is at `path`; what keeps the draft from being written.
fn link(path: &Path, draft: &Path, folders: &[PathBuf], content: &str) -> io::Result<()> {
    for folder in folders {
        fs::DirBuilder::new().mode(0o755).create(folder)?;
    }
    write(draft, content)?;
    // A link and not a rename, which would replace a file.
    fs::hard_link(draft, path)
}

/// Removes the file and those folders that are empty then, and has its reader reload.
pub fn displace(file: &PlatformFile, folders: &[PathBuf]) -> io::Result<()> {
    let path = path_of(file)?;
    if let PlatformFile::TunedProfile { .. } = file {
        is_not_in_use(&path)?;
    }
    absent_is_fine(fs::remove_file(draft_of(&path)))?;
    absent_is_fine(fs::remove_file(&path))?;
    remove_folders(&path, folders)?;
    // It has to be gone for good before the ledger says so.
    sync_folder(&path)?;
    reload(file.notified())
}

/// Removes empty folders above this file, the innermost first. A damaged ledger may name others, which stay.
fn remove_folders(path: &Path, folders: &[PathBuf]) -> io::Result<()> {
    for folder in folders.iter().rev().filter(|folder| path.starts_with(folder)) {
        match fs::remove_dir(folder) {
            // Another program has put something into it since.
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => break,
            removed => absent_is_fine(removed)?,
        }
    }
    Ok(())
}

/// Checks that tuned can do without this profile at its next start.
///
/// # Errors
/// tuned uses it.
fn is_not_in_use(profile: &Path) -> io::Result<()> {
    let active = fs::read_to_string("/etc/tuned/active_profile").unwrap_or_default();
    let name = profile.parent().and_then(Path::file_name).unwrap_or_default();
    match active.split_whitespace().any(|word| *word == *name) {
        true => Err(io::Error::other("tuned uses this profile: choose others first, with tuned-adm profile")),
        false => Ok(()),
    }
}

fn path_of(file: &PlatformFile) -> io::Result<PathBuf> {
    let unfit =
        || io::Error::new(io::ErrorKind::InvalidInput, "this is not a valid name of a session or unit");
    file.path().ok_or_else(unfit)
}

/// Name of the draft. Programs that read drop-in directories ignore such names.
fn draft_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".draft");
    name.into()
}

/// Folders above it that are missing, the outermost first.
fn missing_folders(path: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> =
        path.ancestors().skip(1).take_while(|folder| !folder.exists()).map(PathBuf::from).collect();
    folders.reverse();
    folders
}

fn write(path: &Path, content: &str) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(content.as_bytes())?;
    file.sync_all()
}

/// Makes sure that a new or removed name survives a power failure.
fn sync_folder(path: &Path) -> io::Result<()> {
    // The nearest one that is there: the others were removed with the file.
    let folder = path.ancestors().skip(1).find(|folder| folder.exists());
    folder.map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

fn absent_is_fine(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Has the program that reads the file read it again.
fn reload(reader: Notified) -> io::Result<()> {
    match reader {
        Notified::Nobody => Ok(()),
        Notified::Systemd => run("systemctl", &["daemon-reload"]).map(drop),
        Notified::BootLoader => run("update-grub", &[]).map(drop),
    }
}
