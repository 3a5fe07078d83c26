//! The threads of a load: each an engine of its own, all from the same moment on.

use std::os::fd::BorrowedFd;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use machine::{Class, Fault};
use rustix::io::Errno;

use super::course::{BEGAN, Course};
use super::dialogue::Dialogue;
use super::document::{self, Document, Part};
use super::endpoint::Endpoint;
use super::engine::{End, Engine};
use super::pace::Pace;
use crate::clock::{monotonic_ns, sleep_until};

/// Drives `server` at `pace` on its `course`; `dialogue` makes the dialogue of a connection, given its number over all threads.
///
/// Fails only when it cannot begin (senseless options, no descriptors). What happens with the server is reported in the document.
pub fn drive<D: Dialogue>(
    pace: &Pace,
    server: impl Into<Endpoint>,
    dialogue: impl Fn(u32) -> D + Sync,
    course: Course<'_>,
) -> Result<Document, Fault> {
    let server = server.into();
    let (start, stop) = (Start::of(pace.threads, course), course.stop);
    let parts: Vec<Result<Part, Errno>> = std::thread::scope(|scope| {
        let (start, dialogue) = (&start, &dialogue);
        let threads: Vec<_> = (1..pace.threads)
            .map(|number| scope.spawn(move || one(pace, number, server, dialogue, stop, start)))
            .collect();
        let first = one(pace, 0, server, dialogue, stop, start);
        let gone = || Err(Errno::CANCELED);
        std::iter::once(first)
            .chain(threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| gone())))
            .collect()
    });
    let parts = parts.into_iter().collect::<Result<Vec<_>, _>>().map_err(kernel_refused)?;
    document::of(parts, pace, server.at).ok_or_else(|| kernel_refused(Errno::CANCELED))
}

fn kernel_refused(error: Errno) -> Fault {
    Fault::new(Class::WorkloadFailed, "load", error, "check the limit of open files (ulimit -n)")
}

fn one<D: Dialogue>(
    pace: &Pace,
    number: u32,
    server: Endpoint,
    dialogue: &(impl Fn(u32) -> D + Sync),
    stop: Option<BorrowedFd<'_>>,
    start: &Start,
) -> Result<Part, Errno> {
    let part = pace.part(number);
    let before: u32 = (0..number).map(|number| pace.part(number).connections).sum();
    let phase = f64::from(number) / f64::from(pace.threads);
    let opened = Engine::new(&part, phase, server, |index| dialogue(before + index), stop)
        .and_then(|mut engine| engine.open().map(|end| (engine, end)));
    let may_go_on = matches!(opened, Ok((_, None)));
    let from_ns = start.together(may_go_on);
    let (mut engine, end) = opened?;
    let end = match (end, from_ns) {
        (Some(end), _) => end,
        (None, Some(from_ns)) => engine.run(from_ns)?,
        (None, None) => End::Stopped,
    };
    Ok(Part::of(engine, end))
}

/// Where the threads wait for each other before the clock starts.
struct Start {
    ready: Barrier,
    started: Barrier,
    failed: AtomicBool,
    /// CLOCK_MONOTONIC ns.
    not_before_ns: u64,
    announces: bool,
    from_ns: AtomicU64,
}

impl Start {
    fn of(threads: u32, course: Course<'_>) -> Self {
        let barrier = || Barrier::new(threads as usize);
        Self {
            ready: barrier(),
            started: barrier(),
            failed: AtomicBool::new(false),
            not_before_ns: course.start_at_ns.unwrap_or(0),
            announces: course.announces,
            from_ns: AtomicU64::new(0),
        }
    }

    /// When the run begins, the same for all; none when one of them cannot go on.
    fn together(&self, may_go_on: bool) -> Option<u64> {
        self.failed.fetch_or(!may_go_on, Ordering::SeqCst);
        if self.ready.wait().is_leader() {
            sleep_until(self.not_before_ns);
            let from_ns = monotonic_ns();
            self.from_ns.store(from_ns, Ordering::SeqCst);
            if self.announces && !self.failed.load(Ordering::SeqCst) {
                // Who does not read it does without.
                let line = format!("{BEGAN}{from_ns}\n");
                let _ = rustix::io::write(rustix::stdio::stdout(), line.as_bytes());
            }
        }
        self.started.wait();
        (!self.failed.load(Ordering::SeqCst)).then(|| self.from_ns.load(Ordering::SeqCst))
    }
}
