//! What a thread's files in /proc said at one instant.

mod reading;

use std::sync::Arc;

use machine::procfs::pid_sched::{self, PidSched};
use machine::procfs::pid_schedstat::{self, PidSchedstat};
use machine::procfs::{Malformed, Oddities, pid_stat, pid_status};
use machine::{Missing, Root, ThreadRef};

pub use reading::ThreadReading;

use crate::clock;
use crate::rows::Rows;

/// status is long and has little that sched has not: it is read this often.
const STATUS_EVERY_NS: u64 = 1_000_000_000;

/// What is known of a thread from the frame before.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    pub reading: Arc<ThreadReading>,
    schedstat: Option<PidSchedstat>,
    status_due_ns: u64,
}

/// What status adds.
#[derive(Default)]
struct Status {
    allowed: Option<Arc<str>>,
    voluntary_switches: Option<u64>,
    involuntary_switches: Option<u64>,
    odd: Oddities,
}

/// Reads one thread; `None` if it ended meanwhile. A thread whose schedstat stood still has not run: the rest is as before.
pub(crate) fn read_thread(
    root: &Root,
    pid: u32,
    tid: u32,
    known: Option<&Known>,
    into: &mut Rows,
) -> Option<Known> {
    let files = Files { root, dir: format!("/proc/{pid}/task/{tid}") };
    let schedstat = files.read(into, "schedstat", pid_schedstat::parse);
    // Of an odd one it cannot be seen whether it stood still.
    let kept = schedstat.as_ref().ok().filter(|stat| stat.is_kept() && stat.odd.is_empty()).cloned();
    let now_ns = clock::monotonic_ns();
    let status_due = known.is_none_or(|known| now_ns >= known.status_due_ns) || into.is_thorough();
    if let Some(known) =
        known.filter(|known| kept.is_some() && known.schedstat == kept && !into.is_thorough())
    {
        return Some(if status_due { files.look_again(known, now_ns, into) } else { known.clone() });
    }
    let sched = files.read(into, "sched", pid_sched::parse);
    let wants_switches = !sched.as_ref().is_ok_and(|sched| sched.voluntary_switches.is_some());
    let before = known.and_then(|known| known.reading.allowed.as_ref());
    let status = (status_due || wants_switches).then(|| files.status(before, into));
    // Read last: where it fails the thread has ended, and that the others could not be read means nothing.
    let text = files.text(into, "stat").ok()?;
    let stat = into.kept(pid_stat::parse(&text).map_err(|e| files.malformed("stat", e)))?;
    let thread = ThreadRef { pid, tid, start_time_ticks: stat.start_time_ticks };
    // A thread of the same number that began at another time is another thread.
    let known = known.filter(|known| known.reading.thread == thread);
    let has_run = [stat.user_ticks, stat.system_ticks].into_iter().flatten().any(|ticks| ticks > 0);
    let schedstat = into.kept(schedstat).filter(|schedstat| schedstat.is_kept() || !has_run);
    let sched: PidSched = into.kept(sched).unwrap_or_default();
    for (file, odd) in [
        ("stat", Some(&stat.odd)),
        ("schedstat", schedstat.as_ref().map(|s| &s.odd)),
        ("sched", Some(&sched.odd)),
    ] {
        if let Some(odd) = odd {
            into.odd(format_args!("/proc/PID/task/*/{file}"), odd);
        }
    }
    let status_due_ns = match (&status, known) {
        (None, Some(known)) => known.status_due_ns,
        _ => now_ns + STATUS_EVERY_NS,
    };
    let status = status.and_then(|status| into.kept(status)).unwrap_or_default();
    into.odd("/proc/PID/task/*/status", &status.odd);
    let reading = ThreadReading {
        thread,
        comm: shared(stat.comm, known.map(|known| &known.reading.comm)),
        user_ticks: stat.user_ticks,
        system_ticks: stat.system_ticks,
        processor: stat.processor,
        on_cpu_ns: schedstat.as_ref().and_then(|schedstat| schedstat.on_cpu_ns),
        waited_ns: schedstat.as_ref().and_then(|schedstat| schedstat.waited_ns),
        voluntary_switches: sched.voluntary_switches.or(status.voluntary_switches),
        involuntary_switches: sched.involuntary_switches.or(status.involuntary_switches),
        migrations: sched.migrations,
        allowed: status.allowed.or_else(|| known.and_then(|known| known.reading.allowed.clone())),
    };
    Some(Known { reading: Arc::new(reading), schedstat: kept, status_due_ns })
}

/// The files of one thread.
struct Files<'a> {
    root: &'a Root,
    dir: String,
}

impl Files<'_> {
    fn text(&self, into: &mut Rows, file: &str) -> Result<String, Missing> {
        into.read(self.root, &format!("{}/{file}", self.dir)).map_err(|missing| of_all(missing, file))
    }

    fn read<T>(
        &self,
        into: &mut Rows,
        file: &str,
        parse: impl Fn(&str) -> Result<T, Malformed>,
    ) -> Result<T, Missing> {
        parse(&self.text(into, file)?).map_err(|e| self.malformed(file, e))
    }

    fn malformed(&self, file: &str, error: Malformed) -> Missing {
        of_all(Missing::new(&self.dir, error), file)
    }

    fn status(&self, before: Option<&Arc<str>>, into: &mut Rows) -> Result<Status, Missing> {
        self.read(into, "status", |text| {
            let status = pid_status::parse(text)?;
            Ok(Status {
                allowed: status.cpus_allowed_list.map(|list| shared(list, before)),
                voluntary_switches: status.voluntary_switches,
                involuntary_switches: status.involuntary_switches,
                odd: status.odd,
            })
        })
    }

    /// A thread that has not run may have been given other CPUs.
    fn look_again(&self, known: &Known, now_ns: u64, into: &mut Rows) -> Known {
        let mut known = Known { status_due_ns: now_ns + STATUS_EVERY_NS, ..known.clone() };
        // A failure means that it has just ended, or it was noted when it ran.
        let status = self.status(known.reading.allowed.as_ref(), into).unwrap_or_default();
        if status.allowed.is_some() && status.allowed != known.reading.allowed {
            let reading = ThreadReading { allowed: status.allowed, ..ThreadReading::clone(&known.reading) };
            known.reading = Arc::new(reading);
        }
        known
    }
}

/// Names all threads at once, or there would be a note for each.
pub(crate) fn of_all(missing: Missing, file: &str) -> Missing {
    Missing::new(format_args!("/proc/PID/task/*/{file}"), missing.why)
}

/// The same text as before where it has not changed.
fn shared(text: &str, before: Option<&Arc<str>>) -> Arc<str> {
    before.filter(|before| &***before == text).cloned().unwrap_or_else(|| Arc::from(text))
}
