//! What kept the target's threads from a CPU: a slice on the thread's own track, with who had that CPU meanwhile.

use std::collections::{BTreeMap, VecDeque};
use std::io;

use probe::events::{Left, Task, Trace, What};

use super::file::File;
use super::moments::Moment;
use super::states::could_run_on;
use super::tracks::{self, Tracks};

/// Slices of a CPU that are looked back at: a wait that is longer than these names the last of them.
const LOOK_BACK: usize = 64;

/// Takers that are named.
const NAMED: usize = 3;

/// A slice that has ended.
struct Slice {
    tid: u32,
    from_ns: u64,
    to_ns: u64,
}

/// Who had a CPU lately.
#[derive(Default)]
struct Lately {
    current: Option<(u32, u64)>,
    slices: VecDeque<Slice>,
}

impl Lately {
    fn comes(&mut self, tid: Option<u32>, at_ns: u64) {
        if let Some((tid, from_ns)) = self.current.take() {
            self.slices.push_back(Slice { tid, from_ns, to_ns: at_ns });
            if self.slices.len() > LOOK_BACK {
                self.slices.pop_front();
            }
        }
        self.current = tid.map(|tid| (tid, at_ns));
    }

    /// Who had it since, the longest first, ns each.
    fn since(&self, since_ns: u64, to_ns: u64) -> Vec<(u32, u64)> {
        let mut by_task: BTreeMap<u32, u64> = BTreeMap::new();
        let current = self.current.map(|(tid, from_ns)| Slice { tid, from_ns, to_ns });
        for slice in self.slices.iter().chain(&current) {
            let ns = slice.to_ns.min(to_ns).saturating_sub(slice.from_ns.max(since_ns));
            if ns > 0 {
                *by_task.entry(slice.tid).or_default() += ns;
            }
        }
        let mut by_time: Vec<(u32, u64)> = by_task.into_iter().collect();
        by_time.sort_by_key(|(tid, ns)| (u64::MAX - ns, *tid));
        by_time
    }
}

/// A stretch that goes on.
struct Waits {
    since_ns: u64,
    track: u64,
}

/// Follows the threads of the target.
pub(super) struct Stretches<'a> {
    everything: bool,
    tasks: &'a BTreeMap<u32, Task>,
    cpus: BTreeMap<u32, Lately>,
    waiting: BTreeMap<u32, Waits>,
}

impl<'a> Stretches<'a> {
    pub(super) fn new(trace: &Trace, tasks: &'a BTreeMap<u32, Task>) -> Self {
        Self { everything: trace.everything, tasks, cpus: BTreeMap::new(), waiting: BTreeMap::new() }
    }

    /// Looks at an event, and writes what begins or ends with it.
    pub(super) fn take(
        &mut self,
        moment: &Moment<'_>,
        file: &mut File<'_>,
        tracks: &mut Tracks,
    ) -> io::Result<()> {
        let Moment::Begins(event) = moment else { return Ok(()) };
        if self.everything {
            return Ok(());
        }
        let at_ns = event.at_ns;
        let (prev, next, reported) = match event.what {
            What::Woken { tid, .. } => return self.waits(tid, "waits in the run queue", at_ns, file, tracks),
            What::Born { task, .. } => {
                return self.waits(task.tid, "waits in the run queue", at_ns, file, tracks);
            }
            What::Switch { prev, left, next, reported } => (Some((prev, left)), next, reported),
            What::Lost { unreported, .. } => return self.cut(at_ns, "events were lost", unreported, file),
            // Who had it before has it no longer.
            What::Offline { .. } => {
                self.cpus.entry(event.cpu).or_default().comes(None, at_ns);
                return Ok(());
            }
            What::Unreported { next, .. } | What::Came(next) => (None, next, true),
            _ => return Ok(()),
        };
        self.gets(next.tid, event.cpu, at_ns, file)?;
        if let Some((prev, left)) = prev.filter(|(_, left)| could_run_on(*left)) {
            let name = match left {
                Left::Throttled => "throttled".to_string(),
                _ if reported => format!("preempted by {}", self.name(next.tid)),
                _ => "preempted".to_string(),
            };
            self.waits(prev, &name, at_ns, file, tracks)?;
        }
        self.cpus.entry(event.cpu).or_default().comes(reported.then_some(next.tid), at_ns);
        Ok(())
    }

    /// Ends what goes on at the end of the window.
    pub(super) fn end(&mut self, at_ns: u64, file: &mut File<'_>) -> io::Result<()> {
        self.cut(at_ns, "the trace ends", None, file)
    }

    /// Ends the stretch of a thread, or all, for nobody knows how it went on.
    fn cut(&mut self, at_ns: u64, why: &str, of: Option<u32>, file: &mut File<'_>) -> io::Result<()> {
        let (cut, rest) = std::mem::take(&mut self.waiting)
            .into_iter()
            .partition(|(tid, _)| of.is_none_or(|only| only == *tid));
        self.waiting = rest;
        let cut: BTreeMap<u32, Waits> = cut;
        for waits in cut.into_values() {
            tracks::end(file, at_ns, waits.track, &[("cut here", why)])?;
        }
        Ok(())
    }

    fn name(&self, tid: u32) -> String {
        match self.tasks.get(&tid) {
            _ if tid == 0 => "an idle CPU".to_string(),
            Some(task) => format!("{} ({tid})", task.comm.as_str()),
            None => format!("task {tid}"),
        }
    }

    fn waits(
        &mut self,
        tid: u32,
        name: &str,
        at_ns: u64,
        file: &mut File<'_>,
        tracks: &mut Tracks,
    ) -> io::Result<()> {
        let of_target = self.tasks.get(&tid).is_some_and(|task| task.of_target);
        if !of_target || self.waiting.contains_key(&tid) {
            return Ok(());
        }
        let track = tracks.of_thread(file, at_ns, tid)?;
        self.waiting.insert(tid, Waits { since_ns: at_ns, track });
        tracks::begin(file, at_ns, track, name, &[])
    }

    fn gets(&mut self, tid: u32, cpu: u32, at_ns: u64, file: &mut File<'_>) -> io::Result<()> {
        let Some(waits) = self.waiting.remove(&tid) else { return Ok(()) };
        let had = self.cpus.get(&cpu).map(|lately| lately.since(waits.since_ns, at_ns)).unwrap_or_default();
        let words: Vec<String> = had
            .iter()
            .take(NAMED)
            .map(|(tid, ns)| format!("{} {}.{:03} us", self.name(*tid), ns / 1_000, ns % 1_000))
            .collect();
        let (cpu, had) = (cpu.to_string(), words.join(", "));
        let mut notes = vec![("got CPU", cpu.as_str())];
        if !had.is_empty() {
            notes.push(("had that CPU meanwhile", had.as_str()));
        }
        tracks::end(file, at_ns, waits.track, &notes)
    }
}
