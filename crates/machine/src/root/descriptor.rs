//! What is read through an open descriptor: whole files and directories, with as few system calls as they allow. A map of 256 CPUs reads
//! thousands of small files.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd};

use rustix::buffer::spare_capacity;
use rustix::fs::RawDir;
use rustix::io::{Errno, read, retry_on_intr};

/// A file of sysfs has a page at most, and comes in one piece.
const PAGE_BYTES: usize = 4096;

/// Room for the names of a directory: a thousand CPUs in one call.
const NAMES_BYTES: usize = 64 * 1024;

/// No file of a machine is longer: /proc/interrupts of 4096 CPUs with 4096 lines has 180 MiB. A sparse file of a tree
/// from anywhere could claim all memory.
pub(super) const MOST_BYTES: usize = 256 << 20;

/// The content of an open file; `EFBIG` when it is longer than any file of a machine. `path` is where it stands on the machine
/// that is described.
pub(super) fn content(file: impl AsFd, path: &str) -> Result<Vec<u8>, Errno> {
    let mut page = [MaybeUninit::<u8>::uninit(); PAGE_BYTES];
    let (first, _) =
        retry_on_intr(|| read(&file, &mut page).map(|(read, rest)| (read.to_vec(), rest.len())))?;
    if first.is_empty() || (first.len() < PAGE_BYTES && is_printed_at_once(path)) {
        return Ok(first);
    }
    let mut content = first;
    loop {
        if content.len() > MOST_BYTES {
            return Err(Errno::FBIG);
        }
        if content.len() == content.capacity() {
            content.reserve(content.len().max(PAGE_BYTES));
        }
        if retry_on_intr(|| read(&file, spare_capacity(&mut content)))? == 0 {
            return Ok(content);
        }
    }
}

/// Whether a read that is cut short is the end of the file: the kernel prints an attribute of sysfs at once, also a
/// setting (fs/proc/proc_sysctl.c) and what is known of one interrupt line or process (single_open in fs/seq_file.c),
/// and on a disk nothing else cuts a read short. Other files of /proc, cgroups and debugfs come in pieces of any size.
fn is_printed_at_once(path: &str) -> bool {
    let folders = [
        "/sys/devices/",
        "/sys/class/",
        "/sys/module/",
        "/sys/kernel/irq/",
        "/sys/kernel/mm/",
        "/proc/sys/",
        "/proc/irq/",
    ];
    let of_process = || {
        let (pid, file) = path.strip_prefix("/proc/")?.split_once('/')?;
        let is_number = pid.bytes().all(|byte| byte.is_ascii_digit());
        Some(is_number && matches!(file, "stat" | "status"))
    };
    folders.iter().any(|folder| path.starts_with(folder)) || of_process() == Some(true)
}

/// The names in an open directory, in any order; `EFBIG` when there are more than `most`. A name that is no UTF-8 is none of
/// the kernel's: no reader could ask for it.
pub(super) fn names(directory: impl AsFd, most: usize) -> Result<Vec<String>, Errno> {
    let mut room = Vec::with_capacity(NAMES_BYTES);
    let mut entries = RawDir::new(directory, room.spare_capacity_mut());
    let mut names = Vec::new();
    while let Some(entry) = entries.next() {
        let entry = entry?;
        match entry.file_name().to_str() {
            Ok("." | "..") | Err(_) => {}
            Ok(_) if names.len() >= most => return Err(Errno::FBIG),
            Ok(name) => names.push(name.to_string()),
        }
    }
    Ok(names)
}

/// Where an open file or directory stands, with every link followed (proc_pid_fd(5)); `None` where /proc does not show it.
pub(super) fn place(open: impl AsFd) -> Option<String> {
    let own = format!("/proc/thread-self/fd/{}", open.as_fd().as_raw_fd());
    let place = rustix::fs::readlink(own, Vec::new()).ok()?.into_string().ok()?;
    // What has no place (any more) is reported in other words: `pipe:[1]`, `/x (deleted)`.
    (place.starts_with('/') && !place.ends_with(" (deleted)")).then_some(place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn files_of_every_length_are_read_in_full() {
        let dir = tempfile::tempdir().unwrap();
        for length in [0, 1, PAGE_BYTES - 1, PAGE_BYTES, PAGE_BYTES + 1, 5 * PAGE_BYTES, 300_001] {
            let bytes: Vec<u8> = (0..length).map(|n| (n % 251) as u8).collect();
            let path = dir.path().join("file");
            std::fs::write(&path, &bytes).unwrap();
            for told in ["/sys/devices/file", "/proc/file"] {
                assert_eq!(content(std::fs::File::open(&path).unwrap(), told).unwrap(), bytes, "{length}");
            }
        }
    }

    #[test]
    fn files_of_proc_come_in_pieces() {
        let direct = std::fs::read("/proc/self/mountinfo").unwrap();
        let file = std::fs::File::open("/proc/self/mountinfo").unwrap();
        assert_eq!(content(file, "/proc/self/mountinfo").unwrap(), direct);
    }

    #[test]
    fn directories_of_every_size_are_listed_in_full() {
        let dir = tempfile::tempdir().unwrap();
        let wanted: BTreeSet<String> = (0..5_000).map(|n| format!("a-name-of-some-length-{n}")).collect();
        wanted.iter().for_each(|name| std::fs::write(dir.path().join(name), "").unwrap());
        let listed = names(std::fs::File::open(dir.path()).unwrap(), 5_000).unwrap();
        assert_eq!(listed.len(), wanted.len());
        let fewer = names(std::fs::File::open(dir.path()).unwrap(), 4_999);
        assert_eq!(fewer.unwrap_err(), Errno::FBIG);
        assert_eq!(listed.into_iter().collect::<BTreeSet<_>>(), wanted);
    }
}
