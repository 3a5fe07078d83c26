//! A small operating system in memory: files, threads, cgroups. It can refuse, lie on reading back, and crash.

mod asked;
mod identities;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use machine::ethtool::Topic;
use machine::power::NO_LATENCY_LIMIT_US;
use machine::{CpuSet, EthtoolState, GuestPin, ProcessRef, Scheduling, ThreadRef, UtilClamp};

use crate::kernel::SchedulingState;

use identities::Identities;

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
    /// Rank of its disk requests, as the number of ioprio_set(2).
    pub io_priority: u16,
    /// Its utilization clamps.
    pub util_clamp: UtilClamp,
    /// Its cgroup.
    pub cgroup: PathBuf,
    /// Marker in its environment.
    pub marker: Option<String>,
    /// Waits at its gate.
    pub gated: bool,
    /// Limit on the exit latency of idle CPUs that it holds, us.
    pub holds_latency_us: Option<u32>,
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
    /// Files that it swaps to.
    pub swaps: BTreeSet<PathBuf>,
    /// What drivers tell through ethtool, by network namespace, interface and topic.
    pub ethtool: BTreeMap<(Option<String>, String, Topic), EthtoolState>,
    /// Names of network namespaces that were made.
    pub namespaces: BTreeSet<String>,
    /// Interrupts that the irqbalance of a process was told to leave alone.
    pub irq_bans: BTreeMap<u32, BTreeSet<u32>>,
    /// Bytes of each process's memory by node.
    pub memory: BTreeMap<u32, BTreeMap<u32, u64>>,
    /// Where libvirt places parts of guests, and the threads that it moves for it.
    pub guest_pins: BTreeMap<GuestPin, (CpuSet, Vec<u32>)>,
}

impl EmulatedState {
    /// The limit on the exit latency of idle CPUs that holds, us: the shortest of those that are held.
    pub fn cpu_latency_us(&self) -> u32 {
        let held = self.threads.values().filter(|thread| !thread.gated);
        held.filter_map(|thread| thread.holds_latency_us).min().unwrap_or(NO_LATENCY_LIMIT_US)
    }
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
    refuse_all: Option<i32>,
    lies: BTreeMap<PathBuf, String>,
    unreadable: BTreeMap<PathBuf, i32>,
    /// What a file holds after its next reading.
    after_reading: BTreeMap<PathBuf, String>,
    unprivileged: bool,
    identities: Identities,
}

/// An emulated operating system; clones share it.
#[derive(Debug, Clone)]
pub struct EmulatedKernel {
    shared: Arc<Mutex<Inner>>,
    /// Name of the network namespace whose view this is; `None`: of that in which the process stands.
    network: Option<Option<String>>,
}

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
        let inner = Inner { next_pid: OWN_PID + 1, ..Inner::default() };
        let kernel = Self { shared: Arc::new(Mutex::new(inner)), network: None };
        kernel.add_process(OWN_PID, 1);
        kernel
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        // A crash panics while it holds the lock.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a file with its content.
    pub fn add_file(&self, path: impl Into<PathBuf>, content: &str) {
        self.add_file_in(None, path, content);
    }

    /// Adds a file that is seen in a network namespace.
    pub fn add_file_in(&self, netns: Option<&str>, path: impl Into<PathBuf>, content: &str) {
        self.inner().state.files.insert((netns.map(String::from), path.into()), content.to_string());
    }

    /// Adds what the driver of a network interface tells of a topic.
    pub fn add_ethtool(&self, netns: Option<&str>, device: &str, topic: Topic, state: EthtoolState) {
        let key = (netns.map(String::from), device.to_string(), topic);
        self.inner().state.ethtool.insert(key, state);
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

    /// Lays memory of a process on nodes, in bytes.
    pub fn set_memory(&self, pid: u32, bytes: &[(u32, u64)]) {
        self.inner().state.memory.insert(pid, bytes.iter().copied().collect());
    }

    /// Makes a process the irqbalance that was told to leave these interrupts alone.
    pub fn add_irqbalance(&self, pid: u32, irqs: &[u32]) -> ProcessRef {
        let process = self.add_process(pid, 1);
        self.inner().state.irq_bans.insert(pid, irqs.iter().copied().collect());
        process
    }

    /// Adds what libvirt tells of a part of a guest: where its first thread is, or all CPUs where it has none.
    pub fn add_guest_pin(&self, pin: GuestPin, threads: &[u32]) {
        let mut inner = self.inner();
        let cpus = threads.first().and_then(|tid| inner.state.threads.get(tid)).map(|of| of.affinity.clone());
        let cpus = cpus.unwrap_or_else(|| (0..4).collect());
        inner.state.guest_pins.insert(pin, (cpus, threads.to_vec()));
    }

    /// Lets a clock tick go by.
    pub fn tick(&self) {
        self.inner().ticks += 1;
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

    /// Refuses every change of `object` with `errno`: a path, or `affinity TID`, `scheduling TID`, `io-priority TID`,
    /// `util-clamp TID`, `memory PID`, `swap PATH`, `ethtool DEVICE`, `irq-bans PID`, `pin NAME`, `fork`.
    pub fn refuse(&self, object: &str, errno: i32) {
        self.inner().refusals.insert(object.to_string(), errno);
    }

    /// Refuses every change with `errno`, or no more.
    pub fn refuse_every_change(&self, errno: Option<i32>) {
        self.inner().refuse_all = errno;
    }

    /// Makes whatever is written to `path` read back as `content`.
    pub fn lie(&self, path: impl Into<PathBuf>, content: &str) {
        self.inner().lies.insert(path.into(), content.to_string());
    }

    /// Fails every reading of a path that is there, or of `ethtool DEVICE`, with `errno`.
    pub fn refuse_to_read(&self, object: impl Into<PathBuf>, errno: i32) {
        self.inner().unreadable.insert(object.into(), errno);
    }

    /// Has somebody else write `content` to a file right after its next reading.
    pub fn alter_after_reading(&self, path: impl Into<PathBuf>, content: &str) {
        self.inner().after_reading.insert(path.into(), content.to_string());
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
        if let Some(errno) = inner.refuse_all.or_else(|| inner.refusals.get(object).copied()) {
            return Err(io::Error::from_raw_os_error(errno));
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
            io_priority: 0,
            util_clamp: UtilClamp { min: 0, max: 1024 },
            cgroup: "/sys/fs/cgroup/cpuset".into(),
            marker: None,
            gated: false,
            holds_latency_us: None,
        }
    }
}
