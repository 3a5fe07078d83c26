//! CPUs and what interrupted them.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use probe::account::{Account, CountedInterrupts, CpuAccount, Interruptions, Source};

use super::row_limit::{SHOWN, and_more, and_more_by_cpu};
use crate::account::figures::{count, longest, percent, shortest, time, time_or_dash};
use crate::grid::{self, Side};
use crate::visible::one_line;

/// CPUs, one a line: by number, or where they are many, ranked.
pub(super) fn cpus(account: &Account, most: usize) -> String {
    let with_target = account.together.is_some();
    let (shown, title) = ranked(account, most);
    let mut head = vec!["CPU"];
    if with_target {
        head.push("TARGET");
    }
    head.extend([if with_target { "OTHERS" } else { "TASKS" }, "IDLE"]);
    let with_offline = account.cpus.iter().any(|cpu| cpu.offline.is_some());
    if with_offline {
        head.push("OFFLINE");
    }
    head.extend(["INTERRUPTS", "STEAL", "SWITCHES/S", "TICKS/S"]);
    let with_frequency = account.cpus.iter().any(|cpu| cpu.frequency.is_some());
    if with_frequency {
        head.push("MHZ");
    }
    let mut rows = vec![head.iter().map(ToString::to_string).collect::<Vec<String>>()];
    for cpu in shown.into_iter().take(most) {
        let of = |ns: u64| percent(ns, cpu.wall_ns);
        let rate = |times: u64| count((times as f64 * 1e9 / cpu.online_ns().max(1) as f64).round() as u64);
        let ticks = cpu.sources.get(Source::Tick).map_or(0, |seen| seen.all.count);
        let mut row = vec![cpu.cpu.to_string()];
        if with_target {
            row.push(of(cpu.target_ns));
        }
        row.extend([of(cpu.other_ns), of(cpu.idle_ns)]);
        if with_offline {
            row.push(of(cpu.offline_ns()));
        }
        let steal = cpu.steal_ns.map_or("-".into(), of);
        row.extend([of(cpu.interrupted_ns), steal, rate(cpu.switches), rate(ticks)]);
        if with_frequency {
            row.push(cpu.frequency.map_or("-".into(), |seen| format!("{:.0}", seen.mean_mhz)));
        }
        rows.push(row);
    }
    let more = and_more(most, account.cpus.len(), "CPU");
    format!("{title}\n{}{more}", grid::lines(&vec![Side::Right; head.len()], &rows, 2))
}

/// CPUs in their order, and a title that says which. With a target those with most of it come first where not all are shown; without one
/// the busiest, also where all of many are: whose time was taken is the question then.
fn ranked(account: &Account, most: usize) -> (Vec<&CpuAccount>, &'static str) {
    let mut cpus: Vec<&CpuAccount> = account.cpus.iter().collect();
    let title = match account.together.is_some() {
        true if cpus.len() > most => {
            cpus.sort_by_key(|cpu| Reverse((cpu.target_ns, cpu.other_ns.saturating_add(cpu.interrupted_ns))));
            "CPUs, those on which it ran longest first"
        }
        false if cpus.len() > most.min(SHOWN) => {
            cpus.sort_by_key(|cpu| Reverse(cpu.other_ns.saturating_add(cpu.interrupted_ns)));
            "CPUs, busiest first (tasks and interrupts)"
        }
        _ => "CPUs",
    };
    (cpus, title)
}

/// Sources of interruptions, CPU by CPU; where that would be many lines, of each source the CPUs that it took most from.
pub(super) fn sources(account: &Account, most: usize) -> String {
    let mut by_source: BTreeMap<Source, Vec<(u32, &Interruptions)>> = BTreeMap::new();
    for cpu in &account.cpus {
        for (source, seen) in cpu.sources.iter() {
            by_source.entry(source).or_default().push((cpu.cpu, seen));
        }
    }
    if by_source.is_empty() {
        return counted_only(account, most);
    }
    let with_target = account.together.is_some();
    let mut rows = vec![head(with_target, "SOURCE")];
    let all: usize = by_source.values().map(Vec::len).sum();
    let of_each = if all > most.saturating_mul(3) { most / 4 } else { usize::MAX };
    for (source, mut by_cpu) in by_source {
        if by_cpu.len() > of_each {
            by_cpu.sort_by_key(|(_, seen)| std::cmp::Reverse((seen.took_ns(), seen.all.total_ns)));
        }
        let shown = by_cpu.iter().take(of_each);
        rows.extend(shown.map(|(cpu, seen)| row(*cpu, source.words(), seen, with_target)));
    }
    let more = and_more_by_cpu(rows.len() - 1, all, "source");
    let counted = counted_only(account, most);
    let apart = if counted.is_empty() { "" } else { "\n" };
    let table = grid::lines(&sides(with_target), &rows, 2);
    format!("Interrupts, net of each other\n{table}{more}{apart}{counted}")
}

/// Interrupts that no program sees; of each kind the CPUs where most came, where that would be many lines.
fn counted_only(account: &Account, most: usize) -> String {
    if account.counted_only.is_empty() {
        return String::new();
    }
    let mut shown: Vec<&CountedInterrupts> = account.counted_only.iter().collect();
    let all = shown.len();
    if all > most.saturating_mul(3) {
        shown.sort_by_key(|counted| std::cmp::Reverse(counted.count));
        shown.truncate(most);
    }
    let mut rows = vec![["TIMES", "TIMES/S", "CPU", "ROW", ""].map(String::from).to_vec()];
    rows.extend(shown.iter().map(|counted| {
        vec![
            count(counted.count),
            count((counted.count as f64 / account.window_s.max(1e-9)).round() as u64),
            counted.cpu.to_string(),
            one_line(&counted.name).into_owned(),
            one_line(&counted.label).into_owned(),
        ]
    }));
    let sides = [Side::Right, Side::Right, Side::Right, Side::Left, Side::Left];
    let more = and_more_by_cpu(shown.len(), all, "count");
    format!("By /proc/interrupts: how often, not how long\n{}{more}", grid::lines(&sides, &rows, 2))
}

fn head(with_target: bool, name: &str) -> Vec<String> {
    let mut head = vec!["TIMES", "TIME", "MIN", "MEAN", "P99", "MAX"];
    if with_target {
        head.extend(["ON TARGET", "ITS TIME", "WAITED"]);
    }
    head.extend(["CPU", name]);
    head.into_iter().map(String::from).collect()
}

fn sides(with_target: bool) -> Vec<Side> {
    let mut sides = vec![Side::Right; if with_target { 10 } else { 7 }];
    sides.push(Side::Left);
    sides
}

fn row(cpu: u32, name: &str, seen: &Interruptions, with_target: bool) -> Vec<String> {
    let all = &seen.all;
    let mut row = vec![
        count(all.count),
        time(all.total_ns),
        shortest(all.shortest()),
        time_or_dash(all.mean_ns.map(|ns| ns as u64)),
        time_or_dash(all.p99_ns),
        longest(all.longest()),
    ];
    if with_target {
        row.extend([
            count(seen.on_target.count),
            time(seen.on_target.total_ns),
            time(seen.while_waiting.total_ns),
        ]);
    }
    row.extend([cpu.to_string(), one_line(name).into_owned()]);
    row
}

/// Lines of devices.
pub(super) fn lines(account: &Account, most: usize) -> String {
    if account.lines.is_empty() {
        return String::new();
    }
    let with_target = account.together.is_some();
    let mut rows = vec![head(with_target, "LINE")];
    rows.extend(account.lines.iter().take(most).map(|line| {
        let name = format!("{} {}", line.irq, line.name.as_deref().unwrap_or("(not known)"));
        row(line.cpu, &name, &line.seen, with_target)
    }));
    let more = and_more(most, account.lines.len(), "line");
    format!("Devices\n{}{more}", grid::lines(&sides(with_target), &rows, 2))
}

/// Functions of timers, calls and work items.
pub(super) fn functions(account: &Account, most: usize) -> String {
    if account.functions.is_empty() {
        return String::new();
    }
    let head = ["TIMES", "TIME", "LONGEST", "CPU", "KIND", "FUNCTION"];
    let mut rows = vec![head.map(String::from).to_vec()];
    rows.extend(account.functions.iter().take(most).map(|function| {
        let timed = function.ran.mean_ns.is_some();
        vec![
            count(function.ran.count),
            if timed { time(function.ran.total_ns) } else { "-".into() },
            longest(function.ran.longest()),
            function.cpu.to_string(),
            format!("{:?}", function.kind).to_lowercase(),
            one_line(&function.name).into_owned(),
        ]
    }));
    let sides = [Side::Right, Side::Right, Side::Right, Side::Right, Side::Left, Side::Left];
    let more = and_more(most, account.functions.len(), "function");
    format!("What the kernel ran for others\n{}{more}", grid::lines(&sides, &rows, 2))
}

/// Why ticks did not stop.
pub(super) fn ticks(account: &Account) -> String {
    let lines = account.cpus.iter().filter(|cpu| !cpu.tick_kept.is_empty()).map(|cpu| {
        let kept = cpu
            .tick_kept
            .iter()
            .map(|kept| format!("{} ({}): {}", kept.dependency.words(), kept.dependency, count(kept.times)));
        format!("  CPU {}: {}\n", cpu.cpu, kept.collect::<Vec<_>>().join("; "))
    });
    let lines: String = lines.collect();
    if lines.is_empty() { lines } else { format!("Why the tick was not stopped\n{lines}") }
}
