//! Network namespaces: entered by name, as `ip netns` makes them, or by an open file of nsfs.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use machine::{Class, Fault};
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

/// Opens /run/netns/NAME.
///
/// # Errors
/// There is none of that name, or no namespace can have it.
pub fn open(name: &str) -> io::Result<File> {
    if name.is_empty() || name.contains('/') || name == "." || name == ".." {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "this is not a valid name of a network namespace",
        ));
    }
    File::open(format!("/run/netns/{name}"))
}

/// Moves the calling thread, and no other, into a network namespace (setns(2)).
pub fn enter(name: &str) -> io::Result<()> {
    enter_file(&open(name)?)
}

fn enter_file(namespace: &File) -> io::Result<()> {
    Ok(move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?)
}

/// Runs `work` on a new thread in the network namespace of that name, with its /sys.
pub fn within<T: Send>(name: &str, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    within_file(&open(name)?, work)
}

/// Runs `work` on a new thread in a network namespace, with its /sys.
///
/// A mount of sysfs shows the devices of the network namespace in which it was mounted, so that the thread needs a mount
/// namespace of its own. Both end with the thread.
pub fn within_file<T: Send>(namespace: &File, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    on_thread(|| {
        // SAFETY: only CLONE_NEWNS (and with it CLONE_FS), which touch no file descriptors and no memory; the thread
        // is ours alone and ends after `work`.
        unsafe { unshare_unsafe(UnshareFlags::NEWNS) }?;
        mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
        enter_file(namespace)?;
        match mount("sysfs", "/sys", "sysfs", MountFlags::empty(), None) {
            // The same file system is mounted there already: /sys shows this namespace.
            Ok(()) | Err(rustix::io::Errno::BUSY) => work(),
            Err(error) => Err(error.into()),
        }
    })
}

/// Runs `work` on a new thread in a network namespace, with our /sys.
pub fn on_thread_in<T: Send>(namespace: &File, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    on_thread(|| enter_file(namespace).and_then(|()| work()))
}

fn on_thread<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("netns".into()).spawn_scoped(scope, work)?;
        thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread in the namespace panicked")))
    })
}

/// Why a network namespace cannot be entered, as a fault.
pub fn fault(name: &str, error: &io::Error) -> Fault {
    let (class, remedy) = match error.kind() {
        io::ErrorKind::PermissionDenied => (Class::NotPermitted, "run as root"),
        io::ErrorKind::NotFound => (Class::MachineLacks, "see 'ip netns list' for those that exist"),
        _ => (Class::Usage, "see 'ip netns list' for those that exist"),
    };
    Fault::new(class, format!("network namespace {name}"), error, remedy)
}
