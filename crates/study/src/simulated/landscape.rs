//! What a landscape file says.

use std::collections::BTreeMap;

use machine::{Class, CpuSet, Fault};
use serde::{Deserialize, Serialize};

/// A machine, a workload on it, and the noise of its trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Landscape {
    /// Name.
    pub name: String,
    /// What it stands for, and where its figures come from.
    pub about: String,
    /// How the machine is laid out.
    pub shape: Shape,
    /// What is run on it.
    pub workload: Workload,
    /// How trials scatter.
    #[serde(default)]
    pub noise: Noise,
    /// Published figures that it has to reproduce.
    #[serde(default)]
    pub published: Vec<Published>,
}

/// How the machine is laid out: each number is that of parts in the next larger part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// Sockets.
    pub packages: u32,
    /// NUMA nodes of a socket.
    pub nodes: u32,
    /// Last-level caches of a node.
    pub caches: u32,
    /// Cores below a last-level cache.
    pub cores: u32,
    /// Threads of a core; siblings are numbered after all cores.
    pub threads: u32,
    /// CPUs of each node in the order of its cores, where they are not numbered through.
    #[serde(default)]
    pub numbering: Vec<Vec<u32>>,
    /// Distances of the nodes as firmware reports them; 10 and 20 where absent.
    #[serde(default)]
    pub distances: Vec<Vec<u32>>,
    /// Node that the network card hangs on.
    #[serde(default)]
    pub card_node: Option<u32>,
    /// Interrupts since boot by CPU.
    #[serde(default)]
    pub interrupts: BTreeMap<CpuNumber, u64>,
}

/// A CPU number as the key of a TOML table.
pub type CpuNumber = String;

/// Where the server's memory lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MemoryPolicy {
    /// Where it was first touched: shared tables on one node, the rest where the server runs.
    #[default]
    Local,
    /// Spread evenly over all nodes.
    Interleave,
}

/// What limits the server. A figure of 0 switches its mechanism off.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Workload {
    /// What one undisturbed CPU reaches alone.
    pub one_cpu: f64,
    /// Threads that the server can use; absent: as many as it has CPUs.
    pub threads: Option<u32>,
    /// What both threads of a core reach together, of one alone.
    pub siblings_together: f64,
    /// Share of a CPU that interrupts take, by CPU.
    pub taken_by_interrupts: BTreeMap<CpuNumber, f64>,
    /// Share that a busy sibling or its interrupts take, by CPU.
    pub taken_through_sibling: BTreeMap<CpuNumber, f64>,
    /// Work that waits for all other CPUs (sigma of the scalability law).
    pub serial: f64,
    /// Work that each pair of CPUs makes for each other (kappa of the scalability law).
    pub coherence: f64,
    /// Extra time for each access at distance 20, of the time that a request takes.
    pub remote: f64,
    /// Extra time by the square of the CPUs' worth of remote accesses that one memory controller serves.
    pub controller: f64,
    /// Extra time when all CPUs of a last-level cache are used.
    pub shared_cache: f64,
    /// Extra time when all CPUs of a node are used: its memory bandwidth.
    pub node_bandwidth: f64,
    /// Share of throughput that is lost when the server has all CPUs of the card's node.
    pub card_node: f64,
    /// How early it is lost: 0.5 loses half of it with the first quarter of the CPUs.
    pub card_node_bend: f64,
    /// CPUs' worth that the network driver needs of one CPU, per CPU's worth of the server, on the CPU named in `driver_cpu`.
    pub driver: f64,
    /// Share of that CPU which the driver gets where the server has it too.
    pub driver_share: f64,
    /// CPU that the network driver runs on.
    pub driver_cpu: Option<u32>,
    /// CPUs that the load needs for each CPU of the server.
    pub load_share: f64,
    /// Extra time of a request when load and server are at distance 20; a third of it within a node.
    pub talk: f64,
}

impl Default for Workload {
    fn default() -> Self {
        Self {
            one_cpu: 1000.0,
            threads: None,
            siblings_together: 1.25,
            taken_by_interrupts: BTreeMap::new(),
            taken_through_sibling: BTreeMap::new(),
            serial: 0.0,
            coherence: 0.0,
            remote: 0.0,
            controller: 0.0,
            shared_cache: 0.0,
            node_bandwidth: 0.0,
            card_node: 0.0,
            card_node_bend: 1.0,
            driver: 0.0,
            driver_share: 0.5,
            driver_cpu: None,
            load_share: 0.0,
            talk: 0.0,
        }
    }
}

/// How trials scatter around the truth.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Noise {
    /// Standard deviation of a trial, of its figure.
    pub sd: f64,
    /// How many trials are slow, of all.
    pub slow_runs: f64,
    /// How much a slow trial loses at most; it loses half to all of that.
    pub slow_loss: f64,
    /// Standard deviation of the step from trial to trial of a random walk of the whole machine.
    pub drift: f64,
}

impl Default for Noise {
    /// The noise of the design document: 3 %, 8 % slow runs, 1 % drift a run.
    fn default() -> Self {
        Self { sd: 0.03, slow_runs: 0.08, slow_loss: 0.2, drift: 0.01 }
    }
}

/// One published figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// CPUs of the server.
    pub cpus: CpuSet,
    /// Memory policy.
    #[serde(default)]
    pub policy: MemoryPolicy,
    /// What was published.
    pub figure: f64,
    /// How far the truth may be from it: the published spread, or what the words "almost" and "about" allow.
    pub within: f64,
}

impl Landscape {
    /// Reads the text of a landscape file. `file` is named in the error.
    pub fn parse(file: &str, text: &str) -> Result<Self, Fault> {
        toml::from_str(text).map_err(|why| {
            Fault::new(
                Class::Usage,
                file,
                why.to_string(),
                "correct the file; fixtures/landscapes/README.md has all keys",
            )
        })
    }
}
