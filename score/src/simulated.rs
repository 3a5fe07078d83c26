//! Windows that are made up: machines and causes that this guest cannot make, by shares of time. They hold what a rule says of such an
//! account, and nothing about how such an account comes about.

mod machine;
mod window;

use std::collections::BTreeMap;

use ::machine::CpuSet;
use probe::Situation;
use probe::account::Source;
use serde::Deserialize;

/// The window of a server, by shares of its length.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Simulated {
    /// CPUs of the machine.
    cpus: u32,
    /// Hardware threads of a core: CPU n and CPU n + cpus / 2 are two of them.
    #[serde(default = "one")]
    threads_per_core: u32,
    /// NUMA nodes, of neighbouring CPUs each.
    #[serde(default = "one")]
    nodes: u32,
    /// Last-level caches, by the CPUs that share each.
    #[serde(default)]
    caches: Vec<CpuSet>,
    /// What the CPUs' counters said of the server in the window; without it there are none.
    #[serde(default)]
    work: Option<probe::pmu::Work>,
    /// Whether it is a guest.
    #[serde(default)]
    guest: bool,
    /// Timer frequency, Hz.
    #[serde(default)]
    hz: Option<u32>,
    /// Idle states that there are to choose from.
    #[serde(default)]
    idle_states: u32,
    /// CPUs that the server may use.
    server: CpuSet,
    /// Its threads.
    threads: Vec<Thread>,
    /// Its memory by node, as shares.
    #[serde(default)]
    memory: BTreeMap<String, f64>,
    /// Other tasks.
    #[serde(default)]
    tasks: Vec<Task>,
    /// Interrupts and softirqs.
    #[serde(default)]
    interrupts: Vec<Interrupt>,
    /// Cards and disks, by name; their lines are those of interrupts that name them.
    #[serde(default)]
    devices: Vec<NamedDevice>,
    /// Clocks.
    #[serde(default)]
    clocks: Vec<Clock>,
    /// Counters by CPU, and of the whole system: events or us a second.
    #[serde(default)]
    counters: Vec<CounterRate>,
    /// Cgroups with a memory limit that is reached.
    #[serde(default)]
    full_cgroups: Vec<String>,
    /// What is known of the memory in them: the share of the limit that is anonymous.
    #[serde(default)]
    anonymous_share: Option<f64>,
    /// Settings of the kernel, by name as in `machine.kernel.tunables`.
    #[serde(default)]
    tunables: BTreeMap<String, String>,
    /// What NUMA balancing did on the whole machine.
    #[serde(default)]
    balancing: Option<Balancing>,
    /// Pages that came from swap, a second; counted where it is given.
    #[serde(default)]
    swapped_in_per_s: Option<f64>,
    /// Processes of this host that are clients.
    #[serde(default)]
    clients: Vec<u32>,
    /// Futexes at which its threads waited, over the window of 10 s; not looked at where there are none.
    #[serde(default)]
    futexes: Option<Vec<probe::futexes::Futex>>,
    /// Connections from other hosts.
    #[serde(default)]
    from_elsewhere: u64,
}

fn one() -> u32 {
    1
}

/// A thread of the server; what is left of its time is sleep for input.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Thread {
    cpu: u32,
    on_cpu: f64,
    waiting: f64,
    throttled: f64,
    blocked: f64,
    /// Wake-ups onto an idle CPU: how many a second, and how long each took, us.
    from_idle_per_s: f64,
    from_idle_us: f64,
    idle_state: String,
    major_faults_per_s: f64,
    /// Of its sleep, the share at futexes.
    at_futexes: f64,
    /// Wake-ups by other threads of the server on other CPUs, and by who cannot be named.
    woken_by_own_per_s: f64,
    woken_by_others_per_s: f64,
    /// Page faults that need no disk.
    minor_faults_per_s: f64,
    /// Share of the window in which it frees memory, part of its time on a CPU; and how often a second.
    reclaiming: f64,
    reclaims_per_s: f64,
    /// Migrations by the scheduler: within a cache, between caches of a node, between nodes.
    moved_within_cache_per_s: f64,
    moved_between_caches_per_s: f64,
    moved_between_nodes_per_s: f64,
}

/// NUMA balancing, a second.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Balancing {
    faults_per_s: f64,
    local_faults_per_s: f64,
    moved_pages_per_s: f64,
}

/// Another task.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Task {
    comm: String,
    pid: u32,
    cpu: u32,
    /// What it had of the CPU.
    had: f64,
    /// What threads of the server waited for it.
    #[serde(default)]
    took: f64,
    #[serde(default)]
    kernel: bool,
}

/// A kind of interrupt on one CPU.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Interrupt {
    source: Source,
    cpu: u32,
    per_s: f64,
    /// What each takes, us.
    us: f64,
    /// The share of them that hit the server while it ran.
    hits: f64,
    /// Of a device: its line, and the device's name.
    #[serde(default)]
    irq: Option<u32>,
    #[serde(default)]
    device: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct NamedDevice {
    name: String,
    kind: ::machine::devices::DeviceKind,
    /// The node that it is attached to, where the firmware reports it.
    #[serde(default)]
    node: Option<u32>,
    /// PCIe links above it.
    #[serde(default)]
    links: Vec<::machine::devices::pcie::PcieLink>,
}

/// The clock of a CPU, and what its policy allows, MHz.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Clock {
    cpu: u32,
    mhz: f64,
    allowed_mhz: u64,
    hardware_mhz: u64,
    governor: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct CounterRate {
    probe: String,
    name: String,
    per_s: f64,
    /// The CPU; without one it is of the whole system.
    #[serde(default)]
    cpu: Option<u32>,
}

impl Simulated {
    /// The window as pinwise would have seen it.
    pub fn situation(&self) -> Situation {
        window::of(self)
    }
}
