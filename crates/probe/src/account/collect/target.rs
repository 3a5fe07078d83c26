//! Who is watched, in the numbers by which programs in the kernel know tasks.

use aya::maps::MapError;
use machine::procfs::pid_stat;
use machine::{Machine, Missing, Root};

use crate::bpf::refused;
use crate::bpf::{Faults, Record, ThreadSeen, thread_state};

/// `enum wanted` of bpf/records.h.
const WANTED_PROCESS: u32 = 1;
const WANTED_THREAD: u32 = 2;

/// The first PID namespace: PROC_PID_INIT_INO of include/linux/proc_ns.h.
const FIRST_PID_NAMESPACE: u32 = 4_026_531_836;

/// Whose time is accounted for, or whose events are reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// Nobody's in particular: each task on each CPU.
    Everything,
    /// All threads of these processes, of those that they start, and of what those start. Numbers as in /proc.
    Processes(Vec<u32>),
    /// These threads, and what they start.
    Threads(Vec<u32>),
}

impl Target {
    /// The numbers, and what the programs in the kernel are to take them for (`enum wanted` of bpf/records.h).
    pub(crate) fn numbers(&self) -> (&[u32], u32) {
        match self {
            Self::Everything => (&[], WANTED_PROCESS),
            Self::Processes(numbers) => (numbers, WANTED_PROCESS),
            Self::Threads(numbers) => (numbers, WANTED_THREAD),
        }
    }
}

/// A table of named numbers has no more room.
pub(crate) fn full(why: MapError) -> Missing {
    refused::no_events(format_args!("a table cannot be filled: {why}"))
}

/// The threads of a target as /proc has them now, as records without any figure.
pub(crate) fn threads_of(target: &Target) -> Vec<ThreadSeen> {
    let root = Root::live();
    let mut threads = Vec::new();
    for number in target.numbers().0 {
        let folder = format!("/proc/{number}/task");
        for tid in root.list(&folder).unwrap_or_default() {
            let Ok(text) = root.read(format!("{folder}/{tid}/stat")) else { continue };
            let (Ok(stat), Ok(tid)) = (pid_stat::parse(&text), tid.parse()) else { continue };
            if matches!(target, Target::Threads(_)) && tid != *number {
                continue;
            }
            let mut comm = [0; 16];
            comm.iter_mut().zip(stat.comm.bytes().take(15)).for_each(|(to, from)| *to = from);
            let cpu = stat.processor.unwrap_or(0);
            // One that could run but waits for its turn is put right by the first event.
            let state = match stat.state {
                'R' => thread_state::RUNNING,
                'D' => thread_state::BLOCKED,
                _ => thread_state::ASLEEP,
            };
            let faults_before =
                Faults { minor: stat.minor_faults.unwrap_or(0), major: stat.major_faults.unwrap_or(0) };
            let known =
                ThreadSeen { tid, tgid: *number, comm, cpu, state, faults_before, ..ThreadSeen::zeroed() };
            threads.push(known);
        }
    }
    threads
}

/// Number of this process's PID namespace, as its link in /proc shows it; 0 for the first, whose numbers are the kernel's own.
pub(crate) fn own_namespace() -> u32 {
    let link = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    let number = link.to_str().and_then(|link| link.strip_prefix("pid:[")?.strip_suffix(']')?.parse().ok());
    number.filter(|number| *number != FIRST_PID_NAMESPACE).unwrap_or(0)
}

/// For programs that know tasks by their number in the first PID namespace only.
pub(crate) fn same_numbers(target: &Target) -> Result<(), Missing> {
    if *target == Target::Everything || own_namespace() == 0 {
        return Ok(());
    }
    let why = "this is a PID namespace of its own (a container), where processes have other numbers than these programs know: run \
        pinwise on the host, or with the host's PID namespace";
    Err(refused::no_events_of_process(why))
}

/// How many CPUs there can be, by the highest number.
pub(crate) fn possible_cpus(machine: &Machine) -> u32 {
    let highest = machine.possible.as_ref().and_then(machine::CpuSet::last);
    highest.into_iter().chain(machine.online().last()).max().unwrap_or(0) + 1
}
