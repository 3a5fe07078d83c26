use super::super::condition::Trigger;
use super::*;
use crate::account::{Distribution, Interruptions, Source, Stretches, TaskAccount};

const MS: u64 = 1_000_000;

fn waits(count: u64, total_ns: u64, longest_ns: u64) -> Stretches {
    Stretches { count, total_ns, longest_ns: Some(longest_ns), ..Stretches::default() }
}

fn ran(total_ns: u64) -> Stretches {
    Stretches { count: 1, total_ns, ..Stretches::default() }
}

/// A second of one thread: 800 ms on a CPU, 100 ms preempted, 60 ms in the run queue, 40 ms blocked.
fn thread() -> ThreadAccount {
    ThreadAccount {
        tid: 1,
        on_cpu: ran(800 * MS),
        preempted: waits(10, 100 * MS, 12 * MS),
        run_queue: waits(20, 60 * MS, 8 * MS),
        blocked: ran(40 * MS),
        ..ThreadAccount::default()
    }
}

/// The same second of the machine: what the thread waited for was a hog, and one CPU had 30,000 interrupts.
fn interval(threads: Vec<ThreadAccount>) -> Account {
    let came = |count, total_ns| Interruptions {
        all: Stretches { count, total_ns, ..Stretches::default() },
        ..Interruptions::default()
    };
    let cpu = CpuAccount {
        cpu: 0,
        wall_ns: 1_000 * MS,
        interrupted_ns: 50 * MS,
        steal_ns: Some(20 * MS),
        untold_switches: 3,
        sources: [(Source::Tick, came(30_000, 0)), (Source::SoftirqRcu, came(900, 0))].into_iter().collect(),
        ..CpuAccount::default()
    };
    let other = CpuAccount { cpu: 1, wall_ns: 1_000 * MS, ..CpuAccount::default() };
    let hog = |comm: &str, pid, total_ns| TaskAccount {
        tid: pid,
        pid,
        comm: comm.into(),
        slices: 1,
        took: ran(total_ns),
        ..TaskAccount::default()
    };
    Account {
        from_ns: 5_000 * MS,
        to_ns: 6_000 * MS,
        threads,
        cpus: vec![cpu, other],
        tasks: vec![hog("hog", 7, 96 * MS), hog("hog", 8, 48 * MS), hog("hogwash", 9, 16 * MS)],
        ..Account::default()
    }
    .filled_up()
}

fn met(condition: &str, interval: &Account) -> Option<String> {
    condition.parse::<Trigger>().unwrap().met(interval).map(|seen| seen.to_string())
}

#[test]
fn a_condition_is_met_with_what_was_seen() {
    let interval = interval(vec![thread()]);
    let is = |condition: &str, seen: &str| {
        assert_eq!(met(condition, &interval).as_deref(), Some(seen), "{condition}")
    };
    is("preempted > 9.9%", "10%");
    is("run queue >= 6%", "6%");
    is("blocked > 3%", "4%");
    is("throttled < 1%", "0%");
    is("run queue > 5ms", "8ms");
    is("preempted > 5ms", "12ms");
    is("wait > 11ms", "12ms");
    is("taker hog > 14%", "15%");
    is("interrupts > 2%", "2.5%");
    is("interrupts/s > 20000", "30000");
    is("steal > 1.9%", "2%");
    is("unreported switches >= 3", "3");
}

#[test]
fn one_that_does_not_hold_is_not_met() {
    let interval = interval(vec![thread()]);
    for condition in [
        "preempted > 10%",
        "run queue > 8ms",
        "wait > 12ms",
        "throttled > 0%",
        "taker hog > 15%",
        "taker hogw > 0%",
        "interrupts/s > 30000",
        "steal > 2%",
        "unreported switches > 3",
    ] {
        assert_eq!(met(condition, &interval), None, "{condition}");
    }
}

#[test]
fn what_is_not_known_meets_nothing() {
    let without_target = interval(Vec::new());
    for figure in ["run queue", "preempted", "wait", "p99 wait", "mean run queue"] {
        for comparison in [">= 0us", "< 1000s"] {
            assert_eq!(met(&format!("{figure} {comparison}"), &without_target), None, "{figure}");
        }
    }
    let nothing = Account::default();
    for condition in
        ["steal < 100%", "interrupts < 100%", "interrupts/s < 1", "blocked < 100%", "preempted >= 0%"]
    {
        assert_eq!(met(condition, &nothing), None, "{condition}");
    }
}

#[test]
fn a_longest_wait_that_is_known_within_bounds_is_met_only_beyond_them() {
    let mut lengths = Distribution::default();
    lengths.insert(9 * MS);
    let run_queue = Stretches { longest_ns: None, longest_at_most_ns: Some(10 * MS), ..waits(1, 9 * MS, 0) };
    let waited = ThreadAccount { run_queue, off_cpu_lengths: lengths, ..ThreadAccount::default() };
    let alone = interval(vec![waited.clone()]);
    let seen = Figure::Longest(Wait::RunQueue).seen(&alone).unwrap();
    assert!(seen.at_least > 8 * MS && seen.at_least <= 9 * MS && seen.at_most == 10 * MS, "{seen:?}");
    assert!(met("run queue > 8ms", &alone).is_some());
    assert!(met("run queue > 9ms", &alone).is_none() && met("run queue < 10ms", &alone).is_none());
    // Where it was preempted as well, the sorted length may be that of the other wait.
    let both = interval(vec![ThreadAccount { preempted: waits(1, MS, MS), ..waited }]);
    let seen = Figure::Longest(Wait::RunQueue).seen(&both).unwrap();
    assert_eq!((seen.at_least, seen.at_most), (9 * MS / 2, 10 * MS));
    assert!(Figure::LongestWait.seen(&both).unwrap().at_least > 8 * MS);
}

#[test]
fn the_99th_percentile_lies_within_its_step() {
    let mut lengths = Distribution::default();
    (0..990).for_each(|_| lengths.insert(MS));
    (0..20).for_each(|_| lengths.insert(20 * MS));
    let waited = ThreadAccount { off_cpu_lengths: lengths, ..thread() };
    let interval = interval(vec![waited]);
    let seen = Figure::P99Wait.seen(&interval).unwrap();
    assert!(seen.at_least <= 20 * MS && seen.at_most >= 20 * MS && seen.at_most < 25 * MS, "{seen:?}");
    assert!(met("p99 wakeup > 10ms", &interval).is_some() && met("p99 wakeup > 20ms", &interval).is_none());
}

#[test]
fn waiting_of_which_nobody_knows_the_taker_may_be_anybodys() {
    let unknown = Account { taken_by_unknown_ns: 96 * MS, ..interval(vec![thread()]) }.filled_up();
    let seen = Figure::Taker("hog".into()).seen(&unknown).unwrap();
    assert_eq!((seen.at_least, seen.at_most), (150_000, 250_000));
    assert_eq!(met("taker nobody < 1%", &unknown), None);
    assert!(met("taker nobody < 1%", &interval(vec![thread()])).is_some());
}

#[test]
fn no_numbers_of_a_ring_make_it_panic() {
    let most = Stretches {
        longest_at_most_ns: Some(u64::MAX),
        ..Stretches { count: u64::MAX, total_ns: u64::MAX, ..Stretches::default() }
    };
    let thread = ThreadAccount {
        on_cpu: most,
        preempted: most,
        run_queue: most,
        throttled: most,
        blocked: most,
        ..thread()
    };
    let account =
        Account { from_ns: u64::MAX, to_ns: 0, ..interval(vec![thread.clone(), thread]) }.filled_up();
    for condition in [
        "wait > 1s",
        "preempted > 1%",
        "taker hog > 1%",
        "interrupts/s > 1",
        "interrupts > 1%",
        "p99 wait > 1s",
    ] {
        let _ = met(condition, &account);
    }
}
