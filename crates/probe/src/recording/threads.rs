//! What the watched threads did between two frames.

use std::collections::BTreeMap;
use std::sync::Arc;

use machine::ThreadRef;

use super::Recording;
use crate::observation::ThreadSeen;
use crate::thread_reading::ThreadReading;

/// One thread's frames within a window.
struct Seen<'a> {
    /// What to subtract; `None` for a thread that was born within the window: it began at zero.
    base: Option<&'a ThreadReading>,
    last: &'a ThreadReading,
    on: BTreeMap<u32, u64>,
}

impl Recording {
    /// Threads seen in any of these frames, by process and thread number.
    pub(super) fn threads_between(&self, first: usize, last: usize) -> Vec<ThreadSeen> {
        let start_ns = self.frames[first].boot_ns;
        let mut seen: BTreeMap<(u32, u32, u64), Seen<'_>> = BTreeMap::new();
        for (index, frame) in self.frames[first..=last].iter().enumerate() {
            for reading in &frame.threads {
                let ThreadRef { pid, tid, start_time_ticks } = reading.thread;
                // Start times are cut to whole ticks: one within the window's first tick counts as born in it.
                let born_inside = index > 0 && (start_time_ticks + 1).saturating_mul(self.tick_ns) > start_ns;
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
        let ticks_us = |ticks: Option<u64>| ticks.map(|ticks| ticks * self.tick_ns / 1_000);
        let us = |ns: Option<u64>| ns.map(|ns| ns / 1_000);
        ThreadSeen {
            tid: last.thread.tid,
            pid: last.thread.pid,
            comm: last.comm.to_string(),
            user_us: ticks_us(since(|r| Some(r.user_ticks))),
            system_us: ticks_us(since(|r| Some(r.system_ticks))),
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
