//! Who is watched, in the numbers by which programs in the kernel know tasks.

use aya::maps::MapError;
use machine::processes::PidNamespace;
use machine::procfs::pid_stat;
use machine::{CpuSet, Machine, Missing, Root};

use crate::bpf::refused;
use crate::bpf::{Faults, Record, ThreadSeen, thread_state};

/// `enum wanted` of bpf/records.h.
const WANTED_PROCESS: u32 = 1;
const WANTED_THREAD: u32 = 2;

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
            // The first thread of a process may have exited long before the others.
            if stat.has_exited() || matches!(target, Target::Threads(_)) && tid != *number {
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

/// The PID namespace in which the numbers of a target count, for programs in the kernel: that of /proc, where they were found. 0 for the
/// first, whose numbers are the kernel's own.
///
/// # Errors
/// The numbers are of a namespace that is not known, and the target is named by them.
pub(crate) fn namespace_of(target: &Target) -> Result<u32, Missing> {
    let namespace = PidNamespace::of_proc(&Root::live());
    match (namespace.is_first(), namespace.inum) {
        (Some(true), _) => Ok(0),
        (Some(false), Some(inum)) => Ok(inum),
        _ if *target == Target::Everything => Ok(0),
        _ => Err(refused::no_events_of_process(
            "/proc shows the numbers of another PID namespace than pinwise's own, and not which (/proc/1/ns/pid cannot be read): \
             run as root, or with a /proc of its own (unshare --mount-proc)",
        )),
    }
}

/// Whether a thread of the target is there, and has not exited.
fn is_alive(target: &Target) -> bool {
    !threads_of(target).is_empty()
}

/// Why programs in the kernel met nobody of a target that /proc shows alive: their walk (kernel/bpf/task_iter.c) meets the tasks of the
/// caller's PID namespace. `None` where it has ended, or everything is meant.
pub(crate) fn never_met(target: &Target) -> Option<Missing> {
    is_alive(target).then(|| {
        refused::no_events_of_process(
            "/proc shows it, and it is not in the PID namespace of pinwise, whose tasks alone the kernel shows it: /proc is that of another \
             one; run pinwise on the host, or in the namespace of the process (nsenter -t PID -a)",
        )
    })
}

/// For programs that know tasks by their number in the first PID namespace only.
pub(crate) fn same_numbers(target: &Target) -> Result<(), Missing> {
    if *target == Target::Everything || namespace_of(target)? == 0 {
        return Ok(());
    }
    let why = "this is a PID namespace of its own (a container), where processes have other numbers than these programs know: run \
        pinwise on the host, or with the host's PID namespace";
    Err(refused::no_events_of_process(why))
}

/// All CPUs that can be online in a window, as far as there is room for their numbers.
pub(crate) fn all_cpus(machine: &Machine, room: u32) -> CpuSet {
    let online = machine.online();
    let all = machine.possible.as_ref().map_or(online.clone(), |possible| possible.union(&online));
    all.iter().filter(|cpu| *cpu < room).collect()
}

/// How many CPUs there can be, by the highest number.
pub(crate) fn possible_cpus(machine: &Machine) -> u32 {
    let highest = machine.possible.as_ref().and_then(CpuSet::last);
    highest.into_iter().chain(machine.online().last()).max().unwrap_or(0) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_proc_are_known_by_its_namespace() {
        let own = Target::Processes(vec![std::process::id()]);
        let shown = std::fs::read_link("/proc/self/ns/pid").unwrap();
        let namespace = namespace_of(&own).unwrap();
        let expected = match namespace {
            0 => "pid:[4026531836]".to_string(),
            inum => format!("pid:[{inum}]"),
        };
        assert_eq!(shown.to_str(), Some(expected.as_str()), "tests run with a /proc of their own namespace");
        assert_eq!(namespace_of(&Target::Everything), Ok(namespace));
    }

    #[test]
    fn nobody_is_missed_who_has_ended_and_a_sleeper_is_there() {
        assert!(never_met(&Target::Processes(vec![std::process::id()])).is_some());
        let tid = rustix::thread::gettid().as_raw_pid() as u32;
        assert!(is_alive(&Target::Threads(vec![tid])));
        // Past PID_MAX_LIMIT.
        assert_eq!(never_met(&Target::Processes(vec![99_999_999])), None);
        assert_eq!(never_met(&Target::Everything), None);
    }
}
