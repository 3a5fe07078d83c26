//! A folder of another host that is copied to this one. What the other host says of it is not trusted.

use std::collections::BTreeSet;
use std::fs::Permissions;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use machine::own_folder::{OwnFolder, Reach};
use machine::{Class, Fault};

use crate::protocol::{Listed, Piece};
use crate::remote_folder::{MOST_BYTES, MOST_ENTRIES, MOST_PIECES, PIECE_BYTES, is_plain_path};

/// The pieces of all files of a list, once it is within bounds and leads nowhere else.
///
/// # Errors
/// What is wrong with it, in words.
pub(crate) fn checked(listed: &[Listed]) -> Result<Vec<Piece>, String> {
    if listed.len() > MOST_ENTRIES {
        return Err(format!("it has more than {MOST_ENTRIES} files and folders"));
    }
    let mut seen = BTreeSet::new();
    let mut pieces = Vec::new();
    let mut total_bytes = 0_u64;
    for Listed { path, bytes, .. } in listed {
        if !is_plain_path(path) || !seen.insert(path.as_str()) {
            return Err(format!("'{path}' in it is not a name of a file below it, or is there twice"));
        }
        let Some(bytes) = *bytes else { continue };
        total_bytes = total_bytes.saturating_add(bytes);
        if total_bytes > MOST_BYTES {
            return Err(format!("it is larger than {} GiB", MOST_BYTES >> 30));
        }
        let from = (0..bytes).step_by(PIECE_BYTES as usize);
        pieces.extend(from.map(|from| Piece {
            path: path.clone(),
            from,
            bytes: PIECE_BYTES.min(bytes - from),
        }));
    }
    Ok(pieces)
}

/// The pieces in as few messages as their bounds allow.
pub(crate) fn in_messages(pieces: &[Piece]) -> Vec<Vec<Piece>> {
    let mut messages: Vec<Vec<Piece>> = Vec::new();
    let mut bytes_of_last = 0;
    for piece in pieces {
        match messages.last_mut() {
            Some(last) if last.len() < MOST_PIECES && bytes_of_last + piece.bytes <= PIECE_BYTES => {
                last.push(piece.clone());
                bytes_of_last += piece.bytes;
            }
            _ => {
                messages.push(vec![piece.clone()]);
                bytes_of_last = piece.bytes;
            }
        }
    }
    messages
}

/// A fault about what a host sends of a folder.
pub(crate) fn hostile(host: &str, name: &str, cause: String) -> Fault {
    let remedy = "look at it there, and copy it with scp -r";
    Fault::new(Class::WorkloadFailed, format!("host {host}: folder {name}"), cause, remedy)
}

/// That nothing is at `into`, not even a link that leads nowhere: a copy replaces nothing.
///
/// # Errors
/// Something is there already.
pub fn nothing_at(into: &Path) -> Result<(), Fault> {
    match std::fs::symlink_metadata(into) {
        Ok(_) => {
            let remedy = "choose another folder with -o, or remove it";
            Err(Fault::new(Class::Usage, into.display(), "is there already", remedy))
        }
        Err(_) => Ok(()),
    }
}

/// The copy.
pub(crate) struct FetchedFolder {
    folder: OwnFolder,
}

impl FetchedFolder {
    /// Makes the folder, with all folders and empty files in it.
    ///
    /// # Errors
    /// Something is there already, or it cannot be written.
    pub(crate) fn make(into: &Path, listed: &[Listed]) -> Result<Self, Fault> {
        nothing_at(into)?;
        let folder = OwnFolder::make(into, Reach::Everybody)?;
        for Listed { path, bytes, private } in listed {
            let (above, name) = path.rsplit_once('/').unwrap_or(("", path.as_str()));
            let above = folder.make_folders(above)?;
            let reach = if *private { Reach::Owner } else { Reach::Everybody };
            match bytes {
                None => above.make_folder(name, reach).map(drop)?,
                Some(_) => create(&above, name, reach).map_err(|error| unwritable(into, path, &error))?,
            }
        }
        Ok(Self { folder })
    }

    /// Adds pieces, each to the end of its file.
    ///
    /// # Errors
    /// The disk is full.
    pub(crate) fn write(&self, pieces: &[Piece], contents: &[Vec<u8>]) -> Result<(), Fault> {
        for (piece, content) in pieces.iter().zip(contents) {
            let written = self.folder.append(&piece.path).and_then(|mut file| file.write_all(content));
            written.map_err(|error| unwritable(self.folder.path(), &piece.path, &error))?;
        }
        Ok(())
    }
}

/// Makes an empty file. What others may not read there, they may not here.
fn create(above: &OwnFolder, name: &str, reach: Reach) -> io::Result<()> {
    let file = above.create(name)?;
    match reach {
        Reach::Owner => file.set_permissions(Permissions::from_mode(0o600)),
        Reach::Passable | Reach::Everybody => Ok(()),
    }
}

fn unwritable(into: &Path, path: &str, error: &io::Error) -> Fault {
    Fault::io(into.join(path).display(), error, "free some space, or choose another folder with -o")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, bytes: u64) -> Listed {
        Listed { path: path.into(), bytes: Some(bytes), private: false }
    }

    fn folder(path: &str) -> Listed {
        Listed { path: path.into(), bytes: None, private: true }
    }

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        for path in ["../x", "/etc/passwd", "a/../../x", ".", "a//b", ""] {
            assert!(checked(&[file(path, 1)]).is_err() && checked(&[folder(path)]).is_err(), "{path:?}");
        }
        assert!(checked(&[folder("a"), file("a", 1)]).unwrap_err().contains("twice"));
    }

    #[test]
    fn what_is_beyond_the_bounds_is_refused_before_anything_is_written() {
        assert!(checked(&[file("a", MOST_BYTES), file("b", 1)]).unwrap_err().contains("4 GiB"));
        assert!(checked(&[file("a", u64::MAX), file("b", u64::MAX)]).is_err());
        let many: Vec<Listed> = (0..=MOST_ENTRIES).map(|n| folder(&n.to_string())).collect();
        assert!(checked(&many).unwrap_err().contains("more than"));
    }

    #[test]
    fn messages_have_all_pieces_in_order_and_keep_their_bounds() {
        let mut listed: Vec<Listed> = (0..2 * MOST_PIECES).map(|n| file(&format!("small-{n}"), 1)).collect();
        listed.extend([file("empty", 0), file("large", 3 * PIECE_BYTES + 1), folder("f")]);
        let pieces = checked(&listed).unwrap();
        let messages = in_messages(&pieces);
        assert_eq!(messages.concat(), pieces);
        for message in &messages {
            assert!(message.len() <= MOST_PIECES);
            assert!(message.iter().map(|piece| piece.bytes).sum::<u64>() <= PIECE_BYTES);
        }
        assert_eq!(pieces.iter().map(|piece| piece.bytes).sum::<u64>(), 1000 + 3 * PIECE_BYTES + 1);
        assert!(in_messages(&[]).is_empty());
    }

    #[test]
    fn a_folder_is_written_once_and_not_over_another() {
        let dir = tempfile::tempdir().unwrap();
        let into = dir.path().join("case");
        let secret = Listed { private: true, ..file("secrets.toml", 0) };
        let listed = [folder("trials"), file("trials/a", 3), file("empty", 0), file("deep/er/b", 1), secret];
        let fetched = FetchedFolder::make(&into, &listed).unwrap();
        let piece = |from: u64, bytes: u64| Piece { path: "trials/a".into(), from, bytes };
        fetched.write(&[piece(0, 2), piece(2, 1)], &[b"ab".to_vec(), b"c".to_vec()]).unwrap();
        assert_eq!(std::fs::read(into.join("trials/a")).unwrap(), b"abc");
        assert_eq!(std::fs::read(into.join("empty")).unwrap(), b"");
        let others_may_read =
            |path: &str| into.join(path).metadata().unwrap().permissions().mode() & 0o077 != 0;
        assert!(!others_may_read("trials") && !others_may_read("secrets.toml"));
        assert!(FetchedFolder::make(&into, &listed).is_err());
    }

    #[test]
    fn a_file_that_is_also_a_folder_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let listed = [file("a", 1), file("a/b", 1)];
        assert!(FetchedFolder::make(&dir.path().join("case"), &listed).is_err());
    }
}
