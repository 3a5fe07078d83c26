//! Why a cgroup takes no process, where one number of the kernel has several causes: the facts that distinguish them are read after the
//! refusal.

use std::fmt;
use std::io;
use std::path::Path;

use machine::procfs::pid_stat;

use crate::acts::PINNED_BY_KERNEL;
use crate::acts::operation::refusal::{Refusal, is_missing};
use crate::kernel::Kernel;
use crate::kernel::threads::sched::SCHED_DEADLINE;

const SCHED_FIFO: u32 = libc::SCHED_FIFO as u32;
const SCHED_RR: u32 = libc::SCHED_RR as u32;

/// At most this many cgroups are looked at: the one that is asked for, and those above it.
const DEEPEST: usize = 32;

/// The cause of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    /// `EINVAL` of `cgroup_procs_write_start` (kernel/cgroup/cgroup.c).
    PinnedByKernel,
    /// `EINVAL` of `cpu_cgroup_can_attach` (kernel/sched/core.c), version 1.
    NoRealTime,
    /// The same in version 2, which has no file for the run time.
    NoRealTimeInVersion2,
    /// `EBUSY` of `cgroup_migrate_vet_dst` (kernel/cgroup/cgroup.c), version 2.
    HandsControllersDown,
    /// `EBUSY` of `cpuset_can_attach` (kernel/cgroup/cpuset.c).
    NoDeadlineTime,
    /// `ENOSPC` of the same, version 1.
    NoCpus,
    /// `ENOSPC` of the same, version 1.
    NoMemoryNodes,
    /// `ENOSPC` of the same, version 2.
    NoCpusLeft,
}

impl Cause {
    /// What it means, and what to do.
    pub(super) fn refusal(self) -> Refusal {
        let (meaning, remedy) = match self {
            Self::PinnedByKernel => return PINNED_BY_KERNEL,
            Self::NoRealTime => (
                "the process has real-time threads, and the cgroup has no run time for them (cpu.rt_runtime_us is 0)",
                "write cpu.rt_runtime_us of the cgroup first, or give the threads another policy (chrt)",
            ),
            Self::NoRealTimeInVersion2 => (
                "the process has real-time threads, and cgroups of version 2 with the cpu controller have no run time for them",
                "give the threads another policy first (chrt), or choose a cgroup without the cpu controller (cgroup.controllers)",
            ),
            Self::HandsControllersDown => (
                "the cgroup hands controllers to those below it (cgroup.subtree_control), and so may hold no process itself",
                "choose a cgroup below it",
            ),
            Self::NoDeadlineTime => (
                "the CPUs of the cgroup have no run time left for the SCHED_DEADLINE threads of the process",
                "choose a cgroup with more CPUs, or give the threads another policy first (chrt)",
            ),
            Self::NoCpus => ("the cgroup has no CPUs (cpuset.cpus is empty)", "write cpuset.cpus first"),
            Self::NoMemoryNodes => {
                ("the cgroup has no memory nodes (cpuset.mems is empty)", "write cpuset.mems first")
            }
            Self::NoCpusLeft => (
                "no CPU is left to the cgroup: its own are offline, or a partition has them (cpuset.cpus.effective is empty)",
                "bring its CPUs online, or write others to cpuset.cpus",
            ),
        };
        Refusal::unavailable(meaning, remedy)
    }
}

/// An error of the kernel with the cause that was found.
#[derive(Debug)]
struct Explained {
    cause: Cause,
    error: io::Error,
}

impl fmt::Display for Explained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.error, f)
    }
}

impl std::error::Error for Explained {}

/// The error with its cause, as far as the facts show one.
pub(super) fn explained(kernel: &dyn Kernel, pid: u32, path: &Path, error: io::Error) -> io::Error {
    let joined = Joined { kernel, pid, path };
    let cause = match error.raw_os_error() {
        Some(libc::EINVAL) => joined.why_invalid(),
        Some(libc::EBUSY) => joined.why_busy(),
        Some(libc::ENOSPC) => joined.why_empty(),
        _ => None,
    };
    match cause {
        Some(cause) => io::Error::new(error.kind(), Explained { cause, error }),
        None => error,
    }
}

/// The cause that an error was given.
pub(super) fn of(error: &io::Error) -> Option<Cause> {
    Some(error.get_ref()?.downcast_ref::<Explained>()?.cause)
}

/// A process and the cgroup that does not take it.
struct Joined<'a> {
    kernel: &'a dyn Kernel,
    pid: u32,
    path: &'a Path,
}

impl Joined<'_> {
    fn why_invalid(&self) -> Option<Cause> {
        if self.kernel.is_bound(self.pid, self.pid) == Some(true) {
            return Some(Cause::PinnedByKernel);
        }
        if !self.policies()?.iter().any(|policy| matches!(*policy, SCHED_FIFO | SCHED_RR)) {
            return None;
        }
        match self.read(self.path, "cpu.rt_runtime_us") {
            Ok(us) => (us == "0").then_some(Cause::NoRealTime),
            Err(error) if is_missing(&error) && self.has_cpu_controller() => {
                Some(Cause::NoRealTimeInVersion2)
            }
            Err(_) => None,
        }
    }

    fn why_busy(&self) -> Option<Cause> {
        let has_deadline = self.policies()?.contains(&SCHED_DEADLINE);
        let hands_down = match self.read(self.path, "cgroup.subtree_control") {
            Ok(controllers) => !controllers.is_empty(),
            // Version 1 has neither the file nor the rule.
            Err(_) if self.is_of_version_1() => false,
            Err(_) => return None,
        };
        // Where both are so, which of them it was is not known.
        match (hands_down, has_deadline) {
            (true, false) => Some(Cause::HandsControllersDown),
            (false, true) => Some(Cause::NoDeadlineTime),
            _ => None,
        }
    }

    fn why_empty(&self) -> Option<Cause> {
        let is_empty = |file: &str| self.read(self.path, file).ok().map(|list| list.is_empty());
        if !self.is_of_version_1() {
            return is_empty("cpuset.cpus.effective")?.then_some(Cause::NoCpusLeft);
        }
        match (is_empty("cpuset.cpus")?, is_empty("cpuset.mems")?) {
            (true, false) => Some(Cause::NoCpus),
            (false, true) => Some(Cause::NoMemoryNodes),
            _ => None,
        }
    }

    /// The policies of all threads; `None` where one of them cannot be read.
    fn policies(&self) -> Option<Vec<u32>> {
        let policy = |tid: u32| {
            let path = format!("/proc/{}/task/{tid}/stat", self.pid);
            let text = self.kernel.read_file(Path::new(&path), None).ok()?;
            pid_stat::parse(&text).ok().and_then(|stat| stat.policy)
        };
        self.kernel.threads(self.pid).ok()?.into_iter().map(policy).collect()
    }

    /// Whether the run time of the cgroup is counted by the cpu controller of version 2: its own, or that of one above it. The top has no
    /// `cgroup.type`, and limits nothing.
    fn has_cpu_controller(&self) -> bool {
        let below_top = self.path.ancestors().take(DEEPEST);
        let mut below_top = below_top.filter(|above| self.read(above, "cgroup.type").is_ok());
        below_top.any(|above| {
            let controllers = self.read(above, "cgroup.controllers");
            controllers.is_ok_and(|names| names.split_whitespace().any(|name| name == "cpu"))
        })
    }

    fn is_of_version_1(&self) -> bool {
        self.kernel.exists(&self.path.join("tasks"), None).unwrap_or(false)
    }

    fn read(&self, cgroup: &Path, file: &str) -> io::Result<String> {
        self.kernel.read_file(&cgroup.join(file), None).map(|text| text.trim().to_string())
    }
}
