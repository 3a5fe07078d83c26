//! A situation with what every rule asks of it.

use std::collections::BTreeMap;

use machine::processes::Task;
use machine::{CpuSet, FactId, Missing};
use probe::account::{CpuAccount, FunctionKind, Source, working_threshold};
use probe::{Busy, Party, Situation, TreeSeen};

use super::time::{ServerTime, active_us, wanted_ns};

/// A cost below this share of the time in which the server tried to go on is not reported, and no remedy is given for it.
pub const MATTERS: f64 = 0.01;

/// What rules look at.
#[derive(Debug)]
pub struct Scene<'a> {
    /// Everything that is known.
    pub situation: &'a Situation,
    /// Where the server's time went.
    pub time: ServerTime,
}

impl<'a> Scene<'a> {
    /// Adds up the server's time; `None` where none of its threads was seen.
    pub fn of(situation: &'a Situation) -> Option<Self> {
        Some(Self { situation, time: ServerTime::of(situation)? })
    }

    /// Whether counters were read over the window.
    pub fn is_counted(&self) -> bool {
        self.situation.observation.window_s() > 0.0
    }

    /// CPUs on which the server's threads may run and that are online; all that are online where it is not known, and of a ring those
    /// on which they ran.
    pub fn allowed(&self) -> CpuSet {
        let online = self.situation.online();
        if self.situation.account_alone && !self.time.cpus.is_empty() {
            return self.time.cpus.clone();
        }
        let allowed = self.situation.server.cpus().intersection(&online);
        if allowed.is_empty() { online } else { allowed }
    }

    /// CPUs that are online and on which any of these threads may run; all that the server may use where that is not known of each of them.
    pub fn allowed_to(&self, tids: impl IntoIterator<Item = u32>) -> CpuSet {
        let own = self.situation.server.threads();
        let known: BTreeMap<u32, &CpuSet> =
            own.filter_map(|thread| Some((thread.tid, thread.cpus.as_ref()?))).collect();
        let sets: Option<Vec<&CpuSet>> = tids.into_iter().map(|tid| known.get(&tid).copied()).collect();
        let theirs: CpuSet = sets.unwrap_or_default().into_iter().flat_map(CpuSet::iter).collect();
        let theirs = theirs.intersection(&self.situation.online());
        if theirs.is_empty() { self.allowed() } else { theirs }
    }

    /// The same of its threads that want CPUs: those that are hardly at work may use others, and do not.
    pub fn allowed_to_working(&self) -> CpuSet {
        let wanted: Vec<(u32, f64)> = match &self.situation.account {
            Some(account) => {
                let counted = account.threads.iter();
                counted.map(|thread| (thread.tid, wanted_ns(thread) as f64)).collect()
            }
            None => {
                let counted = self.situation.observation.threads.iter();
                counted.map(|thread| (thread.tid, active_us(thread))).collect()
            }
        };
        let from = working_threshold(wanted.iter().map(|(_, wanted)| *wanted));
        self.allowed_to(wanted.iter().filter(|(_, wanted)| *wanted >= from).map(|(tid, _)| *tid))
    }

    /// Those of these CPUs that all cpusets of the server allow, as far as they were read.
    pub fn within_cpusets(&self, cpus: &CpuSet) -> CpuSet {
        let processes = &self.situation.server.processes;
        let cpusets = processes.iter().filter_map(|process| process.cpuset_cpus.as_ref());
        cpusets.fold(cpus.clone(), |reach, cpuset| reach.intersection(cpuset))
    }

    /// CPUs that the server does not use: those that it may not use, or, where it may use all, those where it hardly ran.
    pub fn spare(&self) -> CpuSet {
        let online = self.situation.online();
        let outside = online.difference(&self.allowed());
        if outside.is_empty() { online.difference(&self.time.cpus) } else { outside }
    }

    /// CPUs that were isolated at boot or by a cpuset: set apart for something else than what is not placed there.
    pub fn isolated(&self) -> CpuSet {
        self.situation.machine.isolated().unwrap_or_default()
    }

    /// CPUs for others than the server: those that it does not use and that are not isolated.
    pub fn spare_for_others(&self) -> CpuSet {
        self.spare().difference(&self.isolated())
    }

    /// Whether a process that was busy is neither one of the server's nor pinwise.
    pub fn is_another(&self, busy: &Busy) -> bool {
        let situation = self.situation;
        !situation.pids.contains(&busy.pid)
            && !situation.server.processes.iter().any(|process| process.pid == busy.pid)
            && situation.observer != Some(busy.pid)
    }

    /// The record of a CPU.
    pub fn cpu(&self, cpu: u32) -> Option<&CpuAccount> {
        self.situation.account.as_ref()?.cpus.iter().find(|seen| seen.cpu == cpu)
    }

    /// Share of the time in which a CPU was online that it was idle; `None` also where it was offline all along.
    pub fn idle_share(&self, cpu: u32) -> Option<f64> {
        if let Some(seen) = self.cpu(cpu) {
            return seen.share_of_online(seen.idle_ns);
        }
        let observation = &self.situation.observation;
        let row = |name| observation.rate("stat", name, cpu);
        let online = Some(observation.online_share(cpu)).filter(|share| *share > 0.0)?;
        Some((row("idle")? + row("iowait").unwrap_or(0.0)) / 1e6 / online)
    }

    /// Idle time of these CPUs, in CPUs; `None` where it is not known of any.
    pub fn idle_cpus(&self, cpus: &CpuSet) -> Option<f64> {
        let known: Vec<f64> = cpus.iter().filter_map(|cpu| self.idle_share(cpu)).collect();
        (!known.is_empty()).then(|| known.iter().sum())
    }

    /// A task that took the CPU from the server.
    pub fn task(&self, tid: u32) -> Option<&Task> {
        self.situation.tasks.get(&tid)
    }

    /// Whether a process is a client of the server on this host.
    pub fn is_client(&self, pid: u32) -> bool {
        self.situation.is_client(pid)
    }

    /// Clients on this host; `None` where there are none, or none was seen to run.
    pub fn clients(&self) -> Option<&TreeSeen> {
        self.situation.observation.beside.get(&Party::Load)
    }

    /// What threads of the server waited while others of its own had the CPU, ns; `None` without an account.
    pub fn own_took_ns(&self) -> Option<f64> {
        let account = self.situation.account.as_ref()?;
        Some(account.tasks.iter().filter(|task| task.of_target).map(|task| task.took.total_ns as f64).sum())
    }

    /// How long they waited for CPUs that others than the server had, ns; all waiting where it is not known who had them.
    pub fn kept_by_others_ns(&self) -> f64 {
        (self.time.queued_ns() - self.own_took_ns().unwrap_or(0.0)).max(0.0)
    }

    /// What a source took from the server: while it ran, and while it waited, ns; how often; on which CPUs.
    pub fn taken_by(&self, source: Source) -> Taken {
        let mut taken = Taken::default();
        for cpu in self.situation.account.iter().flat_map(|account| &account.cpus) {
            if let Some(seen) = cpu.sources.get(source).filter(|seen| seen.took_ns() > 0) {
                taken.ns += seen.took_ns() as f64;
                taken.count += seen.took_count();
                taken.on_target += seen.on_target.count;
                taken.on_target_ns += seen.on_target.total_ns as f64;
                taken.cpus.insert(cpu.cpu);
            }
        }
        taken
    }

    /// How often a kind of interrupt came on these CPUs while the server ran there; `None` where that kind is not counted on this machine.
    pub fn interrupts_on_target(&self, source: Source, cpus: &CpuSet) -> Option<u64> {
        let all = self.situation.account.iter().flat_map(|account| &account.cpus);
        let of_cpu = |cpu: &CpuAccount| Some((cpu.cpu, cpu.sources.get(source)?.on_target.count));
        let mut counted = all.filter_map(of_cpu).peekable();
        counted.peek()?;
        Some(counted.filter(|(cpu, _)| cpus.contains(*cpu)).map(|(_, count)| count).sum())
    }

    /// Events a second of the window.
    pub fn per_s(&self, count: u64) -> f64 {
        if self.situation.window_s > 0.0 { count as f64 / self.situation.window_s } else { 0.0 }
    }

    /// A counter of the whole system, events (or us) a second; `None` where it was not read.
    pub fn system_per_s(&self, probe: &str, name: &str) -> Option<f64> {
        self.situation.observation.system_rate(probe, name)
    }

    /// Interfaces of the server's network namespace with the packets that each received, a second; none where they were not counted.
    pub fn interfaces(&self) -> impl Iterator<Item = (&'a str, f64)> {
        let window_s = self.situation.observation.window_s();
        let rows = self.situation.observation.system.iter().filter(|row| row.probe == "network");
        rows.filter_map(move |row| {
            Some((row.name.strip_prefix("received ")?, row.value as f64 / window_s.max(1e-9)))
        })
    }

    /// How often each function of a kind ran on these CPUs.
    pub fn functions(&self, kind: FunctionKind, cpus: &CpuSet) -> BTreeMap<&'a str, u64> {
        let mut by_name: BTreeMap<&str, u64> = BTreeMap::new();
        let functions = self.situation.account.iter().flat_map(|account| &account.functions);
        for function in functions.filter(|function| function.kind == kind && cpus.contains(function.cpu)) {
            *by_name.entry(&function.name).or_default() += function.ran.count;
        }
        by_name
    }

    /// Pages that came from swap on the whole machine; `None` where they were not counted.
    pub fn swapped_in_pages(&self) -> Option<u64> {
        self.situation.account.as_ref()?.paging?.swapped_in_pages
    }

    /// Why a counter of /proc/vmstat is not known that the kernel has; `None` where it is known, or the kernel does not count it.
    pub fn why_not_counted(&self, name: &str) -> Option<&'a Missing> {
        let counter = FactId::VmstatCounter(name.to_string());
        self.situation.account.as_ref()?.missing.iter().find(|missing| missing.is(&counter))
    }

    /// Major page faults of the server's threads; `None` where they were not counted.
    pub fn major_faults(&self) -> Option<u64> {
        let account = self.situation.account.as_ref()?;
        let known: Vec<u64> = account.threads.iter().filter_map(|thread| thread.major_faults).collect();
        (!known.is_empty()).then(|| known.iter().fold(0u64, |sum, more| sum.saturating_add(*more)))
    }
}

/// What was taken from the server by something.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Taken {
    /// Time, ns.
    pub ns: f64,
    /// How often, while the server ran or waited.
    pub count: u64,
    /// How often while it ran.
    pub on_target: u64,
    /// Of the time, what came while it ran, ns.
    pub on_target_ns: f64,
    /// On which CPUs.
    pub cpus: CpuSet,
}
