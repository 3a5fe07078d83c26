//! Everything that is known of a running server in one window: what rules judge.

mod request_look_back;
mod server_counters;
mod surroundings;

use std::collections::BTreeMap;

use machine::limits::memory_use::MemoryUse;
use machine::processes::{Connections, Server, Task};
use machine::topology::cpus::Cpu;
use machine::{CpuSet, Machine, Missing, Root};
use serde::{Deserialize, Serialize};

use crate::account::{Account, CpuAccount};
use crate::changed_cpu::ChangedCpu;
use crate::futexes::FutexWaits;
use crate::observation::Observation;
use crate::pmu::Work;
use crate::requests::Requests;
use crate::stacks::Profile;
pub use request_look_back::RequestLookBack;
pub use server_counters::ServerCounters;
pub use surroundings::Surroundings;

/// A process that had much of a CPU in the window, whoever's it is.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Busy {
    /// Its number.
    pub pid: u32,
    /// Its name.
    pub comm: String,
    /// CPU time of all its threads, in CPUs.
    pub cpus: f64,
    /// The CPU on which its first thread ran last.
    pub last_cpu: Option<u32>,
}

/// One window of a running server from every side. Kept as JSON it can be judged again anywhere.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Situation {
    /// The server as it was asked for, in words: `process 4711`, `nginx (3 processes)`.
    pub target: String,
    /// Its processes when the window began, the one that was asked for first.
    pub pids: Vec<u32>,
    /// The pinwise that looked.
    pub observer: Option<u32>,
    /// Length of the window, s.
    pub window_s: f64,
    /// The machine at the beginning.
    pub machine: Machine,
    /// The kernel's account of the server's threads; `None` without root or eBPF (`missing` says why).
    pub account: Option<Account>,
    /// Counters of the same window, with the server's threads and those of its clients on this host.
    pub observation: Observation,
    /// The server's processes at the end: where they may run, how they are scheduled, their cgroups.
    pub server: Server,
    /// How tasks that took the CPU from it compete, by thread number.
    pub tasks: BTreeMap<u32, Task>,
    /// Processes that had most of the CPUs, the busiest first.
    pub busy: Vec<Busy>,
    /// Its connections at the end of the window.
    pub connections: Connections,
    /// Its requests in the window, as the kernel saw them; `None` where that was not looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<Requests>,
    /// Its work by the counters of its CPUs (PMU); `None` where there are none, or that was not looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work: Option<Work>,
    /// What it did on CPUs, by function; `None` where that was not looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// Where its threads waited for each other; `None` where that was not looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub futexes: Option<FutexWaits>,
    /// Its memory limits at the end, the nearest cgroup first, with what they met in the window.
    pub memory: Vec<MemoryUse>,
    /// Whether only the account was kept, as in a ring: what the other parts do not have is not known, rather than not there.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub account_alone: bool,
    /// What is not known beside what the parts say themselves, and why.
    pub missing: Vec<Missing>,
}

impl Situation {
    /// Of an account alone, as a ring keeps it: `target` is the server in words, `pids` its processes; none of both for the machine
    /// as a whole. Of the machine only the CPUs are known; what else is missing is said.
    pub fn of_account(target: impl Into<String>, pids: Vec<u32>, account: Account) -> Self {
        let cpu = |cpu: &CpuAccount| Cpu { id: cpu.cpu, online: true, ..Cpu::default() };
        let machine = Machine { cpus: account.cpus.iter().map(cpu).collect(), ..Machine::default() };
        let why = "only the kernel's account was kept of that time";
        let missing = ["counters", "the server's processes and limits", "the machine"];
        let connections = Connections {
            missing: vec![Missing::new("the server's connections", why)],
            ..Connections::default()
        };
        Self {
            target: target.into(),
            pids,
            window_s: account.window_s,
            machine,
            account: Some(account),
            connections,
            account_alone: true,
            missing: missing.map(|fact| Missing::new(fact, why)).into(),
            ..Self::default()
        }
    }

    /// Reads again how those compete who took most, and the server's first thread.
    pub fn read_tasks(&mut self, root: &Root) {
        self.tasks = surroundings::tasks(root, &self.pids, self.account.as_ref(), &mut self.missing);
    }

    /// Whether it is of a server, rather than of the machine as a whole.
    pub fn is_of_a_server(&self) -> bool {
        !self.pids.is_empty() || self.account.as_ref().is_some_and(|account| account.together.is_some())
    }

    /// What is not known beside counters, once.
    pub fn missing(&self) -> Vec<Missing> {
        let account = self.account.iter().flat_map(|account| &account.missing);
        let profile = self.profile.iter().flat_map(|profile| &profile.missing);
        let futexes = self.futexes.iter().flat_map(|futexes| &futexes.missing);
        let parts = [&self.missing, &self.connections.missing, &self.server.missing];
        let requests = self.requests.iter().flat_map(|requests| &requests.missing);
        let counted = requests.chain(profile).chain(futexes);
        let mut all: Vec<Missing> = Vec::new();
        Missing::add_new(&mut all, parts.into_iter().flatten().chain(account).chain(counted));
        all
    }

    /// Share of the time of these CPUs in which the hypervisor ran other guests; `None` where it is not counted.
    pub fn stolen_share(&self, cpus: &CpuSet) -> Option<f64> {
        let counted = cpus.iter().filter(|cpu| self.observation.online_share(*cpu) > 0.0);
        let share = |cpu| {
            Some(self.observation.rate("stat", "steal", cpu)? / self.observation.online_share(cpu) / 1e6)
        };
        let mut shares: Vec<f64> = counted.filter_map(share).collect();
        if shares.is_empty() {
            let accounts = self.account.iter().flat_map(|account| &account.cpus);
            let counted = accounts.filter(|cpu| cpus.contains(cpu.cpu));
            shares = counted.filter_map(|cpu| cpu.share_of_online(cpu.steal_ns?)).collect();
        }
        (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
    }

    /// Whether a process is a client of the server on this host.
    pub fn is_client(&self, pid: u32) -> bool {
        self.connections.peers.iter().any(|peer| peer.pid == pid)
    }

    /// CPUs that went offline or came online in the window: by the kernel's events, else by counters.
    pub fn changed_cpus(&self) -> &[ChangedCpu] {
        let by_events = self.account.as_ref().map(|account| &*account.changed_cpus);
        by_events.filter(|changed| !changed.is_empty()).unwrap_or(&self.observation.changed_cpus)
    }

    /// CPUs that are online when the window ends.
    pub fn online(&self) -> CpuSet {
        ChangedCpu::online_after(&self.machine.online(), self.changed_cpus())
    }
}
