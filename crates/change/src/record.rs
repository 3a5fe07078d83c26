//! The lines of a ledger: one JSON object each.

mod how;
pub(crate) mod numa_distribution;
mod out_of_reach;
mod value;

use std::fmt;

use machine::{Act, ProcessRef, Setting};
use serde::{Deserialize, Serialize};

use crate::namespace::process_view::ProcessView;
use crate::subject::Subject;

pub use how::{How, Reading};
pub use out_of_reach::OutOfReach;
pub use value::Value;

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
    /// The boot in which it was begun; empty where the kernel does not report it.
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
    /// Namespaces and root directory of the process; `None` in ledgers of older versions, and where the kernel does not report it.
    #[serde(default, rename = "ground", skip_serializing_if = "Option::is_none")]
    pub view: Option<ProcessView>,
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

    /// Whether it cannot be about the same as another one, although their words are the same.
    pub(crate) fn is_about_another_than(&self, other: &Self) -> bool {
        self.subject.as_ref().zip(other.subject.as_ref()).is_some_and(|(a, b)| a.is_another_than(b))
    }

    /// Whether the act may still be in force.
    pub fn outstanding(&self) -> bool {
        self.failed.is_none() && !self.undone.as_ref().is_some_and(How::is_final)
    }
}
