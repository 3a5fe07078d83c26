//! A small operating system in memory: files, threads, cgroups. It can refuse, lie on reading back, and crash.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use machine::{CpuSet, Fault, ProcessRef, Scheduling, ThreadRef};

use crate::kernel::{Gated, Kernel, ProcessSeen, SchedulingState};
use crate::launch::Launch;

/// One emulated thread; the first thread of a process stands for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmulatedThread {
    /// The process.
    pub pid: u32,
    /// Start in ticks.
    pub start_time_ticks: u64,
    /// Parent process.
    pub parent: u32,
    /// Process group.
    pub group: u32,
    /// Where it may run.
    pub affinity: CpuSet,
    /// Policy and nice value.
    pub scheduling: SchedulingState,
    /// Its cgroup.
    pub cgroup: PathBuf,
    /// Marker in its environment.
    pub marker: Option<String>,
    /// Waits at its gate.
    pub gated: bool,
}

/// What can be compared: the whole emulated machine, clock and counters left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EmulatedState {
    /// Content by network namespace and path.
    pub files: BTreeMap<(Option<String>, PathBuf), String>,
    /// Threads by number.
    pub threads: BTreeMap<u32, EmulatedThread>,
    /// Cgroup directories.
    pub folders: BTreeSet<PathBuf>,
}

/// When a crash strikes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// The change is not made any more.
    Before,
    /// The change is made, and nothing after it.
    After,
}

/// What a crash panics with, so that a test can tell it from an error of its own.
#[derive(Debug, Clone, Copy)]
pub struct Crash;

#[derive(Debug, Default)]
struct Inner {
    state: EmulatedState,
    boot: u32,
    ticks: u64,
    next_pid: u32,
    changes: u64,
    crash_at: Option<(u64, When)>,
    refusals: BTreeMap<String, i32>,
    lies: BTreeMap<PathBuf, String>,
    unprivileged: bool,
}

/// An emulated operating system; clones share it.
#[derive(Debug, Clone)]
pub struct EmulatedKernel(Arc<Mutex<Inner>>);

impl Default for EmulatedKernel {
    fn default() -> Self {
        Self::new()
    }
}

/// Number of the process that the emulated kernel takes us for.
const OWN_PID: u32 = 1000;

impl EmulatedKernel {
    /// A machine with nothing on it but us, process 1000, allowed on CPUs 0 to 3.
    pub fn new() -> Self {
        let kernel = Self(Arc::new(Mutex::new(Inner { next_pid: OWN_PID + 1, ..Inner::default() })));
        kernel.add_process(OWN_PID, 1);
        kernel
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        // A crash panics while it holds the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a file with its content.
    pub fn add_file(&self, path: impl Into<PathBuf>, content: &str) {
        self.add_file_in(None, path, content);
    }

    /// Adds a file that is seen in a network namespace.
    pub fn add_file_in(&self, netns: Option<&str>, path: impl Into<PathBuf>, content: &str) {
        self.inner().state.files.insert((netns.map(String::from), path.into()), content.to_string());
    }

    /// Adds a process with one thread.
    pub fn add_process(&self, pid: u32, parent: u32) -> ProcessRef {
        let mut inner = self.inner();
        inner.ticks += 1;
        let start_time_ticks = inner.ticks;
        let by_parent = inner.state.threads.get(&parent).cloned();
        let thread = EmulatedThread {
            pid,
            start_time_ticks,
            parent,
            group: pid,
            marker: None,
            gated: false,
            ..by_parent.unwrap_or_else(|| EmulatedThread::new(pid))
        };
        inner.state.threads.insert(pid, thread);
        ProcessRef { pid, start_time_ticks }
    }

    /// Adds a thread to a process; it inherits from the first.
    pub fn add_thread(&self, pid: u32, tid: u32) -> ThreadRef {
        let mut inner = self.inner();
        inner.ticks += 1;
        let start_time_ticks = inner.ticks;
        let first = inner.state.threads.get(&pid).cloned().unwrap_or_else(|| EmulatedThread::new(pid));
        inner.state.threads.insert(tid, EmulatedThread { pid, start_time_ticks, ..first });
        ThreadRef { pid, tid, start_time_ticks }
    }

    /// Puts a thread as it is into the table, in place of one of its number.
    pub fn insert_thread(&self, tid: u32, thread: EmulatedThread) {
        let mut inner = self.inner();
        inner.ticks = inner.ticks.max(thread.start_time_ticks + 1);
        inner.state.threads.insert(tid, thread);
    }

    /// Changes a thread as somebody else would.
    pub fn alter(&self, tid: u32, change: impl FnOnce(&mut EmulatedThread)) {
        if let Some(thread) = self.inner().state.threads.get_mut(&tid) {
            change(thread);
        }
    }

    /// Ends a thread.
    pub fn remove_thread(&self, tid: u32) {
        self.inner().state.threads.remove(&tid);
    }

    /// Refuses every change of `object` with `errno`: a path, or `affinity TID`, `scheduling TID`, `fork`.
    pub fn refuse(&self, object: &str, errno: i32) {
        self.inner().refusals.insert(object.to_string(), errno);
    }

    /// Makes whatever is written to `path` read back as `content`.
    pub fn lie(&self, path: impl Into<PathBuf>, content: &str) {
        self.inner().lies.insert(path.into(), content.to_string());
    }

    /// Takes the right to raise priorities away.
    pub fn drop_privilege(&self) {
        self.inner().unprivileged = true;
    }

    /// Panics with [`Crash`] before or after the change of that number, counted from 0 since the start.
    pub fn crash_at(&self, change: Option<(u64, When)>) {
        self.inner().crash_at = change;
    }

    /// How many changes were made.
    pub fn changes(&self) -> u64 {
        self.inner().changes
    }

    /// The whole machine.
    pub fn state(&self) -> EmulatedState {
        self.inner().state.clone()
    }

    /// Puts the whole machine into a state.
    pub fn set_state(&self, state: EmulatedState) {
        self.inner().state = state;
    }

    /// Starts the machine again: another boot id. Processes and files stay, for a test to look at.
    pub fn reboot(&self) {
        self.inner().boot += 1;
    }

    /// Makes one change: counts it, refuses it, or crashes around it.
    fn change<T>(&self, object: &str, change: impl FnOnce(&mut Inner) -> io::Result<T>) -> io::Result<T> {
        let mut inner = self.inner();
        let number = inner.changes;
        inner.changes += 1;
        inner.ticks += 1;
        if inner.crash_at == Some((number, When::Before)) {
            crash(&mut inner);
        }
        if let Some(errno) = inner.refusals.get(object) {
            return Err(io::Error::from_raw_os_error(*errno));
        }
        let result = change(&mut inner)?;
        if inner.crash_at == Some((number, When::After)) {
            crash(&mut inner);
        }
        Ok(result)
    }
}

/// The process dies: what waits at a gate leaves.
fn crash(inner: &mut Inner) -> ! {
    inner.crash_at = None;
    inner.state.threads.retain(|_, thread| !thread.gated);
    std::panic::panic_any(Crash)
}

impl EmulatedThread {
    /// The first thread of process `pid`: allowed on CPUs 0 to 3, policy other, nice 0.
    pub fn new(pid: u32) -> Self {
        Self {
            pid,
            start_time_ticks: 0,
            parent: 1,
            group: pid,
            affinity: (0..4).collect(),
            scheduling: SchedulingState {
                scheduling: Scheduling::Other { nice: 0 },
                nice: 0,
                reset_on_fork: false,
            },
            cgroup: "/sys/fs/cgroup/cpuset".into(),
            marker: None,
            gated: false,
        }
    }
}

fn error(errno: i32) -> io::Error {
    io::Error::from_raw_os_error(errno)
}

fn thread(inner: &mut Inner, tid: u32) -> io::Result<&mut EmulatedThread> {
    inner.state.threads.get_mut(&tid).ok_or_else(|| error(libc::ESRCH))
}

impl Kernel for EmulatedKernel {
    fn boot_id(&self) -> io::Result<String> {
        Ok(format!("boot-{}", self.inner().boot))
    }

    fn now_ticks(&self) -> io::Result<u64> {
        Ok(self.inner().ticks)
    }

    fn own(&self) -> io::Result<ProcessRef> {
        Ok(ProcessRef { pid: OWN_PID, start_time_ticks: self.start_time(OWN_PID, OWN_PID)? })
    }

    fn read_file(&self, path: &Path, netns: Option<&str>) -> io::Result<String> {
        let key = (netns.map(String::from), path.to_path_buf());
        self.inner().state.files.get(&key).cloned().ok_or_else(|| error(libc::ENOENT))
    }

    fn write_file(&self, path: &Path, value: &str, netns: Option<&str>) -> io::Result<()> {
        self.change(&path.display().to_string(), |inner| {
            let shown = inner.lies.get(path).cloned().unwrap_or_else(|| format!("{}\n", value.trim_end()));
            let key = (netns.map(String::from), path.to_path_buf());
            let file = inner.state.files.get_mut(&key).ok_or_else(|| error(libc::ENOENT))?;
            *file = shown;
            Ok(())
        })
    }

    fn affinity(&self, _pid: u32, tid: u32) -> io::Result<CpuSet> {
        Ok(thread(&mut self.inner(), tid)?.affinity.clone())
    }

    fn set_affinity(&self, tid: u32, cpus: &CpuSet) -> io::Result<()> {
        self.change(&format!("affinity {tid}"), |inner| {
            thread(inner, tid)?.affinity = cpus.clone();
            Ok(())
        })
    }

    fn scheduling(&self, tid: u32) -> io::Result<SchedulingState> {
        Ok(thread(&mut self.inner(), tid)?.scheduling)
    }

    fn set_scheduling(&self, tid: u32, state: &SchedulingState) -> io::Result<()> {
        self.change(&format!("scheduling {tid}"), |inner| {
            thread(inner, tid)?.scheduling = *state;
            Ok(())
        })
    }

    fn may_raise_priority(&self) -> bool {
        !self.inner().unprivileged
    }

    fn start_time(&self, pid: u32, tid: u32) -> io::Result<u64> {
        let mut inner = self.inner();
        let thread = thread(&mut inner, tid)?;
        if thread.pid == pid { Ok(thread.start_time_ticks) } else { Err(error(libc::ENOENT)) }
    }

    fn threads(&self, pid: u32) -> io::Result<Vec<u32>> {
        let inner = self.inner();
        let threads = inner.state.threads.iter().filter(|(_, thread)| thread.pid == pid).map(|(tid, _)| *tid);
        let threads: Vec<u32> = threads.collect();
        if threads.is_empty() { Err(error(libc::ENOENT)) } else { Ok(threads) }
    }

    fn processes(&self) -> io::Result<Vec<ProcessSeen>> {
        let inner = self.inner();
        let first = inner.state.threads.iter().filter(|(tid, thread)| thread.pid == **tid);
        Ok(first
            .map(|(pid, thread)| ProcessSeen {
                process: ProcessRef { pid: *pid, start_time_ticks: thread.start_time_ticks },
                parent: thread.parent,
                group: thread.group,
                ended: false,
            })
            .collect())
    }

    fn carries(&self, pid: u32, marker: &str) -> Option<bool> {
        self.inner().state.threads.get(&pid).map(|thread| thread.marker.as_deref() == Some(marker))
    }

    fn signal(&self, process: &ProcessRef, signal: i32) -> io::Result<()> {
        self.change(&format!("signal {}", process.pid), |inner| {
            let found = thread(inner, process.pid)?;
            if found.start_time_ticks != process.start_time_ticks {
                return Err(error(libc::ESRCH));
            }
            if signal == libc::SIGKILL || signal == libc::SIGTERM {
                inner.state.threads.retain(|_, thread| thread.pid != process.pid);
            }
            Ok(())
        })
    }

    fn is_dir(&self, path: &Path) -> bool {
        self.inner().state.folders.contains(path)
    }

    fn make_dir(&self, path: &Path) -> io::Result<()> {
        self.change(&path.display().to_string(), |inner| {
            if !inner.state.folders.insert(path.to_path_buf()) {
                return Err(error(libc::EEXIST));
            }
            for file in ["cpuset.cpus", "cpuset.mems"] {
                inner.state.files.insert((None, path.join(file)), "\n".into());
            }
            Ok(())
        })
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.change(&path.display().to_string(), |inner| {
            if inner.state.threads.values().any(|thread| thread.cgroup == path) {
                return Err(error(libc::EBUSY));
            }
            if !inner.state.folders.remove(path) {
                return Err(error(libc::ENOENT));
            }
            inner.state.files.retain(|(_, file), _| !file.starts_with(path));
            Ok(())
        })
    }

    fn process_cgroup(&self, pid: u32, _near: &Path) -> io::Result<PathBuf> {
        Ok(thread(&mut self.inner(), pid)?.cgroup.clone())
    }

    fn join_cgroup(&self, pid: u32, path: &Path) -> io::Result<()> {
        self.change(&path.display().to_string(), |inner| {
            thread(inner, pid)?;
            for thread in inner.state.threads.values_mut().filter(|thread| thread.pid == pid) {
                thread.cgroup = path.to_path_buf();
            }
            Ok(())
        })
    }

    fn fork(&self, launch: &Launch, marker: &str) -> Result<Box<dyn Gated>, Fault> {
        let forked = self.change("fork", |inner| {
            let (pid, start_time_ticks) = (inner.next_pid, inner.ticks);
            inner.next_pid += 1;
            let marker = Some(marker.to_string());
            let thread = EmulatedThread {
                pid,
                start_time_ticks,
                parent: OWN_PID,
                group: pid,
                marker,
                gated: true,
                ..EmulatedThread::new(pid)
            };
            inner.state.threads.insert(pid, thread);
            Ok(ProcessRef { pid, start_time_ticks })
        });
        let process = forked.map_err(|e| Fault::io(launch.argv.join(" "), &e, "emulated"))?;
        Ok(Box::new(EmulatedGated { kernel: self.clone(), process }))
    }

    fn wait(&self, pid: u32) -> io::Result<Option<ExitStatus>> {
        let runs = self.inner().state.threads.contains_key(&pid);
        Ok((!runs).then(|| ExitStatus::from_raw(libc::SIGKILL)))
    }
}

struct EmulatedGated {
    kernel: EmulatedKernel,
    process: ProcessRef,
}

impl Gated for EmulatedGated {
    fn process(&self) -> ProcessRef {
        self.process
    }

    fn release(self: Box<Self>) -> Result<Option<std::fs::File>, Fault> {
        let released = self.kernel.change("release", |inner| {
            thread(inner, self.process.pid)?.gated = false;
            Ok(None)
        });
        released.map_err(|e| Fault::io(format!("process {}", self.process.pid), &e, "emulated"))
    }
}

impl Drop for EmulatedGated {
    fn drop(&mut self) {
        let pid = self.process.pid;
        self.kernel.inner().state.threads.retain(|_, thread| !(thread.pid == pid && thread.gated));
    }
}
