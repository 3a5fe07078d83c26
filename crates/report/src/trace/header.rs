//! What a trace says of itself: clocks, the machine, names of processes and threads, and what was lost.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use machine::Machine;
use probe::events::{Task, Trace};

use super::file::File;
use super::proto::{
    Clock, ClockSnapshot, Data, FtraceCpuStats, FtraceEventBundle, FtraceStats, Process, ProcessTree,
    SystemInfo, Thread, Utsname, clock, signed,
};
use super::unwatched_task::{NOT_WATCHED, NOT_WATCHED_NAME};

const START_OF_TRACE: u32 = 1;
const END_OF_TRACE: u32 = 2;

/// What stands before all events.
pub(super) fn write(
    file: &mut File<'_>,
    trace: &Trace,
    machine: &Machine,
    tasks: &BTreeMap<u32, Task>,
) -> io::Result<()> {
    let at_ns = trace.began_ns;
    file.put(at_ns, Data::ClockSnapshot(clocks(file, at_ns)))?;
    file.put(at_ns, Data::SystemInfo(system(machine)))?;
    let born = trace.born();
    let before = tasks.values().filter(|task| !born.contains(&task.tid));
    let mut tree = tree(before.copied(), tasks);
    for cpu in &trace.cpus {
        let tid = Some(signed(NOT_WATCHED + cpu));
        let name = NOT_WATCHED_NAME.to_string();
        tree.processes.push(Process { pid: tid, cmdline: vec![name.clone()], ..Process::default() });
        tree.threads.push(Thread { tid, tgid: tid, name: Some(name) });
    }
    file.put(at_ns, Data::ProcessTree(tree))?;
    file.put(at_ns, Data::FtraceStats(stats(trace, START_OF_TRACE)))
}

/// What stands behind them: names of what was born meanwhile, for Perfetto takes a number that is born for another process than
/// the one that had it before.
pub(super) fn write_end(file: &mut File<'_>, trace: &Trace, tasks: &BTreeMap<u32, Task>) -> io::Result<()> {
    let born = trace.born();
    let since = tasks.values().filter(|task| born.contains(&task.tid));
    file.put(trace.ended_ns, Data::ProcessTree(tree(since.copied(), tasks)))?;
    for cpu in trace.dropped.keys() {
        file.bundle(FtraceEventBundle { cpu: Some(*cpu), event: Vec::new(), lost_events: Some(true) })?;
    }
    file.put(trace.ended_ns, Data::FtraceStats(stats(trace, END_OF_TRACE)))
}

/// Times are of CLOCK_MONOTONIC, and shown so.
fn clocks(file: &File<'_>, at_ns: u64) -> ClockSnapshot {
    let at = |clock_id, ns| Clock { clock_id: Some(clock_id), timestamp: Some(ns) };
    ClockSnapshot {
        clocks: vec![at(clock::MONOTONIC, at_ns), at(clock::BOOTTIME, file.boottime(at_ns))],
        primary_trace_clock: Some(clock::MONOTONIC),
    }
}

fn system(machine: &Machine) -> SystemInfo {
    let kernel = &machine.kernel;
    SystemInfo {
        utsname: Some(Utsname {
            sysname: Some("Linux".into()),
            version: kernel.version.clone(),
            // By this, Perfetto knows what the states of threads mean.
            release: kernel.release.clone(),
            machine: kernel.architecture.clone(),
        }),
        tracing_service_version: Some(concat!("pinwise ", env!("CARGO_PKG_VERSION")).into()),
        page_size: kernel.page_size_bytes.and_then(|bytes| u32::try_from(bytes).ok()),
        num_cpus: Some(machine.online().len() as u32),
    }
}

/// These tasks and their processes. Arguments are left out: they may hold what is nobody's business.
fn tree(of: impl Iterator<Item = Task>, all: &BTreeMap<u32, Task>) -> ProcessTree {
    let mut tree = ProcessTree::default();
    let mut processes = BTreeSet::new();
    for task in of.filter(|task| task.tid != 0) {
        if processes.insert(task.pid) {
            let main = all.get(&task.pid);
            tree.processes.push(Process {
                pid: Some(signed(task.pid)),
                cmdline: main.map(|main| main.comm.as_str().into_owned()).into_iter().collect(),
                is_kthread: Some(task.of_kernel),
                cmdline_is_comm: Some(true),
            });
        }
        tree.threads.push(Thread {
            tid: Some(signed(task.tid)),
            tgid: Some(signed(task.pid)),
            name: Some(task.comm.as_str().into_owned()),
        });
    }
    tree
}

/// Perfetto shows its user the events that were dropped between the two.
fn stats(trace: &Trace, phase: u32) -> FtraceStats {
    let dropped = |cpu: &u32| match phase {
        END_OF_TRACE => trace.dropped.get(cpu).copied().unwrap_or(0),
        _ => 0,
    };
    let of = |cpu: &u32| FtraceCpuStats { cpu: Some(u64::from(*cpu)), dropped_events: Some(dropped(cpu)) };
    FtraceStats { phase: Some(phase), cpu_stats: trace.cpus.iter().map(of).collect() }
}
