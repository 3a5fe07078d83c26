//! Acts: the primitive writes that a knob may ask for. Data only; `change::Hand` alone performs them.
//!
//! They stand in this crate, left of `change`, because knobs describe themselves here and must be able to name
//! the writes they ask for (see docs/journal/0001-acts-are-data-in-machine.md).

pub mod boot_loader;
mod guest_pin;
mod netns_pair;
pub mod platform_file;
mod task_ref;

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use boot_loader::BootLoader;
pub use guest_pin::{GuestPart, GuestPin, PinScope};
pub use netns_pair::NetnsPair;
pub use platform_file::PlatformFile;
pub use task_ref::{ProcessRef, ThreadRef};

use crate::{CpuSet, EthtoolSetting, Setting};

/// A scheduling policy with its parameters (sched(7)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "policy", rename_all = "kebab-case")]
pub enum Scheduling {
    /// SCHED_OTHER with a nice value, -20 to 19.
    Other {
        /// Nice value.
        nice: i32,
    },
    /// SCHED_BATCH with a nice value, -20 to 19.
    Batch {
        /// Nice value.
        nice: i32,
    },
    /// SCHED_IDLE.
    Idle,
    /// SCHED_FIFO with a real-time priority, 1 to 99.
    Fifo {
        /// Real-time priority.
        priority: i32,
    },
    /// SCHED_RR with a real-time priority, 1 to 99.
    RoundRobin {
        /// Real-time priority.
        priority: i32,
    },
}

/// A file of /proc/PID that sets something for the process. A small closed set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProcessFile {
    /// oom_score_adj: -1000 to 1000 (proc_pid_oom_score_adj(5)). Children inherit it.
    OomScoreAdj,
    /// autogroup: the nice value of the process's session, -20 to 19 (sched(7)).
    Autogroup,
}

impl ProcessFile {
    /// Its name in /proc/PID.
    pub fn name(self) -> &'static str {
        match self {
            ProcessFile::OomScoreAdj => "oom_score_adj",
            ProcessFile::Autogroup => "autogroup",
        }
    }
}

/// How the disk scheduler ranks a thread's requests (ioprio_set(2)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "class", rename_all = "kebab-case")]
pub enum IoPriority {
    /// None of its own: it follows the nice value and policy.
    None,
    /// Before all others.
    RealTime {
        /// 0 (first) to 7.
        level: u8,
    },
    /// The usual class.
    BestEffort {
        /// 0 (first) to 7.
        level: u8,
    },
    /// Only when nobody else asks.
    Idle,
}

impl IoPriority {
    /// From the number of the system call: class in bits 13 to 15, level in 0 to 2. The levels of `none` and `idle` mean
    /// nothing. `None` for a class that has no name here, and for hints (bits 3 to 12).
    pub fn from_raw(raw: u16) -> Option<Self> {
        let level = (raw & 7) as u8;
        match (raw >> 13, raw & 0x1ff8) {
            (0, 0) => Some(Self::None),
            (1, 0) => Some(Self::RealTime { level }),
            (2, 0) => Some(Self::BestEffort { level }),
            (3, 0) => Some(Self::Idle),
            _ => None,
        }
    }

    /// The number of the system call.
    pub fn to_raw(self) -> u16 {
        match self {
            Self::None => 0,
            Self::RealTime { level } => 1 << 13 | u16::from(level & 7),
            Self::BestEffort { level } => 2 << 13 | u16::from(level & 7),
            Self::Idle => 3 << 13,
        }
    }
}

impl std::fmt::Display for IoPriority {
    /// As plans write it: `none`, `idle`, `real-time:4`, `best-effort:4`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::RealTime { level } => write!(f, "real-time:{level}"),
            Self::BestEffort { level } => write!(f, "best-effort:{level}"),
            Self::Idle => f.write_str("idle"),
        }
    }
}

/// Bounds of the load that a thread is taken for when a CPU and its clock are chosen (sched_setattr(2), util_clamp).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct UtilClamp {
    /// At least so much, of 1024.
    pub min: u32,
    /// At most so much, of 1024.
    pub max: u32,
}

/// One primitive write. A small closed set: what is not here cannot be done to the machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "act", rename_all = "kebab-case")]
pub enum Act {
    /// Writes `value` to a file of /proc, /sys or a cgroup; undone by writing the old content back.
    WriteFile {
        /// Absolute path, as seen in the namespace.
        path: PathBuf,
        /// The text to write, in the form that the file takes.
        value: String,
        /// Name of a network namespace (/run/netns/NAME) whose /sys is meant; none for our own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        netns: Option<String>,
    },
    /// Sets a thread's CPU affinity (sched_setaffinity(2)); undone by setting the old one.
    SetAffinity {
        /// The thread.
        thread: ThreadRef,
        /// Where it may run.
        cpus: CpuSet,
    },
    /// Sets a thread's scheduling policy (sched_setscheduler(2), setpriority(2)); undone by setting the old one.
    SetScheduling {
        /// The thread.
        thread: ThreadRef,
        /// The policy and its parameters.
        scheduling: Scheduling,
    },
    /// Writes `value` to a file of /proc/PID; undone by writing the old content back.
    WriteProcessFile {
        /// The process.
        process: ProcessRef,
        /// The file.
        file: ProcessFile,
        /// The number to write.
        value: i32,
    },
    /// Sets a thread's priority for disk requests (ioprio_set(2)); undone by setting the old one.
    SetIoPriority {
        /// The thread.
        thread: ThreadRef,
        /// The priority.
        priority: IoPriority,
    },
    /// Sets a thread's utilization clamps (sched_setattr(2)); undone by setting the old ones.
    SetUtilClamp {
        /// The thread.
        thread: ThreadRef,
        /// The clamps.
        clamp: UtilClamp,
    },
    /// Moves the memory of a process that lies elsewhere onto these nodes (migrate_pages(2)); undone by moving as many bytes back to each
    /// node as lay there.
    MigratePages {
        /// The process.
        process: ProcessRef,
        /// The nodes.
        nodes: CpuSet,
    },
    /// Makes a cgroup directory; undone by removing it once it is empty.
    CreateCgroup {
        /// Absolute path of the directory.
        path: PathBuf,
    },
    /// Moves a process (all its threads) into a cgroup; undone by moving it back.
    JoinCgroup {
        /// The process.
        process: ProcessRef,
        /// Absolute path of the cgroup directory.
        path: PathBuf,
    },
    /// Places a file of our own among those that the platform reads, and notifies its reader; undone by removing it. It outlives
    /// reboots, and so does its undoing.
    PlaceFile {
        /// The file.
        file: PlatformFile,
        /// Its whole content.
        content: String,
        /// The settings that it brings back.
        keeps: Vec<Setting>,
    },
    /// Has the platform's tool add words to the command line of the boot loader's entries; undone by having it take them away, and
    /// nothing else. It outlives reboots, and so does its undoing.
    AddBootWords {
        /// Whose tool.
        loader: BootLoader,
        /// Words without blanks or quotes.
        words: Vec<String>,
        /// The line that they are added to where there is no file of it: what kernel-install would have taken.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        line: Option<String>,
    },
    /// Starts a process group of our own; undone by ending it if it still runs.
    Launch {
        /// Program and arguments.
        argv: Vec<String>,
    },
    /// Sets something of a network interface by ethtool's netlink family; undone by setting what the driver reported before.
    SetEthtool {
        /// Name of the interface.
        device: String,
        /// Name of the network namespace (/run/netns/NAME) that it is in; none for our own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        netns: Option<String>,
        /// What is set.
        setting: EthtoolSetting,
    },
    /// Has a running irqbalance leave an interrupt alone, or not; undone by sending it what it had before.
    SetIrqBan {
        /// The irqbalance, which forgets it when it ends.
        process: ProcessRef,
        /// The interrupt.
        irq: u32,
        /// Whether it is to leave it alone.
        banned: bool,
    },
    /// Has libvirt place a part of a guest; undone by having it placed as libvirt reported before.
    PinGuest {
        /// What of which guest, for how long.
        pin: GuestPin,
        /// Where it may run.
        cpus: CpuSet,
    },
    /// Has the kernel's packet generator (Documentation/networking/pktgen.rst) send through an interface once it is started; undone by
    /// taking the interface, and all that was ordered of it, from the generator.
    AttachPktgen {
        /// The CPU whose thread of the generator sends; it must have no interface yet.
        cpu: u32,
        /// Name of the interface, in our own network namespace.
        device: String,
        /// What is ordered of it: `clone_skb 10`.
        orders: Vec<String>,
    },
    /// Makes two network namespaces that are joined; undone by removing them with all that is in them.
    MakeNetnsPair {
        /// The pair.
        pair: NetnsPair,
    },
    /// Makes a swap area in a file of its own, every byte of it written (mkswap(8)); undone by removing the file. It outlives reboots, and
    /// so does its undoing.
    MakeSwapFile {
        /// Absolute path of the file.
        path: PathBuf,
        /// Its size, bytes; a page of it is its head.
        bytes: u64,
    },
    /// Has the kernel swap to an area, before all others (swapon(2)); undone by swapoff(2), which brings back what lies there.
    SwapOn {
        /// Absolute path of the file.
        path: PathBuf,
    },
    /// Starts a process that keeps idle CPUs out of states that take longer to leave; undone by ending it.
    HoldLatency {
        /// Longest time that an idle CPU may take to wake, us.
        limit_us: u32,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn io_priorities_are_those_of_the_system_call() {
        let best_effort = IoPriority::BestEffort { level: 5 };
        assert_eq!((best_effort.to_raw(), IoPriority::from_raw(0x4005)), (0x4005, Some(best_effort)));
        // ionice -c3 leaves the level that idle does not have.
        assert_eq!(IoPriority::from_raw(0x6007), Some(IoPriority::Idle));
        assert_eq!(IoPriority::from_raw(4), Some(IoPriority::None));
        assert_eq!((IoPriority::from_raw(0x4008), IoPriority::from_raw(0x8000)), (None, None));
    }
}
