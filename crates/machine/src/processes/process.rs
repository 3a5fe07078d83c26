//! One process with its threads: where they may run, how they are scheduled, what they have used.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::numa_memory::NumaMemory;
use super::numbers;
use crate::limits::cgroups::{self, Cgroup, Quota};
use crate::limits::mounts::Mounts;
use crate::procfs::{Oddities, pid_memory, pid_schedstat, pid_stat, pid_status};
use crate::{CpuSet, Notes, ReadError, Root};

/// One process.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Process {
    /// Number.
    pub pid: u32,
    /// Number of its parent.
    pub ppid: u32,
    /// Name of its first thread.
    pub comm: String,
    /// Start, clock ticks after boot: detects a reused number.
    pub start_time_ticks: u64,
    /// Its threads, by number.
    pub threads: Vec<Thread>,
    /// Its cgroups, one for each hierarchy.
    pub cgroups: Vec<Cgroup>,
    /// CPUs that its cpuset allows.
    pub cpuset_cpus: Option<CpuSet>,
    /// Nodes that its cpuset allows.
    pub cpuset_nodes: Option<CpuSet>,
    /// Tightest CPU bandwidth limit of its cgroups.
    pub cpu_quota: Option<Quota>,
    /// Nodes from which it may take memory (`Mems_allowed_list`).
    pub memory_nodes: Option<CpuSet>,
    /// Resident memory, bytes; without huge pages of hugetlbfs.
    pub resident_bytes: Option<u64>,
    /// Memory in swap, bytes.
    pub swap_bytes: Option<u64>,
    /// Huge pages of hugetlbfs, bytes.
    pub hugetlb_bytes: Option<u64>,
    /// Adjustment of the out-of-memory killer's choice, -1000 (never) to 1000 (first).
    pub oom_score_adj: Option<i32>,
    /// Its memory by node and policy.
    pub memory: Option<NumaMemory>,
}

/// One thread.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Thread {
    /// Number.
    pub tid: u32,
    /// Name.
    pub comm: String,
    /// State: `R` running or runnable, `S` sleeping, `D` waiting for I/O, ... (proc_pid_stat(5)).
    pub state: char,
    /// CPU that it last ran on.
    pub last_cpu: Option<u32>,
    /// CPUs on which it may run: what it or others asked for, as far as its cpuset allows (`Cpus_allowed_list`).
    pub cpus: Option<CpuSet>,
    /// Whether the kernel refuses to move it (PF_NO_SETAFFINITY).
    pub no_setaffinity: Option<bool>,
    /// Scheduling policy: `other`, `fifo`, `rr`, `batch`, `idle`, `deadline`, `ext` (sched(7)).
    pub policy: Option<String>,
    /// Real-time priority, 1 to 99; `None` for the other policies.
    pub realtime_priority: Option<u32>,
    /// Nice value, -20 to 19.
    pub nice: Option<i32>,
    /// CPU time in user mode, us (exact to a clock tick, mostly 10,000 us).
    pub user_us: Option<u64>,
    /// CPU time in the kernel, us.
    pub system_us: Option<u64>,
    /// Time runnable and waiting for a CPU, us (schedstat).
    pub waited_us: Option<u64>,
    /// Context switches because it waited for something.
    pub voluntary_switches: Option<u64>,
    /// Context switches because another task was to run.
    pub involuntary_switches: Option<u64>,
}

/// Name of a scheduling policy (SCHED_* of include/uapi/linux/sched.h).
pub(crate) fn policy_name(policy: u32) -> String {
    match policy {
        0 => "other".into(),
        1 => "fifo".into(),
        2 => "rr".into(),
        3 => "batch".into(),
        5 => "idle".into(),
        6 => "deadline".into(),
        7 => "ext".into(),
        n => format!("policy {n}"),
    }
}

/// The real-time priority of a task, 1 to 99; `None` for the other policies, of which the kernel prints 0.
pub(crate) fn realtime_priority(printed: Option<i32>) -> Option<u32> {
    printed.and_then(|priority| u32::try_from(priority).ok()).filter(|priority| *priority > 0)
}

impl Process {
    /// Reads a process with all its threads. Absent when it has ended; what else cannot be read is noted as missing.
    pub(crate) fn read(root: &Root, mounts: &Mounts, pid: u32, notes: &mut Notes) -> Result<Self, ReadError> {
        let path = format!("/proc/{pid}/stat");
        let stat = root.read(&path)?;
        let stat = pid_stat::parse(&stat).map_err(|why| ReadError::malformed(&path, why))?;
        let who = format!("process {pid} ({})", stat.comm);
        let mut process = Self {
            pid,
            ppid: stat.ppid,
            comm: stat.comm.to_string(),
            start_time_ticks: stat.start_time_ticks,
            threads: threads(root, pid, &who, notes)?,
            ..Self::default()
        };
        if process.threads.is_empty() {
            return Err(ReadError::absent(format!("/proc/{pid}/task"), "the process has ended"));
        }
        process.place(root, mounts, &who, notes);
        process.weigh(root, &who, stat.is_kernel_thread(), notes);
        Ok(process)
    }

    /// Its cgroups and what they allow.
    fn place(&mut self, root: &Root, mounts: &Mounts, who: &str, notes: &mut Notes) {
        self.cgroups = cgroups::read(root, mounts, &self.pid.to_string(), who, notes);
        let cpuset = format!("the cpuset of {who}");
        (self.cpuset_cpus, self.cpuset_nodes) = cgroups::cpuset(root, &mut self.cgroups, &cpuset, notes);
        self.cpu_quota = cgroups::cpu_quota(root, &self.cgroups, &format!("CPU quota of {who}"), notes);
    }

    /// Its memory.
    fn weigh(&mut self, root: &Root, who: &str, kernel: bool, notes: &mut Notes) {
        let pid = self.pid;
        let path = format!("/proc/{pid}/status");
        let malformed = |why| ReadError::malformed(&path, why);
        if let Some(text) = notes.keep(format!("memory of {who}"), root.read(&path)) {
            let memory = pid_memory::parse(&text).map_err(malformed);
            let memory = notes.keep(format!("memory of {who}"), memory).unwrap_or_default();
            notes.odd(&path, &memory.odd);
            self.resident_bytes = memory.resident_bytes;
            self.swap_bytes = memory.swap_bytes;
            self.hugetlb_bytes = memory.hugetlb_bytes;
            self.memory_nodes = pid_status::parse(&text).ok().and_then(|status| status.mems_allowed());
        }
        let adjustment = root.number(format!("/proc/{pid}/oom_score_adj"));
        self.oom_score_adj = notes.keep(format!("OOM adjustment of {who}"), adjustment);
        if !kernel {
            self.memory = notes.keep(format!("memory by node of {who}"), NumaMemory::read(root, pid));
        }
    }
}

/// The threads of a process; those that end meanwhile are left out.
fn threads(root: &Root, pid: u32, who: &str, notes: &mut Notes) -> Result<Vec<Thread>, ReadError> {
    let ticks = root.ticks_per_s();
    let mut gaps = Gaps::default();
    let mut threads = Vec::new();
    for tid in numbers(&root.list(format!("/proc/{pid}/task"))?) {
        match Thread::read(root, pid, tid, ticks, &mut gaps) {
            Ok(thread) => threads.push(thread),
            Err(e) if e.is_absent() => {}
            Err(e) => gaps.note("facts", e),
        }
    }
    if ticks.is_none() && !threads.is_empty() {
        gaps.note(
            "CPU time",
            ReadError::absent("clock_ticks", "the unit of the kernel's times is not known"),
        );
    }
    gaps.report(who, notes);
    Ok(threads)
}

impl Thread {
    /// Reads one thread; absent when it has ended.
    fn read(root: &Root, pid: u32, tid: u32, ticks: Option<u64>, gaps: &mut Gaps) -> Result<Self, ReadError> {
        let dir = format!("/proc/{pid}/task/{tid}");
        let stat_path = format!("{dir}/stat");
        let stat = root.read(&stat_path)?;
        let stat = pid_stat::parse(&stat).map_err(|why| ReadError::malformed(&stat_path, why))?;
        let us = |time: u64| ticks.map(|ticks| (u128::from(time) * 1_000_000 / u128::from(ticks)) as u64);
        let path = format!("{dir}/status");
        let status = root.read(&path);
        let status = status
            .as_ref()
            .map_err(Clone::clone)
            .and_then(|text| pid_status::parse(text).map_err(|why| ReadError::malformed(&path, why)));
        let status = gaps.keep("affinity and context switches", status).unwrap_or_default();
        gaps.odd("some lines of status", &path, &status.odd);
        gaps.odd("some fields of stat", &stat_path, &stat.odd);
        Ok(Self {
            tid,
            comm: stat.comm.to_string(),
            state: stat.state,
            last_cpu: stat.processor,
            cpus: status.cpus_allowed(),
            no_setaffinity: stat.no_setaffinity(),
            policy: stat.policy.map(policy_name),
            realtime_priority: realtime_priority(stat.realtime_priority),
            nice: stat.nice,
            user_us: stat.user_ticks.and_then(us),
            system_us: stat.system_ticks.and_then(us),
            waited_us: gaps.keep("time spent waiting for a CPU", waited_us(root, &dir)).flatten(),
            voluntary_switches: status.voluntary_switches,
            involuntary_switches: status.involuntary_switches,
        })
    }

    /// All its CPU time, us.
    pub fn cpu_us(&self) -> Option<u64> {
        Some(self.user_us?.saturating_add(self.system_us?))
    }
}

/// `None` where the kernel does not keep it: then it prints zeros for every thread.
fn waited_us(root: &Root, dir: &str) -> Result<Option<u64>, ReadError> {
    let path = format!("{dir}/schedstat");
    let text = root.read(&path)?;
    let stat = pid_schedstat::parse(&text).map_err(|why| ReadError::malformed(&path, why))?;
    match (stat.is_kept(), stat.waited_ns) {
        (true, Some(ns)) => Ok(Some(ns / 1000)),
        (true, None) => Err(ReadError::malformed(&path, &stat.odd)),
        (false, _) => Ok(None),
    }
}

/// What is missing of many threads for the same reason: one line, with the reason of the first.
#[derive(Default)]
struct Gaps(BTreeMap<&'static str, (usize, String)>);

impl Gaps {
    fn keep<T>(&mut self, fact: &'static str, answer: Result<T, ReadError>) -> Option<T> {
        answer.map_err(|e| self.note(fact, e)).ok()
    }

    fn odd(&mut self, fact: &'static str, path: &str, odd: &Oddities) {
        if !odd.is_empty() {
            self.note(fact, ReadError::malformed(path, odd));
        }
    }

    fn note(&mut self, fact: &'static str, error: ReadError) {
        self.0.entry(fact).or_insert_with(|| (0, error.to_string())).0 += 1;
    }

    fn report(self, who: &str, notes: &mut Notes) {
        for (fact, (count, why)) in self.0 {
            let of = if count == 1 { "of a thread".into() } else { format!("of {count} threads") };
            notes.missing(format!("{fact} {of} of {who}"), why);
        }
    }
}
