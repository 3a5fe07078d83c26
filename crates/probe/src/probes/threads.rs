//! The server's threads, from /proc/PID/task/TID/{schedstat,stat,sched,status}.

use std::collections::HashMap;
use std::sync::Arc;

use machine::procfs::{pid_sched, pid_schedstat, pid_stat, pid_status};
use machine::{Missing, ProcessRef, Root, ThreadRef};

use super::{About, Probe};
use crate::clock;
use crate::rows::{Rows, because};
use crate::thread_reading::ThreadReading;
use crate::watch::{Watch, identify};

/// status is long and tells little that sched does not: the allowed CPUs may be this old.
const STATUS_EVERY_NS: u64 = 1_000_000_000;

/// The probe `threads`.
pub(super) struct Threads;

/// What is known of a thread from the frame before.
struct Known {
    reading: Arc<ThreadReading>,
    schedstat: Option<pid_schedstat::PidSchedstat>,
    status_due_ns: u64,
}

#[derive(Default)]
struct Memory {
    watch: Option<Watch>,
    /// By process and thread number.
    known: HashMap<(u32, u32), Known>,
}

impl Probe for Threads {
    fn about(&self) -> &About {
        &About {
            id: "threads",
            summary: "what the server's threads did: time on CPU, time waiting for one, switches, migrations, where they ran",
            docs: "Follows a process and all its descendants, also those that it leaves behind; a process that lives for less than a sampling \
                interval may be missed. schedstat gives time on and waiting for a CPU in ns; it includes the time of interrupts that \
                hit the thread. User and system time come from the tick (10 ms). Switches and migrations come from sched, where the \
                kernel has it, otherwise switches from status. A thread whose schedstat stood still did not run, and \
                its other files are not read again; allowed CPUs may be one second old.",
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
        let Some(watched) = into.watched() else { return Ok(()) };
        let mut memory = into.recall::<Memory>();
        let mut watch = memory.watch.take().unwrap_or_else(|| Watch::new(watched));
        let answer = watch.refresh(root, into.is_thorough());
        let before = std::mem::take(&mut memory.known);
        for process in watch.family().collect::<Vec<_>>() {
            if !read_process(root, process, &before, &mut memory.known, into) {
                watch.ended(process);
            }
        }
        memory.watch = Some(watch);
        into.remember(memory);
        answer
    }
}

/// Reads all threads of a process; false if it has ended.
fn read_process(
    root: &Root,
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
        readings.extend(read_thread(root, &format!("{tasks}/{tid}"), process.pid, tid, known, into));
    }
    // The first thread begins when the process does. One that began at another time is of another process.
    let first = readings.iter().find(|known| known.reading.thread.tid == process.pid);
    let same = match first {
        Some(known) => known.reading.thread.start_time_ticks == process.start_time_ticks,
        None => identify(root, process.pid) == Some(process),
    };
    if same {
        for known in readings {
            into.thread(known.reading.clone());
            after.insert((process.pid, known.reading.thread.tid), known);
        }
    }
    same
}

/// Reads one thread; `None` if it ended meanwhile.
fn read_thread(
    root: &Root,
    dir: &str,
    pid: u32,
    tid: u32,
    known: Option<&Known>,
    into: &mut Rows,
) -> Option<Known> {
    let schedstat = open(into, root, dir, "schedstat").and_then(|text| {
        pid_schedstat::parse(&text).map_err(|e| Missing::new("/proc/PID/task/*/schedstat", e))
    });
    let kept = schedstat.as_ref().ok().copied().filter(pid_schedstat::PidSchedstat::is_kept);
    if let Some(known) =
        known.filter(|known| kept.is_some() && known.schedstat == kept && !into.is_thorough())
    {
        return Some(Known {
            reading: known.reading.clone(),
            schedstat: kept,
            status_due_ns: known.status_due_ns,
        });
    }
    let sched = open(into, root, dir, "sched")
        .and_then(|text| pid_sched::parse(&text).map_err(|e| Missing::new("/proc/PID/task/*/sched", e)));
    let now_ns = clock::monotonic_ns();
    let wanted = known.is_none_or(|known| now_ns >= known.status_due_ns || into.is_thorough());
    let switches_known = sched.as_ref().is_ok_and(|sched| sched.voluntary_switches.is_some());
    let status = (wanted || !switches_known).then(|| open(into, root, dir, "status"));
    // Read last: where it fails the thread has ended, and that the others could not be read means nothing.
    let stat = open(into, root, dir, "stat").ok()?;
    let stat = match pid_stat::parse(&stat) {
        Ok(stat) => stat,
        Err(malformed) => {
            into.missing("/proc/PID/task/*/stat", malformed);
            return None;
        }
    };
    let thread = ThreadRef { pid, tid, start_time_ticks: stat.start_time_ticks };
    // A thread of the same number that began at another time is another thread.
    let known = known.filter(|known| known.reading.thread == thread);
    let has_run = stat.user_ticks + stat.system_ticks > 0;
    let schedstat = into.kept(schedstat).filter(|schedstat| schedstat.is_kept() || !has_run);
    let sched = into.kept(sched).unwrap_or_default();
    let status_due_ns = match (&status, known) {
        (None, Some(known)) => known.status_due_ns,
        _ => now_ns + STATUS_EVERY_NS,
    };
    let status = status.and_then(|text| into.kept(text));
    let status = status
        .as_deref()
        .map(pid_status::parse)
        .and_then(|parsed| into.kept(parsed.map_err(|e| Missing::new("/proc/PID/task/*/status", e))));
    let status = status.unwrap_or_default();
    let reading = ThreadReading {
        thread,
        comm: shared(stat.comm, known.map(|known| &known.reading.comm)),
        user_ticks: stat.user_ticks,
        system_ticks: stat.system_ticks,
        processor: stat.processor,
        on_cpu_ns: schedstat.map(|schedstat| schedstat.on_cpu_ns),
        waited_ns: schedstat.map(|schedstat| schedstat.waited_ns),
        voluntary_switches: sched.voluntary_switches.or(status.voluntary_switches),
        involuntary_switches: sched.involuntary_switches.or(status.involuntary_switches),
        migrations: sched.migrations,
        allowed: match (status.cpus_allowed_list, known) {
            (Some(list), known) => Some(shared(list, known.and_then(|known| known.reading.allowed.as_ref()))),
            (None, known) => known.and_then(|known| known.reading.allowed.clone()),
        },
    };
    Some(Known { reading: Arc::new(reading), schedstat: kept, status_due_ns })
}

/// A file of a thread.
fn open(into: &mut Rows, root: &Root, dir: &str, file: &str) -> Result<String, Missing> {
    into.read(root, &format!("{dir}/{file}")).map_err(|missing| of_all(missing, file))
}

/// Names all threads at once, or there would be a note for each.
fn of_all(missing: Missing, file: &str) -> Missing {
    Missing::new(format_args!("/proc/PID/task/*/{file}"), missing.why)
}

/// The same text as before where it has not changed.
fn shared(text: &str, before: Option<&Arc<str>>) -> Arc<str> {
    before.filter(|before| &***before == text).cloned().unwrap_or_else(|| Arc::from(text))
}
