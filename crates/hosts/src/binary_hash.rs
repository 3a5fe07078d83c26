//! The hash of a binary, by which its copies on other hosts are known.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use sha2::{Digest, Sha256};

/// Bytes of the hash that the name has: 2^64 builds until two are likely to share one.
const HASH_BYTES: usize = 16;

/// Device, inode, and the time of the last change, s and ns: different once a file was replaced or written to.
type Version = (u64, u64, i64, i64);

/// The hash of the file that was read last: all hosts get the same binary.
#[derive(Debug, Default)]
pub(crate) struct KnownHash(Mutex<Option<(Version, String)>>);

impl KnownHash {
    /// The hash of the file, which is read unless it is the one that was read last.
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) fn of(&self, exe: &Path) -> io::Result<String> {
        let mut file = File::open(exe)?;
        let about = file.metadata()?;
        let version = (about.dev(), about.ino(), about.ctime(), about.ctime_nsec());
        // Held while the file is read: hosts that are reached meanwhile wait for the same.
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, hash)) = &*known
            && *of == version
        {
            return Ok(hash.clone());
        }
        let hash = hash(&mut file)?;
        *known = Some((version, hash.clone()));
        Ok(hash)
    }
}

fn hash(file: &mut impl Read) -> io::Result<String> {
    let (mut hash, mut buffer) = (Sha256::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            bytes => hash.update(&buffer[..bytes]),
        }
    }
    Ok(hash.finalize().iter().take(HASH_BYTES).map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binary_is_known_by_what_is_in_it() {
        let dir = tempfile::tempdir().unwrap();
        let of = |text: &str| {
            let path = dir.path().join("exe");
            std::fs::write(&path, text).unwrap();
            KnownHash::default().of(&path).unwrap()
        };
        // sha256("abc"), FIPS 180-2.
        assert_eq!(of("abc"), "ba7816bf8f01cfea414140de5dae2223");
        assert_ne!(of("abd"), of("abc"));
        assert!(KnownHash::default().of(Path::new("/nonexistent")).is_err());
    }

    #[test]
    fn a_binary_is_read_again_once_it_was_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let [exe, new] = ["exe", "new"].map(|name| dir.path().join(name));
        std::fs::write(&exe, "abc").unwrap();
        std::fs::write(&new, "abd").unwrap();
        let known = KnownHash::default();
        let before = known.of(&exe).unwrap();
        assert_eq!(known.of(&exe).unwrap(), before);
        std::fs::rename(&new, &exe).unwrap();
        assert_eq!(known.of(&exe).unwrap(), KnownHash::default().of(&exe).unwrap());
        assert_ne!(known.of(&exe).unwrap(), before);
    }
}
