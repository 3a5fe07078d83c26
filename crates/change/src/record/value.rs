//! What an act found, or left behind.

use std::fmt;
use std::path::PathBuf;

use machine::power::NO_LATENCY_LIMIT_US;
use machine::{CpuSet, EthtoolState, IoPriority, UtilClamp};
use serde::{Deserialize, Serialize};

use super::numa_distribution;
use crate::kernel::{SchedulingState, policy_text};

/// What an act found, or left behind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", content = "value", rename_all = "kebab-case")]
pub enum Value {
    /// Content of a file, without the newline at its end.
    Text(String),
    /// Content of a file that the kernel sets to 0 when its twin is written, as dirty_ratio and dirty_bytes do to each
    /// other. Of the two the one that does not read 0 is in force, and has to be written to put the pair back.
    Paired {
        /// Content of the file.
        text: String,
        /// Content of its twin.
        twin: String,
    },
    /// CPUs that a thread may use.
    Cpus(CpuSet),
    /// Scheduling of a thread.
    Scheduling(SchedulingState),
    /// Rank of a thread's disk requests, as the number of ioprio_set(2).
    IoPriority(u16),
    /// Utilization clamps of a thread.
    UtilClamp(UtilClamp),
    /// Bytes of a process's memory on each node that holds any.
    Memory(Vec<(u32, u64)>),
    /// A cgroup that a process is in; before a move also what its threads were allowed to use, which a move can change.
    Cgroup {
        /// Directory of the cgroup.
        path: PathBuf,
        /// CPUs of each thread; empty when they were not read. No map: serde does not read numbers as keys inside of
        /// a tagged enum.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        affinity: Vec<(u32, CpuSet)>,
    },
    /// No file is there, nor are these folders that it would lie in, the outermost first.
    Unplaced {
        /// The folders.
        folders: Vec<PathBuf>,
    },
    /// There is a directory or process.
    Present,
    /// There is none.
    Absent,
    /// What the driver of a network interface reports on the topic of an act.
    Ethtool(EthtoolState),
    /// A limit on the exit latency of idle CPUs, us; 2000000000 for none.
    LatencyLimit(u32),
    /// Whether irqbalance leaves an interrupt alone.
    Banned(bool),
    /// Interfaces that a thread of the packet generator sends through.
    Devices(Vec<String>),
    /// Something that is not ours stands in its place.
    Another,
}

impl Value {
    /// That something is there, or is not.
    pub(crate) fn of_presence(there: bool) -> Self {
        if there { Self::Present } else { Self::Absent }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Text(text) if text.is_empty() => f.write_str("(empty)"),
            Value::Text(text) => f.write_str(&text.replace('\n', " / ")),
            Value::Paired { text, twin } if text == "0" => write!(f, "0, with {twin} in the file's twin"),
            Value::Paired { text, .. } => f.write_str(text),
            Value::IoPriority(raw) => match IoPriority::from_raw(*raw) {
                Some(priority) => write!(f, "{priority}"),
                None => write!(f, "number {raw}"),
            },
            Value::Memory(bytes) => f.write_str(&numa_distribution::words(bytes)),
            Value::UtilClamp(clamp) => write!(f, "{}-{}", clamp.min, clamp.max),
            Value::Cpus(cpus) => write!(f, "CPUs {cpus}"),
            Value::Scheduling(state) => write!(f, "{}", policy_text(&state.scheduling)),
            Value::Cgroup { path, .. } => write!(f, "{}", path.display()),
            Value::Unplaced { .. } => f.write_str("not there"),
            Value::Present => f.write_str("there"),
            Value::Absent => f.write_str("not there"),
            Value::Ethtool(state) => write!(f, "{state}"),
            Value::LatencyLimit(us) if *us >= NO_LATENCY_LIMIT_US => f.write_str("unlimited"),
            Value::LatencyLimit(us) => write!(f, "{us} us"),
            Value::Another => f.write_str("another one"),
            Value::Banned(true) => f.write_str("left alone"),
            Value::Banned(false) => f.write_str("moved by it"),
            Value::Devices(devices) if devices.is_empty() => f.write_str("(none)"),
            Value::Devices(devices) => f.write_str(&devices.join(" ")),
        }
    }
}
