//! The programs that report events one by one.

use std::path::PathBuf;

use aya::maps::{HashMap, Map, MapData, RingBuf};
use machine::Missing;

use super::event_records::{EventControl, EventCpu, Mark};
use super::hooks::{
    BIRTHS, FREQUENCIES, INTERRUPTS, NAMES_AND_IDLING, PAGE_FAULTS, RUN_QUEUES, SOFTIRQS, WAKES,
};
use super::loading::{Loaded, Programs};
use super::mapped::Mapped;
use super::objects;
use super::tables::{hash, mapped, refuse};

/// What the programs are to do.
#[derive(Debug, Clone)]
pub(crate) struct EventPrograms {
    /// CPUs, by the highest number that there can be.
    pub(crate) cpus: u32,
    /// The ring, bytes: a power of two.
    pub(crate) ring_bytes: u32,
    /// Threads of the target, where they are known by number.
    pub(crate) marks: u32,
    /// Processes or threads that are named as the target.
    pub(crate) wanted: u32,
    /// Whether there is no target.
    pub(crate) everything: bool,
    /// On PREEMPT_RT softirqs run in threads that can be preempted: they are seen as those threads.
    pub(crate) softirqs_are_threads: bool,
    /// Whether trace points with types are tried first.
    pub(crate) typed: bool,
    /// A file with the kernel's types, where it does not report them itself. Goes with raw trace points only.
    pub(crate) types: Option<PathBuf>,
}

impl EventPrograms {
    /// Loads and attaches everything. Nothing is reported before the tables say so.
    ///
    /// # Errors
    /// When the kernel has no BPF, does not permit it, or does not have what everything rests on: what, why and the remedy.
    pub(crate) fn load(&self) -> Result<Loaded, Missing> {
        let of_target = |hooks| if self.everything { &[][..] } else { hooks };
        let softirqs = if self.softirqs_are_threads { &[][..] } else { SOFTIRQS };
        let others = [NAMES_AND_IDLING, INTERRUPTS, softirqs, FREQUENCIES, of_target(PAGE_FAULTS)]
            .into_iter()
            .flatten();
        let programs = Programs {
            object: &objects::EVENTS,
            tables: vec![("cpus", self.cpus), ("events", self.ring_bytes), ("wanted", self.wanted)],
            raw_tables: vec![("marks", self.marks)],
            numbers: vec![("everything", u32::from(self.everything))],
            typed_bytes: Vec::new(),
            core: [BIRTHS, WAKES, of_target(RUN_QUEUES)].into_iter().flatten().collect(),
            others: others.collect(),
            typed: self.typed,
            follows_threads: true,
            namespace: 0,
            types: self.types.clone(),
        };
        programs.load()
    }
}

/// The tables of these programs.
pub(crate) struct EventTables {
    pub(crate) control: Mapped<EventControl>,
    pub(crate) cpus: Mapped<EventCpu>,
    pub(crate) wanted: HashMap<MapData, u32, u32>,
    /// By thread number; with raw trace points only.
    pub(crate) marks: Option<HashMap<MapData, u32, Mark>>,
}

impl EventTables {
    /// Maps and opens the tables, and the ring.
    ///
    /// # Errors
    /// When the kernel refuses one: which, and its word.
    pub(crate) fn open(loaded: &mut Loaded, cpus: u32) -> Result<(Self, RingBuf<MapData>), Missing> {
        let ring = match loaded.take("events")? {
            ring @ Map::RingBuf(_) => RingBuf::try_from(ring).map_err(|e| refuse("events", e))?,
            _ => return Err(refuse("events", "it is no ring")),
        };
        let tables = Self {
            control: mapped(loaded, "control", 1)?,
            cpus: mapped(loaded, "cpus", cpus as usize)?,
            wanted: hash(loaded, "wanted")?,
            marks: if loaded.typed { None } else { Some(hash(loaded, "marks")?) },
        };
        Ok((tables, ring))
    }
}
