//! Summing up waits at futexes, while that goes on.

use std::collections::BTreeMap;
use std::mem::offset_of;

use machine::Missing;

use super::waits::{Futex, FutexKind, FutexWaits, MOST_FRAMES, MOST_FUTEXES, MOST_STACKS, WaitStacks};
use crate::account::collect::target::same_numbers;
use crate::account::{Part, Target};
use crate::bpf::{
    Loaded, LockKey, LockSum, LockTables, Record as _, StackControl, load_locks, lock_kind, stack_hash,
    wait_end,
};
use crate::clock;
use crate::stacks::{Frames, NamedStacks, Naming, maps, place, want};

/// The fact that is missing where nothing can be counted.
const FACT: &str = "locks: at which futexes threads wait";

/// Sums up waits of the threads of a server at futexes; ends with this.
pub struct CountingFutexes {
    loaded: Loaded,
    tables: LockTables,
    naming: Naming,
    /// What could not be looked at when counting began or ended.
    missing: Vec<Missing>,
}

impl CountingFutexes {
    /// Gets ready to count for all threads of these processes, and of those that they start.
    ///
    /// # Errors
    /// The kernel does not report its types (BTF) or does not permit it, or the processes are too many: which, and the remedy.
    pub fn prepare(pids: &[u32]) -> Result<Self, Missing> {
        let because = |missing: Missing| Missing::new(FACT, missing.why);
        let target = Target::Processes(pids.to_vec());
        same_numbers(&target).map_err(because)?;
        let mut loaded = load_locks().map_err(because)?;
        let mut tables = LockTables::open(&mut loaded).map_err(because)?;
        let mut naming = Naming::begin();
        want(&mut tables.wanted, &target, &mut naming).map_err(because)?;
        let mut counting = Self { loaded, tables, naming, missing: Vec::new() };
        // Twice: a thread that is born meanwhile, of a parent that was not known yet, is met the second time.
        counting.walk();
        counting.walk();
        Ok(counting)
    }

    fn walk(&mut self) {
        self.missing.extend(self.loaded.walk_tasks().err());
    }

    /// Counts from now on.
    pub fn start(&mut self) {
        self.tables.control.set_word(0, offset_of!(StackControl, began_ns), clock::monotonic_ns());
        self.walk();
    }

    /// Counts no longer; waits that go on are summed up until now.
    pub fn stop(&mut self) {
        self.tables.control.set_word(0, offset_of!(StackControl, ended_ns), clock::monotonic_ns());
        self.walk();
    }

    /// What was seen between the two, with names. The processes should still be there.
    pub fn end(mut self) -> FutexWaits {
        let (mut sums, mut missing) = (Vec::new(), std::mem::take(&mut self.missing));
        for entry in self.tables.locks.iter() {
            match entry {
                Ok(entry) => sums.push(entry),
                Err(e) => missing.push(Missing::new("some waits at futexes", e)),
            }
        }
        let stacks = sums
            .iter()
            .filter(|(key, _)| key.end == wait_end::RELEASED)
            .flat_map(|(key, _)| [(key.tgid, key.waiter_stack), (key.tgid, key.releaser_stack)]);
        let (named, nameless) = NamedStacks::of(&self.tables.stacks, stacks.collect(), &[], &mut self.naming);
        missing.extend(nameless);
        missing.extend(self.not_counted());
        let name = |pid: u32, hash: u64| innermost(named.user(pid, hash));
        let mut waits = summed(&sums, name);
        let mut mapped = BTreeMap::new();
        for futex in &mut waits.futexes {
            let maps = mapped.entry(futex.pid).or_insert_with(|| maps(futex.pid));
            futex.place = place(maps, futex.address);
        }
        FutexWaits { missing, ..waits }
    }

    /// What the programs could not count, and why.
    fn not_counted(&self) -> Option<Missing> {
        let control = self.tables.control.get(0).unwrap_or_else(StackControl::zeroed);
        let lost = control.lost_sums.saturating_add(control.lost_stacks).saturating_add(control.lost_threads);
        (lost > 0)
            .then(|| Missing::new("some waits at futexes", format_args!("a table was full: {lost} times")))
    }
}

/// The innermost frames that are known.
fn innermost(frames: Frames) -> Vec<String> {
    match frames {
        Frames::Known(mut names) => names.split_off(names.len().saturating_sub(MOST_FRAMES)),
        Frames::NotTaken | Frames::Lost => Vec::new(),
    }
}

/// One futex while it is added up.
#[derive(Default)]
struct Adding {
    futex: Futex,
    /// Time by kind.
    kinds: BTreeMap<FutexKind, u64>,
    /// By the names of both stacks: those of different hashes can be the same.
    stacks: BTreeMap<(Vec<String>, Vec<String>), Part>,
}

impl Adding {
    fn add(&mut self, key: &LockKey, sum: &LockSum, name: &impl Fn(u32, u64) -> Vec<String>) {
        let waits = Part { count: sum.count, total_ns: sum.ns };
        let of_kind = self.kinds.entry(kind(key.kind)).or_default();
        *of_kind = of_kind.saturating_add(sum.ns);
        let futex = &mut self.futex;
        match key.end {
            wait_end::GOES_ON => futex.going_on = plus(futex.going_on, waits),
            wait_end::RELEASED => {
                futex.released = plus(futex.released, waits);
                futex.by_waiters = futex.by_waiters.saturating_add(sum.by_waiters);
                futex.held_ns = futex.held_ns.saturating_add(sum.held_ns);
                futex.holder_asleep_ns = futex.holder_asleep_ns.saturating_add(sum.holder_asleep_ns);
                futex.holder_waiting_ns = futex.holder_waiting_ns.saturating_add(sum.holder_waiting_ns);
                if key.waiter_stack != stack_hash::NOT_TAKEN {
                    futex.sampled = plus(futex.sampled, waits);
                    let stacks = (name(key.tgid, key.waiter_stack), name(key.tgid, key.releaser_stack));
                    let of_stacks = self.stacks.entry(stacks).or_default();
                    *of_stacks = plus(*of_stacks, waits);
                }
            }
            _ => futex.broken_off = plus(futex.broken_off, waits),
        }
    }

    fn futex(self) -> Futex {
        let kind =
            self.kinds.into_iter().max_by_key(|(_, ns)| *ns).map_or(FutexKind::Unknown, |(kind, _)| kind);
        let mut stacks: Vec<WaitStacks> = self
            .stacks
            .into_iter()
            .map(|((waiter, releaser), waits)| WaitStacks { waiter, releaser, waits })
            .collect();
        stacks.sort_by_key(|stacks| std::cmp::Reverse(stacks.waits.total_ns));
        stacks.truncate(MOST_STACKS);
        Futex { kind, stacks, ..self.futex }
    }
}

/// Sums by address. Those that were released come first: threads that wait for work all the time have more time than any lock.
fn summed(sums: &[(LockKey, LockSum)], name: impl Fn(u32, u64) -> Vec<String>) -> FutexWaits {
    let mut all: BTreeMap<(u32, u64), Adding> = BTreeMap::new();
    for (key, sum) in sums {
        let adding = all.entry((key.tgid, key.address)).or_insert_with(|| Adding {
            futex: Futex { pid: key.tgid, address: key.address, ..Futex::default() },
            ..Adding::default()
        });
        adding.add(key, sum, &name);
    }
    let mut futexes: Vec<Futex> = all.into_values().map(Adding::futex).collect();
    futexes.sort_by_key(|futex| std::cmp::Reverse((futex.released.total_ns, futex.waited_ns())));
    let others = futexes.split_off(futexes.len().min(MOST_FUTEXES));
    let others_ns = others.iter().fold(0u64, |sum, futex| sum.saturating_add(futex.waited_ns()));
    FutexWaits { futexes, others_ns, missing: Vec::new() }
}

fn plus(one: Part, other: Part) -> Part {
    Part {
        count: one.count.saturating_add(other.count),
        total_ns: one.total_ns.saturating_add(other.total_ns),
    }
}

fn kind(number: u32) -> FutexKind {
    match number {
        lock_kind::MUTEX => FutexKind::Mutex,
        lock_kind::PRIORITY => FutexKind::PriorityInheritance,
        _ => FutexKind::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(address: u64, end: u32) -> LockKey {
        LockKey { address, tgid: 7, kind: lock_kind::MUTEX, end, waiter_stack: 100, ..LockKey::zeroed() }
    }

    fn sum(count: u64, ns: u64) -> LockSum {
        LockSum { count, ns, by_waiters: count, holder_asleep_ns: 3, ..LockSum::zeroed() }
    }

    fn name(_: u32, hash: u64) -> Vec<String> {
        vec![format!("f{}", hash / 100)]
    }

    #[test]
    fn sums_of_an_address_come_together_and_stacks_of_the_same_names_too() {
        let other_stack = LockKey { waiter_stack: 150, ..key(16, wait_end::RELEASED) };
        let once = LockKey { kind: 0, releaser_stack: 300, ..key(16, wait_end::RELEASED) };
        let waits = summed(
            &[
                (key(16, wait_end::RELEASED), sum(2, 100)),
                (other_stack, sum(1, 50)),
                (once, sum(1, 10)),
                (key(16, 1), sum(1, 5)),
                (LockKey { waiter_stack: 0, ..key(16, wait_end::RELEASED) }, sum(3, 30)),
                (key(16, wait_end::GOES_ON), sum(1, 7)),
                (key(32, wait_end::GOES_ON), sum(1, 1_000)),
            ],
            name,
        );
        let futex = &waits.futexes[0];
        assert_eq!((futex.address, futex.kind, futex.waited_ns()), (16, FutexKind::Mutex, 202));
        assert_eq!((futex.released, futex.share_by_waiters()), (Part { count: 7, total_ns: 190 }, Some(1.0)));
        assert_eq!((futex.holder_asleep_ns, futex.sampled.total_ns), (12, 160));
        let stacks: Vec<(&str, &str, u64)> = futex
            .stacks
            .iter()
            .map(|stacks| (stacks.waiter[0].as_str(), stacks.releaser[0].as_str(), stacks.waits.total_ns))
            .collect();
        assert_eq!(stacks, [("f1", "f0", 150), ("f1", "f3", 10)]);
        // Nobody released it: it comes last, however long that was.
        assert_eq!((waits.futexes[1].address, waits.futexes[1].share_by_waiters()), (32, None));
    }

    #[test]
    fn the_rest_is_one_sum_and_forged_sums_have_an_end() {
        let sums: Vec<(LockKey, LockSum)> =
            (0..40).map(|at| (key(at, wait_end::RELEASED), sum(u64::MAX, u64::MAX - at))).collect();
        let waits = summed(&[sums.clone(), sums].concat(), name);
        assert_eq!((waits.futexes.len(), waits.others_ns), (MOST_FUTEXES, u64::MAX));
        assert_eq!(summed(&[], name), FutexWaits::default());
    }

    #[test]
    fn the_innermost_frames_are_kept() {
        let names: Vec<String> = (0..20).map(|at| at.to_string()).collect();
        assert_eq!(innermost(Frames::Known(names.clone())), names[12..]);
        assert!(innermost(Frames::Lost).is_empty());
    }
}
