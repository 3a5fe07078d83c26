//! Who took the CPU from the target, or without a target who had the CPUs, ranked. What can be done about it is for `advise` to say.

use std::collections::BTreeMap;

use machine::CpuSet;
use serde::{Deserialize, Serialize};

use super::cpu::CpuAccount;
use super::extreme::Extreme;
use super::source::{Interruptions, Source};
use super::taker::TaskAccount;
use super::thread::ThreadAccount;
use crate::account::time_account::LineAccount;

/// What a taker is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TakerKind {
    /// Other threads of the target itself: it has more that want to run than CPUs.
    OwnThreads,
    /// Another process; without a target any.
    Process,
    /// Threads of the kernel of one kind.
    KernelThread,
    /// The line of a device.
    Device,
    /// An interrupt of the CPU's own, or of another CPU.
    Interrupt,
    /// A softirq.
    Softirq,
    /// The quota of a cgroup.
    Quota,
    /// The CPU was idle, and took time to wake up.
    IdleCpu,
    /// Not known: waiting that had begun before counting.
    Unknown,
}

/// Something that took the CPU from the target; without a target, that had it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Taker {
    /// What it is.
    pub kind: TakerKind,
    /// Its name: a process with its number, a device with its line, a vector.
    pub name: String,
    /// CPUs on which it took; empty where that is not distinguished.
    pub cpus: CpuSet,
    /// Slices, interrupts or stretches.
    pub count: u64,
    /// What it took, ns: while threads of the target ran (interrupts), and the waiting of all of them. Without a target its time on
    /// CPUs, that of tasks net of interrupts.
    pub took_ns: u64,
    /// The longest at a time, ns; `None` where that is not distinguished for the target, or where only a bound is known.
    pub longest_ns: Option<u64>,
    /// Then: none was longer, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_at_most_ns: Option<u64>,
    /// Share of the time in which the target's threads wanted a CPU, 0 to 1; without a target, of the CPUs' time.
    pub share: f64,
}

impl Taker {
    /// The longest at a time, or a bound of it.
    pub fn longest(&self) -> Option<Extreme> {
        Extreme::of(self.longest_ns, self.longest_at_most_ns)
    }

    /// Takes in the longest of a part, before its time.
    fn and_longest(&mut self, longest: Option<Extreme>) {
        let both = if self.took_ns == 0 { longest } else { Extreme::longer(self.longest(), longest) };
        (self.longest_ns, self.longest_at_most_ns) = Extreme::apart(both);
    }
}

/// What the ranking is made from.
pub(in crate::account) struct Measured<'a> {
    pub(in crate::account) together: Option<&'a ThreadAccount>,
    pub(in crate::account) cpus: &'a [CpuAccount],
    pub(in crate::account) tasks: &'a [TaskAccount],
    pub(in crate::account) lines: &'a [LineAccount],
    pub(in crate::account) taken_by_unknown_ns: u64,
}

/// Ranks everything that took time, what took most first.
pub(in crate::account) fn takers(measured: &Measured<'_>) -> Vec<Taker> {
    let wanted_ns = match measured.together {
        Some(target) => target.had_ns().saturating_add(target.kept_off_ns()),
        None => measured.cpus.iter().map(CpuAccount::online_ns).fold(0, u64::saturating_add),
    };
    let mut takers = interrupts(measured);
    takers.extend(tasks(measured.tasks, measured.together.is_some()));
    if measured.together.is_some() {
        takers.extend(others(measured));
    }
    takers.retain(|taker| taker.took_ns > 0);
    for taker in &mut takers {
        taker.share = if wanted_ns > 0 { taker.took_ns as f64 / wanted_ns as f64 } else { 0.0 };
    }
    takers.sort_by_key(|taker| std::cmp::Reverse(taker.took_ns));
    takers
}

fn taker(kind: TakerKind, name: impl Into<String>) -> Taker {
    Taker {
        kind,
        name: name.into(),
        cpus: CpuSet::new(),
        count: 0,
        took_ns: 0,
        longest_ns: None,
        longest_at_most_ns: None,
        share: 0.0,
    }
}

/// Interrupts by source; those of devices by line.
fn interrupts(measured: &Measured<'_>) -> Vec<Taker> {
    let mut by_source: BTreeMap<Source, Taker> = BTreeMap::new();
    for cpu in measured.cpus {
        for (source, seen) in cpu.sources.iter().filter(|(source, _)| *source != Source::Device) {
            let kind = if source.is_softirq() { TakerKind::Softirq } else { TakerKind::Interrupt };
            let sum = by_source.entry(source).or_insert_with(|| taker(kind, source.words()));
            add(sum, cpu.cpu, seen, measured.together.is_some());
        }
    }
    let mut by_line: BTreeMap<u32, Taker> = BTreeMap::new();
    for line in measured.lines {
        let sum = by_line.entry(line.irq).or_insert_with(|| {
            let name = line.name.as_deref().unwrap_or("not known");
            taker(TakerKind::Device, format!("IRQ {} ({name})", line.irq))
        });
        add(sum, line.cpu, &line.seen, measured.together.is_some());
    }
    by_source.into_values().chain(by_line.into_values()).collect()
}

fn add(sum: &mut Taker, cpu: u32, seen: &Interruptions, has_target: bool) {
    let (count, took_ns) = match has_target {
        true => (seen.took_count(), seen.took_ns()),
        false => (seen.all.count, seen.all.total_ns),
    };
    if took_ns == 0 {
        return;
    }
    sum.and_longest(seen.all.longest());
    sum.cpus.insert(cpu);
    sum.count = sum.count.saturating_add(count);
    sum.took_ns = sum.took_ns.saturating_add(took_ns);
}

/// Tasks, put together: the target's own threads, each other process, the kernel's threads by kind.
/// Without a target by their time on a CPU.
fn tasks(tasks: &[TaskAccount], has_target: bool) -> Vec<Taker> {
    let mut together: BTreeMap<(TakerKind, String), Taker> = BTreeMap::new();
    for task in tasks {
        let (count, took_ns, by_cpu) = match has_target {
            true => (task.took.count, task.took.total_ns, &task.took_by_cpu),
            false => (task.slices, task.on_cpu_ns.unwrap_or(0), &task.on_cpu_by_cpu),
        };
        if took_ns == 0 {
            continue;
        }
        let (kind, name) = named(task);
        let sum = together.entry((kind, name.clone())).or_insert_with(|| taker(kind, name));
        // How long slices were is reported of what they took alone.
        sum.and_longest(if has_target { task.took.longest() } else { None });
        sum.count = sum.count.saturating_add(count);
        sum.took_ns = sum.took_ns.saturating_add(took_ns);
        by_cpu.keys().for_each(|cpu| {
            sum.cpus.insert(*cpu);
        });
    }
    together.into_values().collect()
}

fn named(task: &TaskAccount) -> (TakerKind, String) {
    if task.of_target {
        return (TakerKind::OwnThreads, "other threads of the target".into());
    }
    if task.of_kernel {
        return (TakerKind::KernelThread, format!("kernel thread {}", task.kernel_thread_kind()));
    }
    (TakerKind::Process, format!("{} (process {})", task.comm, task.pid))
}

/// Waiting that nobody's slice explains.
fn others(measured: &Measured<'_>) -> Vec<Taker> {
    let target = measured.together.cloned().unwrap_or_default();
    let mut quota = taker(TakerKind::Quota, "the quota of its cgroup");
    quota.and_longest(target.throttled.longest());
    quota.count = target.throttled.count;
    quota.took_ns = target.throttled.total_ns;
    let mut idle = taker(TakerKind::IdleCpu, "idle CPU waking up");
    for cpu in measured.cpus.iter().filter(|cpu| cpu.idle_while_waited_ns > 0) {
        idle.took_ns = idle.took_ns.saturating_add(cpu.idle_while_waited_ns);
        idle.cpus.insert(cpu.cpu);
    }
    idle.count = target.from_idle.iter().map(|state| state.count).fold(0, u64::saturating_add);
    let mut unknown = taker(TakerKind::Unknown, "not known: it waited when counting began");
    unknown.took_ns = measured.taken_by_unknown_ns;
    vec![quota, idle, unknown]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::{Part, Stretches};

    fn stretches(count: u64, total_ns: u64) -> Stretches {
        Stretches { count, total_ns, longest_ns: Some(total_ns), ..Stretches::default() }
    }

    fn task(comm: &str, pid: u32, took_ns: u64) -> TaskAccount {
        TaskAccount {
            tid: pid,
            pid,
            comm: comm.into(),
            took: stretches(1, took_ns),
            ..TaskAccount::default()
        }
    }

    #[test]
    fn takers_are_put_together_and_ranked_by_what_they_took() {
        let target = ThreadAccount {
            on_cpu: stretches(10, 600),
            interrupted_ns: 100,
            preempted: stretches(3, 300),
            ..ThreadAccount::default()
        };
        let seen = Interruptions {
            all: stretches(50, 5_000),
            on_target: Part { count: 2, total_ns: 100 },
            ..Interruptions::default()
        };
        let cpu = CpuAccount {
            cpu: 3,
            sources: [(Source::Tick, seen)].into_iter().collect(),
            ..CpuAccount::default()
        };
        let kworker = |comm: &str| TaskAccount { of_kernel: true, ..task(comm, 9, 20) };
        let own = TaskAccount { of_target: true, ..task("server", 7, 50) };
        let tasks = [task("thief", 8, 210), kworker("kworker/3:1"), kworker("kworker/u8:2"), own];
        let measured = Measured {
            together: Some(&target),
            cpus: &[cpu],
            tasks: &tasks,
            lines: &[],
            taken_by_unknown_ns: 0,
        };
        let ranked = takers(&measured);
        let names: Vec<(&str, u64)> =
            ranked.iter().map(|taker| (taker.name.as_str(), taker.took_ns)).collect();
        assert_eq!(
            names,
            [
                ("thief (process 8)", 210),
                ("timer interrupt (tick)", 100),
                ("other threads of the target", 50),
                ("kernel thread kworker", 40),
            ]
        );
        assert_eq!(ranked[0].share, 0.21);
        assert_eq!(ranked[1].cpus, CpuSet::from_list("3").unwrap());
    }

    #[test]
    fn without_a_target_interrupts_are_ranked_by_all_that_they_took() {
        let seen = Interruptions { all: stretches(50, 5_000), ..Interruptions::default() };
        let cpu = CpuAccount {
            cpu: 0,
            wall_ns: 10_000,
            sources: [(Source::SoftirqRcu, seen)].into_iter().collect(),
            ..CpuAccount::default()
        };
        let measured =
            Measured { together: None, cpus: &[cpu], tasks: &[], lines: &[], taken_by_unknown_ns: 0 };
        let ranked = takers(&measured);
        assert_eq!((ranked[0].took_ns, ranked[0].share), (5_000, 0.5));
    }

    #[test]
    fn without_a_target_tasks_are_ranked_by_their_time_among_interrupts_and_idle_is_none() {
        let ran = |comm: &str, tid: u32, pid: u32, on: &[(u32, u64)]| TaskAccount {
            tid,
            pid,
            comm: comm.into(),
            slices: 2,
            on_cpu_ns: Some(on.iter().map(|(_, ns)| ns).sum()),
            on_cpu_by_cpu: on.iter().copied().collect(),
            ..TaskAccount::default()
        };
        let kworker = |comm: &str| TaskAccount { of_kernel: true, ..ran(comm, 30, 30, &[(0, 150)]) };
        let tasks = [
            ran("spinner", 8, 8, &[(0, 5_000)]),
            ran("spinner", 9, 8, &[(1, 1_000)]),
            kworker("kworker/0:1"),
            kworker("kworker/u8:2"),
            ran("asleep", 31, 31, &[]),
        ];
        let seen = Interruptions { all: stretches(50, 500), ..Interruptions::default() };
        let cpu = |cpu: u32, idle_ns: u64| CpuAccount {
            cpu,
            wall_ns: 10_000,
            idle_ns,
            sources: [(Source::SoftirqRcu, seen.clone())].into_iter().collect(),
            ..CpuAccount::default()
        };
        let cpus = [cpu(0, 4_000), cpu(1, 8_500)];
        let ranked = takers(&Measured {
            together: None,
            cpus: &cpus,
            tasks: &tasks,
            lines: &[],
            taken_by_unknown_ns: 0,
        });
        let names: Vec<(&str, u64, u64)> =
            ranked.iter().map(|taker| (taker.name.as_str(), taker.count, taker.took_ns)).collect();
        let expected = [
            ("spinner (process 8)", 4, 6_000),
            ("softirq RCU", 100, 1_000),
            ("kernel thread kworker", 4, 300),
        ];
        assert_eq!(names, expected);
        assert_eq!((ranked[0].share, ranked[0].cpus.to_list().as_str()), (0.3, "0-1"));
        assert!(ranked[0].longest().is_none());
    }
}
