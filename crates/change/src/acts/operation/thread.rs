//! The threads that acts change, and the processes for which they stand.

use machine::{ProcessRef, ThreadRef};

/// The first thread of a process, which stands for it.
pub(in crate::acts) fn first_thread(process: ProcessRef) -> ThreadRef {
    ThreadRef { pid: process.pid, tid: process.pid, start_time_ticks: process.start_time_ticks }
}

/// `process 7: what`, `thread 9 of process 7: what`.
pub(in crate::acts) fn of_thread(thread: &ThreadRef, what: &str) -> String {
    match thread.tid == thread.pid {
        true => format!("process {}: {what}", thread.pid),
        false => format!("thread {} of process {}: {what}", thread.tid, thread.pid),
    }
}
