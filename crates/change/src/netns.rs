//! Network namespaces by name, as `ip netns` makes them.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

/// Opens /run/netns/NAME.
pub fn open(name: &str) -> io::Result<File> {
    if name.is_empty() || name.contains('/') || name == "." || name == ".." {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "this is no name of a network namespace"));
    }
    File::open(format!("/run/netns/{name}"))
}

/// Moves the calling thread, and no other, into the namespace.
pub fn enter(name: &str) -> io::Result<()> {
    let namespace = open(name)?;
    Ok(move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?)
}

/// Runs `work` on a thread of its own that sees the namespace's network and its /sys.
///
/// A mount of sysfs shows the devices of the network namespace that it was made in, hence a mount namespace of the
/// thread's own; both go with the thread.
pub fn within<T: Send>(name: &str, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    let inside = || {
        // SAFETY: only CLONE_NEWNS (and with it CLONE_FS), which touch no file descriptors and no memory; the thread
        // is ours alone and ends after `work`.
        unsafe { unshare_unsafe(UnshareFlags::NEWNS) }?;
        mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
        enter(name)?;
        mount("sysfs", "/sys", "sysfs", MountFlags::empty(), None)?;
        work()
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name(format!("netns {name}")).spawn_scoped(scope, inside)?;
        thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread in the namespace panicked")))
    })
}
