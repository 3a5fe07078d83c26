//! The account of a window: everything that was counted, by name.

use std::collections::BTreeMap;
use std::sync::Arc;

use machine::wording::plural;
use machine::{CpuSet, FactId, Missing};
use serde::{Deserialize, Serialize};

use super::collect::cpu_group::CpuOf;
use super::collect::frequency::Frequencies;
use super::collect::functions::FunctionOf;
use super::collect::interrupt_counts::CountedInterrupts;
use super::collect::paging::Paging;
use super::collect::snapshot::Snapshot;
use super::name::names::Names;
use super::rows::cpu::CpuAccount;
use super::rows::distribution::Distribution;
use super::rows::nearness::Nearness;
use super::rows::source::Interruptions;
use super::rows::stretches::Stretches;
use super::rows::taker::{TaskAccount, tasks};
use super::rows::takers::Taker;
use super::rows::thread::ThreadAccount;
use super::window::detail::Detail;
use super::window::difference::sorted;
use crate::bpf::{Lost, missed_events};
use crate::changed_cpu::ChangedCpu;

/// Where the time went between the beginning of counting and the moment of reading.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Account {
    /// Length of the window, s.
    pub window_s: f64,
    /// When it began, ns of CLOCK_MONOTONIC: for those who have events of their own to lay beside it.
    pub from_ns: u64,
    /// When it ended, by the same clock.
    pub to_ns: u64,
    /// Threads of the target, those that took longest to get a CPU first; empty when all tasks were counted.
    pub threads: Vec<ThreadAccount>,
    /// Their sum; `None` when there is none.
    pub together: Option<ThreadAccount>,
    /// What took the CPU from the target, what took most first; without a target what had the CPUs: tasks and interrupts.
    pub takers: Vec<Taker>,
    /// CPUs by number: all that were online at any time.
    pub cpus: Vec<CpuAccount>,
    /// Those of them that were offline for a part of the window.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_cpus: Vec<ChangedCpu>,
    /// Tasks that were on a CPU while the target waited for it, those that took most first; without a target all tasks by their
    /// time on a CPU.
    pub tasks: Vec<TaskAccount>,
    /// Lines of devices by CPU.
    pub lines: Vec<LineAccount>,
    /// What the kernel ran on somebody's behalf.
    pub functions: Vec<FunctionAccount>,
    /// Migrations of the target's threads, most frequent first.
    pub routes: Vec<Route>,
    /// Waiting of the target's threads of which it is not known who was on the CPU, ns.
    pub taken_by_unknown_ns: u64,
    /// How near the target's memory is; `None` without a target, on a machine with one node, and where it is not known.
    pub nearness: Option<Nearness>,
    /// Swapping and NUMA faults of the whole machine; `None` where it is not known.
    pub paging: Option<Paging>,
    /// Interrupts that no program sees, by CPU: how often they came, and not how long they took. Source: /proc/interrupts. They are in no
    /// other figure: their time is that of whatever they interrupted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counted_only: Vec<CountedInterrupts>,
    /// Of which time lengths of interrupts and functions are, where that is another one; `None`: of the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail_of: Option<Detail>,
    /// What is not known, and why.
    pub missing: Vec<Missing>,
}

/// A line of a device on one CPU.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct LineAccount {
    /// Number.
    pub irq: u32,
    /// What hangs on it.
    pub name: Option<String>,
    /// CPU.
    pub cpu: u32,
    /// Its handlers.
    #[serde(flatten)]
    pub seen: Interruptions,
}

/// Kinds of functions that the kernel runs on somebody's behalf.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FunctionKind {
    /// A timer of high resolution, mostly within the timer interrupt.
    Hrtimer,
    /// A timer of the wheel, within softirq TIMER.
    Timer,
    /// A call that another CPU sent.
    Call,
    /// A work item in a kworker.
    Work,
}

/// A function on one CPU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FunctionAccount {
    /// What ran it.
    pub kind: FunctionKind,
    /// Its name in the kernel; where that is not known, its address.
    pub name: Arc<str>,
    /// CPU.
    pub cpu: u32,
    /// How often, and how long net of interrupts. Of work items only how often.
    pub ran: Stretches,
}

/// Migrations between two CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    /// Where a thread ran before.
    pub from: u32,
    /// Where it ran then.
    pub to: u32,
    /// How often.
    pub times: u64,
}

impl Account {
    /// Names and sorts what a snapshot has. `every_task`: whether it was taken without a target; `not_counted` is what
    /// the kernel has no trace points for.
    pub fn of(snapshot: &Snapshot, every_task: bool, names: &Names, not_counted: &[Missing]) -> Self {
        let threads = snapshot
            .threads
            .iter()
            .map(|(at_ns, seen)| ThreadAccount::of(*at_ns, seen, snapshot.cpu(seen.cpu), names));
        let threads = sorted(threads.collect());
        let mut missing = not_counted.to_vec();
        missing.extend(names.missing.iter().cloned());
        missing.extend(snapshot.foreign_numbers.then(|| {
            let why = "this is a PID namespace of its own (a container): they have the numbers of the host";
            Missing::new("numbers of tasks that are not of the target", why)
        }));
        missing.extend(
            snapshot.frequency.as_ref().filter(|seen| seen.is_empty()).map(|_| Frequencies::missing()),
        );
        match &snapshot.paging {
            Some(Ok((_, of_counters))) => missing.extend(of_counters.iter().cloned()),
            Some(Err(of_all)) => missing.push(of_all.clone()),
            None => {}
        }
        missing.extend(snapshot.absences_missing.clone());
        let cpus = cpus(snapshot);
        missing.extend(lost(snapshot, &cpus));
        Self {
            window_s: snapshot.at_ns.saturating_sub(snapshot.began_ns) as f64 / 1e9,
            from_ns: snapshot.began_ns,
            to_ns: snapshot.at_ns,
            together: None,
            takers: Vec::new(),
            cpus,
            changed_cpus: Vec::new(),
            tasks: ranked(snapshot, every_task, names, &threads),
            lines: lines(snapshot, names),
            functions: functions(snapshot, names),
            routes: routes(snapshot),
            taken_by_unknown_ns: snapshot.forgotten_unseen_waiting_ns
                + snapshot.threads.iter().map(|(_, seen)| seen.unseen_waiting_ns).sum::<u64>(),
            nearness: None,
            paging: snapshot.paging.as_ref().and_then(|paging| Some(paging.as_ref().ok()?.0)),
            counted_only: Vec::new(),
            threads,
            detail_of: Some(Detail {
                from_ns: snapshot.began_ns,
                to_ns: snapshot.detail_ns.unwrap_or(snapshot.at_ns),
            }),
            missing,
        }
        .filled_up()
    }
}

impl Account {
    /// The same without lengths by step, which are many.
    pub fn without_lengths(mut self) -> Self {
        for thread in self.threads.iter_mut().chain(&mut self.together) {
            (thread.on_cpu_lengths, thread.off_cpu_lengths) = Default::default();
        }
        for cpu in &mut self.cpus {
            cpu.sources.values_mut().for_each(|seen| seen.lengths = Distribution::default());
        }
        self.lines.iter_mut().for_each(|line| line.seen.lengths = Distribution::default());
        self
    }
}

impl Account {
    /// What is missing where a target is watched and all but its threads is shown for these CPUs only.
    pub fn elsewhere(cpus: &CpuSet) -> Missing {
        let which = plural("CPU", cpus.len());
        let why = format_args!(
            "takers, tasks, interrupts and functions are those of {which} {cpus} only (--cpu); times of threads, and what they waited, \
             are of all CPUs, for they are theirs wherever they ran"
        );
        Missing::new("what took from the target on other CPUs", why).identified(FactId::OtherCpus)
    }

    /// Whether that is so here.
    pub fn leaves_out_cpus(&self) -> bool {
        self.missing.iter().any(|missing| missing.is(&FactId::OtherCpus))
    }
}

impl Account {
    /// The account with how near the target's memory is, or why that is not known.
    pub fn with_nearness(mut self, nearness: Option<Result<Nearness, Missing>>) -> Self {
        match nearness {
            Some(Ok(nearness)) => self.nearness = Some(nearness),
            Some(Err(missing)) => self.missing.push(missing),
            None => {}
        }
        self
    }
}

fn cpus(snapshot: &Snapshot) -> Vec<CpuAccount> {
    let of = |read: CpuOf<'_>| {
        let absence = snapshot.absence(read.cpu());
        let was_there = !absence.is_some_and(|absence| absence.was_all_along(read.head()));
        let frequency = snapshot.frequency.as_ref().and_then(|seen| seen.get(&read.cpu())).copied();
        was_there.then(|| CpuAccount { frequency, ..CpuAccount::of(read, absence, snapshot.began_ns) })
    };
    snapshot.cpus.iter().filter_map(of).collect()
}

/// Tasks that took from the target, its own threads among them; without a target all tasks.
fn ranked(
    snapshot: &Snapshot,
    every_task: bool,
    names: &Names,
    threads: &[ThreadAccount],
) -> Vec<TaskAccount> {
    let own = threads.iter().filter(|thread| thread.took_from_target.count > 0);
    let own = own.map(|thread| TaskAccount {
        tid: thread.tid,
        pid: thread.pid,
        comm: thread.comm.clone(),
        cgroup: thread.cgroup.clone(),
        of_kernel: false,
        of_target: true,
        slices: thread.took_from_target.count,
        on_cpu_ns: Some(thread.on_cpu.total_ns),
        on_cpu_by_cpu: BTreeMap::new(),
        preempted: thread.preempted_others,
        took: thread.took_from_target,
        took_by_cpu: BTreeMap::new(),
    });
    sorted(tasks(snapshot, every_task, names).into_values().chain(own).collect())
}

fn lines(snapshot: &Snapshot, names: &Names) -> Vec<LineAccount> {
    let lines = snapshot.lines.iter().map(|(key, line)| LineAccount {
        irq: key.irq,
        name: names.lines.get(&key.irq).cloned(),
        cpu: key.cpu,
        seen: Interruptions::of(&line.seen, Distribution::of(&line.steps)),
    });
    sorted(lines.collect())
}

fn functions(snapshot: &Snapshot, names: &Names) -> Vec<FunctionAccount> {
    let name = |address: u64| match (address, names.functions.get(&address)) {
        (_, Some(name)) => name.as_str().into(),
        (0, None) => "unknown".into(),
        (address, None) => format!("{address:#x}").into(),
    };
    let kinds = [FunctionKind::Hrtimer, FunctionKind::Timer, FunctionKind::Call, FunctionKind::Work];
    // Each is on many CPUs, and has its name once.
    let known = snapshot.functions.known().iter();
    let known: Vec<Option<(FunctionKind, Arc<str>)>> = known
        .map(|known| known.and_then(|known| Some((*kinds.get(known.kind as usize)?, name(known.address)))))
        .collect();
    let functions = snapshot.functions.iter().filter_map(|FunctionOf { number, cpu, seen }| {
        let (kind, name) = known.get(number)?.clone()?;
        let mut ran = Stretches::of(&seen.all);
        if kind == FunctionKind::Work {
            (ran.mean_ns, ran.shortest_ns, ran.longest_ns) = (None, None, None);
        }
        Some(FunctionAccount { kind, name, cpu, ran })
    });
    sorted(functions.collect())
}

fn routes(snapshot: &Snapshot) -> Vec<Route> {
    let of = |(key, times): &(crate::bpf::RouteKey, u64)| Route { from: key.from, to: key.to, times: *times };
    sorted(snapshot.routes.iter().map(of).collect())
}

/// What was not counted, in words: nothing is lost silently.
fn lost(snapshot: &Snapshot, cpus: &[CpuAccount]) -> Vec<Missing> {
    let Some(Lost { threads, takers, lines, functions, routes }) = snapshot.lost else { return Vec::new() };
    let tables = [
        (threads, "threads of the target"),
        (takers, "slices of tasks"),
        (lines, "interrupts of devices, by line"),
        (functions, "functions of the kernel"),
        (routes, "migrations by CPU"),
    ];
    let full = tables.into_iter().filter(|(count, _)| *count > 0);
    let full =
        full.map(|(count, what)| Missing::new(what, format_args!("a table was full: {count} are left out")));
    let unreported = cpus.iter().filter(|row| row.untold_switches > 0).map(|row| {
        let why = format_args!(
            "the kernel did not report {}; where the scheduler's own sums do not say since when a task had the CPU, {} ns are \
             given to nobody",
            row.untold_switches, row.unknown_ns
        );
        Missing::new(format_args!("some switches on CPU {}", row.cpu), why)
    });
    full.chain(unreported).chain(missed_events(&snapshot.misses)).collect()
}
