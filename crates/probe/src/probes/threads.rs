//! Threads of the server and of the process trees beside it, from /proc/PID/task/TID/{schedstat,stat,sched,status}.

use std::collections::HashMap;

use machine::{Missing, ProcessRef, Root};

use super::{About, Probe};
use crate::party::Party;
use crate::rows::{Rows, because};
use crate::thread_reading::{Known, of_all, read_thread};
use crate::watch::{Watch, identify};

/// The probe `threads`.
pub(super) struct Threads;

#[derive(Default)]
struct Memory {
    watches: HashMap<(Party, ProcessRef), Watch>,
    /// By process and thread number.
    known: HashMap<(u32, u32), Known>,
}

impl Probe for Threads {
    fn about(&self) -> &About {
        &About {
            id: "threads",
            title: "what the server's threads did: time on CPU, time waiting for one, switches, migrations, where they ran",
            docs: "Follows a process and all its descendants, also those that it leaves behind; a process that lives for less than a sampling \
                interval may be missed. schedstat gives time on and waiting for a CPU in ns; it includes the time of interrupts that \
                hit the thread. User and system time come from the tick (10 ms). Switches and migrations come from sched, where the \
                kernel has it, otherwise switches from status. A thread whose schedstat stood still did not run, and \
                stat and sched are not read again; allowed CPUs may be one second old.",
            files: &[
                "/proc/PID/task/*/schedstat",
                "/proc/PID/task/*/stat",
                "/proc/PID/task/*/sched",
                "/proc/PID/task/*/status",
                "/proc/PID/task/*/children",
            ],
            dear: false,
        }
    }

    fn needs(&self, root: &Root) -> Vec<Missing> {
        // The process is not known here; the first one stands for all, and who may read it may read others.
        let dir = "/proc/1/task/1";
        let unreadable = |file: &&str| {
            let path = format!("{dir}/{file}");
            root.read_bytes(&path).err().map(|e| of_all(because(&path, &e), file))
        };
        ["schedstat", "stat", "sched", "status"].iter().filter_map(unreadable).collect()
    }

    fn read(&self, root: &Root, into: &mut Rows) -> Result<(), Missing> {
        let watched = into.watched().map(|process| (Party::Server, process));
        let trees: Vec<(Party, ProcessRef)> =
            watched.into_iter().chain(into.beside().iter().copied()).collect();
        if trees.is_empty() {
            return Ok(());
        }
        let mut memory = into.recall::<Memory>();
        let before = std::mem::take(&mut memory.known);
        let mut answer = Ok(());
        for (party, process) in trees {
            let watch = memory.watches.entry((party, process)).or_insert_with(|| Watch::new(process));
            let refreshed = watch.refresh(root, into.is_thorough());
            // The others may end when they like.
            if party == Party::Server {
                answer = refreshed;
            }
            for process in watch.family().collect::<Vec<_>>() {
                if !read_process(root, party, process, &before, &mut memory.known, into) {
                    watch.ended(process);
                }
            }
        }
        into.remember(memory);
        answer
    }
}

/// Reads all threads of a process; false if it has ended.
fn read_process(
    root: &Root,
    party: Party,
    process: ProcessRef,
    before: &HashMap<(u32, u32), Known>,
    after: &mut HashMap<(u32, u32), Known>,
    into: &mut Rows,
) -> bool {
    let tasks = format!("/proc/{}/task", process.pid);
    let tids = match root.list(&tasks) {
        Ok(tids) => tids,
        Err(_) => return false,
    };
    let mut readings: Vec<Known> = Vec::with_capacity(tids.len());
    for tid in tids.iter().filter_map(|name| name.parse::<u32>().ok()) {
        let known = before.get(&(process.pid, tid));
        readings.extend(read_thread(root, process.pid, tid, known, into));
    }
    // The first thread begins when the process does. One that began at another time is of another process.
    let first = readings.iter().find(|known| known.reading.thread.tid == process.pid);
    let same = match first {
        Some(known) => known.reading.thread.start_time_ticks == process.start_time_ticks,
        None => identify(root, process.pid) == Some(process),
    };
    if same {
        for known in readings {
            match party {
                Party::Server => into.thread(known.reading.clone()),
                _ => into.thread_beside(party, known.reading.clone()),
            }
            after.insert((process.pid, known.reading.thread.tid), known);
        }
    }
    same
}
