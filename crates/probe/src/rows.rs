//! Where probes put what they read: one frame a sampling instant, kept as differences to the frame before.
//!
//! A machine with 1024 CPUs and 300 interrupt lines has 300,000 counts, of which few move in 100 ms. So whole readings are
//! kept only for the last frame; a recording keeps, for each frame, the cells that moved. That also settles counters that
//! wrap: they are compared every frame, never across a whole window.

mod columns;
mod last;
mod registry;
mod row;

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::Arc;

use machine::procfs::{Malformed, Oddities};
use machine::{FactId, Missing, ProcessRef, Root};

use crate::handles::{Handles, Piece};
use crate::party::Party;
use crate::recording::{Frame, Layout, Note, QuotaReading, Recording};
use crate::thread_reading::ThreadReading;
pub use columns::Columns;
pub(crate) use columns::SYSTEM;
use last::{Book, LastSeen};
pub(crate) use registry::{Head, Registry};
pub use row::{Kind, Row};

/// Ticks a second in /proc where the root does not say (a made-up tree): USER_HZ of every architecture but Alpha.
const USUAL_USER_HZ: u64 = 100;

/// How many frames stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    /// All of them, for a recording.
    All,
    /// The last and the one before, whose memory is used again and again.
    Last,
}

/// Collects the rows of one frame after another.
pub struct Rows {
    registry: Registry,
    /// By row number.
    last: Vec<Option<LastSeen>>,
    known_columns: Vec<Columns>,
    system: Columns,
    memory: HashMap<TypeId, Box<dyn Any + Send>>,
    watched: Option<ProcessRef>,
    beside: Vec<(Party, ProcessRef)>,
    tick_ns: u64,
    probe: &'static str,
    cursor: usize,
    layout: Vec<(u32, Columns)>,
    layout_differs: bool,
    frame: Frame,
    frames: Vec<Frame>,
    /// Number of the frame that is open.
    number: usize,
    keep: Keep,
    notes: Vec<Note>,
    thorough: bool,
    handles: Handles,
}

impl Rows {
    /// An empty collection; threads of `watched` and its descendants are to be read too.
    pub(crate) fn new(root: &Root, watched: Option<ProcessRef>) -> Self {
        Self {
            registry: Registry::default(),
            last: Vec::new(),
            known_columns: Vec::new(),
            system: Columns(Arc::from([SYSTEM])),
            memory: HashMap::new(),
            watched,
            beside: Vec::new(),
            tick_ns: 1_000_000_000 / root.ticks_per_s().unwrap_or(USUAL_USER_HZ),
            probe: "",
            cursor: 0,
            layout: Vec::new(),
            layout_differs: false,
            frame: Frame::default(),
            frames: Vec::new(),
            number: 0,
            keep: Keep::All,
            notes: Vec::new(),
            thorough: true,
            handles: Handles::default(),
        }
    }

    /// The same, for a recording of this length.
    pub(crate) fn keeping(self, keep: Keep) -> Self {
        Self { keep, ..self }
    }

    /// The process whose threads are watched.
    pub fn watched(&self) -> Option<ProcessRef> {
        self.watched
    }

    /// The processes that are followed with their descendants beside the watched one.
    pub fn beside(&self) -> &[(Party, ProcessRef)] {
        &self.beside
    }

    /// From the next frame on these are followed beside the watched process.
    pub(crate) fn follow(&mut self, beside: &[(Party, ProcessRef)]) {
        self.beside.clear();
        self.beside.extend_from_slice(beside);
    }

    /// Length of a tick of USER_HZ, in which /proc gives times, ns.
    pub fn tick_ns(&self) -> u64 {
        self.tick_ns
    }

    /// Whether this frame is to be complete whatever it costs: the first and the last of a recording.
    pub fn is_thorough(&self) -> bool {
        self.thorough
    }

    /// Number of the frame that is open, from 0.
    pub fn frame_number(&self) -> usize {
        self.number
    }

    /// The text of a file that is wanted in every frame: it stays open. Names of threads need not be UTF-8: what is none
    /// becomes U+FFFD.
    ///
    /// # Errors
    /// What to note when it cannot be read.
    pub fn read(&mut self, root: &Root, path: &str) -> Result<String, Missing> {
        let mut bytes = Vec::new();
        self.read_into(root, path, &mut bytes)?;
        Ok(String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned()))
    }

    /// The same byte for byte, in place of what was in `content`.
    pub fn read_into(&mut self, root: &Root, path: &str, content: &mut Vec<u8>) -> Result<(), Missing> {
        self.handles.read(root, path, content).map_err(|e| because(path, &e))
    }

    /// The same in pieces of whole lines, for files that may be very long.
    pub(crate) fn pieces(
        &mut self,
        root: &Root,
        path: &str,
        take: impl FnMut(Piece<'_>),
    ) -> Result<(), Missing> {
        self.handles.pieces(root, path, take).map_err(|e| because(path, &e))
    }

    /// What a probe wants to remember from frame to frame. It takes it out, and gives it back with [`Rows::remember`].
    pub fn recall<T: Default + Send + 'static>(&mut self) -> Box<T> {
        let kept = self.memory.remove(&TypeId::of::<T>()).and_then(|any| any.downcast().ok());
        kept.unwrap_or_default()
    }

    /// Keeps what a probe wants to remember.
    pub fn remember<T: Send + 'static>(&mut self, memory: Box<T>) {
        self.memory.insert(TypeId::of::<T>(), memory);
    }

    /// The columns for these CPUs. Ask for them each frame: equal ones are shared.
    pub fn columns(&mut self, cpus: &[u32]) -> Columns {
        if let Some(known) = self.known_columns.iter().find(|known| known.cpus() == cpus) {
            return known.clone();
        }
        let columns = Columns(Arc::from(cpus));
        self.known_columns.push(columns.clone());
        columns
    }

    /// A row with one value (since boot) for each of its columns. Values beyond the columns are left out. Answers with the
    /// row's number, see [`Rows::again`].
    pub fn counter(&mut self, row: Row<'_>, columns: &Columns, values: &[u64]) -> u32 {
        let number = self.number;
        let id = self.identify(row, columns);
        let elapsed_ns = self.elapsed_ns();
        let index = id as usize;
        if self.last.len() <= index {
            self.last.resize_with(index + 1, || None);
        }
        let Some(last) = &mut self.last[index] else {
            self.last[index] = Some(LastSeen::first(columns, values, number));
            return id;
        };
        if last.frame == number {
            let fact = format!("{}/{}", self.probe, row.name);
            self.missing(fact, "two rows have this name and label: only the first is counted");
            return id;
        }
        let was_away = last.frame + 1 < number;
        let mut book = Book { frame: &mut self.frame, id, kind: row.kind, elapsed_ns, was_away };
        last.take(columns, values, &mut book);
        last.frame = number;
        id
    }

    /// A row of the whole system, with its value since boot. Answers with the row's number.
    pub fn system(&mut self, row: Row<'_>, value: u64) -> u32 {
        let columns = self.system.clone();
        self.counter(row, &columns, &[value])
    }

    /// The rows with these numbers, in the order of the frame before, as they were there but for some cells: place in
    /// `rows`, column, value since boot. That saves looking at millions of counts that did not move. False, and nothing
    /// is booked, if the rows are not those that are expected here.
    pub fn again(&mut self, rows: &[u32], cells: impl Iterator<Item = (usize, usize, u64)>) -> bool {
        let (number, elapsed_ns) = (self.number, self.elapsed_ns());
        let before = self.frames.last().filter(|_| !self.layout_differs);
        let expected = before.and_then(|frame| frame.layout.rows.get(self.cursor..self.cursor + rows.len()));
        let stands = |(id, (expected, columns)): (&u32, &(u32, Columns))| {
            let last = self.last.get(*id as usize).and_then(Option::as_ref);
            id == expected && last.is_some_and(|last| last.frame + 1 == number && last.columns.same(columns))
        };
        if !expected.is_some_and(|expected| rows.iter().zip(expected).all(stands)) {
            return false;
        }
        for id in rows {
            if let Some(last) = &mut self.last[*id as usize] {
                last.frame = number;
            }
        }
        for (place, column, value) in cells {
            let Some(id) = rows.get(place).copied() else { continue };
            if let (Some(last), Some(head)) = (&mut self.last[id as usize], self.registry.head(id)) {
                let frame = &mut self.frame;
                let mut book = Book { frame, id, kind: head.kind, elapsed_ns, was_away: false };
                last.take_one(column, value, &mut book);
            }
        }
        self.cursor += rows.len();
        true
    }

    /// Since the frame before, ns.
    fn elapsed_ns(&self) -> u64 {
        self.frames.last().map_or(0, |last| self.frame.at_ns.saturating_sub(last.at_ns))
    }

    /// What a gauge reads now on one CPU.
    pub fn gauge(&mut self, row: Row<'_>, cpu: u32, value: u64) {
        let id = self.registry.id(self.probe, Row { kind: Kind::Gauge, ..row });
        self.frame.gauges.push((id, cpu, value));
    }

    /// A reading of a quantity of the whole system that goes up and down; it is in the series alone.
    pub fn system_gauge(&mut self, row: Row<'_>, value: u64) {
        self.gauge(row, SYSTEM, value);
    }

    /// A thread as it is now.
    pub fn thread(&mut self, reading: Arc<ThreadReading>) {
        self.frame.threads.push(reading);
    }

    /// A thread of a process tree beside the watched one, as it is now.
    pub(crate) fn thread_beside(&mut self, party: Party, reading: Arc<ThreadReading>) {
        self.frame.beside.push((party, reading));
    }

    /// A CPU quota as it is now.
    pub(crate) fn quota(&mut self, reading: QuotaReading) {
        self.frame.quotas.push(reading);
    }

    /// Notes that a fact could not be had in this frame.
    pub fn missing(&mut self, fact: impl std::fmt::Display, why: impl std::fmt::Display) {
        self.note(Missing::new(fact, why));
    }

    /// The same, from a result's error.
    pub fn note(&mut self, missing: Missing) {
        let missing = of_probe(missing, self.probe);
        let number = self.number;
        match self.notes.iter_mut().find(|note| note.missing == missing) {
            Some(note) => note.last = number,
            None => self.notes.push(Note { missing, first: number, last: number }),
        }
    }

    /// Notes that a fact of a probe is missing from all frames.
    pub(crate) fn missing_always(&mut self, probe: &str, missing: Missing) {
        let missing = of_probe(missing, probe);
        self.notes.push(Note { missing, first: 0, last: usize::MAX });
    }

    /// Notes what was odd in a file of which the rest could be read. A fact that was odd before keeps its first reason: that quotes
    /// what the file had there, which may be another thing in every frame.
    pub fn odd(&mut self, file: impl std::fmt::Display, odd: &Oddities) {
        if odd.is_empty() {
            return;
        }
        for missing in Missing::of_odd(file, odd) {
            let missing = of_probe(missing, self.probe);
            let same = |note: &&mut Note| note.missing.id == missing.id && note.missing.fact == missing.fact;
            match self.notes.iter_mut().find(same) {
                Some(note) => note.last = self.number,
                None => self.notes.push(Note { missing, first: self.number, last: self.number }),
            }
        }
    }

    /// The value, or nothing and a note.
    pub fn kept<T>(&mut self, result: Result<T, Missing>) -> Option<T> {
        result.map_err(|missing| self.note(missing)).ok()
    }

    /// What a file says, where it says anything; what cannot be read is noted.
    pub fn value_in<T>(
        &mut self,
        file: impl std::fmt::Display,
        value: Result<Option<T>, Malformed>,
    ) -> Option<T> {
        self.kept(value.map_err(|why| Missing::new(file, why))).flatten()
    }

    /// Finds the row's number: it nearly always stands where it stood in the frame before.
    fn identify(&mut self, row: Row<'_>, columns: &Columns) -> u32 {
        let before = self.frames.last().map(|frame| &frame.layout.rows);
        let expected = before.and_then(|rows| rows.get(self.cursor));
        if let Some((id, known)) = expected
            && known.same(columns)
            && self.registry.is(*id, self.probe, &row)
        {
            let id = *id;
            if self.layout_differs {
                self.layout.push((id, columns.clone()));
            }
            self.cursor += 1;
            return id;
        }
        if !self.layout_differs {
            self.layout_differs = true;
            self.layout = before.map_or_else(Vec::new, |rows| rows[..self.cursor.min(rows.len())].to_vec());
        }
        let id = self.registry.id(self.probe, row);
        self.layout.push((id, columns.clone()));
        self.cursor += 1;
        id
    }

    /// Begins a frame at `at_ns` (CLOCK_MONOTONIC), `boot_ns` (CLOCK_BOOTTIME).
    pub(crate) fn begin_frame(&mut self, at_ns: u64, boot_ns: u64, missed: u64, thorough: bool) {
        let mut frame = match self.keep {
            Keep::Last if self.frames.len() > 1 => self.frames.remove(0),
            _ => Frame::default(),
        };
        frame.clear();
        self.frame = Frame { at_ns, boot_ns, missed, ..frame };
        self.cursor = 0;
        self.layout_differs = false;
        self.layout.clear();
        self.thorough = thorough || self.number == 0;
    }

    /// Rows from here on come from `probe`.
    pub(crate) fn begin_probe(&mut self, probe: &'static str) {
        self.probe = probe;
    }

    /// Ends the frame, which lasted `took_ns` and cost `cpu_ns` of CPU time.
    pub(crate) fn end_frame(&mut self, took_ns: u64, cpu_ns: u64) {
        let mut frame = std::mem::take(&mut self.frame);
        (frame.took_ns, frame.cpu_ns) = (took_ns, cpu_ns);
        frame.layout = match self.frames.last() {
            Some(before) if !self.layout_differs && self.cursor == before.layout.rows.len() => {
                before.layout.clone()
            }
            Some(before) if !self.layout_differs => {
                Arc::new(Layout { rows: before.layout.rows[..self.cursor].to_vec() })
            }
            _ => Arc::new(Layout { rows: std::mem::take(&mut self.layout) }),
        };
        match self.keep {
            Keep::All => {
                frame.moved.shrink_to_fit();
                frame.threads.shrink_to_fit();
                frame.beside.shrink_to_fit();
            }
            Keep::Last => self.notes.retain(|note| note.last >= self.number),
        }
        self.frames.push(frame);
        self.number += 1;
        self.handles.end_frame();
    }

    /// What a row is.
    pub(crate) fn head(&self, id: u32) -> Option<&Head> {
        self.registry.head(id)
    }

    /// Facts that were missed in the last frame.
    pub(crate) fn noted(&self) -> impl Iterator<Item = &Missing> {
        self.notes.iter().filter(|note| note.last.saturating_add(1) >= self.number).map(|note| &note.missing)
    }

    /// Values of the last frame by row: number, head, CPUs, values.
    pub(crate) fn latest(&self) -> impl Iterator<Item = (u32, &Head, &[u32], &[u64])> {
        let rows = self.frames.last().map(|frame| frame.layout.rows.as_slice()).unwrap_or_default();
        rows.iter().filter_map(|(id, columns)| {
            Some((
                *id,
                self.registry.head(*id)?,
                columns.cpus(),
                self.last.get(*id as usize)?.as_ref()?.values.as_slice(),
            ))
        })
    }

    /// The frames so far.
    pub(crate) fn frames(&self) -> &[Frame] {
        &self.frames
    }

    /// What was collected.
    pub(crate) fn into_recording(self) -> Recording {
        Recording {
            heads: self.registry.into_heads(),
            frames: self.frames,
            notes: self.notes,
            tick_ns: self.tick_ns,
        }
    }
}

/// What is missing, as a fact of a probe; outside of all probes, and where it says itself what it is, as it is.
pub(crate) fn of_probe(missing: Missing, probe: &str) -> Missing {
    if missing.id.is_some() || probe.is_empty() {
        return missing;
    }
    missing.identified(FactId::Probe(probe.to_string()))
}

/// A failed read as a missing fact.
pub(crate) fn because(path: &str, error: &machine::ReadError) -> Missing {
    match error.remedy() {
        "" => Missing::new(path, &error.why),
        remedy => Missing::new(path, format_args!("{} - {remedy}", error.why)),
    }
}
