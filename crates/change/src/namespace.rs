//! Which namespace it is: a path or a name means one thing here and another there (namespaces(7)).

pub(crate) mod handle;
pub(crate) mod netns;
pub mod process_view;
pub(crate) mod search;

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::sync::OnceLock;

use machine::Root;
use machine::processes::PidNamespace;
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
        numbers_are_ours()?;
        let file = File::open("/proc/self/ns/pid")?;
        Ok(Self { mark: procfs::start_time(1, 1).ok(), ..Self::of_file(&file)? })
    }

    /// Another namespace of this process: `mnt`, `cgroup`, `time`.
    pub(crate) fn of_kind(kind: &str) -> io::Result<Self> {
        Self::of_file(&File::open(format!("/proc/self/ns/{kind}"))?)
    }
}

/// Checks that a process number of /proc means the same process to the kernel when this one passes it on.
///
/// # Errors
/// They are those of another PID namespace.
pub(crate) fn numbers_are_ours() -> io::Result<()> {
    static ARE_OURS: OnceLock<()> = OnceLock::new();
    if ARE_OURS.get().is_some() {
        return Ok(());
    }
    let seen = match fs::read_link("/proc/self") {
        Ok(seen) => seen,
        // Where no procfs is mounted at all, reading a file of it says so.
        Err(_) if !fs::exists("/proc/1").unwrap_or(false) => return Ok(()),
        Err(_) => return Err(of_others()),
    };
    // The two may be equal by chance: then the status of this process lists its number in both namespaces.
    let is_same = seen.to_str() == Some(&std::process::id().to_string());
    if !is_same || !PidNamespace::of_proc(&Root::live()).is_ours {
        return Err(of_others());
    }
    ARE_OURS.get_or_init(|| ());
    Ok(())
}

/// Of numbers that are those of another PID namespace.
pub(crate) fn of_others() -> io::Error {
    io::Error::other(OfOthers)
}

/// The error of numbers that are those of another PID namespace.
#[derive(Debug)]
struct OfOthers;

impl fmt::Display for OfOthers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("/proc shows the processes of another PID namespace")
    }
}

impl std::error::Error for OfOthers {}

/// What to do about an error of [`numbers_are_ours`]; `None` of any other error. It does not say to mount over /proc: in
/// the namespace of a container that was entered without its mounts, that would hide the host's.
pub(crate) fn remedy(error: &io::Error) -> Option<&'static str> {
    let is_of_others = error.get_ref().is_some_and(|why| why.is::<OfOthers>());
    is_of_others.then_some(
        "enter the container with its mounts too (nsenter --target PID --all), run outside of it, or start this with a /proc of its own \
        (unshare --pid --fork --mount-proc)",
    )
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
    fn what_to_do_about_the_numbers_of_others() {
        let error = of_others();
        let remedy_of_others = remedy(&error).unwrap();
        assert!(error.to_string().contains("another PID namespace"));
        assert!(remedy_of_others.contains("nsenter") && !remedy_of_others.contains("mount -t"));
        let others =
            [io::Error::other("x"), io::Error::from(io::ErrorKind::NotFound), io::Error::last_os_error()];
        assert!(others.iter().all(|error| remedy(error).is_none()));
    }

    #[test]
    fn this_process_is_in_the_namespaces_that_it_is_in() {
        for own in [Namespace::of_network(), Namespace::of_processes(), Namespace::of_kind("mnt")] {
            assert!(own.unwrap().inode > 0);
        }
        assert!(Namespace::of_network().unwrap().is(&Namespace::of_kind("net").unwrap()));
    }
}
