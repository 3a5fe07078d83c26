//! What the watched threads did between two frames.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use machine::ThreadRef;

use super::{Frame, Recording};
use crate::observation::{ThreadSeen, TreeSeen};
use crate::party::Party;
use crate::thread_reading::ThreadReading;

/// One thread's frames within a window.
struct Seen<'a> {
    /// What to subtract; `None` for a thread that was born within the window: it began at zero.
    base: Option<&'a ThreadReading>,
    last: &'a ThreadReading,
    on: BTreeMap<u32, u64>,
}

impl Recording {
    /// Threads of the server seen in any of these frames, by process and thread number.
    pub(super) fn threads_between(&self, first: usize, last: usize) -> Vec<ThreadSeen> {
        let frames = &self.frames[first..=last];
        self.threads_seen(frames, |frame| Box::new(frame.threads.iter()))
    }

    /// The process trees beside the server that were seen in any of these frames.
    pub(super) fn trees_between(&self, first: usize, last: usize) -> BTreeMap<Party, TreeSeen> {
        let frames = &self.frames[first..=last];
        let parties: BTreeSet<Party> =
            frames.iter().flat_map(|frame| &frame.beside).map(|(party, _)| *party).collect();
        parties.into_iter().map(|party| (party, self.tree_seen(frames, party))).collect()
    }

    fn tree_seen(&self, frames: &[Frame], party: Party) -> TreeSeen {
        let of_party = move |frame: &'_ Frame| frame.beside.iter().any(|(of, _)| *of == party);
        let (first, last) = (frames.iter().position(of_party), frames.iter().rposition(of_party));
        let (from_ns, to_ns) = match (first, last) {
            (Some(0), Some(last)) => (frames[0].middle_ns(), frames[last].middle_ns()),
            (Some(first), Some(last)) => {
                (self.began_ns(&frames[first - 1], &frames[first], party), frames[last].middle_ns())
            }
            _ => (0, 0),
        };
        TreeSeen {
            threads: self.threads_seen(frames, |frame| {
                Box::new(frame.beside.iter().filter(move |(of, _)| *of == party).map(|(_, reading)| reading))
            }),
            followed_us: to_ns.saturating_sub(from_ns) / 1_000,
        }
    }

    /// When the first thread of a tree began that was first seen in `seen` and not yet in `before`.
    fn began_ns(&self, before: &Frame, seen: &Frame, party: Party) -> u64 {
        let of_party = seen.beside.iter().filter(|(of, _)| *of == party);
        let ticks = of_party.map(|(_, reading)| reading.thread.start_time_ticks).min().unwrap_or(0);
        // Start times count from the boot, frames by CLOCK_MONOTONIC, which stands still while the machine is suspended.
        let asleep_ns = seen.boot_ns.saturating_sub(seen.at_ns);
        let began_ns = ticks.saturating_mul(self.tick_ns).saturating_sub(asleep_ns);
        began_ns.clamp(before.middle_ns(), seen.middle_ns())
    }

    fn threads_seen<'a>(
        &self,
        frames: &'a [Frame],
        threads_of: impl Fn(&'a Frame) -> Box<dyn Iterator<Item = &'a Arc<ThreadReading>> + 'a>,
    ) -> Vec<ThreadSeen> {
        let start_ns = frames[0].boot_ns;
        let mut seen: BTreeMap<(u32, u32, u64), Seen<'_>> = BTreeMap::new();
        for (index, frame) in frames.iter().enumerate() {
            for reading in threads_of(frame) {
                let ThreadRef { pid, tid, start_time_ticks } = reading.thread;
                // Start times are cut to whole ticks: one within the window's first tick counts as born in it.
                let born_inside =
                    index > 0 && start_time_ticks.saturating_add(1).saturating_mul(self.tick_ns) > start_ns;
                let reading: &ThreadReading = Arc::as_ref(reading);
                let entry = seen.entry((pid, tid, start_time_ticks)).or_insert_with(|| Seen {
                    base: (!born_inside).then_some(reading),
                    last: reading,
                    on: BTreeMap::new(),
                });
                entry.last = reading;
                if let Some(cpu) = reading.processor {
                    *entry.on.entry(cpu).or_insert(0) += 1;
                }
            }
        }
        seen.into_values().map(|seen| self.thread_seen(seen)).collect()
    }

    fn thread_seen(&self, seen: Seen<'_>) -> ThreadSeen {
        let Seen { base, last, on } = seen;
        let since = |get: fn(&ThreadReading) -> Option<u64>| -> Option<u64> {
            let before = match base {
                Some(base) => get(base)?,
                None => 0,
            };
            get(last)?.checked_sub(before)
        };
        let ticks_us =
            |ticks: Option<u64>| ticks.and_then(|ticks| Some(ticks.checked_mul(self.tick_ns)? / 1_000));
        let us = |ns: Option<u64>| ns.map(|ns| ns / 1_000);
        ThreadSeen {
            tid: last.thread.tid,
            pid: last.thread.pid,
            comm: last.comm.to_string(),
            user_us: ticks_us(since(|r| r.user_ticks)),
            system_us: ticks_us(since(|r| r.system_ticks)),
            on_cpu_us: us(since(|r| r.on_cpu_ns)),
            waited_us: us(since(|r| r.waited_ns)),
            voluntary_switches: since(|r| r.voluntary_switches),
            involuntary_switches: since(|r| r.involuntary_switches),
            migrations: since(|r| r.migrations),
            seen_on: on,
            allowed: last.allowed.as_ref().map(|list| list.to_string()),
        }
    }
}
