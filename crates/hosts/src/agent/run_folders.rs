//! The folders of verbs that this host runs for a controller on another: one each, which the controller fills, reads and removes.

use std::io::Write as _;
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use machine::own_folder::{OwnFolder, Reach};
use machine::untrusted::file::open_found;
use machine::{Class, Fault};
use rustix::io::Errno;

use crate::protocol::{Listed, Piece};
use crate::remote_folder::{MOST_ENTRIES, MOST_PIECES, PIECE_BYTES, is_plain_name, is_plain_path};

/// What their names begin with.
const PREFIX: &str = "run-of-pinwise-";

/// Digits that no version has.
const SHORTEST_HASH: usize = 16;

/// This binary.
///
/// # Errors
/// There is no /proc, or it was removed meanwhile.
pub(super) fn exe() -> Result<PathBuf, Fault> {
    std::env::current_exe().map_err(|error| Fault::io("/proc/self/exe", &error, "mount /proc"))
}

/// Where they lie: beside a copy of the binary, which is in a folder of this user's alone, else where temporary files do.
fn base(exe: &Path) -> PathBuf {
    let beside = exe.parent().filter(|folder| is_copy(exe) && OwnFolder::open(folder).is_ok());
    beside.map_or_else(std::env::temp_dir, Path::to_path_buf)
}

/// Whether its name is that of a copy: with its hash.
fn is_copy(exe: &Path) -> bool {
    let name = exe.file_name().unwrap_or_default().to_string_lossy();
    let hash = name.strip_prefix("pinwise-").unwrap_or_default();
    hash.len() >= SHORTEST_HASH && hash.chars().all(|c| c.is_ascii_hexdigit())
}

/// Makes one, which only this user may enter.
///
/// # Errors
/// There is no room.
pub(super) fn make(exe: &Path) -> Result<PathBuf, Fault> {
    let name = format!("{PREFIX}{}-{}", std::process::id(), load::monotonic_ns());
    let path = base(exe).join(name);
    OwnFolder::make(&path, Reach::Owner)?;
    Ok(path)
}

/// Opens one that was made before, by this agent or by another.
///
/// # Errors
/// It is none, is not there, or belongs to another user.
pub(super) fn open(folder: &str) -> Result<OwnFolder, Fault> {
    let path = Path::new(folder);
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    if !path.is_absolute() || !name.is_some_and(|name| name.starts_with(PREFIX)) || folder.contains("..") {
        let remedy = machine::IS_A_BUG;
        return Err(Fault::new(Class::Usage, folder, "is not a folder of a run", remedy));
    }
    OwnFolder::open(path)
}

/// Adds to the end of a file in one.
///
/// # Errors
/// The name leads elsewhere, the content is no base64, or there is no room.
pub(super) fn put(folder: &str, name: &str, content: &str) -> Result<(), Fault> {
    let own = open(folder)?;
    let content = STANDARD.decode(content).map_err(|error| misnamed(name, error.to_string()))?;
    if !is_plain_name(name) {
        return Err(misnamed(name, "is not a plain name of a file".into()));
    }
    let added = own.append(name).and_then(|mut file| file.write_all(&content));
    added.map_err(|error| Fault::io(own.path().join(name).display(), &error, "free some space there"))
}

/// All files and folders in a folder below one, each folder before what is in it. Links, devices and the like are left out.
///
/// # Errors
/// [`Class::No`] where there is no such folder; it cannot be read, or it holds more than is copied.
pub(super) fn list(folder: &str, name: &str) -> Result<Vec<Listed>, Fault> {
    let root = below(folder, name)?;
    let mut entries = Vec::new();
    walk(&root, "", &mut entries)?;
    Ok(entries)
}

fn walk(root: &Path, under: &str, entries: &mut Vec<Listed>) -> Result<(), Fault> {
    let at = root.join(under);
    let unreadable = |error: std::io::Error| Fault::io(at.display(), &error, "look at it there");
    let found = std::fs::read_dir(&at).map_err(unreadable)?;
    let mut found = found.collect::<Result<Vec<_>, _>>().map_err(unreadable)?;
    found.sort_by_key(std::fs::DirEntry::file_name);
    for entry in found {
        let is_text = entry.file_name().to_str().is_some();
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if under.is_empty() { name } else { format!("{under}/{name}") };
        // Of an entry itself, not of what a link leads to.
        let about = entry.metadata().map_err(unreadable)?;
        if !is_text || !is_plain_path(&path) || entries.len() >= MOST_ENTRIES {
            let cause = format!(
                "{path:?} in it has a name that is not copied, or it holds more than {MOST_ENTRIES} files"
            );
            return Err(Fault::new(Class::Storage, root.display(), cause, "copy it with scp -r"));
        }
        let private = about.permissions().mode() & 0o004 == 0;
        if about.is_dir() {
            entries.push(Listed { path: path.clone(), bytes: None, private });
            walk(root, &path, entries)?;
        } else if about.is_file() {
            entries.push(Listed { path, bytes: Some(about.len()), private });
        }
    }
    Ok(())
}

/// Pieces of files in a folder below one, each in base64.
///
/// # Errors
/// A path leads elsewhere, a file is not there, or more is asked for than one message holds.
pub(super) fn read(folder: &str, name: &str, pieces: &[Piece]) -> Result<Vec<String>, Fault> {
    let root = below(folder, name)?;
    let all_bytes = pieces.iter().fold(0_u64, |all, piece| all.saturating_add(piece.bytes));
    if pieces.len() > MOST_PIECES || all_bytes > PIECE_BYTES {
        return Err(misnamed(name, "more of it is asked for than one message holds".into()));
    }
    pieces.iter().map(|piece| Ok(STANDARD.encode(read_piece(&root, piece)?))).collect()
}

fn read_piece(root: &Path, piece: &Piece) -> Result<Vec<u8>, Fault> {
    if !is_plain_path(&piece.path) {
        return Err(misnamed(&piece.path, "is not a name of a file below the folder".into()));
    }
    let path = root.join(&piece.path);
    let read = || -> std::io::Result<Vec<u8>> {
        let file = open_found(&path)?;
        let mut content = vec![0; piece.bytes as usize];
        let mut filled = 0;
        while filled < content.len() {
            match file.read_at(&mut content[filled..], piece.from.saturating_add(filled as u64))? {
                0 => break,
                bytes => filled += bytes,
            }
        }
        content.truncate(filled);
        Ok(content)
    };
    read().map_err(|error| Fault::io(path.display(), &error, "look at it there"))
}

/// Removes one with all that is in it.
///
/// # Errors
/// It is none, or something cannot be removed.
pub(super) fn remove(folder: &str) -> Result<(), Fault> {
    let own = open(folder)?;
    std::fs::remove_dir_all(own.path())
        .map_err(|error| Fault::io(folder, &error, "remove it there with rm -r"))
}

/// A folder below one.
fn below(folder: &str, name: &str) -> Result<PathBuf, Fault> {
    if !is_plain_path(name) {
        return Err(misnamed(name, "is not a name of a folder below the run's".into()));
    }
    match open(folder)?.folder(name) {
        Ok(below) => Ok(below.path().to_path_buf()),
        Err(fault) if fault.errno() == Some(Errno::NOENT) => Err(Fault { class: Class::No, ..fault }),
        Err(fault) => Err(fault),
    }
}

fn misnamed(name: &str, cause: String) -> Fault {
    Fault::new(Class::Usage, name, cause, machine::IS_A_BUG)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of a run, which goes with the first.
    fn run_folder() -> (tempfile::TempDir, String) {
        let dir = tempfile::tempdir().unwrap();
        let folder = make(&dir.path().join("pinwise-0123456789abcdef")).unwrap();
        assert!(folder.starts_with(dir.path()), "beside the copy");
        (dir, folder.display().to_string())
    }

    #[test]
    fn what_is_put_there_is_listed_read_and_removed() {
        use std::os::unix::fs::symlink;
        let (_dir, folder) = run_folder();
        assert_eq!(std::fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
        put(&folder, "recipe.toml", &STANDARD.encode("seed = ")).unwrap();
        put(&folder, "recipe.toml", &STANDARD.encode("7\n")).unwrap();
        assert_eq!(std::fs::read_to_string(Path::new(&folder).join("recipe.toml")).unwrap(), "seed = 7\n");
        let case = Path::new(&folder).join("case");
        std::fs::create_dir_all(case.join("trials")).unwrap();
        std::fs::write(case.join("trials/a"), "abc").unwrap();
        for (path, mode) in [("trials", 0o755), ("trials/a", 0o600)] {
            std::fs::set_permissions(case.join(path), std::fs::Permissions::from_mode(mode)).unwrap();
        }
        symlink("/etc/passwd", case.join("link")).unwrap();
        let listed = |path: &str, bytes, private| Listed { path: path.into(), bytes, private };
        let all = [listed("trials", None, false), listed("trials/a", Some(3), true)];
        assert_eq!(list(&folder, "case").unwrap(), all);
        assert_eq!(list(&folder, "case/trials").unwrap(), [listed("a", Some(3), true)]);
        assert_eq!(list(&folder, "missing").unwrap_err().class, Class::No);
        let piece = |path: &str, from, bytes| Piece { path: path.into(), from, bytes };
        let read_one = |piece| read(&folder, "case", &[piece]).map(|all| STANDARD.decode(&all[0]).unwrap());
        assert_eq!(read_one(piece("trials/a", 1, 9)).unwrap(), b"bc");
        assert_eq!(read_one(piece("trials/a", 9, 9)).unwrap(), b"");
        for hostile in ["link", "../recipe.toml", "/etc/passwd"] {
            assert!(read_one(piece(hostile, 0, 1)).is_err(), "{hostile}");
        }
        assert!(read_one(piece("trials/a", 0, PIECE_BYTES + 1)).is_err());
        remove(&folder).unwrap();
        assert!(!Path::new(&folder).exists());
    }

    #[test]
    fn what_is_no_folder_of_a_run_is_left_alone() {
        let (dir, folder) = run_folder();
        let other = dir.path().join("other");
        std::fs::create_dir(&other).unwrap();
        let beside = format!("{folder}/../other");
        for none in
            [other.display().to_string(), beside, "run-of-pinwise-1".into(), "/".into(), String::new()]
        {
            assert!(remove(&none).is_err(), "{none}");
        }
        assert!(other.exists());
        assert!(put(&folder, "../x", "").is_err() && list(&folder, "..").is_err());
    }
}
