//! A flight recorder: what was counted goes into a ring, interval by interval.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use machine::{Fault, Machine, Root};
use probe::account::{Account, Counting, Names};
use probe::ring::{Recorder, Session, unix_ns_at};
use report::map::machine_text;
use rustix::time::{ClockId, clock_gettime};

use super::account::not_counted;
use super::args::Args;
use super::new_processes::NewProcesses;
use super::target::Watched;
use super::triggered::Triggered;
use crate::notes::note;
use crate::output::Answer;

/// A ring may become so large where nothing is said, bytes.
const USUAL_SIZE: u64 = 64 << 20;

/// How long a signal may wait to be seen, and threads that have ended to be taken out of their table.
const ATTENTION: Duration = Duration::from_millis(100);

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
    let session = Session::now(
        watched.title(),
        watched.for_programs(),
        counting.means(),
        args.every.as_nanos() as u64,
    )?
    .of_everything(watched.is_everything());
    let mut recording = Recording {
        args,
        counting,
        names: Names::of(machine),
        root: Root::live(),
        watched,
        recorder: Recorder::open(ring, bound(args), session)?,
        before: None,
        new_processes: NewProcesses::begin(),
        triggered,
        gone: false,
        failed: None,
    };
    let bound = machine_text::size(bound(args));
    note!("pinwise: recording {} into {}, at most {bound}; Ctrl-C ends it", watched.title(), ring.display());
    recording.go_on(began, stop);
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
    args: &'a Args,
    counting: Counting,
    names: Names,
    root: Root,
    watched: &'a Watched,
    recorder: Recorder,
    /// Everything up to the end of the last interval that was written.
    before: Option<Account>,
    new_processes: NewProcesses,
    /// What is to be kept of the recording when a condition holds.
    triggered: Option<Triggered<'a>>,
    /// Whether the target has ended.
    gone: bool,
    /// Why the last interval could not be written.
    failed: Option<Fault>,
}

impl Recording<'_> {
    fn go_on(&mut self, began: Instant, stop: &AtomicBool) {
        let mut due = began + self.args.every;
        loop {
            let now = Instant::now();
            let in_time = self.args.window.is_none_or(|length| now < began + length);
            let over =
                stop.load(Ordering::Acquire) || !in_time || (self.gone && !self.watched.can_come_again());
            if over {
                self.counting.stop();
            }
            // Who asks for a part wants what there is up to now.
            let is_asked = self.triggered.as_ref().is_some_and(Triggered::is_asked);
            if over || is_asked || now >= due {
                self.keep();
            }
            if over {
                return;
            }
            // A late reading does not shift those after it, and is not made up for: its interval is longer.
            while due <= Instant::now() {
                due += self.args.every;
            }
            self.counting.harvest();
            self.look_again();
            std::thread::sleep(due.saturating_duration_since(Instant::now()).min(ATTENTION));
        }
    }

    fn look_again(&mut self) {
        let add = |numbers: &[u32]| self.counting.add(numbers);
        let Some(there) = self.new_processes.look(self.watched, &self.root, add) else { return };
        let gone = !there;
        if gone != self.gone {
            let what = match (gone, self.watched.can_come_again()) {
                (true, true) => "has ended; recording goes on, for it may come again",
                (true, false) => "has ended",
                (false, _) => "is there again",
            };
            note!("pinwise: {} {what}", self.watched.title());
        }
        self.gone = gone;
    }

    /// Reads, and writes what came since the last reading that could be written: where one cannot, the next covers its time too.
    fn keep(&mut self) {
        let mut snapshot = self.counting.read();
        let crowded = self.counting.is_crowded(&snapshot);
        if let Some(cpus) = self.watched.cpus() {
            snapshot = snapshot.on(cpus);
        }
        self.names.learn(&snapshot);
        let missing = not_counted(&self.counting, &self.new_processes, self.watched);
        let now = Account::of(&snapshot, self.watched.is_everything(), &self.names, &missing);
        let now = self.counting.with_counted(now, self.watched.cpus());
        let before =
            self.before.take().unwrap_or_else(|| Account { to_ns: now.from_ns, ..Account::default() });
        let interval = now.since(&before);
        match self.recorder.add(&interval, unix_ns_at(interval.to_ns)) {
            Ok(()) => {
                if self.failed.take().is_some() {
                    note!("pinwise: recording again");
                }
                if let Some(triggered) = &mut self.triggered {
                    triggered.look(&interval);
                }
                self.forget(now, &interval, crowded);
            }
            Err(fault) => {
                if self.failed.is_none() {
                    note!("pinwise: {fault}");
                }
                self.failed = Some(fault);
                match interval.threads.len() < MOST_KEPT {
                    true => self.before = Some(before),
                    false => self.forget(now, &interval, crowded),
                }
            }
        }
    }

    /// Makes the reading the last one. What is over is forgotten: the ring has it.
    fn forget(&mut self, mut now: Account, interval: &Account, crowded: bool) {
        self.counting.forget_ended();
        now.threads.retain(|thread| !thread.ended);
        if crowded {
            let ran: BTreeSet<u32> = interval.tasks.iter().map(|task| task.tid).collect();
            let rested = now.tasks.iter().filter(|task| !task.of_target && !ran.contains(&task.tid));
            let forgotten = self.counting.forget_tasks(&rested.map(|task| (task.tid, task.slices)).collect());
            now.tasks.retain(|task| task.of_target || !forgotten.contains(&task.tid));
        }
        self.before = Some(now);
    }

    fn report(&self, length: Duration) {
        let own = clock_gettime(ClockId::ProcessCPUTime);
        let own_s = own.tv_sec as f64 + own.tv_nsec as f64 / 1e9;
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
