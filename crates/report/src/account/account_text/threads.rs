//! Threads of the target.

use std::cmp::Reverse;

use machine::wording::counted;
use probe::account::{
    Account, Distribution, Migrations, Part, SleepReason, ThreadAccount, Waker, WakerContext,
};

use super::row_limit::and_more;
use crate::account::figures::{count, longest, percent, time, time_or_dash};
use crate::grid::{self, Side};
use crate::visible::one_line;

/// How wide the longest bar is.
const BAR: usize = 40;

/// Where the time of all threads went, in one line each.
pub(super) fn sum(account: &Account) -> String {
    let Some(all) = &account.together else { return String::new() };
    let stretches = [
        ("on a CPU", &all.on_cpu),
        ("preempted", &all.preempted),
        ("in the run queue", &all.run_queue),
        ("throttled", &all.throttled),
        ("blocked (disk, swap, kernel)", &all.blocked),
        ("asleep", &all.asleep),
    ];
    let head = ["WHERE", "TIME", "SHARE", "TIMES", "MEAN", "LONGEST"];
    let mut rows = vec![head.map(String::from).to_vec()];
    for (what, stretches) in stretches {
        rows.push(vec![
            what.into(),
            time(stretches.total_ns),
            percent(stretches.total_ns, all.wall_ns),
            count(stretches.count),
            time_or_dash(stretches.mean_ns.map(|ns| ns as u64)),
            longest(stretches.longest()),
        ]);
        if what == "on a CPU" {
            let interrupted = [time(all.interrupted_ns), percent(all.interrupted_ns, all.wall_ns)];
            rows.push([vec!["interrupted there".into()], interrupted.to_vec()].concat());
        }
    }
    rows.extend(asleep_for(all));
    let sides = [Side::Left, Side::Right, Side::Right, Side::Right, Side::Right, Side::Right];
    let mut text = format!(
        "Where the time of its {} went\n{}",
        counted(account.threads.len(), "thread"),
        grid::lines(&sides, &rows, 2)
    );
    text.push_str(&migrations(&all.migrations));
    text.push_str(&format!("  woken on a CPU other than the last one: {}\n", count(all.woken_elsewhere)));
    text.push_str(&wakers(all));
    text.push_str(&memory(all));
    text.push_str(&from_idle(all));
    text
}

/// How often its threads moved, by how far: the parts add up.
fn migrations(moved: &Migrations) -> String {
    let unknown = match moved.unknown {
        0 => String::new(),
        times => format!(", {} not known how far", count(times)),
    };
    format!(
        "  migrations: {} ({} to a sibling, {} within the cache, {} within the node, {} across nodes{unknown})\n",
        count(moved.count()),
        count(moved.same_core),
        count(moved.same_cache),
        count(moved.same_node),
        count(moved.across_nodes)
    )
}

/// What was slept for, the longest first: rows below that of all sleep, which is the last.
fn asleep_for(all: &ThreadAccount) -> Vec<Vec<String>> {
    let mut parts: Vec<_> = all.asleep_for.iter().collect();
    parts.sort_by_key(|(reason, part)| (Reverse(part.total_ns), **reason));
    let row = |(reason, part): (&SleepReason, &Part)| {
        vec![
            format!("  {}", words(*reason)),
            time(part.total_ns),
            percent(part.total_ns, all.wall_ns),
            count(part.count),
            time_or_dash(part.total_ns.checked_div(part.count)),
        ]
    };
    parts.into_iter().map(row).collect()
}

fn words(reason: SleepReason) -> &'static str {
    match reason {
        SleepReason::Unknown => "reason not known",
        SleepReason::Futex => "for a futex (lock, condition)",
        SleepReason::Input => "for input",
        SleepReason::Timer => "for a timer",
        SleepReason::Output => "for room to write",
        SleepReason::Sync => "for a sync to storage",
        SleepReason::Child => "for a child to exit",
        SleepReason::Stopped => "stopped or frozen",
        SleepReason::Other => "for something else",
    }
}

/// Most frequent wakers that are listed.
const WAKERS: usize = 4;

/// Who woke the threads.
fn wakers(all: &ThreadAccount) -> String {
    let line = |waker: &Waker| format!("  woken by {}: {}\n", waker_words(waker), count(waker.count));
    all.wakers.iter().take(WAKERS).map(line).collect()
}

fn waker_words(waker: &Waker) -> String {
    let place = if waker.elsewhere { "another CPU" } else { "the same CPU" };
    let process = match (&waker.comm, waker.pid) {
        (Some(comm), Some(pid)) => Some(format!("{} (process {pid})", one_line(comm))),
        (_, Some(pid)) => Some(format!("process {pid}")),
        (_, None) => None,
    };
    match (waker.context, process) {
        (WakerContext::Interrupt, _) => format!("an interrupt on {place}"),
        (WakerContext::Task, Some(process)) => format!("{process} on {place}"),
        (WakerContext::Task, None) => format!("{place}, which was idle or ran an unknown process"),
        (WakerContext::Softirq, Some(process)) => format!("a softirq on {place}, which ran {process}"),
        (WakerContext::Softirq, None) => {
            format!("a softirq on {place}, which was idle or ran an unknown process")
        }
    }
}

/// What memory it had to wait for.
fn memory(all: &ThreadAccount) -> String {
    let or_unknown = |faults: Option<u64>| faults.map_or("not known".into(), count);
    let mut line = format!(
        "  page faults: {} minor, {} major; {} in its own code\n",
        or_unknown(all.minor_faults),
        or_unknown(all.major_faults),
        or_unknown(all.page_faults)
    );
    if all.reclaim.count > 0 {
        line.push_str(&format!(
            "  freed memory itself before it got any: {} ({} in all, {} at most)\n",
            count(all.reclaim.count),
            time(all.reclaim.total_ns),
            time_or_dash(all.reclaim.longest_ns)
        ));
    }
    line
}

/// Wake-ups onto idle CPUs by C-state.
fn from_idle(all: &ThreadAccount) -> String {
    let lines = all.from_idle.iter().map(|state| {
        let name = state.name.as_deref().map_or(format!("state {}", state.state), str::to_string);
        let latency = state.exit_latency_us.map_or(String::new(), |us| format!(" (exit latency {us} us)"));
        format!(
            "  woken on a CPU idle in {}{latency}: {}, {} on average until it ran\n",
            one_line(&name),
            count(state.count),
            time(state.total_ns / state.count.max(1))
        )
    });
    lines.collect()
}

/// Thread by thread, those that were kept off longest first.
pub(super) fn section(account: &Account, most: usize) -> String {
    if account.threads.len() < 2 {
        return String::new();
    }
    let head = [
        "ON CPU",
        "INTERRUPTED",
        "PREEMPTED",
        "RUN QUEUE",
        "THROTTLED",
        "BLOCKED",
        "MIGRATIONS",
        "CPU",
        "TID",
        "NAME",
    ];
    let mut rows = vec![head.map(String::from).to_vec()];
    rows.extend(account.threads.iter().take(most).map(row));
    let mut sides = vec![Side::Right; head.len() - 1];
    sides.push(Side::Left);
    let more = and_more(most, account.threads.len(), "thread");
    format!("Threads, as shares of the time of each\n{}{more}", grid::lines(&sides, &rows, 2))
}

fn row(thread: &ThreadAccount) -> Vec<String> {
    let of = |ns: u64| percent(ns, thread.wall_ns);
    let ended = if thread.ended { " (ended)" } else { "" };
    vec![
        of(thread.on_cpu.total_ns),
        of(thread.interrupted_ns),
        of(thread.preempted.total_ns),
        of(thread.run_queue.total_ns),
        of(thread.throttled.total_ns),
        of(thread.blocked.total_ns),
        count(thread.migrations.count()),
        thread.last_cpu.to_string(),
        thread.tid.to_string(),
        one_line(&thread.comm).into_owned() + ended,
    ]
}

/// Slices on a CPU and stretches off it, by length.
pub(super) fn histogram(account: &Account) -> String {
    let Some(all) = &account.together else { return String::new() };
    let parts = [
        ("Slices on a CPU by length", &all.on_cpu_lengths),
        ("Stretches in which it wanted a CPU and had none, by length", &all.off_cpu_lengths),
    ];
    let drawn: Vec<String> = parts.iter().map(|(title, lengths)| bars(title, lengths)).collect();
    drawn.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
}

/// A bar for each power of two, and one for stretches too short for the clock.
fn bars(title: &str, lengths: &Distribution) -> String {
    let mut powers: Vec<(u64, u64)> = Vec::new();
    let mut none: u64 = 0;
    for (shortest_ns, _, times) in lengths.steps() {
        // Two readings of a clock that does not go on in between: how far that is from the shortest length is no gap.
        let Some(bits) = shortest_ns.checked_ilog2() else {
            none = none.saturating_add(times);
            continue;
        };
        let power = 1u64 << bits;
        // Empty powers in between are drawn, too: a gap is a fact.
        while powers.last().is_some_and(|(last, _)| last * 2 < power) {
            let next = powers.last().map_or(power, |(last, _)| last * 2);
            powers.push((next, 0));
        }
        match powers.last_mut() {
            Some((last, sum)) if *last == power => *sum = sum.saturating_add(times),
            _ => powers.push((power, times)),
        }
    }
    let most = powers.iter().map(|(_, times)| *times).chain([none]).max().unwrap_or(0);
    if most == 0 {
        return String::new();
    }
    let row = |from: String, times: u64| {
        let length = (u128::from(times) * BAR as u128).div_ceil(u128::from(most)) as usize;
        vec![from, count(times), "█".repeat(length)]
    };
    let mut rows: Vec<Vec<String>> = Vec::new();
    rows.extend((none > 0).then(|| row("0 ns".into(), none)));
    rows.extend(powers.iter().map(|(power, times)| row(format!("from {}", time(*power)), *times)));
    format!("{title}\n{}", grid::lines(&[Side::Left, Side::Right, Side::Left], &rows, 2))
}

/// Between which CPUs threads moved.
pub(super) fn routes(account: &Account, most: usize) -> String {
    let lines = account
        .routes
        .iter()
        .take(most)
        .map(|route| format!("  from CPU {} to CPU {}: {}\n", route.from, route.to, count(route.times)));
    let lines: String = lines.collect();
    match lines.is_empty() {
        true => lines,
        false => format!("Migrations\n{lines}{}", and_more(most, account.routes.len(), "route")),
    }
}
