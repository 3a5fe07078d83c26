//! Which namespace it is: a path or a name means one thing here and another there (namespaces(7)).

pub(crate) mod handle;
pub(crate) mod netns;
pub mod process_view;
pub(crate) mod search;

use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;

use rustix::net::{AddressFamily, SocketType};
use serde::{Deserialize, Serialize};

use crate::procfs;

/// A namespace, as the kernel identifies it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Namespace {
    /// Its inode number on nsfs. No other living namespace has it; a later one may.
    pub inode: u64,
    /// The id in its nsfs file handle, which no other namespace of the boot ever has (fs/nsfs.c, Linux 6.18).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
    /// A second mark for kernels without that: of a network namespace its cookie (SO_NETNS_COOKIE of socket(7), Linux 5.14), of a PID
    /// namespace the start of its first process, clock ticks since boot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<u64>,
}

impl Namespace {
    /// Whether it is the same one, by the strongest of what is known of both.
    pub fn is(&self, other: &Self) -> bool {
        let by = |a: Option<u64>, b: Option<u64>| Some(a? == b?);
        self.inode == other.inode
            && by(self.id, other.id).or_else(|| by(self.mark, other.mark)).unwrap_or(true)
    }

    /// The namespace of an open file of nsfs (/proc/PID/ns/TYPE, /run/netns/NAME); its mark is left out.
    pub(crate) fn of_file(file: &File) -> io::Result<Self> {
        Ok(Self { inode: file.metadata()?.ino(), id: handle::id_of(file.as_fd()).ok(), mark: None })
    }

    /// The network namespace of the calling thread.
    pub(crate) fn of_network() -> io::Result<Self> {
        let file = File::open("/proc/thread-self/ns/net")?;
        Ok(Self { mark: cookie().ok(), ..Self::of_file(&file)? })
    }

    /// The PID namespace of this process, by the procfs at /proc.
    ///
    /// # Errors
    /// No procfs is mounted there, or that of another PID namespace.
    pub(crate) fn of_processes() -> io::Result<Self> {
        let seen = fs::read_link("/proc/self")?;
        if seen.to_str() != Some(&std::process::id().to_string()) {
            let why = "/proc shows the processes of another PID namespace (mount it anew: unshare --mount-proc, or mount -t proc proc /proc)";
            return Err(io::Error::other(why));
        }
        let file = File::open("/proc/self/ns/pid")?;
        Ok(Self { mark: procfs::start_time(1, 1).ok(), ..Self::of_file(&file)? })
    }

    /// Another namespace of this process: `mnt`, `cgroup`, `time`.
    pub(crate) fn of_kind(kind: &str) -> io::Result<Self> {
        Self::of_file(&File::open(format!("/proc/self/ns/{kind}"))?)
    }
}

/// The cookie of the calling thread's network namespace.
fn cookie() -> io::Result<u64> {
    let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::DGRAM, None)?;
    let mut cookie = 0_u64;
    let mut length = size_of::<u64>() as libc::socklen_t;
    // SAFETY: `cookie` and `length` are valid places of that many bytes for as long as the call takes.
    let done = unsafe {
        libc::getsockopt(
            std::os::fd::AsRawFd::as_raw_fd(&socket),
            libc::SOL_SOCKET,
            libc::SO_NETNS_COOKIE,
            (&raw mut cookie).cast(),
            &raw mut length,
        )
    };
    if done == 0 { Ok(cookie) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOME: Namespace = Namespace { inode: 4_026_532_177, id: None, mark: None };

    #[test]
    fn the_strongest_mark_that_both_have_decides() {
        assert!(SOME.is(&SOME) && SOME.is(&Namespace { id: Some(7), ..SOME }));
        let (first, later) = (Namespace { id: Some(7), ..SOME }, Namespace { id: Some(8), ..SOME });
        assert!(!first.is(&later), "its inode number was given to a later one");
        let (first, later) = (Namespace { mark: Some(7), ..SOME }, Namespace { mark: Some(8), ..SOME });
        assert!(!first.is(&later));
        assert!(!SOME.is(&Namespace { inode: 1, ..SOME }));
    }

    #[test]
    fn this_process_is_in_the_namespaces_that_it_is_in() {
        for own in [Namespace::of_network(), Namespace::of_processes(), Namespace::of_kind("mnt")] {
            assert!(own.unwrap().inode > 0);
        }
        assert!(Namespace::of_network().unwrap().is(&Namespace::of_kind("net").unwrap()));
    }
}
