//! Tracks of our own: notes, what interrupts a CPU and has no form of the kernel's tracer, when it was offline, page faults of threads.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use probe::account::Source;
use probe::events::{Event, Task, Trace, What};

use super::file::File;
use super::moments::Moment;
use super::proto::{Data, DebugAnnotation, Kind, ThreadDescriptor, TrackDescriptor, TrackEvent, signed};

/// Numbers of tracks: the group of ours, the notes in it, then one for each CPU and for each thread.
const GROUP: u64 = 1;
const NOTES: u64 = 2;
const OF_CPU: u64 = 1 << 32;
const OF_THREAD: u64 = 2 << 32;

const CATEGORY: &str = "pinwise";

/// Tracks that were described already, and the threads that can have one.
pub(super) struct Tracks {
    described: BTreeSet<u64>,
    tasks: BTreeMap<u32, Task>,
}

impl Tracks {
    pub(super) fn new(tasks: &BTreeMap<u32, Task>) -> Self {
        Self { described: BTreeSet::new(), tasks: tasks.clone() }
    }

    /// How the trace was made, and what is not in it.
    pub(super) fn notes(&mut self, file: &mut File<'_>, trace: &Trace, watched: &str) -> io::Result<()> {
        let at_ns = trace.began_ns;
        self.describe(file, at_ns, NOTES, "notes")?;
        let how = [
            ("watched", watched),
            ("made by", concat!("pinwise ", env!("CARGO_PKG_VERSION"))),
            ("trace points", trace.means),
            ("clock", "CLOCK_MONOTONIC"),
        ];
        instant(file, at_ns, NOTES, &format!("pinwise watched {watched}"), &how)?;
        for missing in &trace.missing {
            let why = [("why", missing.why.as_str())];
            instant(file, at_ns, NOTES, &format!("missing: {}", missing.fact), &why)?;
        }
        Ok(())
    }

    /// Writes what has no form of the kernel's tracer.
    pub(super) fn take(&mut self, moment: &Moment<'_>, file: &mut File<'_>) -> io::Result<()> {
        match *moment {
            Moment::Begins(Event { at_ns, cpu, what: What::Interrupt { source, .. } })
                if has_no_form(*source) =>
            {
                let track = self.of_cpu(file, *at_ns, *cpu)?;
                begin(file, *at_ns, track, source.words(), &[])
            }
            Moment::Ends(Event { cpu, what: What::Interrupt { source, .. }, .. }, at_ns)
                if has_no_form(*source) =>
            {
                end(file, at_ns, OF_CPU + u64::from(*cpu), &[])
            }
            Moment::Begins(Event { at_ns, cpu, what: What::Lost { unreported, .. } }) => {
                let track = self.of_cpu(file, *at_ns, *cpu)?;
                let why = if unreported.is_some() { "not reported by the kernel" } else { "events lost" };
                begin(file, *at_ns, track, why, &[])
            }
            Moment::Ends(Event { cpu, what: What::Lost { .. }, .. }, at_ns) => {
                end(file, at_ns, OF_CPU + u64::from(*cpu), &[])
            }
            Moment::Begins(Event { at_ns, cpu, what: What::Offline { .. } }) => {
                let track = self.of_cpu(file, *at_ns, *cpu)?;
                begin(file, *at_ns, track, "offline", &[])
            }
            Moment::Ends(Event { cpu, what: What::Offline { .. }, .. }, at_ns) => {
                end(file, at_ns, OF_CPU + u64::from(*cpu), &[])
            }
            Moment::Begins(Event { at_ns, what: What::PageFault { tid }, .. }) => {
                let track = self.of_thread(file, *at_ns, *tid)?;
                instant(file, *at_ns, track, "page fault", &[])
            }
            _ => Ok(()),
        }
    }

    /// Marks that a slice was cut.
    pub(super) fn cut(&mut self, cpu: u32, at_ns: u64, why: &str, file: &mut File<'_>) -> io::Result<()> {
        let track = self.of_cpu(file, at_ns, cpu)?;
        instant(file, at_ns, track, why, &[])
    }

    /// The track of a thread, among those that Perfetto draws for its process.
    pub(super) fn of_thread(&mut self, file: &mut File<'_>, at_ns: u64, tid: u32) -> io::Result<u64> {
        let uuid = OF_THREAD + u64::from(tid);
        if self.described.insert(uuid) {
            let task = self.tasks.get(&tid);
            let thread = ThreadDescriptor {
                pid: Some(signed(task.map_or(tid, |task| task.pid))),
                tid: Some(i64::from(tid)),
                thread_name: task.map(|task| task.comm.as_str().into_owned()),
            };
            let track =
                TrackDescriptor { uuid: Some(uuid), thread: Some(thread), ..TrackDescriptor::default() };
            file.put(at_ns, Data::TrackDescriptor(track))?;
        }
        Ok(uuid)
    }

    fn of_cpu(&mut self, file: &mut File<'_>, at_ns: u64, cpu: u32) -> io::Result<u64> {
        let uuid = OF_CPU + u64::from(cpu);
        self.describe(file, at_ns, uuid, &format!("CPU {cpu}: IPIs, NMIs, cuts, offline"))?;
        Ok(uuid)
    }

    fn describe(&mut self, file: &mut File<'_>, at_ns: u64, uuid: u64, name: &str) -> io::Result<()> {
        let mut track = |uuid: u64, parent_uuid, name: &str| match self.described.insert(uuid) {
            true => {
                let name = Some(name.to_string());
                let track =
                    TrackDescriptor { uuid: Some(uuid), parent_uuid, name, ..TrackDescriptor::default() };
                file.put(at_ns, Data::TrackDescriptor(track))
            }
            false => Ok(()),
        };
        track(GROUP, None, "pinwise")?;
        track(uuid, Some(GROUP), name)
    }
}

/// A slice begins on a track.
pub(super) fn begin(
    file: &mut File<'_>,
    at_ns: u64,
    track: u64,
    name: &str,
    notes: &[(&str, &str)],
) -> io::Result<()> {
    file.track_event(at_ns, event(Kind::SliceBegin, track, Some(name), notes))
}

/// The slice that began last on a track ends; notes are added to it.
pub(super) fn end(file: &mut File<'_>, at_ns: u64, track: u64, notes: &[(&str, &str)]) -> io::Result<()> {
    file.track_event(at_ns, event(Kind::SliceEnd, track, None, notes))
}

fn instant(
    file: &mut File<'_>,
    at_ns: u64,
    track: u64,
    name: &str,
    notes: &[(&str, &str)],
) -> io::Result<()> {
    file.track_event(at_ns, event(Kind::Instant, track, Some(name), notes))
}

fn event(kind: Kind, track: u64, name: Option<&str>, notes: &[(&str, &str)]) -> TrackEvent {
    let note = |(name, value): &(&str, &str)| DebugAnnotation {
        name: Some(name.to_string()),
        string_value: Some(value.to_string()),
    };
    TrackEvent {
        debug_annotations: notes.iter().map(note).collect(),
        kind: Some(kind as u32),
        track_uuid: Some(track),
        categories: name.map(|_| CATEGORY.to_string()).into_iter().collect(),
        name: name.map(String::from),
    }
}

/// Whether the kernel's tracer has no form for it, so that it goes onto a track of its own.
fn has_no_form(source: Source) -> bool {
    !matches!(source, Source::Tick | Source::Device) && !source.is_softirq()
}
