//! What the threads of the server did, added up.

use std::collections::BTreeMap;

use probe::account::{Account, Migrations, ThreadAccount};

use super::bounded::Bounded;
use super::families;
use super::label_text::{of_group, of_kind, of_name};
use super::lengths::Lengths;
use super::page::Page;

/// States of a thread, which add up to its time.
const STATES: [&str; 6] = ["on_cpu", "preempted", "run_queue", "throttled", "asleep", "blocked"];

/// How far a migration goes.
const DISTANCES: [&str; 5] = ["same_core", "same_cache", "same_node", "across_nodes", "unknown"];

/// Names of threads that are kept apart.
const MOST_GROUPS: usize = 20;

/// The name of the rest.
pub(super) const OTHER: &str = "other";

/// Sums of all threads, those that ended among them.
pub(super) struct OfServer {
    /// Whether any thread was seen: else there is nothing to say, and no 0.
    seen: bool,
    living: u64,
    times_ns: [u64; 6],
    stretches: [u64; 6],
    interrupted_ns: u64,
    asleep_ns: BTreeMap<String, u64>,
    migrations: [u64; 5],
    groups: Bounded<String, [u64; 6]>,
    waits: Lengths,
    slices: Lengths,
    /// Wake-ups by C-state, and their time in ns.
    from_idle: BTreeMap<String, (u64, u64)>,
}

impl OfServer {
    pub(super) fn new() -> Self {
        Self {
            seen: false,
            living: 0,
            times_ns: [0; 6],
            stretches: [0; 6],
            interrupted_ns: 0,
            asleep_ns: BTreeMap::new(),
            migrations: [0; 5],
            groups: Bounded::new(MOST_GROUPS, OTHER.into()),
            waits: Lengths::default(),
            slices: Lengths::default(),
            from_idle: BTreeMap::new(),
        }
    }

    /// Whether there is a server.
    pub(super) fn is_seen(&self) -> bool {
        self.seen
    }

    /// Adds an interval.
    pub(super) fn add(&mut self, interval: &Account) {
        self.living = interval.threads.iter().filter(|thread| !thread.ended).count() as u64;
        for thread in &interval.threads {
            self.seen = true;
            self.add_thread(thread);
            add_all(self.groups.sum(of_group(&thread.comm), interval.to_ns), times_ns(thread));
        }
    }

    fn add_thread(&mut self, thread: &ThreadAccount) {
        add_all(&mut self.times_ns, times_ns(thread));
        add_all(&mut self.stretches, stretches(thread));
        add_all(&mut self.migrations, by_distance(&thread.migrations));
        add(&mut self.interrupted_ns, thread.interrupted_ns);
        for (reason, part) in &thread.asleep_for {
            add(self.asleep_ns.entry(of_kind(reason)).or_default(), part.total_ns);
        }
        self.waits
            .add_of(&thread.off_cpu_lengths, &[&thread.preempted, &thread.run_queue, &thread.throttled]);
        self.slices.add_of(&thread.on_cpu_lengths, &[&thread.on_cpu]);
        for state in &thread.from_idle {
            let name = state.name.as_deref().map_or_else(|| state.state.to_string(), of_name);
            let (count, total_ns) = self.from_idle.entry(name).or_default();
            add(count, state.count);
            add(total_ns, state.total_ns);
        }
    }

    /// Shows it, where there is a server.
    pub(super) fn show(&self, page: &mut Page) {
        if !self.seen {
            return;
        }
        page.of(&families::THREADS).number(&[], self.living);
        let mut times = page.of(&families::SERVER_TIME);
        STATES.iter().zip(self.times_ns).for_each(|(state, ns)| times.time(&[("state", state)], ns));
        let mut counts = page.of(&families::SERVER_STRETCHES);
        STATES
            .iter()
            .zip(self.stretches)
            .for_each(|(state, count)| counts.number(&[("state", state)], count));
        page.of(&families::SERVER_INTERRUPTED).time(&[], self.interrupted_ns);
        let mut asleep = page.of(&families::SERVER_ASLEEP);
        self.asleep_ns.iter().for_each(|(reason, ns)| asleep.time(&[("reason", reason)], *ns));
        let mut migrations = page.of(&families::MIGRATIONS);
        DISTANCES
            .iter()
            .zip(self.migrations)
            .for_each(|(distance, count)| migrations.number(&[("distance", distance)], count));
        self.show_groups(page);
        page.of(&families::WAIT).lengths(&[], &self.waits);
        page.of(&families::SLICE).lengths(&[], &self.slices);
        let mut wakeups = page.of(&families::FROM_IDLE);
        self.from_idle.iter().for_each(|(state, (count, _))| wakeups.number(&[("state", state)], *count));
        let mut wakeup_times = page.of(&families::FROM_IDLE_TIME);
        self.from_idle.iter().for_each(|(state, (_, ns))| wakeup_times.time(&[("state", state)], *ns));
    }

    fn show_groups(&self, page: &mut Page) {
        let mut groups = page.of(&families::GROUP_TIME);
        for (group, times_ns) in self.groups.iter() {
            for (state, ns) in STATES.iter().zip(times_ns) {
                groups.time(&[("group", group), ("state", state)], *ns);
            }
        }
    }
}

/// In the order of [`STATES`], ns.
fn times_ns(thread: &ThreadAccount) -> [u64; 6] {
    [
        thread.had_ns(),
        thread.preempted.total_ns,
        thread.run_queue.total_ns,
        thread.throttled.total_ns,
        thread.asleep.total_ns,
        thread.blocked.total_ns,
    ]
}

/// In the order of [`STATES`].
fn stretches(thread: &ThreadAccount) -> [u64; 6] {
    let ThreadAccount { on_cpu, preempted, run_queue, throttled, asleep, blocked, .. } = thread;
    [on_cpu, preempted, run_queue, throttled, asleep, blocked].map(|part| part.count)
}

/// In the order of [`DISTANCES`].
fn by_distance(migrations: &Migrations) -> [u64; 5] {
    let Migrations { same_core, same_cache, same_node, across_nodes, unknown } = *migrations;
    [same_core, same_cache, same_node, across_nodes, unknown]
}

fn add_all<const N: usize>(sums: &mut [u64; N], more: [u64; N]) {
    sums.iter_mut().zip(more).for_each(|(sum, more)| add(sum, more));
}

/// A sum that stays where it can grow no further.
pub(super) fn add(sum: &mut u64, more: u64) {
    *sum = sum.saturating_add(more);
}
