//! State of the emulated machine.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use machine::ethtool::Topic;
use machine::power::NO_LATENCY_LIMIT_US;
use machine::{CpuSet, EthtoolState, GuestPin, Scheduling, UtilClamp};

use crate::kernel::scheduling_state::SchedulingState;
use crate::kernel::threads::Users;

/// One emulated thread; the first thread of a process stands for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmulatedThread {
    /// Its process.
    pub pid: u32,
    /// Its start, clock ticks since boot.
    pub start_time_ticks: u64,
    /// Parent process.
    pub parent: u32,
    /// Process group.
    pub group: u32,
    /// Its users.
    pub users: Users,
    /// CPUs that it may use.
    pub affinity: CpuSet,
    /// Whether the kernel pins it there itself (PF_NO_SETAFFINITY).
    pub is_bound: bool,
    /// Policy, nice value and SCHED_RESET_ON_FORK.
    pub scheduling: SchedulingState,
    /// I/O priority, as the number of ioprio_set(2).
    pub io_priority: u16,
    /// Utilization clamps.
    pub util_clamp: UtilClamp,
    /// Directory of its cgroup.
    pub cgroup: PathBuf,
    /// Marker in its environment.
    pub marker: Option<String>,
    /// Whether it waits at its gate.
    pub gated: bool,
    /// Limit on the exit latency of idle CPUs that it holds, µs.
    pub holds_latency_us: Option<u32>,
}

impl EmulatedThread {
    /// The first thread of process `pid`, of root: allowed on CPUs 0 to 3, policy other, nice 0.
    pub fn new(pid: u32) -> Self {
        Self {
            pid,
            start_time_ticks: 0,
            parent: 1,
            group: pid,
            users: Users::default(),
            affinity: (0..4).collect(),
            is_bound: false,
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

/// The whole emulated machine without its clock and counters, so that two states can be compared.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EmulatedState {
    /// Content of files, by network namespace and path.
    pub files: BTreeMap<(Option<String>, PathBuf), String>,
    /// Threads by number.
    pub threads: BTreeMap<u32, EmulatedThread>,
    /// Directories of cgroups.
    pub folders: BTreeSet<PathBuf>,
    /// Files that the kernel swaps to.
    pub swaps: BTreeSet<PathBuf>,
    /// What drivers report through ethtool, by network namespace, interface and topic.
    pub ethtool: BTreeMap<(Option<String>, String, Topic), EthtoolState>,
    /// Names of network namespaces that were made.
    pub namespaces: BTreeSet<String>,
    /// Interrupts that an irqbalance leaves alone, by its process.
    pub irq_bans: BTreeMap<u32, BTreeSet<u32>>,
    /// Bytes of memory, by process and node.
    pub memory: BTreeMap<u32, BTreeMap<u32, u64>>,
    /// CPUs on which libvirt runs parts of guests, and the threads of each part.
    pub guest_pins: BTreeMap<GuestPin, (CpuSet, Vec<u32>)>,
}

impl EmulatedState {
    /// The limit on the exit latency of idle CPUs in force, µs: the shortest of those that are held.
    pub fn cpu_latency_us(&self) -> u32 {
        let held = self.threads.values().filter(|thread| !thread.gated);
        held.filter_map(|thread| thread.holds_latency_us).min().unwrap_or(NO_LATENCY_LIMIT_US)
    }
}
