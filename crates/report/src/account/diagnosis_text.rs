//! A diagnosis for people: one sentence that says which limit holds, the causes that matter, what was ruled out, what was not seen.

use advise::apply_command::apply_command;
use advise::diagnosis::{Cause, Certainty, Diagnosis, Limit, ServerTime, ShareOf, abouts};
use machine::wording;

use crate::account::changed_cpus;
use crate::account::futex_text;
use crate::account::profile_text;
use crate::account::request_text;
use crate::case::table::wrap::hanging;
use crate::number::grouped;
use crate::visible::one_line;

/// Causes that are shown when not all are asked for.
const SHOWN: usize = 3;
/// Lines of evidence of each, likewise.
const EVIDENCE: usize = 1;
/// Lines of the whole, likewise.
const LINES: usize = 24;
/// Width of the text, characters.
pub(crate) const WIDTH: usize = 110;
/// Facts that could not be seen and are named, likewise.
const MISSING: usize = 4;
/// Width of the bar, characters.
const BAR: usize = 60;
/// A server that was active for less than this share of its time slept much: its shares are of one time or the other.
const ACTIVE: f64 = 0.9;

/// What is to be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Wanted {
    /// Every cause with all its evidence, every row of a table, and all that is missing.
    pub all: bool,
    /// It is of an earlier time or of another machine: what commands name may have changed since.
    pub past: bool,
}

/// The whole diagnosis of `server`, 24 lines at most unless all is wanted.
pub fn render(diagnosis: &Diagnosis, server: &str, wanted: Wanted) -> String {
    let changed = changed_cpus::lines(&diagnosis.changed_cpus);
    let mut lines: Vec<String> = changed.lines().flat_map(|line| wrapped("", line, "")).collect();
    lines.extend(wrapped("", &headline(diagnosis, &one_line(server)), ""));
    lines.extend(diagnosis.time.iter().flat_map(bar));
    lines.extend(requests(diagnosis, wanted, WIDTH));
    lines.extend(work(diagnosis));
    let profile = diagnosis.profile.iter().flat_map(|profile| profile_text::lines(profile, wanted.all));
    lines.extend(profile.flat_map(|line| wrapped("  ", &line, "    ")));
    lines.extend(causes(diagnosis, wanted, WIDTH));
    if wanted.all {
        let futexes = diagnosis.futexes.iter().flat_map(futex_text::lines);
        lines.extend(futexes.flat_map(|line| wrapped("  ", &line, "    ")));
    }
    let missing = missing(diagnosis, wanted);
    let room = if wanted.all { usize::MAX } else { LINES.saturating_sub(lines.len() + missing.len()) };
    lines.extend(ruled_out(diagnosis, room));
    lines.extend(missing);
    lines.join("\n") + "\n"
}

/// The requests of the server, a line for each port; none where none were seen. Lines of at most `width` characters.
pub(crate) fn requests(diagnosis: &Diagnosis, wanted: Wanted, width: usize) -> Vec<String> {
    let lines = diagnosis.requests.iter().flat_map(|requests| request_text::lines(requests, wanted.all));
    lines.flat_map(|line| hanging("  ", &line, "    ", width)).collect()
}

/// How fast its work is, by the counters of its CPUs.
fn work(diagnosis: &Diagnosis) -> Option<String> {
    let work = diagnosis.work.as_ref()?;
    let misses = work.cache_misses.filter(|_| work.instructions > 0.0).map(|misses| {
        format!(", {:.2} misses of the last-level cache a thousand", misses / work.instructions * 1e3)
    });
    Some(format!("  {:.2} instructions a cycle{}", work.per_cycle()?, misses.unwrap_or_default()))
}

/// The causes, the costliest first, or that none was found; then what is cost and no theft. Lines of at most `width` characters.
pub(crate) fn causes(diagnosis: &Diagnosis, wanted: Wanted, width: usize) -> Vec<String> {
    let most = if wanted.all { usize::MAX } else { SHOWN };
    let mut lines = Vec::new();
    for (number, cause) in diagnosis.causes.iter().take(most).enumerate() {
        lines.extend(self::cause(number + 1, cause, diagnosis.time.as_ref(), wanted, width));
    }
    if let Some(rest) = diagnosis.causes.get(most..).filter(|rest| !rest.is_empty()) {
        let ids: Vec<String> = rest.iter().map(|cause| cause.id.to_string()).collect();
        let more = format!("And {} more (--full): {}", ids.len(), one_line(&ids.join(", ")));
        lines.extend(hanging("", &more, "  ", width));
    }
    let remedies = diagnosis.causes.iter().take(most).flat_map(|cause| &cause.remedies);
    if wanted.past && remedies.flat_map(|remedy| &remedy.setting).next().is_some() {
        let words =
            "Commands name processes, interrupts and devices as they were then: check them before use.";
        lines.extend(hanging("", words, "  ", width));
    }
    if diagnosis.causes.is_empty() {
        lines.extend(nothing_found(diagnosis).map(String::from));
    }
    lines.extend(own_work(diagnosis, width));
    lines
}

/// What it means that no cause is named.
fn nothing_found(diagnosis: &Diagnosis) -> Option<&'static str> {
    let judged = !diagnosis.ruled_out.is_empty() || !diagnosis.own_work.is_empty();
    match (&diagnosis.time, judged, diagnosis.missing.is_empty()) {
        (Some(_), true, _) => Some("Nothing was found that costs it 1 % of its time."),
        (None, true, true) => Some("No trouble of the machine as a whole was found."),
        (None, true, false) => Some("No trouble was found in what could be judged."),
        (_, false, _) => None,
    }
}

fn wrapped(start: &str, text: &str, indent: &str) -> Vec<String> {
    hanging(start, text, indent, WIDTH)
}

/// `10.0 s`.
fn length(ns: f64) -> String {
    format!("{} s", grouped(ns / 1e9, 1))
}

/// `71 %`.
fn percent(share: f64) -> String {
    match share {
        _ if !share.is_finite() => "n/a".into(),
        _ if share > 0.0 => wording::percent(share),
        _ => wording::whole_percent(share),
    }
}

/// Which limit holds, in one sentence or two.
fn headline(diagnosis: &Diagnosis, server: &str) -> String {
    if let Some(machine) = &diagnosis.machine {
        let cpus = |cpus: Option<f64>| cpus.map_or("?".to_string(), |cpus| format!("{cpus:.1}"));
        return format!(
            "{server}, {} s: of {} {} ran tasks, {} served interrupts, {} were idle.",
            grouped(machine.window_s, 1),
            wording::counted(machine.cpus, "CPU"),
            cpus(machine.busy_cpus),
            cpus(machine.interrupted_cpus),
            cpus(machine.idle_cpus)
        );
    }
    let Some(time) = &diagnosis.time else {
        // Rules of servers say so themselves where no thread was seen.
        return match diagnosis.ruled_out.is_empty() && diagnosis.causes.is_empty() {
            true => format!("{server}: nothing of it was seen."),
            false => format!("{server}: there was no window; these are its settings."),
        };
    };
    format!("{server} {} {}", demand(time), limit(diagnosis.limit, time))
}

/// What it wanted, and what it had.
fn demand(time: &ServerTime) -> String {
    let wanted = time.in_cpus(time.had_ns() + time.queued_ns() + time.throttled_ns);
    let had = time.in_cpus(time.had_ns());
    match time.threads {
        1 => format!(
            "wanted a CPU for {} of {} and had one for {}.",
            percent(wanted),
            length(time.window_ns),
            percent(had)
        ),
        n => format!(
            "({n} threads at work) wanted {wanted:.2} CPUs over {} and had {had:.2}.",
            length(time.window_ns)
        ),
    }
}

fn limit(limit: Limit, time: &ServerTime) -> String {
    let idle = 1.0 - time.in_cpus(time.active_ns()) / time.threads.max(1) as f64;
    match limit {
        Limit::Stopped => "It is stopped.".into(),
        Limit::Quota => format!(
            "Limit: its CPU quota, which held it back for {}.",
            percent(time.share(time.throttled_ns))
        ),
        Limit::Cpu => format!(
            "Limit: CPU. It waited for one for {} of its time.",
            percent(time.share(time.queued_ns()))
        ),
        Limit::Memory => format!(
            "Limit: memory. It was blocked for {} of its time.",
            percent(time.share(time.blocked_ns.unwrap_or(0.0)))
        ),
        Limit::Blocked => format!(
            "Limit: waiting in the kernel, for {} of its time.",
            percent(time.share(time.blocked_ns.unwrap_or(0.0)))
        ),
        Limit::Lock => "Limit: a lock of its own.".into(),
        Limit::OneThread => {
            format!("Limit: one thread ({}), busy with the server's own work.", one_line(&time.busiest.comm))
        }
        Limit::OwnWork => "Limit: its CPUs are full of its own work.".into(),
        Limit::Load => format!("The server is not the limit: it slept for {} of the time.", percent(idle)),
        Limit::Unknown => "Which limit holds is not known.".into(),
    }
}

/// Where the time of the threads at work went, as one line and its legend.
fn bar(time: &ServerTime) -> Vec<String> {
    let parts = [
        ('#', "on a CPU", time.on_cpu_ns),
        ('!', "interrupted", time.interrupted_ns),
        ('<', "waiting for a CPU", time.queued_ns()),
        ('=', "held back by a quota", time.throttled_ns),
        ('x', "blocked", time.blocked_ns.unwrap_or(0.0)),
        ('.', "asleep", time.asleep_ns),
    ];
    let all: f64 = parts.iter().map(|(.., ns)| ns).sum();
    if all <= 0.0 {
        return Vec::new();
    }
    let mut line = String::new();
    let mut drawn = 0.0;
    for (sign, _, ns) in parts {
        drawn += ns;
        let end = (drawn / all * BAR as f64).round() as usize;
        (line.len()..end).for_each(|_| line.push(sign));
    }
    let legend = parts.iter().filter(|(.., ns)| *ns / all >= 0.001);
    let legend: Vec<String> =
        legend.map(|(sign, what, ns)| format!("{sign} {what} {}", percent(ns / all))).collect();
    let active = slept_much(time).then(|| format!(" (active {})", percent(time.active_ns() / time.wall_ns)));
    vec![format!("  [{line}]"), format!("  {}{}", legend.join("   "), active.unwrap_or_default())]
}

/// Whether it slept for so much of its time that shares of its active time are not those of all time.
fn slept_much(time: &ServerTime) -> bool {
    time.wall_ns > 0.0 && time.active_ns() < ACTIVE * time.wall_ns
}

/// What a cause cost: `49 %`, `at most 2.7 %`; of a server that slept much `5.5 % of active time`, `93 % of all time`.
fn cost(cause: &Cause, time: Option<&ServerTime>) -> String {
    let (at_most, share) = match (cause.share, cause.certainty, cause.share_at_most) {
        (Some(share), Certainty::Seen, _) => ("", share),
        (_, _, Some(share)) => ("at most ", share),
        _ => return "cost not measured".into(),
    };
    let share = percent(share);
    match time.is_some_and(slept_much) && cause.share_of != ShareOf::Window {
        true => format!("{at_most}{share} {}", cause.share_of.words()),
        false => format!("{at_most}{share}"),
    }
}

fn cause(
    number: usize,
    cause: &Cause,
    time: Option<&ServerTime>,
    wanted: Wanted,
    width: usize,
) -> Vec<String> {
    let cost = cost(cause, time);
    let follows = cause.follows_from.as_ref().map(|id| format!(", follows from {id}")).unwrap_or_default();
    let claim = format!("{} ({cost}{})", one_line(&cause.claim), one_line(&follows));
    let mut lines = hanging(&format!("{number}. "), &claim, "   ", width);
    for evidence in cause.evidence.iter().take(if wanted.all { usize::MAX } else { EVIDENCE }) {
        lines.extend(hanging("   ", &one_line(evidence), "   ", width));
    }
    for remedy in cause.remedies.iter().take(if wanted.all { usize::MAX } else { 1 }) {
        lines.extend(hanging("   -> ", &one_line(&remedy.words), "      ", width));
        // A command is one line, so that it can be copied.
        let command = apply_command(remedy.setting.as_slice());
        lines.extend(command.map(|command| format!("      {}", one_line(&command))));
    }
    lines
}

/// What is cost and no theft, and what looking cost.
fn own_work(diagnosis: &Diagnosis, width: usize) -> Vec<String> {
    let own =
        diagnosis.own_work.iter().map(|own| format!("{} {} (its own work)", own.what, percent(own.share)));
    let observer = diagnosis.observer.filter(|share| *share >= 0.001);
    let observer = observer.map(|share| format!("pinwise itself {}", percent(share)));
    let parts: Vec<String> = own.chain(observer).collect();
    match parts.is_empty() {
        true => Vec::new(),
        false => hanging("", &format!("Besides: {}.", parts.join(", ")), "  ", width),
    }
}

/// `Ruled out: quota, swap.`
fn ruled_out(diagnosis: &Diagnosis, room: usize) -> Vec<String> {
    let title = |id: &&'static str| abouts().find(|about| about.id == *id).map(|about| about.title);
    let titles: Vec<&str> = diagnosis.ruled_out.iter().filter_map(title).collect();
    if titles.is_empty() {
        Vec::new()
    } else {
        let named = wrapped("", &format!("Ruled out: {}.", titles.join(", ")), "  ");
        match named.len() <= room {
            true => named,
            false => vec![format!("Ruled out: {} other mechanisms (--full names them).", titles.len())],
        }
    }
}

/// What could not be looked at: in short what, and where all is wanted, why.
fn missing(diagnosis: &Diagnosis, wanted: Wanted) -> Vec<String> {
    if wanted.all {
        let all = diagnosis.missing.iter().chain(&diagnosis.missing_counters);
        return all
            .flat_map(|missing| {
                wrapped("Not seen: ", &one_line(&format!("{}: {}", missing.fact, missing.why)), "  ")
            })
            .collect();
    }
    let facts = diagnosis.missing.iter().take(MISSING).map(|missing| one_line(&missing.fact));
    let facts: Vec<String> = facts.map(|fact| fact.into_owned()).collect();
    let more = diagnosis.missing.len().saturating_sub(MISSING);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    match facts.is_empty() {
        true => Vec::new(),
        false => wrapped("", &format!("Not seen (--full says why): {}{more}.", facts.join(", ")), "  "),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use advise::diagnosis::time::{Busiest, Means};
    use advise::diagnosis::{Remedy, Subject};
    use machine::{CpuSet, Missing};
    use probe::account::ChangedCpu;
    use probe::pmu::Work;

    use super::*;

    fn time() -> ServerTime {
        ServerTime {
            means: Means::Account,
            window_ns: 1e10,
            threads: 1,
            of_threads: 1,
            wall_ns: 1e10,
            on_cpu_ns: 6e9,
            user_ns: None,
            interrupted_ns: 1e9,
            preempted_ns: 2e9,
            run_queue_ns: 0.0,
            throttled_ns: 0.0,
            blocked_ns: Some(0.0),
            asleep_ns: 1e9,
            asleep_for_ns: BTreeMap::new(),
            busiest: Busiest::default(),
            cpus: CpuSet::single(1),
        }
    }

    fn hog(pid: u32) -> Cause {
        Cause::seen("busy-task", Subject::Process { pid }, 0.22, format!("hog (process {pid}) runs on CPU 1"))
            .because("one")
            .because("two")
            .because("three")
            .remedy(Remedy::set("Give it CPU 0", "process-affinity", pid, 0))
    }

    #[test]
    fn the_limit_comes_first_and_each_cause_has_its_command() {
        let diagnosis =
            Diagnosis { time: Some(time()), limit: Limit::Cpu, causes: vec![hog(7)], ..Diagnosis::default() };
        let text = render(&diagnosis, "process 5", Wanted::default());
        let mut lines = text.lines();
        let first = [lines.next().unwrap(), lines.next().unwrap()].join(" ");
        assert_eq!(
            first,
            "process 5 wanted a CPU for 90 % of 10.0 s and had one for 70 %. Limit: CPU. It waited for one for 22 % of its time."
        );
        let bar = lines.next().unwrap().trim();
        assert_eq!((bar.len(), bar.matches('#').count(), bar.matches('<').count()), (62, 36, 12), "{bar}");
        assert!(
            text.contains("1. hog (process 7) runs on CPU 1 (22 %)\n   one\n   -> Give it CPU 0\n      pinwise apply --set process-affinity:7=0\n"),
            "{text}"
        );
    }

    #[test]
    fn shares_of_a_server_that_slept_much_say_of_which_time_they_are() {
        let asleep = Cause {
            share_of: ShareOf::AllTime,
            ..Cause::seen("slow-client", Subject::Process { pid: 9 }, 0.93, "its client is busy")
        };
        let with = |time: ServerTime| {
            let causes = vec![asleep.clone(), hog(7)];
            let diagnosis = Diagnosis { time: Some(time), causes, ..Diagnosis::default() };
            render(&diagnosis, "s", Wanted::default())
        };
        let text = with(ServerTime {
            on_cpu_ns: 4e8,
            interrupted_ns: 0.0,
            preempted_ns: 3e8,
            asleep_ns: 9.3e9,
            ..time()
        });
        assert!(text.contains(". asleep 93 % (active 7.0 %)\n"), "{text}");
        assert!(text.contains("its client is busy (93 % of all time)\n"), "{text}");
        assert!(text.contains("runs on CPU 1 (22 % of active time)\n"), "{text}");
        let busy = with(time());
        assert!(busy.contains("runs on CPU 1 (22 %)\n") && !busy.contains("active"), "{busy}");
    }

    #[test]
    fn cpus_that_changed_come_before_the_limit() {
        let (offline_ns, wall_ns) = (4_000_000_000, 6_000_000_000);
        let changed = |cpu| ChangedCpu { cpu, offline_ns, wall_ns, left: 1, came: 0 };
        let with = |cpus: &[u32]| {
            let changed_cpus = cpus.iter().copied().map(changed).collect();
            let diagnosis = Diagnosis { time: Some(time()), changed_cpus, ..Diagnosis::default() };
            render(&diagnosis, "process 5", Wanted::default())
        };
        let one = with(&[3]);
        assert!(one.starts_with("CPU 3 was offline for 4.0 of 6.0 s.\nprocess 5 wanted"), "{one}");
        assert!(with(&[1, 3, 5, 7]).starts_with("CPUs 1,3,5,7 were offline for part of the time; "));
        assert!(with(&[]).starts_with("process 5 wanted"));
    }

    #[test]
    fn what_is_left_out_is_counted_and_all_is_there_when_it_is_wanted() {
        let missing = (0..9).map(|n| Missing::new(n, "why")).collect();
        let causes = (1..6).map(hog).collect();
        let diagnosis =
            Diagnosis { time: Some(time()), limit: Limit::Cpu, causes, missing, ..Diagnosis::default() };
        let short = render(&diagnosis, "s", Wanted::default());
        assert!(short.contains("And 2 more (--full): busy-task/process:4, busy-task/process:5"), "{short}");
        assert!(short.contains("Not seen (--full says why): 0, 1, 2, 3 and 5 more."), "{short}");
        let full = render(&diagnosis, "s", Wanted { all: true, ..Wanted::default() });
        assert!(
            full.contains("5. hog")
                && full.contains("three")
                && full.contains("Not seen: 8: why")
                && !full.contains("--full"),
            "{full}"
        );
    }

    #[test]
    fn what_was_ruled_out_is_counted_where_there_is_no_room_for_its_names() {
        let ruled_out: Vec<&'static str> = abouts().map(|about| about.id).collect();
        let with = |causes: Vec<Cause>, all| {
            let time = Some(time());
            let diagnosis = Diagnosis { time, causes, ruled_out: ruled_out.clone(), ..Diagnosis::default() };
            render(&diagnosis, "s", Wanted { all, ..Wanted::default() })
        };
        let long =
            |pid| Cause::seen("busy-task", Subject::Process { pid }, 0.2, "it is so ".repeat(60).trim_end());
        let counted = format!("Ruled out: {} other mechanisms (--full names them).", ruled_out.len());
        assert!(with(vec![long(1), long(2), long(3)], false).contains(&counted));
        for text in [with(vec![long(1), long(2), long(3)], true), with(Vec::new(), false)] {
            assert!(text.contains("Ruled out: ") && !text.contains("other mechanisms"), "{text}");
        }
    }

    #[test]
    fn work_is_a_line_where_it_was_counted() {
        let work = Work { instructions: 2e9, cycles: 1e9, cache_misses: Some(4e6), counted_share: 1.0 };
        let with = |work| {
            render(&Diagnosis { time: Some(time()), work, ..Diagnosis::default() }, "s", Wanted::default())
        };
        let line = "\n  2.00 instructions a cycle, 2.00 misses of the last-level cache a thousand\n";
        assert!(with(Some(work)).contains(line), "{}", with(Some(work)));
        let bare = with(Some(Work { cache_misses: None, ..work }));
        assert!(bare.contains("\n  2.00 instructions a cycle\n"), "{bare}");
        assert!(
            !with(None).contains("instructions") && !with(Some(Work::default())).contains("instructions")
        );
    }

    #[test]
    fn commands_of_another_time_come_with_a_warning() {
        let diagnosis = Diagnosis { time: Some(time()), causes: vec![hog(7)], ..Diagnosis::default() };
        let shown = |past| render(&diagnosis, "s", Wanted { past, ..Wanted::default() });
        assert!(shown(true).contains("as they were then: check them before use."));
        assert!(!shown(false).contains("as they were then"));
        let none = Diagnosis { time: Some(time()), ..Diagnosis::default() };
        assert!(!render(&none, "s", Wanted { past: true, all: true }).contains("as they were then"));
    }

    #[test]
    fn names_from_outside_stay_on_their_line() {
        let mut cause = hog(7);
        cause.claim = "evil\n1. nothing is wrong\u{1b}[2J".into();
        let diagnosis = Diagnosis { time: Some(time()), causes: vec![cause], ..Diagnosis::default() };
        let text = render(&diagnosis, "a\nb", Wanted::default());
        assert!(
            !text.contains('\u{1b}') && !text.contains("\n1. nothing") && !text.contains("a\nb"),
            "{text}"
        );
    }

    #[test]
    fn a_server_that_was_not_seen_is_not_judged() {
        let text = render(&Diagnosis::default(), "process 5", Wanted::default());
        assert_eq!(text, "process 5: nothing of it was seen.\n");
    }
}
