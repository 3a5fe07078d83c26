//! The cells of each kind of row. Every field is taken by name: the compiler reports one that came anew.

use std::collections::BTreeMap;

use machine::CpuSet;
use probe::account::{
    Account, CountedInterrupts, CpuAccount, FromIdle, FunctionAccount, FunctionKind, Interruptions,
    LineAccount, Migrations, Route, SleepReason, Source, Stretches, Taker, TakerKind, TaskAccount,
    ThreadAccount,
};
use probe::ticks::TickDependency;

use super::cell::{Cell, word};

/// Count, time and longest of stretches, by the beginning of their names.
macro_rules! stretches {
    ($name:literal, $stretches:expr) => {{
        let stretches: &Stretches = $stretches;
        [
            Cell::whole(concat!($name, "_count"), stretches.count),
            Cell::whole(concat!($name, "_ns"), stretches.total_ns),
            Cell::whole(concat!($name, "_longest_ns"), stretches.longest_ns),
            Cell::whole(concat!($name, "_longest_at_most_ns"), stretches.longest_at_most_ns),
        ]
    }};
}

fn words(text: &str) -> Option<std::borrow::Cow<'_, str>> {
    Some(text.into())
}

pub(super) fn thread(row: &ThreadAccount) -> Vec<Cell> {
    let ThreadAccount {
        tid,
        pid,
        comm,
        cgroup,
        began_ns,
        ended,
        last_cpu,
        wall_ns,
        on_cpu,
        interrupted_ns,
        preempted,
        run_queue,
        throttled,
        asleep,
        asleep_for,
        blocked,
        migrations,
        woken_elsewhere,
        // A list: it is in the JSON.
        wakers: _,
        page_faults,
        minor_faults,
        major_faults,
        reclaim,
        from_idle,
        took_from_target,
        preempted_others,
        unaccounted_ns,
        on_cpu_lengths: _,
        off_cpu_lengths: _,
    } = row;
    let Migrations { same_core, same_cache, same_node, across_nodes, unknown } = *migrations;
    let from_idle = |of: fn(&FromIdle) -> u64| from_idle.iter().map(of).fold(0, u64::saturating_add);
    let mut cells = vec![
        Cell::whole("tid", u64::from(*tid)),
        Cell::whole("pid", u64::from(*pid)),
        Cell::text("name", words(comm)),
        Cell::text("cgroup", cgroup.as_deref().map(Into::into)),
        Cell::whole("watched_since_monotonic_ns", *began_ns),
        Cell::truth("ended", *ended),
        Cell::whole("last_cpu", u64::from(*last_cpu)),
        Cell::whole("wall_ns", *wall_ns),
    ];
    cells.extend(stretches!("on_cpu", on_cpu));
    cells.extend([
        Cell::whole("on_cpu_p50_ns", on_cpu.p50_ns),
        Cell::whole("on_cpu_p99_ns", on_cpu.p99_ns),
        Cell::whole("interrupted_ns", *interrupted_ns),
    ]);
    cells.extend(stretches!("preempted", preempted));
    cells.extend(stretches!("run_queue", run_queue));
    cells.extend(stretches!("throttled", throttled));
    cells.extend([Cell::whole("asleep_count", asleep.count), Cell::whole("asleep_ns", asleep.total_ns)]);
    // Rings of before do not say.
    let is_told = !asleep_for.is_empty() || asleep.total_ns == 0;
    cells.extend(SleepReason::ALL.into_iter().flat_map(|reason| {
        let part = is_told.then(|| asleep_for.get(&reason).copied().unwrap_or_default());
        let [count, total_ns] = asleep_columns(reason);
        [
            Cell::whole(count, part.map(|part| part.count)),
            Cell::whole(total_ns, part.map(|part| part.total_ns)),
        ]
    }));
    cells.extend([
        Cell::whole("blocked_count", blocked.count),
        Cell::whole("blocked_ns", blocked.total_ns),
        Cell::whole("migrations_same_core_count", same_core),
        Cell::whole("migrations_same_cache_count", same_cache),
        Cell::whole("migrations_same_node_count", same_node),
        Cell::whole("migrations_across_nodes_count", across_nodes),
        Cell::whole("migrations_unknown_count", unknown),
        Cell::whole("woken_elsewhere_count", *woken_elsewhere),
        Cell::whole("page_faults_count", *page_faults),
        Cell::whole("minor_faults_count", *minor_faults),
        Cell::whole("major_faults_count", *major_faults),
        Cell::whole("woken_on_idle_cpu_count", from_idle(|state| state.count)),
        Cell::whole("woken_on_idle_cpu_ns", from_idle(|state| state.total_ns)),
    ]);
    cells.extend(stretches!("reclaim", reclaim));
    cells.extend(stretches!("took_from_target", took_from_target));
    cells.extend([
        Cell::whole("preempted_others_count", *preempted_others),
        Cell::signed("unaccounted_ns", *unaccounted_ns),
    ]);
    cells
}

/// Names of the columns of what threads sleep for: count and time.
fn asleep_columns(reason: SleepReason) -> [&'static str; 2] {
    match reason {
        SleepReason::Unknown => ["asleep_unknown_count", "asleep_unknown_ns"],
        SleepReason::Futex => ["asleep_futex_count", "asleep_futex_ns"],
        SleepReason::Input => ["asleep_input_count", "asleep_input_ns"],
        SleepReason::Timer => ["asleep_timer_count", "asleep_timer_ns"],
        SleepReason::Output => ["asleep_output_count", "asleep_output_ns"],
        SleepReason::Sync => ["asleep_sync_count", "asleep_sync_ns"],
        SleepReason::Child => ["asleep_child_count", "asleep_child_ns"],
        SleepReason::Stopped => ["asleep_stopped_count", "asleep_stopped_ns"],
        SleepReason::Other => ["asleep_other_count", "asleep_other_ns"],
    }
}

pub(super) fn taker(row: &Taker) -> Vec<Cell> {
    let Taker { kind, name, cpus, count, took_ns, longest_ns, longest_at_most_ns, share } = row;
    vec![
        Cell::text("kind", word(kind)),
        Cell::text("name", words(name)),
        Cell::text("cpus", Some(cpus.to_string().into())),
        Cell::whole("count", *count),
        Cell::whole("took_ns", *took_ns),
        Cell::whole("longest_ns", *longest_ns),
        Cell::whole("longest_at_most_ns", *longest_at_most_ns),
        Cell::real("share_ratio", *share),
    ]
}

pub(super) fn cpu(row: &CpuAccount) -> Vec<Cell> {
    let CpuAccount {
        cpu,
        wall_ns,
        target_ns,
        other_ns,
        idle_ns,
        interrupted_ns,
        offline,
        steal_ns,
        frequency,
        switches,
        untold_switches,
        unknown_ns,
        idle_while_waited_ns,
        tick_stopped,
        tick_kept,
        sources: _,
    } = row;
    let kept_for = |is_wanted: fn(TickDependency) -> bool| {
        tick_kept
            .iter()
            .filter(|kept| is_wanted(kept.dependency))
            .map(|kept| kept.times)
            .fold(0, u64::saturating_add)
    };
    vec![
        Cell::whole("cpu", u64::from(*cpu)),
        Cell::whole("wall_ns", *wall_ns),
        Cell::whole("target_ns", *target_ns),
        Cell::whole("other_ns", *other_ns),
        Cell::whole("idle_ns", *idle_ns),
        Cell::whole("interrupted_ns", *interrupted_ns),
        Cell::whole("steal_ns", *steal_ns),
        Cell::real("frequency_mean_mhz", frequency.map(|seen| seen.mean_mhz)),
        Cell::whole("switches_count", *switches),
        Cell::whole("untold_switches_count", *untold_switches),
        Cell::whole("unknown_ns", *unknown_ns),
        Cell::whole("idle_while_waited_ns", *idle_while_waited_ns),
        Cell::whole("tick_stopped_count", *tick_stopped),
        Cell::whole("tick_kept_count", tick_kept.iter().map(|kept| kept.times).fold(0, u64::saturating_add)),
        Cell::whole("tick_kept_posix_timer_count", kept_for(|why| why == TickDependency::PosixTimer)),
        Cell::whole("tick_kept_perf_events_count", kept_for(|why| why == TickDependency::PerfEvents)),
        Cell::whole("tick_kept_sched_count", kept_for(|why| why == TickDependency::Sched)),
        Cell::whole("tick_kept_clock_unstable_count", kept_for(|why| why == TickDependency::ClockUnstable)),
        Cell::whole("tick_kept_rcu_count", kept_for(|why| why == TickDependency::Rcu)),
        Cell::whole("tick_kept_rcu_exp_count", kept_for(|why| why == TickDependency::RcuExp)),
        Cell::whole("tick_kept_other_count", kept_for(|why| matches!(why, TickDependency::Other(_)))),
        Cell::whole("offline_ns", offline.map(|offline| offline.total_ns)),
        Cell::whole("went_offline_count", offline.map(|offline| offline.left)),
        Cell::whole("came_online_count", offline.map(|offline| offline.came)),
    ]
}

pub(super) fn source(cpu: u32, source: Source, seen: &Interruptions) -> Vec<Cell> {
    let mut cells = vec![Cell::whole("cpu", u64::from(cpu)), Cell::text("source", word(source))];
    cells.extend(interruptions(seen));
    cells
}

fn interruptions(seen: &Interruptions) -> Vec<Cell> {
    let Interruptions { all, on_target, while_waiting, lengths: _ } = seen;
    vec![
        Cell::whole("count", all.count),
        Cell::whole("total_ns", all.total_ns),
        Cell::real("mean_ns", all.mean_ns),
        Cell::whole("shortest_ns", all.shortest_ns),
        Cell::whole("shortest_at_least_ns", all.shortest_at_least_ns),
        Cell::whole("p50_ns", all.p50_ns),
        Cell::whole("p99_ns", all.p99_ns),
        Cell::whole("longest_ns", all.longest_ns),
        Cell::whole("longest_at_most_ns", all.longest_at_most_ns),
        Cell::whole("on_target_count", on_target.count),
        Cell::whole("on_target_ns", on_target.total_ns),
        Cell::whole("while_waiting_count", while_waiting.count),
        Cell::whole("while_waiting_ns", while_waiting.total_ns),
    ]
}

pub(super) fn task(row: &TaskAccount) -> Vec<Cell> {
    let TaskAccount {
        tid,
        pid,
        comm,
        cgroup,
        of_kernel,
        of_target,
        slices,
        on_cpu_ns,
        on_cpu_by_cpu,
        preempted,
        took,
        took_by_cpu,
    } = row;
    let mut cells = vec![
        Cell::whole("tid", u64::from(*tid)),
        Cell::whole("pid", u64::from(*pid)),
        Cell::text("name", words(comm)),
        Cell::text("cgroup", cgroup.as_deref().map(Into::into)),
        Cell::truth("of_kernel", *of_kernel),
        Cell::truth("of_target", *of_target),
        Cell::whole("slices_count", *slices),
        Cell::whole("on_cpu_ns", *on_cpu_ns),
        Cell::whole("preempted_target_count", *preempted),
    ];
    cells.extend(stretches!("took", took));
    let cpus = |by_cpu: &BTreeMap<u32, u64>| {
        let mut cpus = CpuSet::new();
        by_cpu.keys().for_each(|cpu| {
            cpus.insert(*cpu);
        });
        Some(cpus.to_string().into())
    };
    cells.push(Cell::text("took_on_cpus", cpus(took_by_cpu)));
    cells.push(Cell::text("ran_on_cpus", cpus(on_cpu_by_cpu)));
    cells
}

pub(super) fn line(row: &LineAccount) -> Vec<Cell> {
    let LineAccount { irq, name, cpu, seen } = row;
    let mut cells = vec![
        Cell::whole("irq", u64::from(*irq)),
        Cell::text("name", name.as_deref().map(Into::into)),
        Cell::whole("cpu", u64::from(*cpu)),
    ];
    cells.extend(interruptions(seen));
    cells
}

pub(super) fn function(row: &FunctionAccount) -> Vec<Cell> {
    let FunctionAccount { kind, name, cpu, ran } = row;
    // Of work items it is only known how often they ran.
    let total_ns = ran.mean_ns.is_some().then_some(ran.total_ns);
    vec![
        Cell::text("kind", word(kind)),
        Cell::text("function", words(name)),
        Cell::whole("cpu", u64::from(*cpu)),
        Cell::whole("count", ran.count),
        Cell::whole("total_ns", total_ns),
        Cell::whole("longest_ns", ran.longest_ns),
        Cell::whole("longest_at_most_ns", ran.longest_at_most_ns),
    ]
}

pub(super) fn route(row: &Route) -> Vec<Cell> {
    let Route { from, to, times } = *row;
    vec![
        Cell::whole("from_cpu", u64::from(from)),
        Cell::whole("to_cpu", u64::from(to)),
        Cell::whole("migrations_count", times),
    ]
}

pub(super) fn counted(row: &CountedInterrupts) -> Vec<Cell> {
    let CountedInterrupts { cpu, name, label, count } = row;
    vec![
        Cell::text("interrupt", words(name)),
        Cell::text("label", words(label)),
        Cell::whole("cpu", u64::from(*cpu)),
        Cell::whole("count", *count),
    ]
}

/// An account with one row in each table: for their heads.
pub(super) fn one_of_each() -> Account {
    let taker = Taker {
        kind: TakerKind::Unknown,
        name: String::new(),
        cpus: CpuSet::new(),
        count: 0,
        took_ns: 0,
        longest_ns: None,
        longest_at_most_ns: None,
        share: 0.0,
    };
    let function =
        FunctionAccount { kind: FunctionKind::Work, name: "".into(), cpu: 0, ran: Stretches::default() };
    let sources = BTreeMap::from([(Source::Tick, Interruptions::default())]);
    Account {
        threads: vec![ThreadAccount::default()],
        takers: vec![taker],
        cpus: vec![CpuAccount { sources: sources.into(), ..CpuAccount::default() }],
        tasks: vec![TaskAccount::default()],
        lines: vec![LineAccount::default()],
        functions: vec![function],
        routes: vec![Route { from: 0, to: 0, times: 0 }],
        counted_only: vec![CountedInterrupts::default()],
        ..Account::default()
    }
}
