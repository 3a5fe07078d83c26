//! Who was on the CPU while threads of the target could have run there.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::cpu::slice_that_goes_on_ns;
use super::stretches::Stretches;
use super::thread::task_name;
use crate::account::collect::cpu_group::CpuOf;
use crate::account::collect::snapshot::Snapshot;
use crate::account::name::names::Names;
use crate::bpf::{CpuHead, TakerKey, TakerSeen};

/// A task, on all CPUs together.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TaskAccount {
    /// Number of the thread, and of its process.
    pub tid: u32,
    /// Its process.
    pub pid: u32,
    /// Name, at most 15 characters.
    pub comm: String,
    /// Path of its cgroup below the mount: in version 2, and where all are at the top of that, in version 1.
    pub cgroup: Option<String>,
    /// Whether it is a thread of the kernel.
    pub of_kernel: bool,
    /// Whether it belongs to the target: its threads can stand in each other's way.
    pub of_target: bool,
    /// Slices that were looked at: all of them, or those during which the target waited.
    pub slices: u64,
    /// On a CPU, net of interrupts, ns; `None` where only what it took from the target was counted.
    pub on_cpu_ns: Option<u64>,
    /// The same by CPU, ns; empty where there is a target.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub on_cpu_by_cpu: BTreeMap<u32, u64>,
    /// How often it came in the place of a thread of the target that could have run on.
    pub preempted: u64,
    /// What its slices cost the target: the waiting of all its threads meanwhile, net of interrupts. A count is a slice.
    pub took: Stretches,
    /// The same by CPU, ns.
    pub took_by_cpu: BTreeMap<u32, u64>,
}

impl TaskAccount {
    /// The kind of a thread of the kernel: `kworker` of `kworker/0:1-events`, `loop` of `loop0`, `vhost` of `vhost-4711`.
    pub fn kernel_thread_kind(&self) -> &str {
        let base = self.comm.split(['/', ':']).next().unwrap_or(&self.comm);
        let base = base.trim_end_matches(|c: char| c.is_ascii_digit() || c == '-');
        if base.is_empty() { &self.comm } else { base }
    }
}

/// Sums the kernel's records of tasks over CPUs. `every_task`: whether all their slices were counted.
pub(in crate::account) fn tasks(
    snapshot: &Snapshot,
    every_task: bool,
    names: &Names,
) -> BTreeMap<u32, TaskAccount> {
    let mut tasks = complete_slices(&snapshot.takers, every_task, names);
    for read in snapshot.cpus.iter() {
        match every_task {
            true => {
                goes_on(&mut tasks, snapshot, read, names);
                was_offline(&mut tasks, snapshot, read);
            }
            false => takes_on(&mut tasks, snapshot, read, names),
        }
    }
    tasks
}

fn complete_slices(
    takers: &[(TakerKey, TakerSeen)],
    every_task: bool,
    names: &Names,
) -> BTreeMap<u32, TaskAccount> {
    let mut tasks: BTreeMap<u32, TaskAccount> = BTreeMap::new();
    for (key, seen) in takers {
        let (comm, pid) = named(key.tid, seen, names);
        let task = tasks.entry(key.tid).or_insert_with(|| TaskAccount {
            tid: key.tid,
            pid,
            comm,
            cgroup: names.cgroup(seen.cgroup, pid),
            of_kernel: seen.of_kernel != 0,
            on_cpu_ns: every_task.then_some(0),
            ..TaskAccount::default()
        });
        task.slices += seen.slices;
        task.preempted += seen.preempted;
        task.on_cpu_ns = task.on_cpu_ns.map(|ns| ns + seen.on_cpu_ns);
        if every_task && seen.on_cpu_ns > 0 {
            task.on_cpu_by_cpu.insert(key.cpu, seen.on_cpu_ns);
        }
        task.took = task.took.plus(&Stretches::without_shortest(&seen.took));
        if seen.took.total_ns > 0 {
            task.took_by_cpu.insert(key.cpu, seen.took.total_ns);
        }
    }
    tasks
}

/// Adds the slice that has not ended on a CPU: a task that spins alone there may have no other.
fn goes_on(tasks: &mut BTreeMap<u32, TaskAccount>, snapshot: &Snapshot, read: CpuOf<'_>, names: &Names) {
    let seen = read.head();
    let Some(tid) = other_task(seen) else { return };
    let slice_ns = slice_that_goes_on_ns(snapshot.began_ns, slice_ended_ns(snapshot, read), seen);
    let task = tasks.entry(tid).or_insert_with(|| {
        let (comm, pid) = names.tasks.get(&tid).cloned().unwrap_or_default();
        let cgroup = names.cgroup(0, pid);
        TaskAccount { tid, pid, comm, cgroup, on_cpu_ns: Some(0), ..TaskAccount::default() }
    });
    let complete_ns = task.on_cpu_by_cpu.get(&read.cpu()).copied().unwrap_or(0);
    // Records of tasks are read after that of the CPU: where the slice ended in between it is in them, too. Nobody had more of a CPU than
    // all tasks together.
    let all_ns = (complete_ns + slice_ns).min(seen.other_ns + slice_ns).max(complete_ns);
    if all_ns > 0 {
        task.on_cpu_by_cpu.insert(read.cpu(), all_ns);
    }
    task.slices += 1;
    task.on_cpu_ns = task.on_cpu_ns.map(|ns| ns + all_ns - complete_ns);
}

/// Adds what the slice that goes on on a CPU has cost the target so far: a task at real-time priority may not give the CPU away once in
/// the window. Nothing of a task without a name.
fn takes_on(tasks: &mut BTreeMap<u32, TaskAccount>, snapshot: &Snapshot, read: CpuOf<'_>, names: &Names) {
    let seen = read.head();
    let Some(tid) = other_task(seen) else { return };
    let waited_ns = waited_ns(seen, slice_ended_ns(snapshot, read));
    let slice_ns = waited_since(waited_ns, seen.waited_before_ns).saturating_sub(seen.waiting_interrupted_ns);
    let known = tasks.contains_key(&tid);
    let Some((comm, pid)) = names.tasks.get(&tid).cloned().or(known.then(Default::default)) else { return };
    let task = tasks.entry(tid).or_insert_with(|| {
        let cgroup = names.cgroup(0, pid);
        TaskAccount { tid, pid, comm, cgroup, ..TaskAccount::default() }
    });
    let complete_ns = task.took_by_cpu.get(&read.cpu()).copied().unwrap_or(0);
    // As above: the slice may have ended in between. Nobody took more on a CPU than was waited there since counting began.
    let more_ns = slice_ns.min(waited_ns.saturating_sub(complete_ns));
    if more_ns > 0 {
        task.took_by_cpu.insert(read.cpu(), complete_ns + more_ns);
        task.took.total_ns = task.took.total_ns.saturating_add(more_ns);
    }
}

/// Until when the slice went on that has not ended on a CPU: nobody has one that is offline.
fn slice_ended_ns(snapshot: &Snapshot, read: CpuOf<'_>) -> u64 {
    let absence = snapshot.absence(read.cpu());
    absence.map_or(read.at_ns(), |absence| absence.slice_ended_ns(read.head(), read.at_ns()))
}

/// Takes from tasks what is booked to them of the time in which the CPU was offline.
fn was_offline(tasks: &mut BTreeMap<u32, TaskAccount>, snapshot: &Snapshot, read: CpuOf<'_>) {
    let absence = snapshot.absence(read.cpu());
    let booked = absence.map_or(Vec::new(), |absence| absence.in_tasks(read.head(), read.at_ns()));
    for (tid, ns) in booked {
        let Some(task) = tasks.get_mut(&tid) else { continue };
        let had_ns = task.on_cpu_by_cpu.get(&read.cpu()).copied().unwrap_or(0);
        let taken_ns = ns.min(had_ns);
        match had_ns - taken_ns {
            0 => task.on_cpu_by_cpu.remove(&read.cpu()),
            left_ns => task.on_cpu_by_cpu.insert(read.cpu(), left_ns),
        };
        task.on_cpu_ns = task.on_cpu_ns.map(|all_ns| all_ns.saturating_sub(taken_ns));
    }
}

/// The task that has a CPU, where that is neither the idle task nor a thread of the target.
fn other_task(seen: &CpuHead) -> Option<u32> {
    (seen.current_tid != 0 && seen.current_slot == 0).then_some(seen.current_tid)
}

/// Bits of a word of waiting that count threads, and those of its sum (`bpf/waiting.h`).
const WAITING_BITS: u32 = 16;
const WAITED_MASK: u64 = (1 << 48) - 1;

/// Threads of the target that wait on a CPU.
pub(in crate::account) fn waiting(seen: &CpuHead) -> u64 {
    seen.waiting.wrapping_add(seen.waiting_moved) & ((1 << WAITING_BITS) - 1)
}

/// What threads of the target have waited on a CPU up to a moment, ns mod 2^48.
fn waited_ns(seen: &CpuHead, at_ns: u64) -> u64 {
    let word = seen.waiting.wrapping_add(seen.waiting_moved);
    waiting(seen).wrapping_mul(at_ns).wrapping_sub(word >> WAITING_BITS) & WAITED_MASK
}

/// The difference of two such readings; clocks of two CPUs may differ by some ns, so that it can be below 0.
fn waited_since(now_ns: u64, before_ns: u64) -> u64 {
    let difference = now_ns.wrapping_sub(before_ns) & WAITED_MASK;
    if difference >> 47 == 0 { difference } else { 0 }
}

/// Name and process of a task; by /proc where the programs know only its number.
pub(in crate::account) fn named(tid: u32, seen: &TakerSeen, names: &Names) -> (String, u32) {
    let by_program = || (task_name(&seen.comm), seen.tgid);
    match seen.comm[0] {
        0 => names.tasks.get(&tid).cloned().unwrap_or_else(by_program),
        _ => by_program(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bpf::Record as _;

    #[test]
    fn what_was_waited_up_to_now_is_that_of_the_kernels_own_arithmetic() {
        // Two threads came at 1,000 and 1,400; the first went at 1,500.
        let coming = |ns: u64| 1u64.wrapping_add(ns << WAITING_BITS);
        let word = coming(1_000).wrapping_add(coming(1_400)).wrapping_sub(coming(1_500));
        let half = 0xdead_beef_dead_beef_u64;
        let seen = CpuHead { waiting: word.wrapping_sub(half), waiting_moved: half, ..CpuHead::zeroed() };
        assert_eq!((waiting(&seen), waited_ns(&seen, 1_900)), (1, 500 + 500));
        let none = CpuHead { waiting: word.wrapping_sub(coming(1_600)), ..CpuHead::zeroed() };
        assert_eq!((waiting(&none), waited_ns(&none, 9_000)), (0, 500 + 200));
        assert_eq!((waited_since(1_000, 400), waited_since(400, 1_000)), (600, 0));
        assert_eq!(waited_since(100, WAITED_MASK - 99), 200, "it begins anew after 78 hours");
    }

    #[test]
    fn threads_of_the_kernel_have_a_kind_without_numbers() {
        let kind = |comm: &str| {
            let task = TaskAccount { comm: comm.into(), ..TaskAccount::default() };
            task.kernel_thread_kind().to_string()
        };
        let names =
            ["kworker/0:1-events", "loop0", "vhost-4711", "ksoftirqd/3", "kdamond.0", "rcu_preempt", "42"];
        let kinds = ["kworker", "loop", "vhost", "ksoftirqd", "kdamond.", "rcu_preempt", "42"];
        assert_eq!(names.map(kind), kinds);
    }
}
