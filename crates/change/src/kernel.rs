//! The seam between deciding and doing: everything that this crate asks of the operating system.
//!
//! [`LiveKernel`](crate::LiveKernel) asks the real one, [`EmulatedKernel`](crate::EmulatedKernel) keeps a small one in
//! memory, so that refusals, lies on reading back and crashes at every point can be tested.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use machine::ethtool::Topic;
use machine::{
    Act, BootLoader, CpuSet, EthtoolSetting, EthtoolState, Fault, GuestPin, NetnsPair, PlatformFile,
    ProcessFile, ProcessRef, Scheduling, UtilClamp,
};
use serde::{Deserialize, Serialize};

use crate::ground::Ground;
use crate::launch::Launch;
use crate::namespace::Namespace;
use crate::record::Value;
use crate::subject::{Interface, Subject};

/// All that is needed to put a thread's scheduling back exactly as it was.
///
/// [`Scheduling`] names what one asks for; a real-time thread also keeps a nice value for later, and any thread may
/// have SCHED_RESET_ON_FORK.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchedulingState {
    /// Policy and its own parameter.
    pub scheduling: Scheduling,
    /// Nice value that the kernel keeps for the thread, whatever its policy.
    pub nice: i32,
    /// SCHED_RESET_ON_FORK: children do not inherit the policy.
    pub reset_on_fork: bool,
}

impl SchedulingState {
    /// This state with another policy; what that policy does not mention stays.
    pub fn with(self, scheduling: Scheduling) -> Self {
        let nice = match scheduling {
            Scheduling::Other { nice } | Scheduling::Batch { nice } => nice,
            _ => self.nice,
        };
        Self { scheduling, nice, ..self }
    }
}

impl SchedulingState {
    /// Whether going from here to `other` gives something up: niceness grows, a real-time policy or priority is
    /// lost, SCHED_IDLE is entered. The way back needs CAP_SYS_NICE.
    pub fn is_lowered_by(&self, other: &Self) -> bool {
        // Higher is stronger; nice counts within one rank.
        let rank = |state: &Self| match state.scheduling {
            Scheduling::Idle => 0,
            Scheduling::Other { .. } | Scheduling::Batch { .. } => 1,
            Scheduling::Fifo { priority } | Scheduling::RoundRobin { priority } => 1 + priority,
        };
        rank(other) < rank(self) || other.nice > self.nice
    }
}

/// A process as a listing of /proc shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessSeen {
    /// The process.
    pub process: ProcessRef,
    /// Its parent's number.
    pub parent: u32,
    /// Its process group.
    pub group: u32,
    /// Ended, and only waiting to be reaped.
    pub ended: bool,
}

/// A process that has been forked and waits at a gate: it runs nothing of its own until it is released.
///
/// Dropping it without [`release`](Gated::release) makes the process leave; so does the death of this process.
/// That is why a process can be written down between its start and its first action.
pub trait Gated {
    /// The waiting process; its group has the same number.
    fn process(&self) -> ProcessRef;

    /// Lets it go on to execute its program; gives the reading end of its standard output where that is piped.
    ///
    /// Errors: the exact step that failed in the child (namespace, CPUs, scheduling, folder, program); it is gone then.
    fn release(self: Box<Self>) -> Result<Option<std::fs::File>, Fault>;
}

/// What became of a network namespace.
pub enum Network<'k> {
    /// It lives, and this sees it as its own.
    There(Box<dyn Kernel + 'k>),
    /// It has ended, for certain.
    Ended,
    /// Nothing leads to it, and whether it has ended is not known.
    Lost,
}

/// What the operating system does for this crate. Methods take `&self`; an implementation guards its own state.
pub trait Kernel: Send + Sync {
    /// Identity of this boot (/proc/sys/kernel/random/boot_id, random(4)).
    fn boot_id(&self) -> io::Result<String>;

    /// Clock ticks since boot, on the clock of process start times.
    fn now_ticks(&self) -> io::Result<u64>;

    /// Where this process stands.
    ///
    /// Errors: no procfs is mounted, or that of another PID namespace.
    fn ground(&self) -> io::Result<Ground>;

    /// The identity of what an act means here and now, as far as the kernel tells it.
    fn subject(&self, act: &Act) -> Subject;

    /// The network namespace in which an act finds its object.
    ///
    /// Errors: it names none that is there.
    fn network_of(&self, act: &Act) -> io::Result<Namespace>;

    /// Looks for a network namespace.
    fn in_network(&self, network: &Namespace) -> Network<'_>;

    /// The index of the interface that an act names.
    ///
    /// Errors: `NotFound` or `ENODEV` when there is none of that name.
    fn interface_index(&self, act: &Act) -> io::Result<u32>;

    /// All interfaces of our network namespace.
    fn interfaces(&self) -> io::Result<Vec<Interface>>;

    /// The network namespace that an interface was moved to, and its name there.
    fn interface_elsewhere(&self, interface: &Interface) -> Option<(Namespace, String)>;

    /// A process that can be seen from here in a PID namespace.
    fn process_in(&self, processes: &Namespace) -> Option<u32>;

    /// This very process.
    fn own(&self) -> io::Result<ProcessRef>;

    /// The whole content of a file, as seen in network namespace `netns`.
    fn read_file(&self, path: &Path, netns: Option<&str>) -> io::Result<String>;

    /// Writes `value` and a newline to an existing file of /proc, /sys or a cgroup, in one write(2).
    ///
    /// Errors: `InvalidInput` for a file that lies on any other file system.
    fn write_file(&self, path: &Path, value: &str, netns: Option<&str>) -> io::Result<()>;

    /// Whether there is such a file or folder, whatever reading it would say, as seen in network namespace `netns`.
    ///
    /// Errors: what keeps it from being looked at; of a file of the kernel also that its file system is not mounted here, so that its
    /// absence shows nothing.
    fn exists(&self, path: &Path, netns: Option<&str>) -> io::Result<bool>;

    /// The content of a file of /proc/PID, of this process and never of a later one of the same number.
    ///
    /// Errors: `ESRCH` when it is gone.
    fn read_process_file(&self, process: &ProcessRef, file: ProcessFile) -> io::Result<String>;

    /// Writes a number to a file of /proc/PID, to this process and never to a later one of the same number.
    ///
    /// Errors: `ESRCH` when it is gone.
    fn write_process_file(&self, process: &ProcessRef, file: ProcessFile, value: i32) -> io::Result<()>;

    /// CPUs that a thread may use, those that are offline included (`Cpus_allowed_list`).
    fn affinity(&self, pid: u32, tid: u32) -> io::Result<CpuSet>;

    /// sched_setaffinity(2) with a mask as long as the set needs.
    fn set_affinity(&self, tid: u32, cpus: &CpuSet) -> io::Result<()>;

    /// sched_getattr(2). Errors: `Unsupported` for policies that [`Scheduling`] cannot name (SCHED_DEADLINE, ...).
    fn scheduling(&self, tid: u32) -> io::Result<SchedulingState>;

    /// sched_setattr(2), and setpriority(2) for the nice value of a real-time thread.
    fn set_scheduling(&self, tid: u32, state: &SchedulingState) -> io::Result<()>;

    /// ioprio_get(2), as the number that it gives.
    fn io_priority(&self, tid: u32) -> io::Result<u16>;

    /// ioprio_set(2).
    fn set_io_priority(&self, tid: u32, raw: u16) -> io::Result<()>;

    /// sched_getattr(2), the clamps alone. Errors: `Unsupported` where the kernel has none.
    fn util_clamp(&self, tid: u32) -> io::Result<UtilClamp>;

    /// sched_setattr(2), the clamps alone; those that clamp nothing are made the kernel's default again.
    fn set_util_clamp(&self, tid: u32, clamp: UtilClamp) -> io::Result<()>;

    /// Bytes of a process's memory on each node that holds any.
    ///
    /// Errors: `ESRCH` when it ends, `Unsupported` where the kernel has no nodes.
    fn node_memory(&self, process: &ProcessRef) -> io::Result<BTreeMap<u32, u64>>;

    /// migrate_pages(2). Pages that cannot be moved stay, which is no error.
    fn migrate_pages(&self, pid: u32, from: &CpuSet, to: &CpuSet) -> io::Result<()>;

    /// Moves pages until each node holds the same share of the process's memory as in `wanted`, as far as they can be moved.
    fn spread_pages(&self, process: &ProcessRef, wanted: &BTreeMap<u32, u64>) -> io::Result<()>;

    /// Whether this process may raise a priority (CAP_SYS_NICE): without that, what was lowered stays low.
    fn may_raise_priority(&self) -> bool;

    /// Start of a thread in ticks since boot. Errors: `NotFound` when there is no such thread.
    fn start_time(&self, pid: u32, tid: u32) -> io::Result<u64>;

    /// Threads of a process. Errors: `NotFound` when there is no such process.
    fn threads(&self, pid: u32) -> io::Result<Vec<u32>>;

    /// Every process that can be seen.
    fn processes(&self) -> io::Result<Vec<ProcessSeen>>;

    /// Whether the process, or the one that it inherited its environment from, was launched with this marker.
    /// `None`: its environment cannot be read.
    fn carries(&self, pid: u32, marker: &str) -> Option<bool>;

    /// Sends a signal, to this process and never to a later one of the same number.
    ///
    /// Errors: `NotFound` when it is gone.
    fn signal(&self, process: &ProcessRef, signal: i32) -> io::Result<()>;

    /// Whether a directory is there.
    fn is_dir(&self, path: &Path) -> bool;

    /// Makes a cgroup.
    fn make_dir(&self, path: &Path) -> io::Result<()>;

    /// Removes a cgroup that has no processes. Errors: `ResourceBusy` while it has.
    fn remove_dir(&self, path: &Path) -> io::Result<()>;

    /// Whether there is a network namespace of this name.
    fn has_netns(&self, name: &str) -> bool;

    /// Makes two network namespaces that are joined.
    ///
    /// Errors: `Unsupported` without ip(8), `EPERM` without the right.
    fn make_netns_pair(&self, pair: &NetnsPair) -> io::Result<()>;

    /// Removes a network namespace with all that is in it, once no process is in it any more.
    fn remove_netns(&self, name: &str) -> io::Result<()>;

    /// Directory of the cgroup that a process is in, in the hierarchy in which `near` lies.
    ///
    /// Errors: `Unsupported` when its threads are in several.
    fn process_cgroup(&self, pid: u32, near: &Path) -> io::Result<PathBuf>;

    /// Moves a process with all its threads into a cgroup.
    fn join_cgroup(&self, pid: u32, path: &Path) -> io::Result<()>;

    /// Writes a swap area into a new file.
    ///
    /// Errors: `AlreadyExists` when there is one, `StorageFull` when there is no room for it, `PermissionDenied` for who could not use it.
    fn make_swap_file(&self, path: &Path, bytes: u64) -> io::Result<()>;

    /// Removes such a file. Errors: `InvalidInput` for a name that no swap file of ours has.
    fn remove_swap_file(&self, path: &Path) -> io::Result<()>;

    /// Whether the kernel swaps to this file (/proc/swaps).
    fn swaps_to(&self, path: &Path) -> io::Result<bool>;

    /// swapon(2), before all other areas.
    fn swap_on(&self, path: &Path) -> io::Result<()>;

    /// swapoff(2).
    fn swap_off(&self, path: &Path) -> io::Result<()>;

    /// A file of our own among those of the platform: its text, or which folders lack.
    fn platform_file(&self, file: &PlatformFile) -> io::Result<Value>;

    /// Places such a file, whole or not at all, with the folders that lack, and tells who reads it.
    ///
    /// Errors: `AlreadyExists` when there is one.
    fn place(&self, file: &PlatformFile, content: &str) -> io::Result<()>;

    /// Removes such a file, and those `folders` that are empty then, and tells who reads it. One that is gone is no error.
    fn displace(&self, file: &PlatformFile, folders: &[PathBuf]) -> io::Result<()>;

    /// The command lines of the boot loader's entries, a line each; `Absent` where kernel-install has none of its own.
    ///
    /// Errors: its tool fails or is not there.
    fn boot_lines(&self, loader: BootLoader) -> io::Result<Value>;

    /// Has words added to these lines; `fresh` is the line where there is none.
    fn add_boot_words(&self, loader: BootLoader, words: &[String], fresh: Option<&str>) -> io::Result<()>;

    /// Has words taken away from these lines, and the line that came with them.
    fn remove_boot_words(&self, loader: BootLoader, words: &[String], fresh: Option<&str>) -> io::Result<()>;

    /// Forks a process that waits at its gate (see [`Gated`]); `marker` is put into its environment.
    fn fork(&self, launch: &Launch, marker: &str) -> Result<Box<dyn Gated>, Fault>;

    /// How a child of ours ended; `None` while it runs. It stays a zombie, which keeps its number, also that of its group, from
    /// being given to others (waitid(2), WNOWAIT).
    fn ended(&self, pid: u32) -> io::Result<Option<ExitStatus>>;

    /// Reaps a child of ours that has ended; nothing happens while it runs, or to a process that is no child of ours.
    fn reap(&self, pid: u32);

    /// What the driver of a network interface in namespace `netns` tells of a topic.
    ///
    /// Errors: `ENODEV` when there is no such interface, `EOPNOTSUPP` when its driver does not tell.
    fn ethtool(&self, device: &str, netns: Option<&str>, topic: Topic) -> io::Result<EthtoolState>;

    /// Sets something of a network interface; one message, which the kernel carries out as a whole.
    fn set_ethtool(&self, device: &str, netns: Option<&str>, setting: &EthtoolSetting) -> io::Result<()>;

    /// Interrupts that a running irqbalance was told to leave alone.
    ///
    /// Errors: `ESRCH` when it is gone.
    fn irq_bans(&self, process: &ProcessRef) -> io::Result<BTreeSet<u32>>;

    /// Tells a running irqbalance which interrupts to leave alone, in place of what it was told before.
    ///
    /// Errors: `ESRCH` when it is gone, `InvalidInput` when there are more than it takes.
    fn set_irq_bans(&self, process: &ProcessRef, irqs: &BTreeSet<u32>) -> io::Result<()>;

    /// Where libvirt places a part of a guest.
    ///
    /// Errors: `NotFound` when libvirt knows no such guest or no definition of it; it does not answer.
    fn guest_pin(&self, pin: &GuestPin) -> io::Result<CpuSet>;

    /// Has libvirt place a part of a guest. Errors: as [`guest_pin`](Kernel::guest_pin), and what it refuses.
    fn pin_guest(&self, pin: &GuestPin, cpus: &CpuSet) -> io::Result<()>;

    /// The limit on the exit latency of idle CPUs that holds now, us; 2000000000 when nobody asks for one.
    fn cpu_latency_us(&self) -> io::Result<u32>;

    /// Forks a process that waits at its gate, and then holds such a limit until it is ended, also when this process ends.
    /// [`Gated::release`] returns when the kernel has taken the limit.
    fn fork_holder(&self, limit_us: u32, marker: &str) -> Result<Box<dyn Gated>, Fault>;

    /// Whether that very process is there and has not ended.
    fn alive(&self, process: &ProcessRef) -> bool {
        let listed = || {
            let processes = self.processes().ok()?;
            processes.into_iter().find(|seen| seen.process == *process)
        };
        self.start_time(process.pid, process.pid).is_ok_and(|start| start == process.start_time_ticks)
            && listed().is_some_and(|seen| !seen.ended)
    }
}

/// Clock ticks since boot, as a fault where the kernel does not tell them.
pub(crate) fn now_ticks(kernel: &dyn Kernel) -> Result<u64, Fault> {
    kernel.now_ticks().map_err(|e| Fault::io("/proc/uptime", &e, "mount /proc"))
}

/// Children, children's children and so on of a process, in no order. The process itself is not among them.
pub(crate) fn descendants(processes: &[ProcessSeen], pid: u32) -> Vec<ProcessRef> {
    let mut family = BTreeSet::from([pid]);
    loop {
        let before = family.len();
        let children = processes.iter().filter(|seen| family.contains(&seen.parent));
        let more: Vec<u32> = children.map(|seen| seen.process.pid).collect();
        family.extend(more);
        if family.len() == before {
            break;
        }
    }
    let of_family =
        processes.iter().filter(|seen| seen.process.pid != pid && family.contains(&seen.process.pid));
    of_family.map(|seen| seen.process).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(pid: u32, parent: u32) -> ProcessSeen {
        let process = ProcessRef { pid, start_time_ticks: pid.into() };
        ProcessSeen { process, parent, group: pid, ended: false }
    }

    #[test]
    fn descendants_are_found_in_any_order_of_numbers() {
        let processes = [seen(2, 9), seen(9, 5), seen(5, 1), seen(7, 1), seen(1, 0)];
        let mut found: Vec<u32> = descendants(&processes, 5).iter().map(|p| p.pid).collect();
        found.sort();
        assert_eq!(found, [2, 9]);
        assert!(descendants(&processes, 7).is_empty());
    }

    #[test]
    fn a_policy_change_keeps_the_nice_value_that_it_does_not_mention() {
        let was = SchedulingState { scheduling: Scheduling::Other { nice: 5 }, nice: 5, reset_on_fork: true };
        let fifo = was.with(Scheduling::Fifo { priority: 10 });
        assert_eq!((fifo.nice, fifo.reset_on_fork), (5, true));
        assert_eq!(was.with(Scheduling::Batch { nice: -3 }).nice, -3);
    }

    #[test]
    fn what_gives_something_up_is_known() {
        let other =
            SchedulingState { scheduling: Scheduling::Other { nice: 0 }, nice: 0, reset_on_fork: false };
        let lowers = |from: SchedulingState, to: Scheduling| from.is_lowered_by(&from.with(to));
        let fifo = other.with(Scheduling::Fifo { priority: 5 });
        assert!(lowers(other, Scheduling::Idle) && lowers(other, Scheduling::Batch { nice: 1 }));
        assert!(
            lowers(fifo, Scheduling::RoundRobin { priority: 4 })
                && lowers(fifo, Scheduling::Other { nice: 0 })
        );
        assert!(
            !lowers(other, Scheduling::Batch { nice: 0 }) && !lowers(other, Scheduling::Fifo { priority: 1 })
        );
    }
}
