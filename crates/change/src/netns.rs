//! Network namespaces: entered by name, as `ip netns` makes them, or by an open file of nsfs.

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
    enter_file(&open(name)?)
}

fn enter_file(namespace: &File) -> io::Result<()> {
    Ok(move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?)
}

/// Runs `work` on a thread of its own in the network namespace of that name, which sees its /sys too.
pub fn within<T: Send>(name: &str, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    within_file(&open(name)?, work)
}

/// Runs `work` on a thread of its own that sees the namespace's network and its /sys.
///
/// A mount of sysfs shows the devices of the network namespace that it was made in, hence a mount namespace of the
/// thread's own; both go with the thread.
pub fn within_file<T: Send>(namespace: &File, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    on_thread(|| {
        // SAFETY: only CLONE_NEWNS (and with it CLONE_FS), which touch no file descriptors and no memory; the thread
        // is ours alone and ends after `work`.
        unsafe { unshare_unsafe(UnshareFlags::NEWNS) }?;
        mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
        enter_file(namespace)?;
        match mount("sysfs", "/sys", "sysfs", MountFlags::empty(), None) {
            // What is there already is the very same: /sys shows this namespace.
            Ok(()) | Err(rustix::io::Errno::BUSY) => work(),
            Err(error) => Err(error.into()),
        }
    })
}

/// Runs `work` on a thread of its own in the namespace, with the /sys that we see.
pub fn on_thread_in<T: Send>(namespace: &File, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    on_thread(|| enter_file(namespace).and_then(|()| work()))
}

fn on_thread<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("netns".into()).spawn_scoped(scope, work)?;
        thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread in the namespace panicked")))
    })
}
