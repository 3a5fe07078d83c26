//! Samples of the stacks of threads on a CPU, while they are taken.

use std::mem::offset_of;

use machine::{Missing, Root};
use rustix::io::Errno;

use super::named_sums::NamedSums;
use super::naming::Naming;
use super::profile::Profile;
use crate::bpf::{Loaded, Record as _, StackControl, StackTables, load_profile, sample};
use crate::{clock, perf_event, tasks};

/// The fact that is missing where nothing can be sampled.
const FACT: &str = "what the server does on CPUs, by function";

/// CPU time of a thread between two of its samples, ns: 97 a second, which is no multiple of a tick.
const EVERY_NS: u64 = 1_000_000_000 / 97;

/// Threads that are sampled: each takes an open file.
const MOST_THREADS: usize = 256;

/// Samples a server's threads; ends with this. Nothing runs on a CPU where none of them does.
pub struct Profiling {
    tables: StackTables,
    naming: Naming,
    missing: Vec<Missing>,
    /// Taken off when it is dropped.
    _loaded: Loaded,
}

impl Profiling {
    /// Gets ready to sample all threads of these processes, and those that they start.
    ///
    /// # Errors
    /// The kernel does not tell its types (BTF), does not permit it, or there are too many threads: which, and the remedy.
    pub fn prepare(root: &Root, pids: &[u32]) -> Result<Self, Missing> {
        let threads = tasks::threads(root, pids);
        if threads.len() > MOST_THREADS {
            let why =
                format_args!("the server has {} threads; at most {MOST_THREADS} are sampled", threads.len());
            return Err(Missing::new(FACT, why));
        }
        let mut loaded = load_profile().map_err(|missing| Missing::new(FACT, missing.why))?;
        let tables = StackTables::open(&mut loaded)?;
        let mut naming = Naming::begin();
        pids.iter().for_each(|pid| naming.remember(*pid));
        for tid in threads {
            match sample(&mut loaded, tid, EVERY_NS) {
                Err(e) if e.raw_os_error() != Some(Errno::SRCH.raw_os_error()) => {
                    return Err(Missing::new(FACT, perf_event::why_not(&e)));
                }
                // It has ended meanwhile.
                Ok(()) | Err(_) => {}
            }
        }
        Ok(Self { tables, naming, missing: Vec::new(), _loaded: loaded })
    }

    /// Samples from now on.
    pub fn start(&mut self) {
        self.tables.control.set_word(0, offset_of!(StackControl, began_ns), clock::monotonic_ns());
    }

    /// Samples no longer.
    pub fn stop(&mut self) {
        self.tables.control.set_word(0, offset_of!(StackControl, ended_ns), clock::monotonic_ns());
    }

    /// What was seen between the two, with names. The processes should still be there: files that have no symbols are named by their
    /// mappings.
    pub fn end(mut self) -> Profile {
        let (sums, missing) = NamedSums::of(&self.tables, &mut self.naming);
        self.missing.extend(missing);
        let control = self.tables.control.get(0).unwrap_or_else(StackControl::zeroed);
        let lost = control.lost_sums.saturating_add(control.lost_stacks);
        if lost > 0 {
            self.missing.push(Missing::new("some samples", format_args!("a table was full: {lost} times")));
        }
        let stacks = sums.all().map(|(key, sum)| (sums.kernel(key, |all| all), sums.user(key), sum.count));
        Profile { missing: self.missing, ..Profile::of(EVERY_NS, stacks) }
    }
}
