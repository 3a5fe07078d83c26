//! One interval after the other, for days: what is over is forgotten once it was handed on.

use std::collections::{BTreeMap, BTreeSet};

use machine::{Machine, Root};
use probe::account::{Account, Counting, Names};

use super::super::account::not_counted;
use super::super::new_processes::NewProcesses;
use super::super::target::Watched;
use crate::notes::note;

/// What was counted since the interval before.
pub(super) struct Interval {
    /// All that is new.
    pub(super) account: Account,
    /// Events that were left out since counting began.
    pub(super) lost: BTreeMap<&'static str, u64>,
}

/// A counting that is read in intervals.
pub(super) struct Intervals<'a> {
    counting: Counting,
    names: Names,
    root: Root,
    watched: &'a Watched,
    /// Everything up to the end of the last interval.
    before: Option<Account>,
    new_processes: NewProcesses,
    /// Whether the target has ended.
    gone: bool,
}

impl<'a> Intervals<'a> {
    /// The first begins when counting began.
    pub(super) fn begin(counting: Counting, machine: &Machine, watched: &'a Watched) -> Self {
        Self {
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

    /// Whether nothing more can come: the target has ended, and cannot be there again.
    pub(super) fn is_over(&self) -> bool {
        self.gone && !self.watched.can_come_again()
    }

    /// Ends counting.
    pub(super) fn stop(&mut self) {
        self.counting.stop();
    }

    /// To be called some ten times a second: takes threads that ended out of their table, and looks for new processes.
    pub(super) fn look(&mut self) {
        self.counting.harvest();
        let add = |numbers: &[u32]| self.counting.add(numbers);
        let Some(there) = self.new_processes.look(self.watched, &self.root, add) else { return };
        let gone = !there;
        if gone != self.gone {
            let what = match (gone, self.watched.can_come_again()) {
                (true, true) => "has ended; its metrics stay, for it may come again",
                (true, false) => "has ended",
                (false, _) => "is there again",
            };
            note!("pinwise: {} {what}", self.watched.title());
        }
        self.gone = gone;
    }

    /// What came since the last call.
    pub(super) fn read(&mut self) -> Interval {
        let mut snapshot = self.counting.read();
        let (crowded, lost) = (self.counting.is_crowded(&snapshot), snapshot.lost_events());
        if let Some(cpus) = self.watched.cpus() {
            snapshot = snapshot.on(cpus);
        }
        self.names.learn(&snapshot);
        let missing = not_counted(&self.counting, &self.new_processes, self.watched);
        let now = Account::of(&snapshot, self.watched.is_everything(), &self.names, &missing);
        let now = self.counting.with_counted(now, self.watched.cpus());
        let before =
            self.before.take().unwrap_or_else(|| Account { to_ns: now.from_ns, ..Account::default() });
        let account = now.since(&before);
        self.forget(now, &account, crowded);
        Interval { account, lost }
    }

    /// Makes the reading the last one.
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
