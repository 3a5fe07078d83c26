//! Work of a server by the CPU's own counters (PMU): instructions, cycles and misses of the last-level cache.
//!
//! They distinguish more work from slower work: a server whose time on a CPU grows at the same instructions waits for memory, for its core's
//! other thread or for its clock. Source: perf_event_open(2) in counting mode, three counters a thread, which cost nothing while they run but
//! a little at each switch. Guests mostly have none. *Not verified on hardware: the machines of CI have no PMU.*

use std::io;
use std::os::fd::OwnedFd;

use machine::{Missing, Root};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::perf_event;

/// The fact that is missing where nothing can be counted.
const FACT: &str = "instructions and cycles (PMU)";
/// Threads that are counted: each takes three open files.
const MOST_THREADS: usize = 256;

/// What was counted.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Work {
    /// Instructions that were completed, in user mode and in the kernel.
    pub instructions: f64,
    /// Cycles of the CPU's own clock meanwhile.
    pub cycles: f64,
    /// Misses of the last-level cache; `None` where the CPU has no such counter.
    pub cache_misses: Option<f64>,
    /// The smallest share of the time in which a counter had a place in the hardware, 0 to 1: figures are scaled up by it.
    pub counted_share: f64,
}

impl Work {
    /// Instructions a cycle; `None` without cycles.
    pub fn per_cycle(&self) -> Option<f64> {
        (self.cycles > 0.0).then(|| self.instructions / self.cycles)
    }
}

/// What is counted, by the generic numbers of the kernel (include/uapi/linux/perf_event.h).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    Cycles = 0,
    Instructions = 1,
    CacheMisses = 3,
}

/// A counter as it is read: its value, and for how long it was to run and did, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Reading {
    value: u64,
    enabled_ns: u64,
    running_ns: u64,
}

/// A counter of one thread and of those that it starts.
struct Counter {
    event: Event,
    file: OwnedFd,
    first: Reading,
    last: Reading,
}

/// Counters of a server's threads.
pub struct CountingWork {
    counters: Vec<Counter>,
}

impl CountingWork {
    /// Opens counters for all threads of these processes; threads that they start are counted with them.
    ///
    /// # Errors
    /// There is no PMU here, the kernel does not permit it, or there are too many threads: which, and the remedy.
    pub fn begin(root: &Root, pids: &[u32]) -> Result<Self, Missing> {
        let threads = threads(root, pids);
        if threads.len() > MOST_THREADS {
            let why = format_args!(
                "the server has {} threads; counters are opened for {MOST_THREADS} at most",
                threads.len()
            );
            return Err(Missing::new(FACT, why));
        }
        let mut counters = Vec::new();
        for tid in threads {
            for event in [Event::Cycles, Event::Instructions, Event::CacheMisses] {
                match perf_event::hardware_counter(event as u64, tid) {
                    Ok(file) => counters.push(Counter {
                        event,
                        file,
                        first: Reading::default(),
                        last: Reading::default(),
                    }),
                    // It has ended meanwhile.
                    Err(e) if errno(&e) == Some(Errno::SRCH) => {}
                    Err(_) if event == Event::CacheMisses => {}
                    Err(e) => return Err(Missing::new(FACT, why_not(&e))),
                }
            }
        }
        if counters.is_empty() {
            return Err(Missing::new(FACT, "no thread of the server was there to be counted"));
        }
        Ok(Self { counters })
    }

    /// Counts from now on.
    pub fn start(&mut self) {
        self.counters.iter_mut().for_each(|counter| counter.first = read(&counter.file));
    }

    /// Counts no longer.
    pub fn stop(&mut self) {
        self.counters.iter_mut().for_each(|counter| counter.last = read(&counter.file));
    }

    /// What was counted between the two.
    ///
    /// # Errors
    /// The counters never had a place in the hardware: other programs (a watchdog, a profiler) have it.
    pub fn end(self) -> Result<Work, Missing> {
        let readings = self.counters.iter().map(|counter| (counter.event, counter.first, counter.last));
        sum(readings).ok_or_else(|| {
            Missing::new(FACT, "the counters had no place in the hardware: another program uses them")
        })
    }
}

/// All threads of these processes.
fn threads(root: &Root, pids: &[u32]) -> Vec<u32> {
    let of = |pid: &u32| root.list(format!("/proc/{pid}/task")).unwrap_or_default();
    pids.iter().flat_map(of).filter_map(|name| name.parse().ok()).collect()
}

/// Adds up what counters have counted, each scaled to the time in which it was to run; `None` where none of a kind has run.
fn sum(readings: impl Iterator<Item = (Event, Reading, Reading)>) -> Option<Work> {
    let mut work = Work { counted_share: 1.0, ..Work::default() };
    let (mut ran, mut misses) = (false, None);
    for (event, first, last) in readings {
        let value = last.value.saturating_sub(first.value) as f64;
        let enabled = last.enabled_ns.saturating_sub(first.enabled_ns) as f64;
        let running = last.running_ns.saturating_sub(first.running_ns) as f64;
        // A thread that slept all the time was not to be counted.
        if enabled <= 0.0 {
            continue;
        }
        work.counted_share = work.counted_share.min(running / enabled);
        if running <= 0.0 {
            continue;
        }
        let scaled = value * (enabled / running);
        match event {
            Event::Cycles => work.cycles += scaled,
            Event::Instructions => (ran, work.instructions) = (true, work.instructions + scaled),
            Event::CacheMisses => misses = Some(misses.unwrap_or(0.0) + scaled),
        }
    }
    ran.then_some(Work { cache_misses: misses, ..work })
}

/// Reads a counter; one that cannot be read has not moved.
fn read(file: &OwnedFd) -> Reading {
    let mut bytes = [0; 24];
    match rustix::io::read(file, &mut bytes) {
        Ok(24) => {
            let word = |at: usize| u64::from_ne_bytes(std::array::from_fn(|byte| bytes[8 * at + byte]));
            Reading { value: word(0), enabled_ns: word(1), running_ns: word(2) }
        }
        _ => Reading::default(),
    }
}

fn errno(error: &io::Error) -> Option<Errno> {
    Errno::from_io_error(error)
}

fn why_not(error: &io::Error) -> String {
    match errno(error) {
        Some(Errno::NOENT | Errno::NODEV | Errno::OPNOTSUPP) => {
            "this machine has no PMU that the kernel may use, as most guests".into()
        }
        Some(Errno::ACCESS | Errno::PERM) => {
            "the kernel does not permit it: run as root or with CAP_PERFMON, or lower sysctl kernel.perf_event_paranoid".into()
        }
        Some(Errno::MFILE) => "too many files are open: raise the limit (ulimit -n)".into(),
        _ => format!("perf_event_open: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(value: u64, enabled_ns: u64, running_ns: u64) -> Reading {
        Reading { value, enabled_ns, running_ns }
    }

    #[test]
    fn what_a_counter_missed_is_scaled_up_and_said() {
        let first = reading(1_000, 100, 100);
        let readings = [
            (Event::Instructions, first, reading(3_000, 300, 200)),
            (Event::Cycles, first, reading(2_000, 300, 300)),
            (Event::Instructions, Reading::default(), reading(500, 100, 100)),
        ];
        let work = sum(readings.into_iter()).unwrap();
        assert_eq!((work.instructions, work.cycles, work.cache_misses), (4_500.0, 1_000.0, None));
        assert_eq!((work.counted_share, work.per_cycle()), (0.5, Some(4.5)));
    }

    #[test]
    fn threads_that_slept_count_nothing_and_counters_without_a_place_are_none() {
        let asleep = (Event::Instructions, reading(7, 5, 5), reading(7, 5, 5));
        assert_eq!(sum([asleep].into_iter()), None);
        let without_place = (Event::Instructions, Reading::default(), reading(0, 1_000, 0));
        assert_eq!(sum([without_place].into_iter()), None);
        let backwards = (Event::Instructions, reading(9, 9, 9), reading(1, 1, 1));
        assert_eq!(sum([backwards].into_iter()), None);
        let odd = (Event::Instructions, Reading::default(), reading(u64::MAX, u64::MAX, 1));
        assert!(sum([odd].into_iter()).unwrap().instructions.is_finite());
    }

    /// Where there is a PMU, a loop has at least as many instructions as steps; where there is none, it is said.
    #[test]
    fn a_loop_is_counted_or_the_reason_is_known() {
        let root = Root::live();
        let mut counting = match CountingWork::begin(&root, &[std::process::id()]) {
            Ok(counting) => counting,
            Err(missing) => return assert!(missing.fact == FACT && !missing.why.is_empty(), "{missing:?}"),
        };
        counting.start();
        let mut steps = 0u64;
        while std::hint::black_box(steps) < 1_000_000 {
            steps += 1;
        }
        counting.stop();
        if let Ok(work) = counting.end() {
            assert!(work.instructions >= 1e6 && work.cycles > 0.0, "{work:?}");
        }
    }

    #[test]
    fn who_is_gone_or_has_none_is_no_panic() {
        assert!(CountingWork::begin(&Root::live(), &[u32::MAX]).is_err());
        assert!(CountingWork::begin(&Root::live(), &[]).is_err());
    }
}
