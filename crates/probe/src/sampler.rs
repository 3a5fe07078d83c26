//! Takes samples at fixed instants, on the thread that the caller has placed.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Thread;
use std::time::Duration;

use machine::{Missing, ProcessRef, Root};

use crate::clock;
use crate::observation::Sample;
use crate::party::Party;
use crate::probes::{ALL, Probe};
use crate::recording::Recording;
use crate::rows::{Rows, SYSTEM};

/// A probe that reads files of every CPU is left out where one reading takes longer than this: at ten readings a second
/// it would take 2 % of a CPU.
const DEAR_NS: u64 = 2_000_000;

/// Reads all probes from one root, and the threads of one process and its descendants; of others beside it from when it is
/// asked to.
#[derive(Debug)]
pub struct Sampler {
    root: Arc<Root>,
    watch: Option<ProcessRef>,
    beside: Mutex<Beside>,
}

/// What is followed beside the watched process.
#[derive(Debug, Default)]
struct Beside {
    processes: Vec<(Party, ProcessRef)>,
    /// Somebody was added since the last sample.
    is_new: bool,
    /// The thread that samples.
    sampling: Option<Thread>,
}

impl Sampler {
    /// A sampler of `root`; with `watch`, the threads of that process and all its descendants are followed.
    pub fn new(root: impl Into<Arc<Root>>, watch: Option<ProcessRef>) -> Self {
        Self { root: root.into(), watch, beside: Mutex::default() }
    }

    /// Follows a process and its descendants from now on, for [`Observation::beside`](crate::Observation::beside). While [`run`](Self::run)
    /// is under way this takes a sample at once, so that a tree that has just begun is seen from its start.
    pub fn follow(&self, party: Party, process: ProcessRef) {
        let mut beside = self.beside();
        beside.processes.push((party, process));
        beside.is_new = true;
        if let Some(sampling) = &beside.sampling {
            sampling.unpark();
        }
    }

    fn beside(&self) -> MutexGuard<'_, Beside> {
        // A list that somebody panicked with is still a list.
        self.beside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands over those who were added since the last sample.
    fn take_followed(&self, rows: &mut Rows) {
        let mut beside = self.beside();
        if std::mem::take(&mut beside.is_new) {
            rows.follow(&beside.processes);
        }
    }

    /// One sample: raw readings since boot by probe, row and CPU. Rows without a CPU and threads are not in it.
    pub fn sample(&self) -> Sample {
        let mut collector = Collector::new(&self.root, self.watch);
        collector.take(&self.root, 0, true);
        let mut rows: BTreeMap<String, BTreeMap<String, BTreeMap<u32, u64>>> = BTreeMap::new();
        for (_, head, cpus, values) in collector.rows.latest().filter(|(_, _, cpus, _)| *cpus != [SYSTEM]) {
            let by_cpu = cpus.iter().copied().zip(values.iter().copied()).collect();
            rows.entry(head.probe.to_string()).or_default().insert(head.name.clone(), by_cpu);
        }
        let frame = collector.rows.frames().last().cloned().unwrap_or_default();
        Sample { at_ns: frame.at_ns, took_ns: frame.took_ns, rows }
    }

    /// Samples now, then every `every` until `stop` is set, then once more; blocks for that long.
    ///
    /// Instants are fixed from the start (CLOCK_MONOTONIC, absolute): a late sample does not shift those after it, and
    /// instants that have passed meanwhile are counted as missed, not made up for in a burst. `stop` is looked at
    /// after each sleep, so that the answer comes at most `every` later, and at once where this thread is unparked after `stop`
    /// was set. The last sample lies behind the stop.
    /// Never fails: what cannot be read is missing in the windows of the recording.
    pub fn run(&self, stop: &AtomicBool, every: Duration) -> Recording {
        let every_ns = u64::try_from(every.as_nanos()).unwrap_or(u64::MAX).max(1_000_000);
        let mut collector = Collector::new(&self.root, self.watch);
        self.beside().sampling = Some(std::thread::current());
        let mut due_ns = clock::monotonic_ns();
        let mut missed = 0;
        loop {
            let stopping = stop.load(Ordering::Acquire);
            self.take_followed(&mut collector.rows);
            collector.take(&self.root, missed, stopping);
            if stopping {
                return collector.rows.into_recording();
            }
            let now_ns = clock::monotonic_ns();
            // A sample that was taken for a new tree comes before its time.
            (due_ns, missed) =
                if now_ns < due_ns { (due_ns, 0) } else { next_deadline(due_ns, every_ns, now_ns) };
            sleep_until(due_ns, || stop.load(Ordering::Acquire) || self.beside().is_new);
        }
    }
}

/// Sleeps until CLOCK_MONOTONIC reads `due_ns`, or until the thread is unparked and has something to do.
fn sleep_until(due_ns: u64, wakes: impl Fn() -> bool) {
    while !wakes() {
        match due_ns.checked_sub(clock::monotonic_ns()) {
            None | Some(0) => return,
            Some(left_ns) => std::thread::park_timeout(Duration::from_nanos(left_ns)),
        }
    }
}

/// The first deadline after `now_ns` in steps from `due_ns`, and how many were passed over.
fn next_deadline(due_ns: u64, every_ns: u64, now_ns: u64) -> (u64, u64) {
    let missed = now_ns.saturating_sub(due_ns) / every_ns;
    (due_ns + (missed + 1) * every_ns, missed)
}

/// Takes one frame after another.
pub(crate) struct Collector {
    pub(crate) rows: Rows,
    probes: Vec<&'static dyn Probe>,
}

impl Collector {
    /// Chooses the probes: the dear ones are tried out first.
    pub(crate) fn new(root: &Root, watch: Option<ProcessRef>) -> Self {
        Self::of(Rows::new(root, watch), root, ALL)
    }

    /// The same with some of the probes.
    pub(crate) fn of(mut rows: Rows, root: &Root, wanted: &[&'static dyn Probe]) -> Self {
        let mut probes = Vec::with_capacity(wanted.len());
        for probe in wanted {
            let about = probe.about();
            match about.dear.then(|| trial(*probe, root)) {
                Some(Err(missing)) => rows.missing_always(about.id, missing),
                Some(Ok(took_ns)) if took_ns > DEAR_NS => {
                    let took_us = took_ns / 1_000;
                    let why = format!(
                        "one reading takes {took_us} us on this machine, too long for ten times a second"
                    );
                    rows.missing_always(about.id, Missing::new(about.id, why));
                }
                _ => probes.push(*probe),
            }
        }
        Self { rows, probes }
    }

    /// Takes a frame. `missed` deadlines were passed over before it.
    pub(crate) fn take(&mut self, root: &Root, missed: u64, thorough: bool) {
        let cpu_ns = clock::thread_cpu_ns();
        let at_ns = clock::monotonic_ns();
        self.rows.begin_frame(at_ns, clock::boot_ns(), missed, thorough);
        for probe in &self.probes {
            self.rows.begin_probe(probe.about().id);
            if let Err(missing) = probe.read(root, &mut self.rows) {
                self.rows.note(missing);
            }
        }
        let took_ns = clock::monotonic_ns() - at_ns;
        self.rows.end_frame(took_ns, clock::thread_cpu_ns() - cpu_ns);
    }
}

/// How much CPU time a reading takes, the second one: the first one looks files up.
fn trial(probe: &dyn Probe, root: &Root) -> Result<u64, Missing> {
    let mut rows = Rows::new(root, None);
    let mut took_ns = 0;
    for _ in 0..2 {
        rows.begin_frame(clock::monotonic_ns(), clock::boot_ns(), 0, false);
        rows.begin_probe(probe.about().id);
        let began_ns = clock::thread_cpu_ns();
        probe.read(root, &mut rows)?;
        took_ns = clock::thread_cpu_ns() - began_ns;
        rows.end_frame(0, 0);
    }
    Ok(took_ns)
}

#[cfg(test)]
mod cost;
#[cfg(test)]
mod tests;
