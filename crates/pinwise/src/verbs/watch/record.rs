//! A flight recorder: what was counted goes into a ring, interval by interval.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use machine::{Fault, Machine};
use probe::account::Counting;
use probe::ring::{Recorder, Session, unix_ns_at};
use report::map::machine_text;

use super::args::Args;
use super::intervals::{Intake, Interval, Intervals, own_cpu_ns};
use super::target::Watched;
use super::triggered::Triggered;
use crate::notes::note;
use crate::output::Answer;

/// A ring may become so large where nothing is said, bytes.
const USUAL_SIZE: u64 = 64 << 20;

/// Threads of an interval that is kept for later because it could not be written; with more it is given up.
const MOST_KEPT: usize = 20_000;

/// Records until a signal, the end of the window, or the end of a target that cannot come again.
pub fn run(
    args: &Args,
    ring: &Path,
    counting: Counting,
    machine: &Machine,
    watched: &Watched,
    stop: &AtomicBool,
) -> Result<Answer, Fault> {
    let began = Instant::now();
    let triggered = Triggered::begin(&args.triggers, ring, watched)?;
    let mut intervals = Intervals::begin(args, counting, machine, watched);
    let session = Session::now(
        watched.title(),
        watched.for_programs(),
        intervals.means(),
        args.every.as_nanos() as u64,
    )?
    .of_everything(watched.is_everything());
    let mut recording =
        Recording { recorder: Recorder::open(ring, bound(args), session)?, triggered, failed: None };
    let bound = machine_text::size(bound(args));
    note!("pinwise: recording {} into {}, at most {bound}; Ctrl-C ends it", watched.title(), ring.display());
    intervals.hand_on(began, stop, &mut recording);
    if let Some(triggered) = &mut recording.triggered {
        triggered.end();
    }
    recording.report(began.elapsed());
    match recording.failed {
        Some(fault) => Err(fault),
        None => Ok(Answer::Done),
    }
}

struct Recording<'a> {
    recorder: Recorder,
    /// What is to be kept of the recording when a condition holds.
    triggered: Option<Triggered<'a>>,
    /// Why the last interval could not be written.
    failed: Option<Fault>,
}

impl Intake for Recording<'_> {
    const WHILE_GONE: &'static str = "recording goes on";

    /// Who asks for a part wants what there is up to now.
    fn is_asked(&self) -> bool {
        self.triggered.as_ref().is_some_and(Triggered::is_asked)
    }

    /// Writes the interval. One that cannot be written is kept for later, unless it is too large for that.
    fn take(&mut self, interval: &Interval) -> bool {
        let interval = &interval.account;
        match self.recorder.add(interval, unix_ns_at(interval.to_ns)) {
            Ok(()) => {
                if self.failed.take().is_some() {
                    note!("pinwise: recording again");
                }
                if let Some(triggered) = &mut self.triggered {
                    triggered.look(interval);
                }
                true
            }
            Err(fault) => {
                if self.failed.is_none() {
                    note!("pinwise: {fault}");
                }
                self.failed = Some(fault);
                interval.threads.len() >= MOST_KEPT
            }
        }
    }
}

impl Recording<'_> {
    fn report(&self, length: Duration) {
        let own_s = own_cpu_ns() as f64 / 1e9;
        note!(
            "pinwise: {} intervals recorded; the ring takes {}; recording took {own_s:.2} s of CPU time in {:.0} s",
            self.recorder.written(),
            machine_text::size(self.recorder.bytes()),
            length.as_secs_f64()
        );
    }
}

/// How large the ring may become, bytes.
fn bound(args: &Args) -> u64 {
    args.size.unwrap_or(USUAL_SIZE)
}
