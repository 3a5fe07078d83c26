//! The kernel's account of a server within the measured window of an observed trial.

use std::time::{Duration, Instant};

use load::{LoadSpec, Outcome, monotonic_ns};
use machine::{FactId, Machine, Missing, ProcessRef, Root, processes};
use probe::account::{Account, Counting, Names, Nearness, Snapshot, Target, TracePoints};
use probe::requests::{Listening, Requests};
use probe::{Recording, ServerCounters, Surroundings};

use crate::observed_blocks::{self, Observed};
use crate::recipe::{Budget, Recipe};

/// The account ends so long before the load is to: a server that has nobody left to serve is no part of it.
const BEFORE_THE_END: Duration = Duration::from_millis(30);

/// Why no account can be taken here; `None`: it can.
pub fn why_not(machine: &Machine) -> Option<Missing> {
    let own = Target::Processes(vec![std::process::id()]);
    Counting::begin(&own, machine, &TracePoints::Best).err()
}

/// Part of a run, from its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Window {
    from: Duration,
    /// `None`: to the end of the run.
    to: Option<Duration>,
}

impl Window {
    /// A load of our own runs for as long as it should; a command or a sequence takes its time.
    fn of(load: &LoadSpec, budget: &Budget) -> Self {
        let warm_up = Duration::from_secs_f64(budget.warm_up_cap_s);
        let length = Duration::from_secs_f64(budget.window_s);
        match load {
            LoadSpec::Command(_) | LoadSpec::QueueFill(_) => Self { from: Duration::ZERO, to: None },
            _ => Self { from: warm_up, to: Some((warm_up + length).saturating_sub(BEFORE_THE_END)) },
        }
    }
}

/// Programs that count, and what was read of them at the ends of the window.
pub(in crate::engine) struct Accounting {
    counting: Counting,
    counters: ServerCounters,
    /// Of tasks, looked up while the programs beside the server still run.
    names: Names,
    server: ProcessRef,
    /// Of the server when it was ready: it may have started its workers before.
    pids: Vec<u32>,
    window: Window,
    /// When the load was started.
    began: Option<Instant>,
    /// With what surrounded the server then.
    first: Option<(Surroundings, Snapshot)>,
    last: Option<Snapshot>,
}

impl Accounting {
    /// Begins to count, before the load is started; at which futexes threads wait, too, if `locks`. All of it goes with the value.
    ///
    /// # Errors
    /// The kernel has no such programs, or does not permit them.
    pub fn begin(
        root: &Root,
        machine: &Machine,
        server: ProcessRef,
        recipe: &Recipe,
        locks: bool,
    ) -> Result<Self, Missing> {
        let pids =
            processes::find(root, &server.pid.to_string()).map_or(vec![server.pid], |found| found.pids);
        let counting = Counting::begin(&Target::Processes(pids.clone()), machine, &TracePoints::Best)?;
        let window = Window::of(&recipe.load, &recipe.budget);
        // The rate of a closed loop says what requests say, and each of them would pay for being counted.
        let listening = recipe
            .load
            .has_rate()
            .then(|| Listening::of(&processes::connections(root, &pids)).without_unix());
        let counters = ServerCounters::prepare(root, &pids, listening.as_ref());
        let counters = if locks { counters.and_futexes(&pids) } else { counters };
        let names = Names::of(machine);
        Ok(Self { counting, counters, names, server, pids, window, began: None, first: None, last: None })
    }

    /// The load sent its first request at `from_ns`, CLOCK_MONOTONIC. Said once it has: how long connections take to be made is no part of
    /// the run.
    pub fn load_began(&mut self, root: &Root, from_ns: u64) {
        if self.began.is_none() {
            let since = Duration::from_nanos(monotonic_ns().saturating_sub(from_ns));
            self.began = Instant::now().checked_sub(since);
            self.look(root);
        }
    }

    /// Reads what is due. To be called some ten times a second, and when [`wait`](Self::wait) is over.
    pub fn look(&mut self, root: &Root) {
        self.counting.harvest();
        let Some(ran) = self.began.map(|began| began.elapsed()) else { return };
        if self.first.is_none() && ran >= self.window.from {
            let (asked, title) = (self.server.pid.to_string(), format!("process {}", self.server.pid));
            let surroundings = Surroundings::read(root, Some(&asked), title, &self.pids);
            self.first = Some((surroundings, self.counting.read()));
            self.counters.start();
        }
        if self.last.is_none() && self.window.to.is_some_and(|to| ran >= to) {
            self.end();
        }
    }

    /// How long until something is due; at most `at_most`.
    pub fn wait(&self, at_most: Duration) -> Duration {
        let Some(ran) = self.began.map(|began| began.elapsed()) else { return at_most };
        let due = match (&self.first, &self.last) {
            (None, _) => Some(self.window.from),
            (Some(_), None) => self.window.to,
            _ => None,
        };
        due.map_or(at_most, |due| due.saturating_sub(ran).min(at_most))
    }

    /// Ends counting, where that was not done before: the load has ended.
    pub fn end(&mut self) {
        if self.last.is_none() {
            self.counting.stop();
            self.counters.stop();
            let last = self.counting.read();
            self.names.learn_tasks(&last);
            self.last = Some(last);
        }
    }

    /// Puts together what was seen, while the server still runs.
    ///
    /// # Errors
    /// The load ended before the window began.
    pub fn conclude(
        mut self,
        root: &Root,
        machine: &Machine,
        outcome: &Outcome,
        recording: &Recording,
    ) -> Result<Observed, Missing> {
        let (Some((surroundings, first)), Some(last)) = (self.first.take(), self.last.take()) else {
            let why =
                "the load ended before its warm-up was over: raise budget.window_s or the load's own length";
            return Err(Missing::new("the account of the server", why).identified(FactId::KernelEvents));
        };
        let mut names = self.names;
        names.learn(&first);
        names.learn(&last);
        let not_counted = self.counting.missing().to_vec();
        let of = |snapshot: &Snapshot| Account::of(snapshot, false, &names, &not_counted);
        let account = of(&last).since(&of(&first)).without_lengths();
        let nearness = Nearness::read(root, machine, || self.pids.clone(), &account.cpus);
        let account = account.with_nearness(nearness);
        let requests = observed_blocks::requests_between(outcome, account.from_ns, account.to_ns);
        let observation = recording.window(account.from_ns, account.to_ns);
        let mut situation = surroundings.close(root, Machine::default(), observation, Some(account));
        self.counters.end(&mut situation);
        situation.requests = situation.requests.map(Requests::without_lengths);
        Ok(Observed { requests, situation })
    }
}
