//! The lines of a ledger: one JSON object each.

use std::fmt;
use std::path::PathBuf;

use machine::power::NO_LATENCY_LIMIT_US;
use machine::{Act, CpuSet, EthtoolState, IoPriority, ProcessRef, Setting, UtilClamp};
use serde::{Deserialize, Serialize};

use crate::acts::{Lifetime, operation};
use crate::ground::Ground;
use crate::kernel::SchedulingState;
use crate::node_memory::shares;
use crate::subject::Subject;
use crate::take_back::How;

/// Version of the ledger's format that this program writes. It also reads the one before, whose lines have no checksums.
pub const FORMAT: u32 = 2;

/// First line of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// [`FORMAT`] of the program that wrote it.
    pub format: u32,
    /// Id of the session: `SECONDS-PID`.
    pub session: String,
    /// What it is for, in words.
    pub purpose: String,
    /// The boot in which it was begun; empty where the kernel does not tell.
    pub boot_id: String,
    /// The process that performs the acts.
    pub owner: ProcessRef,
    /// When it began, in seconds since 1970 (UTC).
    pub began_unix_s: u64,
    /// The same in clock ticks since boot, by which sessions are undone in the right order; 0 in ledgers of older versions.
    #[serde(default)]
    pub began_ticks: u64,
    /// How far into its second of the day it began, ns, for sessions of one tick.
    #[serde(default)]
    pub began_subsec_ns: u32,
    /// Where the process stands; `None` in ledgers of older versions, and where the kernel does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ground: Option<Ground>,
}

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
    /// What the driver of a network interface tells of the topic of an act.
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
            Value::Memory(bytes) => f.write_str(&shares::words(bytes)),
            Value::UtilClamp(clamp) => write!(f, "{}-{}", clamp.min, clamp.max),
            Value::Cpus(cpus) => write!(f, "CPUs {cpus}"),
            Value::Scheduling(state) => write!(f, "{}", crate::acts::scheduling_words(&state.scheduling)),
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

/// One line of a ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "kebab-case")]
pub enum Record {
    /// First line.
    Header(Header),
    /// An act is about to be performed. Nothing is done before this line is on disk.
    Intent {
        /// Number of the act in the session, from 0.
        seq: u64,
        /// Clock ticks since boot: what started later may have inherited the change.
        at_ticks: u64,
        /// The act.
        act: Act,
        /// What it found.
        old: Value,
        /// The setting of a plan that it is part of.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        setting: Option<Setting>,
        /// The identity of what it is about; `None` where its words say all, and in ledgers of older versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        subject: Option<Subject>,
    },
    /// Between the intent and the act somebody else has changed the object: this is what the act found.
    Found {
        /// Number of the act.
        seq: u64,
        /// What it found.
        old: Value,
    },
    /// A process was forked for the act and waits at its gate.
    Started {
        /// Number of the act.
        seq: u64,
        /// The process; its group has the same number.
        process: ProcessRef,
    },
    /// The act was performed.
    Done {
        /// Number of the act.
        seq: u64,
        /// What was there afterwards.
        read_back: Value,
        /// The identity of what it has made.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        subject: Option<Subject>,
    },
    /// The act was refused, and nothing is left of it.
    Failed {
        /// Number of the act.
        seq: u64,
        /// Why.
        why: String,
    },
    /// Everything is to be taken back unless it is confirmed in time; somebody else sees to that.
    Armed {
        /// Clock ticks since boot until which it has to be confirmed.
        until_ticks: u64,
        /// Who takes it back.
        by: Reverter,
    },
    /// Somebody has confirmed that it may stay.
    Confirmed,
    /// It was not confirmed in time, and what could be taken back has been.
    Reverted,
    /// Undoing the act was tried.
    Undone {
        /// Number of the act.
        seq: u64,
        /// With what result.
        how: How,
    },
}

impl Record {
    /// Number of the act that the line is about.
    pub fn seq(&self) -> Option<u64> {
        match self {
            Record::Header(_) | Record::Armed { .. } | Record::Confirmed | Record::Reverted => None,
            Record::Intent { seq, .. }
            | Record::Found { seq, .. }
            | Record::Started { seq, .. }
            | Record::Done { seq, .. }
            | Record::Failed { seq, .. }
            | Record::Undone { seq, .. } => Some(*seq),
        }
    }
}

/// Until when a session has to be confirmed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Armed {
    /// Clock ticks since boot.
    pub until_ticks: u64,
    /// Who takes it back then.
    pub by: Reverter,
}

/// Who takes back a session that is not confirmed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Reverter {
    /// One that is about to be started.
    Starting,
    /// A transient service of systemd.
    Service {
        /// Name of the unit.
        unit: String,
    },
    /// A process in a session of its own.
    Process {
        /// Its number.
        pid: u32,
    },
    /// In words, as ledgers of format 1 have it.
    #[serde(untagged)]
    Words(String),
}

impl fmt::Display for Reverter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Starting => f.write_str("a process that is being started for it"),
            Self::Service { unit } => write!(f, "systemd service {unit}"),
            Self::Process { pid } => write!(f, "process {pid}"),
            Self::Words(words) => f.write_str(words),
        }
    }
}

/// An act with all that the ledger knows about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Number in the session.
    pub seq: u64,
    /// Clock ticks since boot when it was intended.
    pub at_ticks: u64,
    /// The act.
    pub act: Act,
    /// What it found.
    pub old: Value,
    /// The setting of a plan that it is part of.
    pub setting: Option<Setting>,
    /// The identity of what it is about, beyond its words.
    pub subject: Option<Subject>,
    /// The process that was forked for it.
    pub started: Option<ProcessRef>,
    /// What was there afterwards; `None` when that was never recorded.
    pub read_back: Option<Value>,
    /// Why it was refused.
    pub failed: Option<String>,
    /// The latest try to undo it.
    pub undone: Option<How>,
}

impl Entry {
    /// One of which nothing is known yet but that it is about to be performed.
    pub(crate) fn intended(
        (seq, at_ticks): (u64, u64),
        act: Act,
        old: Value,
        setting: Option<Setting>,
        subject: Option<Subject>,
    ) -> Self {
        let (started, read_back, failed, undone) = (None, None, None, None);
        Self { seq, at_ticks, act, old, setting, subject, started, read_back, failed, undone }
    }

    /// Whether the act is in force in later boots as well: a file that is read at each start, and what such a file among `entries` of
    /// the session sets.
    pub(crate) fn outlives_boots<'a>(&self, mut entries: impl Iterator<Item = &'a Entry>) -> bool {
        let keeps = |entry: &Entry, setting: &Setting| match &entry.act {
            Act::PlaceFile { keeps, .. } => keeps.contains(setting),
            _ => false,
        };
        match operation(&self.act).lifetime() {
            Lifetime::Boot => false,
            Lifetime::Lasting => true,
            Lifetime::BootUnlessKept => {
                let setting = self.setting.as_ref();
                setting.is_some_and(|setting| entries.any(|entry| keeps(entry, setting)))
            }
        }
    }

    /// Whether it cannot be about the same as another one, although their words are the same.
    pub(crate) fn is_about_another_than(&self, other: &Self) -> bool {
        self.subject.as_ref().zip(other.subject.as_ref()).is_some_and(|(a, b)| a.is_another_than(b))
    }

    /// Whether the act may still be in force.
    pub fn outstanding(&self) -> bool {
        self.failed.is_none() && !self.undone.as_ref().is_some_and(How::is_final)
    }
}
