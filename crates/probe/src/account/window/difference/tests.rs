use proptest::prelude::*;

use super::*;
use crate::account::{
    CountedInterrupts, CpuAccount, Distribution, Extreme, FunctionAccount, FunctionKind, Interruptions,
    IntervalSum, Part, Route, SleepReason, Source, Stretches, TaskAccount, ThreadAccount,
};
use crate::bpf::{StretchesSeen, Tally};

fn stretches(count: u64, total_ns: u64) -> Stretches {
    Stretches { count, total_ns, mean_ns: Some(1.0), longest_ns: Some(9), ..Stretches::default() }
}

fn account(window_s: f64, ticks: u64, on_ns: u64, ended: bool) -> Account {
    let seen = Interruptions { all: stretches(ticks, 10 * ticks), ..Interruptions::default() };
    let thread = ThreadAccount {
        tid: 7,
        ended,
        wall_ns: (window_s * 1e9) as u64,
        on_cpu: stretches(1, on_ns),
        ..ThreadAccount::default()
    };
    let cpu =
        CpuAccount { cpu: 0, sources: [(Source::Tick, seen)].into_iter().collect(), ..CpuAccount::default() };
    Account { window_s, threads: vec![thread], cpus: vec![cpu], ..Account::default() }
}

#[test]
fn counts_and_times_are_differences() {
    let between = account(3.0, 50, 700, false).since(&account(1.0, 20, 300, false));
    assert_eq!(between.window_s, 2.0);
    let tick = &between.cpus[0].sources.get(Source::Tick).unwrap();
    assert_eq!((tick.all.count, tick.all.total_ns, tick.all.mean_ns), (30, 300, Some(10.0)));
    assert_eq!(between.threads[0].on_cpu.total_ns, 400);
    assert_eq!(between.together.map(|all| all.wall_ns), Some(2_000_000_000));
}

#[test]
fn counts_without_times_are_differences_and_add_up_again() {
    let at = |loc: u64, ipi: u64| {
        let row = |cpu: u32, name: &str, count: u64| CountedInterrupts {
            cpu,
            name: name.into(),
            label: String::new(),
            count,
        };
        Account { counted_only: vec![row(0, "LOC", loc), row(1, "IPI0", ipi)], ..Account::default() }
    };
    let counts = |account: &Account| -> Vec<(String, u64)> {
        account.counted_only.iter().map(|row| (row.name.clone(), row.count)).collect()
    };
    let named = |loc: u64, ipi: u64| vec![("IPI0".to_string(), ipi), ("LOC".to_string(), loc)];
    let (first, second) = (at(10, 5), at(17, 5).since(&at(10, 5)));
    assert_eq!(counts(&second), [("LOC".to_string(), 7)]);
    let mut whole = IntervalSum::default();
    whole.add(first);
    whole.add(second);
    assert_eq!(counts(&whole.account()), named(17, 5));
    // Rings of before have no such table.
    let json = serde_json::to_string(&Account::default()).unwrap();
    assert!(!json.contains("counted_only"));
    assert_eq!(serde_json::from_str::<Account>(&json).unwrap(), Account::default());
}

#[test]
fn what_was_slept_for_adds_up_to_all_sleep_however_it_is_cut() {
    let at = |parts: &[(SleepReason, u64, u64)]| {
        let parts = parts
            .iter()
            .map(|(reason, count, total_ns)| (*reason, Part { count: *count, total_ns: *total_ns }));
        let asleep_for: std::collections::BTreeMap<_, _> = parts.collect();
        let asleep = Stretches::all_of(asleep_for.values());
        let thread = ThreadAccount { tid: 7, asleep, asleep_for, ..ThreadAccount::default() };
        Account { threads: vec![thread], ..Account::default() }
    };
    let first = at(&[(SleepReason::Input, 3, 30), (SleepReason::Timer, 1, 50)]);
    let last = at(&[(SleepReason::Futex, 1, 4), (SleepReason::Input, 3, 75), (SleepReason::Timer, 1, 50)]);
    let between = last.since(&first);
    let part = |count, total_ns| Part { count, total_ns };
    // What goes on was counted before; what did not go on is left out.
    let expected = [(SleepReason::Futex, part(1, 4)), (SleepReason::Input, part(0, 45))].into();
    assert_eq!(between.threads[0].asleep_for, expected);
    let mut whole = IntervalSum::default();
    whole.add(first.clone());
    whole.add(between.clone());
    assert_eq!(whole.account().threads[0].asleep_for, last.threads[0].asleep_for);
    for account in [first, between, last] {
        let thread = &account.threads[0];
        let all = Stretches::all_of(thread.asleep_for.values());
        assert_eq!((all.count, all.total_ns), (thread.asleep.count, thread.asleep.total_ns));
    }
}

#[test]
fn a_thread_of_a_ring_that_does_not_say_what_it_slept_for_is_read() {
    let asleep = Stretches { count: 1, total_ns: 5, ..Stretches::default() };
    let thread = ThreadAccount { asleep, ..ThreadAccount::default() };
    let json = serde_json::to_string(&thread).unwrap();
    assert!(!json.contains("asleep_for"));
    assert_eq!(serde_json::from_str::<ThreadAccount>(&json).unwrap(), thread);
    let part = Part { count: 1, total_ns: 5 };
    let reported = ThreadAccount { asleep_for: [(SleepReason::Input, part)].into(), ..thread };
    let json = serde_json::to_value(&reported).unwrap();
    assert_eq!(json["asleep_for"], serde_json::json!({ "input": { "count": 1, "total_ns": 5 } }));
    assert_eq!(serde_json::from_value::<ThreadAccount>(json).unwrap(), reported);
}

#[test]
fn what_stood_still_is_left_out() {
    let twice = account(1.0, 20, 300, false);
    assert!(twice.since(&twice).cpus[0].sources.is_empty());
}

#[test]
fn a_slice_that_goes_on_through_the_whole_interval_is_counted() {
    // With a target, only what a task took is counted: nothing else of this row moves until its slice ends.
    let hog = |ns| TaskAccount {
        tid: 7,
        slices: 1,
        took: seen(&[ns]),
        took_by_cpu: [(0, ns)].into(),
        ..TaskAccount::default()
    };
    let with = |task| Account { tasks: vec![task], ..account(1.0, 20, 300, false) };
    let since = with(hog(900)).since(&with(hog(400)));
    assert_eq!(since.tasks.iter().map(|task| task.took.total_ns).collect::<Vec<_>>(), [500]);
    assert_eq!(since.tasks[0].took_by_cpu, [(0, 500)].into());
    assert!(with(hog(900)).since(&with(hog(900))).tasks.is_empty());
}

#[test]
fn a_thread_that_ended_is_told_once() {
    let alive = account(1.0, 20, 300, false);
    let ended = account(2.0, 20, 400, true);
    assert_eq!(ended.since(&alive).threads[0].on_cpu.total_ns, 100);
    assert!(account(3.0, 20, 400, true).since(&ended).threads.is_empty());
}

#[test]
fn a_number_that_another_thread_has_now_is_not_taken_for_the_one_before() {
    let ended = account(2.0, 20, 400, true);
    let mut later = account(3.0, 20, 70, true);
    later.threads[0].began_ns = 5;
    let both = Account { threads: [ended.threads.clone(), later.threads].concat(), ..ended.clone() };
    let since = both.since(&ended);
    assert_eq!(since.threads.iter().map(|thread| thread.on_cpu.total_ns).collect::<Vec<_>>(), [70]);
}

/// What happened in an interval: slices of two threads (the last may go on into the next), interrupts, functions, what a task
/// took, and routes.
#[derive(Debug, Clone)]
struct Happened {
    slices: [Vec<u64>; 2],
    goes_on: Option<u64>,
    interrupts: Vec<u64>,
    functions: Vec<(bool, u64)>,
    took: Vec<u64>,
    routes: Vec<(u32, u32)>,
    ends: bool,
}

fn lengths() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(1..5_000_u64, 0..5)
}

fn happened() -> impl Strategy<Value = Happened> {
    let slices = (lengths(), lengths(), prop::option::of(1..9_000_u64));
    let others = (lengths(), prop::collection::vec((any::<bool>(), 1..5_000_u64), 0..4), lengths());
    let routes = prop::collection::vec((0..2_u32, 0..2_u32), 0..4);
    (slices, others, routes, prop::bool::weighted(0.1)).prop_map(
        |((a, b, goes_on), (i, f, t), routes, ends)| Happened {
            slices: [a, b],
            goes_on,
            interrupts: i,
            functions: f,
            took: t,
            routes,
            ends,
        },
    )
}

fn tally(lengths: &[u64]) -> Tally {
    Tally {
        count: lengths.len() as u64,
        total_ns: lengths.iter().sum(),
        shortest_ns: lengths.iter().copied().min().unwrap_or(0),
        longest_ns: lengths.iter().copied().max().unwrap_or(0),
    }
}

fn seen(lengths: &[u64]) -> Stretches {
    let Tally { count, total_ns, longest_ns, .. } = tally(lengths);
    Stretches::without_shortest(&StretchesSeen { count, total_ns, longest_ns })
}

fn distribution(lengths: &[u64]) -> Distribution {
    let mut sorted = Distribution::default();
    lengths.iter().for_each(|ns| sorted.insert(*ns));
    sorted
}

fn all<T: Clone>(past: &[Happened], of: impl Fn(&Happened) -> Vec<T>) -> Vec<T> {
    past.iter().flat_map(of).collect()
}

/// Slices that ended, and the one that goes on: it goes on from the intervals before where those had one that never ended.
fn slices(past: &[Happened], thread: usize) -> (Vec<u64>, Option<u64>) {
    let (mut ended, mut goes_on) = (Vec::new(), None::<u64>);
    // The second does nothing more once it has ended.
    let lived =
        past.iter().position(|happened| thread == 1 && happened.ends).map_or(past.len(), |last| last + 1);
    for happened in &past[..lived] {
        let mut fresh = happened.slices[thread].clone();
        if let (Some(begun), Some(first)) = (goes_on, fresh.first_mut()) {
            *first += begun;
            goes_on = None;
        }
        ended.extend(fresh);
        goes_on = match (goes_on, happened.goes_on.filter(|_| thread == 0)) {
            (Some(begun), more) => Some(begun + more.unwrap_or(1)),
            (None, more) => more,
        };
    }
    (ended, goes_on)
}

fn thread(past: &[Happened], number: usize) -> ThreadAccount {
    let (ended, goes_on) = slices(past, number);
    let on_cpu = goes_on.iter().fold(seen(&ended), |sum, ns| sum.and(*ns));
    let gone = number == 1 && past.iter().any(|happened| happened.ends);
    ThreadAccount {
        tid: number as u32,
        ended: gone,
        wall_ns: on_cpu.total_ns,
        on_cpu_lengths: distribution(&ended),
        on_cpu: on_cpu.sorted_by(&distribution(&ended)),
        page_faults: Some(ended.len() as u64),
        ..ThreadAccount::default()
    }
}

/// The account since counting began, after these intervals.
fn after(past: &[Happened]) -> Account {
    partly_after(past, past)
}

/// The same, of which lengths of interrupts and functions were read only of the first of these intervals.
fn partly_after(past: &[Happened], whole: &[Happened]) -> Account {
    let interrupts = all(past, |happened| happened.interrupts.clone());
    let lengths = distribution(&all(whole, |happened| happened.interrupts.clone()));
    let tick = Interruptions {
        all: Stretches::of(&tally(&interrupts)).sorted_by(&lengths),
        lengths,
        ..Interruptions::default()
    };
    let functions = [false, true].map(|which| {
        let ran =
            all(whole, |h| h.functions.iter().filter(|(of, _)| *of == which).map(|(_, ns)| *ns).collect());
        FunctionAccount {
            kind: FunctionKind::Timer,
            name: format!("{which}").into(),
            cpu: 0,
            ran: Stretches::of(&tally(&ran)),
        }
    });
    let took = all(past, |happened| happened.took.clone());
    let task = TaskAccount { tid: 9, slices: took.len() as u64, took: seen(&took), ..TaskAccount::default() };
    let times = |from, to| all(past, |h| h.routes.clone()).iter().filter(|way| **way == (from, to)).count();
    let routes =
        [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(from, to)| Route { from, to, times: times(from, to) as u64 });
    Account {
        window_s: past.len() as f64,
        from_ns: 0,
        to_ns: past.len() as u64,
        threads: (0..2).map(|number| thread(past, number)).collect(),
        cpus: vec![CpuAccount {
            sources: [(Source::Tick, tick)].into_iter().collect(),
            ..CpuAccount::default()
        }],
        tasks: vec![task],
        functions: functions.to_vec(),
        routes: routes.to_vec(),
        detail_of: Some(Detail { from_ns: 0, to_ns: whole.len() as u64 }),
        ..Account::default()
    }
    .filled_up()
}

/// Takes the extremes away, and holds those of one (intervals added up) to be those of the other, or bounds of them: of a slice that
/// the end of an interval cuts, the next one knows the step alone.
fn same_but_for_extremes(one: &mut Stretches, other: &mut Stretches) {
    let longest = (one.longest(), other.longest());
    match longest {
        (Some(Extreme::Exactly(one)), Some(Extreme::Exactly(ns))) => assert_eq!(one, ns),
        (Some(Extreme::Bound(one)), Some(Extreme::Exactly(ns))) => assert!(one >= ns, "{longest:?}"),
        (Some(one), Some(Extreme::Bound(ns))) => assert!(one.ns() <= ns, "{longest:?}"),
        _ => assert_eq!(longest.0, longest.1),
    }
    let shortest = (one.shortest(), other.shortest());
    match shortest {
        (Some(Extreme::Exactly(one)), Some(Extreme::Exactly(ns))) => assert_eq!(one, ns),
        (Some(Extreme::Bound(one)), Some(Extreme::Exactly(ns))) => assert!(one <= ns, "{shortest:?}"),
        (Some(one), Some(Extreme::Bound(ns))) => assert!(one.ns() >= ns, "{shortest:?}"),
        _ => assert_eq!(shortest.0, shortest.1),
    }
    [one, other].into_iter().for_each(without_extremes);
}

/// Quantiles are cut off at the longest.
fn without_extremes(stretches: &mut Stretches) {
    *stretches = Stretches { count: stretches.count, total_ns: stretches.total_ns, ..Stretches::default() };
}

/// The differences of accounts that follow each other added up, and the difference of the last to the first.
fn added_and_whole(accounts: &[Account]) -> [Account; 2] {
    let mut added = IntervalSum::default();
    accounts.windows(2).for_each(|pair| added.add(pair[1].since(&pair[0])));
    // Both are made from the rows.
    [added.account(), accounts[accounts.len() - 1].since(&accounts[0])].map(|account| {
        let mut account = account.rows_alone();
        account.threads.sort_by_key(|thread| thread.tid);
        account.functions.sort_by(|one, other| one.name.cmp(&other.name));
        account
    })
}

fn extremes(account: &mut Account) -> Vec<&mut Stretches> {
    let threads = account.threads.iter_mut().map(|thread| &mut thread.on_cpu);
    let sources = account.cpus.iter_mut().flat_map(|cpu| cpu.sources.values_mut()).map(|seen| &mut seen.all);
    let tasks = account.tasks.iter_mut().map(|task| &mut task.took);
    let functions = account.functions.iter_mut().map(|function| &mut function.ran);
    threads.chain(sources).chain(tasks).chain(functions).collect()
}

/// An extreme holds of what happened.
fn holds(reported: &Stretches, lengths: &[u64]) {
    let (longest, shortest) = (lengths.iter().max(), lengths.iter().min());
    match reported.longest() {
        Some(Extreme::Exactly(ns)) => assert_eq!(Some(&ns), longest),
        Some(Extreme::Bound(ns)) => {
            assert!(longest.is_some_and(|longest| *longest <= ns), "{reported:?} {lengths:?}")
        }
        None => assert_eq!(lengths.len(), 0),
    }
    match reported.shortest() {
        Some(Extreme::Exactly(ns)) => assert_eq!(Some(&ns), shortest),
        Some(Extreme::Bound(ns)) => {
            assert!(shortest.is_some_and(|shortest| *shortest >= ns), "{reported:?} {lengths:?}")
        }
        None => {}
    }
}

proptest! {
    #[test]
    fn consecutive_differences_add_up_to_the_whole_one(
        past in prop::collection::vec(happened(), 2..6), from in 0..2_usize,
    ) {
        let accounts: Vec<Account> = (0..=past.len()).map(|end| after(&past[..end])).collect();
        let [mut added, mut whole] = added_and_whole(&accounts[from..]);
        extremes(&mut added).into_iter().zip(extremes(&mut whole)).for_each(|(one, other)| same_but_for_extremes(one, other));
        prop_assert_eq!(added, whole);
    }

    #[test]
    fn what_some_readings_leave_out_is_in_the_differences_to_later_ones(
        past in prop::collection::vec(happened(), 2..6), is_whole in prop::array::uniform6(any::<bool>()),
    ) {
        let is_whole = |end: &usize| [0, past.len()].contains(end) || is_whole[*end];
        let accounts = (0..=past.len()).map(|end| {
            let whole_until = (0..=end).rev().find(is_whole).unwrap_or(0);
            partly_after(&past[..end], &past[..whole_until])
        });
        let [mut added, mut whole] = added_and_whole(&accounts.collect::<Vec<_>>());
        for account in [&mut added, &mut whole] {
            extremes(account).into_iter().for_each(without_extremes);
        }
        prop_assert_eq!(added, whole);
    }

    #[test]
    fn lengths_of_another_time_are_there_without_quantiles(past in prop::collection::vec(happened(), 3..6)) {
        let last = past.len() - 1;
        let before = partly_after(&past[..last], &past[..last - 1]);
        let both = past[last - 1].interrupts.len() + past[last].interrupts.len();
        for (whole_until, own) in [(last - 1, 0), (past.len(), both)] {
            let since = partly_after(&past, &past[..whole_until]).since(&before);
            let detail = Detail { from_ns: last as u64 - 1, to_ns: whole_until as u64 };
            prop_assert_eq!((since.detail_of, since.missing.len()), (Some(detail), 1));
            let Some(seen) = since.cpus[0].sources.get(Source::Tick) else { continue };
            prop_assert_eq!(seen.all.count, past[last].interrupts.len() as u64);
            prop_assert_eq!(seen.lengths.count(), own as u64);
            prop_assert_eq!((seen.all.p50_ns, seen.all.p99_ns), (None, None));
        }
    }

    #[test]
    fn extremes_of_an_interval_hold_of_what_happened_in_it(past in prop::collection::vec(happened(), 1..6)) {
        let last = past.len() - 1;
        let since = after(&past).since(&after(&past[..last]));
        let row = |tid| since.threads.iter().find(|thread| thread.tid == tid);
        for number in 0..2 {
            let Some(row) = row(number as u32) else { continue };
            let (before, (ended, goes_on)) = (slices(&past[..last], number).0.len(), slices(&past, number));
            let meanwhile: Vec<u64> = ended[before..].iter().copied().chain(goes_on).collect();
            holds(&row.on_cpu, &meanwhile);
            prop_assert_eq!(&row.on_cpu_lengths, &distribution(&ended[before..]));
        }
        if let Some(seen) = since.cpus[0].sources.get(Source::Tick) {
            holds(&seen.all, &past[last].interrupts);
            prop_assert_eq!(seen.all.p50_ns.is_some(), !past[last].interrupts.is_empty());
        }
        since.tasks.iter().for_each(|task| holds(&task.took, &past[last].took));
    }
}
