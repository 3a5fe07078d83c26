//! A small operating system in memory. It can refuse a change, read back something else, and crash at every point.

mod identities;
mod setup;
mod state;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use machine::ProcessRef;

use crate::kernel::threads::Users;
use crate::namespace::Namespace;
use crate::subject::{Scope, scope};
use identities::Identities;

pub(super) use identities::namespace;
pub use state::{EmulatedState, EmulatedThread};

/// When a crash strikes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Before the change, which is not made.
    Before,
    /// Right after the change.
    After,
}

/// What a crash panics with, so that a test can distinguish it from a failed assertion.
#[derive(Debug, Clone, Copy)]
pub struct Crash;

/// Number of the process that the emulated kernel takes for its caller.
pub(super) const OWN_PID: u32 = 1000;

/// The machine behind the lock.
#[derive(Debug, Default)]
pub(super) struct Inner {
    /// What a test compares.
    pub state: EmulatedState,
    /// Number of the boot.
    pub boot: u32,
    /// Clock ticks since boot.
    pub ticks: u64,
    /// Number of the next process.
    pub next_pid: u32,
    /// Number of changes so far.
    changes: u64,
    /// The change around which to crash.
    crash_at: Option<(u64, When)>,
    /// Errno by object of the change.
    pub refusals: BTreeMap<String, i32>,
    refuse_all: Option<i32>,
    /// What a file reads after it was written.
    pub lies: BTreeMap<PathBuf, String>,
    /// Errno by what cannot be read.
    pub unreadable: BTreeMap<PathBuf, i32>,
    /// What a file holds after its next read.
    pub after_reading: BTreeMap<PathBuf, String>,
    /// Whether the caller may not raise priorities.
    pub unprivileged: bool,
    /// Identities of objects.
    pub identities: Identities,
}

impl Inner {
    /// A thread. Errors: `ESRCH`.
    pub fn thread(&mut self, tid: u32) -> io::Result<&mut EmulatedThread> {
        self.state.threads.get_mut(&tid).ok_or_else(|| error(libc::ESRCH))
    }

    /// The users of the caller.
    pub fn own_users(&self) -> Users {
        self.state.threads.get(&OWN_PID).map(|own| own.users).unwrap_or_default()
    }

    /// Whether the caller may change a thread: with CAP_SYS_NICE, or by a rule about its users and those of the thread.
    ///
    /// Errors: `ESRCH`; `EPERM`.
    pub fn permit(&mut self, tid: u32, rule: fn(Users, Users) -> bool) -> io::Result<()> {
        let of = self.thread(tid)?.users;
        match !self.unprivileged || rule(self.own_users(), of) {
            true => Ok(()),
            false => Err(error(libc::EPERM)),
        }
    }

    /// Errors: `ESRCH` when the process has gone, or its number belongs to another one.
    pub fn same_process(&mut self, process: &ProcessRef) -> io::Result<()> {
        match self.thread(process.pid)?.start_time_ticks == process.start_time_ticks {
            true => Ok(()),
            false => Err(error(libc::ESRCH)),
        }
    }

    /// The process dies; processes that wait at a gate leave.
    fn crash(&mut self) -> ! {
        self.crash_at = None;
        self.state.threads.retain(|_, thread| !thread.gated);
        std::panic::panic_any(Crash)
    }
}

/// An error of the kernel, by its number.
pub(super) fn error(errno: i32) -> io::Error {
    io::Error::from_raw_os_error(errno)
}

/// An emulated operating system, seen from one network namespace. Clones share it.
#[derive(Debug, Clone)]
pub struct EmulatedKernel {
    shared: Arc<Mutex<Inner>>,
    /// Name of the network namespace that it is seen from; `None`: that of the process.
    network: Option<identities::Name>,
}

impl Default for EmulatedKernel {
    fn default() -> Self {
        Self::new()
    }
}

impl EmulatedKernel {
    /// A machine on which only the caller runs: process 1000, allowed on CPUs 0 to 3.
    pub fn new() -> Self {
        let inner = Inner { next_pid: OWN_PID + 1, ..Inner::default() };
        let kernel = Self { shared: Arc::new(Mutex::new(inner)), network: None };
        kernel.add_process(OWN_PID, 1);
        kernel
    }

    /// The machine.
    pub(super) fn inner(&self) -> MutexGuard<'_, Inner> {
        // A crash panics while it holds the lock.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The machine as seen from a network namespace; `None` when that has ended.
    pub(super) fn seen_from(&self, network: &Namespace) -> Option<Self> {
        let name = self.inner().identities.networks.get(&network.inode)?.clone();
        Some(Self { shared: self.shared.clone(), network: Some(name) })
    }

    /// The network namespace whose view of a file counts. Only files of the network differ between them.
    pub(super) fn view_of(&self, path: &Path, netns: Option<&str>) -> Option<String> {
        match (netns, scope::of_path(path)) {
            (Some(name), _) => Some(name.to_string()),
            (None, Scope::Network(_)) => self.network(),
            (None, _) => None,
        }
    }

    /// The network namespace that this machine is seen from.
    pub(super) fn network(&self) -> Option<String> {
        self.network.clone().unwrap_or_else(|| self.inner().identities.here.clone())
    }

    /// Makes one change: counts it, refuses it, or crashes around it. `object` is the name for
    /// [`refuse`](Self::refuse).
    pub(super) fn change<T>(
        &self,
        object: &str,
        change: impl FnOnce(&mut Inner) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut inner = self.inner();
        let number = inner.changes;
        inner.changes += 1;
        inner.ticks += 1;
        if inner.crash_at == Some((number, When::Before)) {
            inner.crash();
        }
        if let Some(errno) = inner.refuse_all.as_ref().or_else(|| inner.refusals.get(object)) {
            return Err(error(*errno));
        }
        let result = change(&mut inner)?;
        if inner.crash_at == Some((number, When::After)) {
            inner.crash();
        }
        Ok(result)
    }
}
