//! One interval after the other, for days: what is over is forgotten once it was handed on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use machine::{Machine, Root};
use probe::account::{Account, Counting, Names};
use rustix::time::{ClockId, clock_gettime};

use super::account::of_snapshot;
use super::args::Args;
use super::new_processes::NewProcesses;
use super::target::Watched;
use crate::notes::note;

/// How long a signal may wait to be seen, and threads that have ended to be taken out of their table.
const ATTENTION: Duration = Duration::from_millis(100);

/// What was counted in an interval.
pub(super) struct Interval {
    /// All that is new.
    pub(super) account: Account,
    /// Events that were left out since counting began.
    pub(super) lost: BTreeMap<&'static str, u64>,
}

/// Where intervals go.
pub(super) trait Intake {
    /// What happens while a target that may come again is not there, for a note.
    const WHILE_GONE: &'static str;

    /// Whether the interval is to end now rather than in time.
    fn is_asked(&self) -> bool {
        false
    }

    /// Takes in an interval. Returns whether that is done with: where it is not, the next one has its time too.
    fn take(&mut self, interval: &Interval) -> bool;
}

/// A counting that is read in intervals.
pub(super) struct Intervals<'a> {
    args: &'a Args,
    counting: Counting,
    names: Names,
    root: Root,
    watched: &'a Watched,
    /// Everything up to the end of the last interval that is done with.
    before: Option<Account>,
    new_processes: NewProcesses,
    /// Whether the target has ended.
    gone: bool,
}

impl<'a> Intervals<'a> {
    /// The first begins when counting began.
    pub(super) fn begin(args: &'a Args, counting: Counting, machine: &Machine, watched: &'a Watched) -> Self {
        Self {
            args,
            counting,
            names: Names::of(machine),
            root: Root::live(),
            watched,
            before: None,
            new_processes: NewProcesses::begin(),
            gone: false,
        }
    }

    /// By which means it is counted.
    pub(super) fn means(&self) -> &'static str {
        self.counting.means()
    }

    /// Hands on intervals until a signal, the end of the window that `began` then, or the end of a target that cannot come again.
    pub(super) fn hand_on<I: Intake>(&mut self, began: Instant, stop: &AtomicBool, intake: &mut I) {
        let mut due = began + self.args.every;
        loop {
            let now = Instant::now();
            let in_time = self.args.window.is_none_or(|length| now < began + length);
            let over =
                stop.load(Ordering::Acquire) || !in_time || (self.gone && !self.watched.can_come_again());
            if over {
                self.counting.stop();
            }
            if over || intake.is_asked() || now >= due {
                self.read(intake);
            }
            if over {
                return;
            }
            // A late reading does not shift those after it, and is not made up for: its interval is longer.
            while due <= Instant::now() {
                due += self.args.every;
            }
            self.counting.harvest();
            self.look_again::<I>();
            std::thread::sleep(due.saturating_duration_since(Instant::now()).min(ATTENTION));
        }
    }

    fn look_again<I: Intake>(&mut self) {
        let add = |numbers: &[u32]| self.counting.add(numbers);
        let Some(there) = self.new_processes.look(self.watched, &self.root, add) else { return };
        let gone = !there;
        if gone != self.gone {
            let title = self.watched.title();
            match (gone, self.watched.can_come_again()) {
                (true, true) => {
                    note!("pinwise: {title} has ended; {}, in case it comes back", I::WHILE_GONE);
                }
                (true, false) => note!("pinwise: {title} has ended"),
                (false, _) => note!("pinwise: {title} is running again"),
            }
        }
        self.gone = gone;
    }

    /// Reads, and hands on what came since the last reading that was taken in.
    fn read(&mut self, intake: &mut impl Intake) {
        let snapshot = self.counting.read();
        let (crowded, lost) = (self.counting.is_crowded(&snapshot), snapshot.lost_events());
        let now = of_snapshot(
            snapshot,
            &self.counting,
            &mut self.names,
            &self.new_processes,
            self.watched,
            self.watched.cpus(),
        );
        let before =
            self.before.take().unwrap_or_else(|| Account { to_ns: now.from_ns, ..Account::default() });
        let interval = Interval { account: now.since(&before), lost };
        match intake.take(&interval) {
            true => self.forget(now, &interval.account, crowded),
            false => self.before = Some(before),
        }
    }

    /// Makes the reading the last one. What is over is forgotten: the intake has it.
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
}

/// CPU time of this process so far, ns.
pub(super) fn own_cpu_ns() -> u64 {
    let own = clock_gettime(ClockId::ProcessCPUTime);
    // Neither is below 0, and the clock of a process does not reach 2 to the power of 64 ns, which is 584 years.
    (own.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(own.tv_nsec as u64)
}
