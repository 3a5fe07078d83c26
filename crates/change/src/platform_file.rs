//! Files of our own among those that the platform reads: placed whole or not at all, removed with the folders made for them.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use machine::PlatformFile;
use machine::platform_file::Told;
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::record::Value;

/// Its text, or which of its folders lack.
pub fn read(file: &PlatformFile) -> io::Result<Value> {
    let path = path_of(file)?;
    match fs::read_to_string(&path) {
        Ok(text) => Ok(Value::Text(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Ok(Value::Unplaced { folders: lacking(&path) })
        }
        Err(error) => Err(error),
    }
}

/// Places it, and tells who reads it.
pub fn place(file: &PlatformFile, content: &str) -> io::Result<()> {
    let path = path_of(file)?;
    for folder in lacking(&path) {
        fs::DirBuilder::new().mode(0o755).create(folder)?;
    }
    let draft = draft_of(&path);
    write(&draft, content)?;
    renameat_with(CWD, &draft, CWD, &path, RenameFlags::NOREPLACE)?;
    sync_folder(&path)?;
    tell(file.told())
}

/// Removes it and those folders that are empty then, and tells who reads it.
pub fn displace(file: &PlatformFile, folders: &[PathBuf]) -> io::Result<()> {
    let path = path_of(file)?;
    absent_is_fine(fs::remove_file(draft_of(&path)))?;
    absent_is_fine(fs::remove_file(&path))?;
    // Only folders of this very file, whatever a damaged ledger names; the innermost first.
    for folder in folders.iter().rev().filter(|folder| path.starts_with(folder)) {
        match fs::remove_dir(folder) {
            // Somebody else has put something into it since.
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => break,
            removed => absent_is_fine(removed)?,
        }
    }
    tell(file.told())
}

fn path_of(file: &PlatformFile) -> io::Result<PathBuf> {
    let unfit =
        || io::Error::new(io::ErrorKind::InvalidInput, "this is no name that a session or unit can have");
    file.path().ok_or_else(unfit)
}

/// No directory of drop-ins reads a name of this kind.
fn draft_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".draft");
    name.into()
}

/// Folders above it that are not there, the outermost first.
fn lacking(path: &Path) -> Vec<PathBuf> {
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

/// The name is on disk before the ledger says that it is there.
fn sync_folder(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

fn absent_is_fine(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Tells who reads it.
fn tell(whom: Told) -> io::Result<()> {
    match whom {
        Told::Nobody => Ok(()),
        Told::Systemd => run("systemctl", &["daemon-reload"]),
        Told::BootLoader => run("update-grub", &[]),
    }
}

/// Errors: it cannot be started, or fails; with the last line of what it said.
fn run(program: &str, arguments: &[&str]) -> io::Result<()> {
    let mut command = Command::new(program);
    let done = command.args(arguments).stdin(Stdio::null()).output();
    let done = done.map_err(|e| io::Error::new(e.kind(), format!("{program} could not be started: {e}")))?;
    let said = String::from_utf8_lossy(&done.stderr);
    match done.status.success() {
        true => Ok(()),
        false => Err(io::Error::other(format!("{program}: {}", said.lines().last().unwrap_or("it failed")))),
    }
}
