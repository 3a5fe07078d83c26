//! File handles of namespaces (name_to_handle_at(2) on nsfs, Linux 6.18): a number that is never given twice, the way back into a
//! namespace that no process and no name leads to, and the proof that one has ended.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd};

/// FILEID_NSFS of include/linux/exportfs.h.
const TYPE_NSFS: libc::c_int = 0xf1;

/// Stands for the root of nsfs where a descriptor is asked for (FD_NSFS_ROOT of include/uapi/linux/fcntl.h).
const NSFS_ROOT: libc::c_int = -10003;

/// CLONE_NEWNET, by which a handle names the kind.
const NETWORK: u32 = libc::CLONE_NEWNET as u32;

/// `struct file_handle` with what nsfs puts into it (`struct nsfs_file_handle` of include/uapi/linux/nsfs.h).
#[repr(C)]
#[derive(Default)]
struct Handle {
    bytes: u32,
    kind: libc::c_int,
    id: [u8; 8],
    namespace_type: u32,
    inode: u32,
}

const BYTES: u32 = 16;

/// The id of the namespace that a file of nsfs stands for.
///
/// # Errors
/// The kernel has no such handles (before 6.18).
pub fn id_of(file: BorrowedFd<'_>) -> io::Result<u64> {
    let mut handle = Handle { bytes: BYTES, ..Handle::default() };
    let mut mount: libc::c_int = 0;
    // SAFETY: `handle` has room for as many bytes as it says, and the path is an empty string, which AT_EMPTY_PATH allows.
    let done = unsafe {
        libc::syscall(
            libc::SYS_name_to_handle_at,
            file.as_raw_fd(),
            c"".as_ptr(),
            &raw mut handle,
            &raw mut mount,
            libc::AT_EMPTY_PATH,
        )
    };
    match (done, handle.kind, handle.bytes) {
        (0, TYPE_NSFS, BYTES) => Ok(u64::from_ne_bytes(handle.id)),
        (0, ..) => Err(io::Error::from(io::ErrorKind::Unsupported)),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The network namespace of that id and inode number; `None` when it has ended.
///
/// # Errors
/// The kernel has no such handles; this process may not see all namespaces, so that it cannot distinguish one that has ended from one
/// that it may not open.
pub fn open_network(id: u64, inode: u64) -> io::Result<Option<File>> {
    let inode = u32::try_from(inode).map_err(io::Error::other)?;
    let mut handle =
        Handle { bytes: BYTES, kind: TYPE_NSFS, id: id.to_ne_bytes(), namespace_type: NETWORK, inode };
    // SAFETY: `handle` is whole, and only read.
    let opened = unsafe {
        libc::syscall(
            libc::SYS_open_by_handle_at,
            NSFS_ROOT,
            &raw mut handle,
            libc::O_RDONLY | libc::O_CLOEXEC,
        )
    };
    if opened >= 0 {
        let descriptor = libc::c_int::try_from(opened).map_err(io::Error::other)?;
        // SAFETY: the kernel has just opened it for us alone.
        return Ok(Some(unsafe { File::from_raw_fd(descriptor) }));
    }
    match io::Error::last_os_error() {
        error if error.raw_os_error() == Some(libc::ESTALE) && sees_all()? => Ok(None),
        error => Err(error),
    }
}

/// Whether this process may open every namespace: then one that cannot be opened is not there. The kernel answers ESTALE to others
/// as well.
fn sees_all() -> io::Result<bool> {
    const FIRST_USER: u64 = 0xefff_fffd; // PROC_USER_INIT_INO of include/linux/proc_ns.h
    const FIRST_PID: u64 = 0xefff_fffc; // PROC_PID_INIT_INO
    let is = |kind: &str, inode| super::Namespace::of_kind(kind).map(|found| found.inode == inode);
    Ok(is("user", FIRST_USER)?
        && is("pid", FIRST_PID)?
        && crate::capability::is_effective(crate::capability::SYS_ADMIN))
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;
    use crate::namespace::Namespace;

    /// On a thread that leaves its network namespace for a new one.
    fn new_namespace() -> Option<Namespace> {
        let made = || {
            // SAFETY: CLONE_NEWNET touches neither memory nor file descriptors.
            unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWNET) }.ok()?;
            Namespace::of_network().ok()
        };
        std::thread::spawn(made).join().unwrap()
    }

    #[test]
    fn a_namespace_is_opened_by_its_number_until_it_has_ended() {
        let Ok(own) = id_of(File::open("/proc/self/ns/net").unwrap().as_fd()) else {
            eprintln!("skipped: this kernel has no handles of namespaces (before Linux 6.18)");
            return;
        };
        let inode = Namespace::of_network().unwrap().inode;
        let opened = open_network(own, inode).unwrap().expect("our own lives");
        assert_eq!(id_of(opened.as_fd()).unwrap(), own);
        let Some(ended) = new_namespace() else {
            eprintln!("skipped: making network namespaces needs root");
            return;
        };
        // The kernel takes namespaces apart a moment after their last thread has ended.
        let gone = || open_network(ended.id.unwrap(), ended.inode).unwrap().is_none();
        let until = std::time::Instant::now() + std::time::Duration::from_secs(30);
        while !gone() {
            assert!(std::time::Instant::now() < until, "it has no thread, and lives");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }
}
