//! The running system as another network namespace sees it.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use rustix::fs::CWD;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, mount, mount_change, move_mount,
    open_tree,
};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};

use super::live::Live;
use super::{ReadError, Source};
use crate::{Class, Fault};

/// One question to the thread that stands in the namespace; it runs there and sends its answer itself.
type Question = Box<dyn FnOnce(&Live) + Send>;

/// A thread in another network namespace that answers questions about files.
///
/// A thread, because namespaces are entered by thread and the rest of the process must stay where it is. A fresh
/// sysfs is mounted there because the devices shown by sysfs are those of the namespace that mounted it.
pub(super) struct Netns {
    name: String,
    questions: Option<Mutex<Sender<Question>>>,
    thread: Option<JoinHandle<()>>,
}

impl Netns {
    /// Starts the thread and waits until it stands in the namespace.
    pub(super) fn enter(name: &str) -> Result<Self, Fault> {
        if name.is_empty() || name.contains('/') || name == "." || name == ".." {
            return Err(Fault::new(
                Class::Usage,
                format!("network namespace '{name}'"),
                "it is not a name",
                "see `ip netns list`",
            ));
        }
        let path = PathBuf::from("/run/netns").join(name);
        let namespace = File::open(&path).map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => Fault::new(
                Class::MachineLacks,
                path.display(),
                "there is no such network namespace",
                "see `ip netns list`",
            ),
            _ => Fault::io(path.display(), &e, "run as root"),
        })?;
        let (questions, inbox) = channel::<Question>();
        let (entered, outcome) = channel();
        let thread = std::thread::Builder::new()
            .name(format!("netns-{name}"))
            .spawn(move || {
                let ready = move_in(namespace.into());
                let stay = ready.is_ok();
                if entered.send(ready).is_ok() && stay {
                    serve(inbox);
                }
            })
            .map_err(|e| Fault::io("a thread for the network namespace", &e, "raise the limit of threads"))?;
        let netns =
            Self { name: name.to_string(), questions: Some(Mutex::new(questions)), thread: Some(thread) };
        match outcome.recv() {
            Ok(Ok(())) => Ok(netns),
            Ok(Err((step, error))) => {
                Err(Fault::io(format!("{} ({step})", path.display()), &error, "run as root (CAP_SYS_ADMIN)"))
            }
            Err(_) => Err(Fault::new(Class::Storage, path.display(), "its thread ended early", "try again")),
        }
    }

    fn ask<T: Send + 'static>(
        &self,
        path: &str,
        question: impl FnOnce(&Live) -> Result<T, ReadError> + Send + 'static,
    ) -> Result<T, ReadError> {
        let (answer, inbox) = channel();
        let question: Question = Box::new(move |live| drop(answer.send(question(live))));
        let sent = self.questions.as_ref().is_some_and(|q| {
            q.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).send(question).is_ok()
        });
        let gone = || {
            let why = format!("the thread in network namespace {} has ended", self.name);
            ReadError::new(path, super::Cause::Other, why)
        };
        match sent {
            true => inbox.recv().map_err(|_| gone())?,
            false => Err(gone()),
        }
    }
}

impl Drop for Netns {
    fn drop(&mut self) {
        // Closing the channel ends the loop of the thread; waiting for it frees its mounts before we go on.
        self.questions = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Source for Netns {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        let asked = path.to_string();
        self.ask(path, move |live| live.read(&asked))
    }

    fn list(&self, path: &str) -> Result<Vec<String>, ReadError> {
        let asked = path.to_string();
        self.ask(path, move |live| live.list(&asked))
    }

    fn link(&self, path: &str) -> Result<String, ReadError> {
        let asked = path.to_string();
        self.ask(path, move |live| live.link(&asked))
    }

    fn exists(&self, path: &str) -> bool {
        let asked = path.to_string();
        self.ask(path, move |live| Ok(live.exists(&asked))).unwrap_or(false)
    }

    fn resolve(&self, path: &str) -> Result<String, ReadError> {
        let asked = path.to_string();
        self.ask(path, move |live| live.resolve(&asked))
    }

    fn fact(&self, name: &str) -> Result<String, ReadError> {
        let asked = name.to_string();
        match [super::ETHTOOL, super::ROUTE].iter().any(|asked| name.starts_with(asked)) {
            // The kernel answers for the namespace of the thread that asks.
            true => self.ask(name, move |live| live.fact(&asked)),
            false => Live::default().fact(name),
        }
    }

    fn open(&self, path: &str) -> Result<Option<File>, ReadError> {
        let asked = path.to_string();
        // The file stays the one of that namespace, whichever thread reads it.
        self.ask(path, move |live| live.open(&asked))
    }

    fn is_live(&self) -> bool {
        true
    }
}

fn serve(inbox: Receiver<Question>) {
    let live = Live::default();
    for question in inbox {
        question(&live);
    }
}

/// Brings the calling thread into the network namespace with its own mounts and a fresh sysfs on /sys.
fn move_in(namespace: OwnedFd) -> Result<(), (&'static str, std::io::Error)> {
    let step = |name: &'static str| move |e: rustix::io::Errno| (name, e.into());
    unshare_mounts().map_err(|e| ("unshare of mounts", e))?;
    // Without this the mount below would show up in the mount namespace of everybody else.
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(step("making mounts private"))?;
    // The cgroup file systems hang below /sys and would vanish under the fresh sysfs: take a copy along.
    let flags =
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::AT_RECURSIVE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    let cgroups = open_tree(CWD, "/sys/fs/cgroup", flags).ok();
    move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))
        .map_err(step("entering the namespace"))?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("pinwise", "/sys", "sysfs", flags, None).map_err(step("mounting sysfs"))?;
    if let Some(cgroups) = cgroups {
        let from_descriptor = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
        move_mount(&cgroups, "", CWD, "/sys/fs/cgroup", from_descriptor)
            .map_err(step("bringing the cgroups along"))?;
    }
    Ok(())
}

#[allow(deprecated)] // the safe wrapper in rustix is deprecated in favour of the unsafe name
fn unshare_mounts() -> Result<(), std::io::Error> {
    rustix::thread::unshare(UnshareFlags::NEWNS | UnshareFlags::FS).map_err(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_a_path_is_refused() {
        for name in ["", "../x", "a/b", ".."] {
            assert_eq!(Netns::enter(name).err().unwrap().class, Class::Usage, "{name}");
        }
        let absent = Netns::enter("pinwise-there-is-none").err().unwrap();
        assert!(absent.to_string().contains("ip netns list"), "{absent}");
    }
}
