//! The noise of CPUs for people: what each is quiet enough for first, then figures, time, causes and the longest gaps.

mod strip;
mod verdict;

use advise::noise::Verdict;
use machine::wording::{counted, plural};
use probe::noise::{Cause, CauseNoise, CpuNoise, GapPart, JoinedTo, Left, LongGap, Noise, Policy};

use crate::account::figures::{count, share, time, time_or_dash};
use crate::grid::{Side, lines};
use crate::terminal_style::Style;
use crate::visible::one_line;
use crate::{absent, number};

/// Causes, tasks, lines and gaps of a CPU that are shown.
const SHOWN: usize = 8;
const TASKS_SHOWN: usize = 5;
const LONGEST_SHOWN: usize = 5;
const PARTS_SHOWN: usize = 3;

/// The whole measurement with its verdict. `style` gives the width.
pub fn render(noise: &Noise, judged: &Verdict, style: Style) -> String {
    let width = style.width.clamp(60, 160);
    let moved_away =
        noise.cpus.iter().filter_map(|cpu| Some(format!("CPU {} {}", cpu.cpu, left(cpu, noise)?)));
    let first = moved_away.chain(verdict::lines(judged));
    let mut text: String = first.map(|line| format!("{line}\n")).collect();
    text += &format!("\n{}\n", how(noise));
    for section in [figures(noise, judged), strip::section(noise, width)] {
        text.push('\n');
        text += &section;
    }
    for cpu in &noise.cpus {
        text.push('\n');
        text += &of_cpu(cpu, noise, judged);
    }
    match absent::section(&noise.missing) {
        missing if missing.is_empty() => text,
        missing => format!("{text}\n{missing}"),
    }
}

/// That the loop of a CPU was moved away from it.
fn left(cpu: &CpuNoise, noise: &Noise) -> Option<String> {
    let what = match cpu.left? {
        Left::Offline => "went offline",
        Left::Moved => "lost its loop, which was moved to another CPU (its affinity was changed)",
    };
    let s = |seconds: f64| number::grouped(seconds, 1);
    Some(format!("{what} after {} of {} s: it is not judged", s(cpu.window_s), s(noise.asked_s)))
}

/// How it was measured.
fn how(noise: &Noise) -> String {
    let seconds = number::grouped(noise.asked_s, 1);
    let rounds = match noise.rounds.len() {
        0 | 1 => "all at the same time".to_string(),
        many => format!("in {many} rounds, the siblings of a core one after the other"),
    };
    let policy = match noise.policy {
        Policy::Other => "SCHED_OTHER",
        Policy::Fifo => "SCHED_FIFO",
    };
    let join = match noise.joined_to {
        JoinedTo::Events => "gaps joined to the kernel's events",
        JoinedTo::Counts => "gaps NOT joined to events (see below)",
    };
    format!("{seconds} s per CPU, {rounds}; {policy}; gaps above {}; {join}", time(noise.threshold_ns))
}

/// A line a CPU.
fn figures(noise: &Noise, judged: &Verdict) -> String {
    let mut rows = vec![
        [
            "CPU",
            "IN GAPS",
            ">1 us",
            ">10 us",
            ">100 us",
            "LONGEST",
            "MEDIAN",
            "p99",
            "TICKS/s",
            "PREEMPTED",
            "QUIET ENOUGH FOR",
        ]
        .map(String::from)
        .to_vec(),
    ];
    for cpu in &noise.cpus {
        let known = |value: Option<u64>| value.map_or("-".into(), count);
        rows.push(vec![
            cpu.cpu.to_string(),
            share(cpu.share),
            known(cpu.above_1_us),
            known(cpu.above_10_us),
            known(cpu.above_100_us),
            time(cpu.longest_gap_ns),
            time_or_dash(cpu.gap_p50_ns),
            time_or_dash(cpu.gap_p99_ns),
            cpu.ticks_per_s.map_or("-".into(), |rate| number::grouped(rate, 0)),
            known(cpu.preempted),
            verdict::of_cpu(judged, cpu.cpu).map_or("-", |cpu| cpu.quiet.words()).into(),
        ]);
    }
    let mut sides = [Side::Right; 11];
    sides[10] = Side::Left;
    lines(&sides, &rows, 0)
}

/// One CPU in full.
fn of_cpu(cpu: &CpuNoise, noise: &Noise, judged: &Verdict) -> String {
    let cost = &cpu.loop_cost;
    let words =
        verdict::of_cpu(judged, cpu.cpu).map(verdict::words).or_else(|| left(cpu, noise)).unwrap_or_default();
    let mut text = format!("CPU {}: {words}\n", cpu.cpu);
    text += &format!(
        "  the loop reads the clock every {} ns (shortest {} ns); recording a gap takes {} ns, {} in all\n",
        cost.step_ns,
        cost.shortest_step_ns,
        cost.keeping_ns,
        time(cost.kept_ns)
    );
    match noise.joined_to {
        JoinedTo::Events => text += &causes(cpu),
        JoinedTo::Counts => text += &counts(cpu),
    }
    text += &tasks_and_lines(cpu);
    text + &longest(cpu, noise.joined_to)
}

fn causes(cpu: &CpuNoise) -> String {
    let mut rows = vec![
        [
            "",
            "GAPS",
            "EVENTS",
            "TIME",
            "OF ALL GAPS",
            "OWN",
            "ENTRY, EXIT",
            "LONGEST GAP",
            "ALONE IN ITS GAP",
        ]
        .map(String::from)
        .to_vec(),
    ];
    let all_ns = cpu.gap_ns.max(1) as f64;
    for cause in cpu.causes.iter().take(SHOWN) {
        rows.push(vec![
            cause.cause.words().into(),
            count(cause.gaps),
            count(cause.events),
            time(cause.gap_ns),
            share(cause.gap_ns as f64 / all_ns),
            time(cause.net_ns),
            time(cause.entry_and_exit_ns),
            time(cause.longest_gap_ns),
            alone(cause),
        ]);
    }
    let mut sides = [Side::Right; 9];
    (sides[0], sides[8]) = (Side::Left, Side::Left);
    let mut text = lines(&sides, &rows, 2);
    if let Some(rest) = cpu.causes.len().checked_sub(SHOWN).filter(|rest| *rest > 0) {
        text += &format!("  and {} (--format json)\n", counted(rest, "more cause"));
    }
    if let Some(below) = cpu.below_threshold.as_ref().filter(|below| !below.events.is_empty()) {
        let events: u64 = below.events.values().sum();
        let noun = plural("event", events);
        text += &format!("  {} more {noun}, {} in all, made no gap\n", count(events), time(below.net_ns));
    }
    text
}

/// What a gap with this source alone is like.
fn alone(cause: &CauseNoise) -> String {
    cause.alone.map_or(String::new(), |alone| {
        format!(
            "{}: {} of {}",
            count(alone.gaps),
            time(alone.mean_net_ns as u64),
            time(alone.mean_gap_ns as u64)
        )
    })
}

/// Where gaps were not joined: what moved in /proc.
fn counts(cpu: &CpuNoise) -> String {
    let mut moved: Vec<(&String, &u64)> = cpu.counts.iter().collect();
    moved.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let listed: Vec<String> = moved
        .iter()
        .take(SHOWN)
        .map(|(row, times)| format!("{} {}", one_line(row), count(**times)))
        .collect();
    match listed.is_empty() {
        true => String::new(),
        false => format!("  counted by /proc in the same time, not joined: {}\n", listed.join(", ")),
    }
}

fn tasks_and_lines(cpu: &CpuNoise) -> String {
    let mut text = String::new();
    let tasks = cpu.tasks.iter().take(TASKS_SHOWN);
    let tasks: Vec<String> =
        tasks.map(|task| format!("{} ({}) {}", one_line(&task.comm), task.tid, time(task.took_ns))).collect();
    if !tasks.is_empty() {
        text += &format!("  tasks that the loop waited for: {}\n", tasks.join(", "));
    }
    let lines = cpu.lines.iter().take(TASKS_SHOWN).map(|line| {
        let name = line.name.as_deref().unwrap_or("not known");
        let times = plural("time", line.count);
        format!("IRQ {} ({}) {} {times}, {}", line.irq, one_line(name), count(line.count), time(line.net_ns))
    });
    let lines: Vec<String> = lines.collect();
    if !lines.is_empty() {
        text += &format!("  devices: {}\n", lines.join(", "));
    }
    text
}

fn longest(cpu: &CpuNoise, joined_to: JoinedTo) -> String {
    let mut text = String::new();
    for gap in cpu.longest.iter().take(LONGEST_SHOWN) {
        let parts = match joined_to {
            JoinedTo::Events => format!(": {}", parts(gap)),
            JoinedTo::Counts => String::new(),
        };
        text += &format!("  {:>8} at {:.3} s{parts}\n", time(gap.length_ns), gap.at_s);
    }
    match text.is_empty() {
        true => text,
        false => format!("  longest gaps\n{text}"),
    }
}

fn parts(gap: &LongGap) -> String {
    let listed = |part: &GapPart| match part.cause {
        Cause::Source(_) if part.events > 1 => {
            format!("{} x {} {}", part.events, part.cause.words(), time(part.net_ns))
        }
        _ => format!("{} {}", part.cause.words(), time(part.net_ns)),
    };
    let mut parts: Vec<String> = gap.parts.iter().take(PARTS_SHOWN).map(listed).collect();
    if let Some(rest) = gap.parts.len().checked_sub(PARTS_SHOWN).filter(|rest| *rest > 0) {
        parts.push(format!("{rest} more"));
    }
    if gap.entry_and_exit_ns > 0 {
        parts.push(format!("entry and exit {}", time(gap.entry_and_exit_ns)));
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests;
