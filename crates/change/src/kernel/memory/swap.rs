//! Swap files of pinwise: made, switched on and off, removed (mkswap(8), swapon(2)).

use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Beginning and end of the names of our files. No others are ever removed.
const NAME: (&str, &str) = ("pinwise-", ".swap");

/// Space to leave free on the file system, bytes: the case itself needs some.
const LEFT_FREE_BYTES: u64 = 256 << 20;

/// SWAP_FLAG_PREFER with the highest priority (include/linux/swap.h), so that the kernel swaps here before elsewhere.
const BEFORE_ALL_OTHERS: i32 = 0x8000 | 0x7fff;

/// Version of the area, and the end of its header (union swap_header in include/linux/swap.h).
const VERSION: u32 = 1;
const MAGIC: &[u8; 10] = b"SWAPSPACE2";
const INFO_AT: u64 = 1024;

/// Name of the swap file that a session makes with its act `seq`.
pub fn file_name(session: &str, seq: u64) -> String {
    format!("{}{session}-{seq}{}", NAME.0, NAME.1)
}

/// Writes a swap area of so many bytes into a new file. Every block is written, since the kernel does not swap to holes.
///
/// # Errors
/// `AlreadyExists`; `StorageFull`; `InvalidInput` for a size that no area can have, or a name that is not ours.
pub fn make(path: &Path, bytes: u64) -> io::Result<()> {
    is_ours(path)?;
    let page = rustix::param::page_size() as u64;
    let pages = bytes / page;
    let last_page = pages.checked_sub(1).and_then(|last| u32::try_from(last).ok()).filter(|last| *last >= 9);
    let last_page =
        last_page.ok_or_else(|| unfit(format!("a swap area has 10 to 2^32 pages, not {pages}")))?;
    has_room(path, bytes)?;
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    write_zeros(&mut file, pages * page)?;
    for (at, part) in
        [(INFO_AT, &VERSION.to_ne_bytes()[..]), (INFO_AT + 4, &last_page.to_ne_bytes()), (page - 10, MAGIC)]
    {
        file.seek(SeekFrom::Start(at))?;
        file.write_all(part)?;
    }
    file.sync_all()
}

fn write_zeros(file: &mut File, bytes: u64) -> io::Result<()> {
    let zeros = vec![0; 1 << 20];
    let mut left = bytes;
    while left > 0 {
        let part = left.min(zeros.len() as u64);
        file.write_all(&zeros[..part as usize])?;
        left -= part;
    }
    Ok(())
}

fn has_room(path: &Path, bytes: u64) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let of = rustix::fs::statvfs(folder)?;
    let free = of.f_bavail.saturating_mul(of.f_frsize);
    match bytes.saturating_add(LEFT_FREE_BYTES) <= free {
        true => Ok(()),
        false => {
            let [free, bytes, left] = [free, bytes, LEFT_FREE_BYTES].map(|bytes| bytes >> 20);
            let why = format!(
                "{free} MiB are free in {}: not enough for {bytes} MiB of swap and {left} MiB that must stay free",
                folder.display()
            );
            Err(io::Error::new(io::ErrorKind::StorageFull, why))
        }
    }
}

/// Removes such a file.
///
/// # Errors
/// `InvalidInput` for a name that is not ours; those of unlink(2).
pub fn remove(path: &Path) -> io::Result<()> {
    is_ours(path)?;
    fs::remove_file(path)
}

/// Checks that a swap file of ours can have this name: a damaged ledger may name any.
///
/// # Errors
/// `InvalidInput` if it cannot.
fn is_ours(path: &Path) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    match name.starts_with(NAME.0) && name.ends_with(NAME.1) {
        true => Ok(()),
        false => Err(unfit("this is not the name of a swap file of pinwise, which touches no others".into())),
    }
}

fn unfit(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

/// Whether the kernel swaps to this file.
pub fn is_on(path: &Path) -> io::Result<bool> {
    match fs::read("/proc/swaps") {
        Ok(table) => Ok(is_listed(&table, path)),
        // A kernel without swap (CONFIG_SWAP).
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether a path is in the table of areas, which has blanks, tabs, newlines and backslashes as octal numbers (swap_show()
/// in mm/swapfile.c).
fn is_listed(table: &[u8], path: &Path) -> bool {
    let mut wanted = Vec::new();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b' ' | b'\t' | b'\n' | b'\\' => wanted.extend(format!("\\{byte:03o}").bytes()),
            byte => wanted.push(*byte),
        }
    }
    let first = |line: &[u8]| line.split(|b| matches!(b, b' ' | b'\t')).next() == Some(&wanted[..]);
    table.split(|b| *b == b'\n').skip(1).any(first)
}

/// swapon(2).
pub fn on(path: &Path) -> io::Result<()> {
    is_ours(path)?;
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: the path is a string that ends in a zero byte and lives until the call returns.
    done(unsafe { libc::swapon(path.as_ptr(), BEFORE_ALL_OTHERS) })
}

/// swapoff(2): returns when all of its pages are back in memory.
pub fn off(path: &Path) -> io::Result<()> {
    is_ours(path)?;
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: as above.
    done(unsafe { libc::swapoff(path.as_ptr()) })
}

fn done(result: i32) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_area_is_what_mkswap_makes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pinwise-1-2.swap");
        make(&path, (1 << 20) + 5).unwrap();
        let written = fs::read(&path).unwrap();
        let page = rustix::param::page_size();
        assert_eq!(written.len(), 1 << 20);
        assert_eq!(&written[page - 10..page], MAGIC);
        assert_eq!(written[1024..1028], 1u32.to_ne_bytes());
        assert_eq!(written[1028..1032], ((1 << 20) / page as u32 - 1).to_ne_bytes());
        assert_eq!(make(&path, 1 << 20).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        remove(&path).unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn files_of_others_and_areas_without_room_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let other = dir.path().join("swapfile");
        fs::write(&other, "x").unwrap();
        assert!(remove(&other).is_err() && off(&other).is_err() && other.exists());
        let path = dir.path().join("pinwise-1-2.swap");
        let error = make(&path, 1 << 43).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert!(error.to_string().contains("MiB are free"), "{error}");
        assert!(make(&path, 100).is_err() && !path.exists());
    }

    #[test]
    fn the_table_of_areas_is_read_with_its_escapes() {
        let table = b"Filename\tType\tSize\tUsed\tPriority\n/a\\040b/pinwise-1.swap   file\t1\t0\t-2\n/dev/sda1 partition\t1\n";
        assert!(is_listed(table, Path::new("/a b/pinwise-1.swap")));
        assert!(is_listed(table, Path::new("/dev/sda1")));
        assert!(!is_listed(table, Path::new("/dev/sda")) && !is_listed(table, Path::new("Filename")));
        assert!(!is_listed(b"", Path::new("/x")));
    }
}
