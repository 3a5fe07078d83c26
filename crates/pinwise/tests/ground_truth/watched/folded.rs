//! Time by stack, of a thief, its victim and one that sleeps: each keeps account of its own.

use std::collections::BTreeMap;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use super::actor::{Actor, Until, cpu_time_ns, now_ns, sleep_until, spin};
use super::figures::assert_near;
use super::limited::Limited;
use super::thief::{Stolen, steal};
use super::watching::{Stage, note_missed_switches, retried_where_switches_are_missed};
use crate::processes::Killed;

/// Folded stacks: ns by line.
struct Folded(BTreeMap<String, u64>);

impl Folded {
    fn read(text: &str) -> Self {
        let line = |line: &str| {
            let (stack, ns) = line.rsplit_once(' ').unwrap();
            (stack.to_string(), ns.parse().unwrap())
        };
        Self(text.lines().map(line).collect())
    }

    /// Of the stacks that begin so, those with all of these words.
    fn ns(&self, begin: &str, words: &[&str]) -> u64 {
        let is_meant =
            |stack: &str| stack.starts_with(begin) && words.iter().all(|word| stack.contains(word));
        self.0.iter().filter(|(stack, _)| is_meant(stack)).map(|(_, ns)| ns).sum()
    }
}

/// What a thread had done by some moment, by its own account.
#[derive(Clone, Copy)]
struct Mark {
    /// CLOCK_MONOTONIC, ns.
    at_ns: u64,
    slept_ns: u64,
    ran_ns: u64,
}

/// Sleeps 5 ms, and works for 1 ms.
fn sleep_and_work(until: &Until) -> Vec<Mark> {
    let (mut marks, mut slept_ns) = (Vec::with_capacity(10_000), 0);
    while until.goes_on() {
        let from_ns = now_ns();
        sleep_until(from_ns + 5_000_000);
        slept_ns += 5_000_000;
        let begun = now_ns();
        while now_ns() - begun < 1_000_000 {}
        marks.push(Mark { at_ns: now_ns(), slept_ns, ran_ns: cpu_time_ns() });
    }
    marks
}

/// Least and most that a thread did within any window of this length. Folded stacks have a length and no beginning, and a window may hold
/// one of the kernel's pauses of real-time threads more than the next.
fn within_any_window(marks: &[Mark], done_ns: impl Fn(&Mark) -> u64, length_ns: u64) -> (u64, u64) {
    let of_window = |from: usize| {
        let to = marks[from..].iter().find(|mark| mark.at_ns >= marks[from].at_ns + length_ns)?;
        // It is longer than the window, by part of a round.
        let share = length_ns as f64 / (to.at_ns - marks[from].at_ns) as f64;
        Some(((done_ns(to) - done_ns(&marks[from])) as f64 * share) as u64)
    };
    let all: Vec<u64> = (0..marks.len()).map_while(of_window).collect();
    let least = all.iter().min().expect("the thread lived longer than the window");
    (*least, *all.iter().max().unwrap())
}

/// `reported` lies in such a range, up to 2 % at either end.
fn assert_within(what: &str, reported: u64, (least, most): (u64, u64)) {
    eprintln!("{what}: watch {reported}, {least} to {most} in any window");
    let range = (least as f64 * 0.98) as u64..=(most as f64 * 1.02) as u64;
    assert!(range.contains(&reported), "{what}: watch {reported}, not in {range:?}");
}

fn stacks_have_the_time_of_their_threads() {
    let Some(stage) = Stage::new() else { return };
    let sleeper = Actor::start_fifo("sleeper", stage.cpu, 30, sleep_and_work);
    let victim = Actor::start_fifo("victim", stage.cpu, 5, spin);
    let thief = Actor::start_fifo("thief", stage.cpu, 20, steal);
    let threads = [sleeper.tid, victim.tid, thief.tid].map(|tid| tid.to_string()).join(",");
    let flags = ["watch", "--thread", &threads, "--for", "3s", "--format", "folded"];
    let output = stage.command(&flags).output().unwrap();
    let (stolen, lived) = (thief.stop(), sleeper.stop());
    victim.stop();
    let seen = stacks(&output);

    // Each thread has the whole window: of three that lived all the time no two differ.
    let all = seen.ns("victim;", &[]);
    assert!((3_000_000_000..4_000_000_000).contains(&all), "{all} ns");
    for name in ["sleeper;", "thief;"] {
        assert_near(&format!("time of {name} ns"), seen.ns(name, &[]), all, 0.001, 1_000);
    }
    asleep_is_where_it_sleeps(&seen, &lived, all);
    let took = seen.ns("thief;on a CPU", &[]);
    let mark = |stolen: &Stolen| Mark { at_ns: stolen.slice.to_ns, slept_ns: 0, ran_ns: stolen.cpu_ns };
    let thief: Vec<Mark> = stolen.iter().map(mark).collect();
    assert_within("the thief has a CPU, ns", took, within_any_window(&thief, |mark| mark.ran_ns, all));
    // Whoever has the CPU has taken it from the victim, for which these two are most of it.
    let taken = took + seen.ns("sleeper;on a CPU", &[]);
    let preempted = seen.ns("victim;preempted", &[]);
    assert!(preempted as f64 >= taken as f64 * 0.98, "{preempted} ns of {taken}");
    assert!(preempted <= all - seen.ns("victim;on a CPU", &[]), "{preempted} ns of {all}");
    assert_eq!((seen.ns("victim;asleep", &[]), seen.ns("victim;blocked", &[])), (0, 0));
    on_a_cpu_is_where_it_spins(&seen, &String::from_utf8_lossy(&output.stderr));
}

/// What the victim has of a CPU it spends in one function, which most of its samples name. It is sampled some hundred times, which on
/// x86 alone is possible.
fn on_a_cpu_is_where_it_spins(seen: &Folded, words: &str) {
    if words.contains("missing: stacks of time on a CPU") {
        return eprintln!("skipped: on a CPU nothing is sampled here");
    }
    let (ran, spun) = (seen.ns("victim;on a CPU", &[]), seen.ns("victim;on a CPU;", &["spin"]));
    eprintln!("the victim has a CPU for {ran} ns, {spun} of them with spin in its stack");
    assert!(spun > ran / 2, "{spun} of {ran} ns");
    // All of it is split, to the ns: nothing is left without a stack.
    assert_eq!(seen.ns("victim;on a CPU;", &[]), ran);
}

/// What the sleeper sleeps it sleeps in one place, in its own words and the kernel's.
fn asleep_is_where_it_sleeps(seen: &Folded, lived: &[Mark], all: u64) {
    let asleep = seen.ns("sleeper;asleep;", &["nanosleep_[k]"]);
    assert_within("asleep in nanosleep, ns", asleep, within_any_window(lived, |mark| mark.slept_ns, all));
    let in_user_space = |stack: &&String| {
        let mut frames = stack.split(';').skip(2).filter(|frame| !frame.ends_with("_[k]"));
        frames.any(|frame| frame.contains("sleep"))
    };
    let of_sleeper = || seen.0.iter().filter(|(stack, _)| stack.starts_with("sleeper;asleep;"));
    let named: u64 = of_sleeper().filter(|(stack, _)| in_user_space(stack)).map(|(_, ns)| ns).sum();
    assert!(named as f64 >= asleep as f64 * 0.98, "{named} of {asleep} ns have a name in user space");
    let ran = seen.ns("sleeper;on a CPU", &[]);
    assert_within("the sleeper has a CPU, ns", ran, within_any_window(lived, |mark| mark.ran_ns, all));
}

#[test]
#[ignore = "ground truth: needs root and BPF; run by `make test`"]
fn folded_stacks_have_the_time_of_their_threads() {
    retried_where_switches_are_missed(stacks_have_the_time_of_their_threads);
}

/// A child that waits for nothing on its standard input, killed when this goes.
fn run(program: &str, arguments: &[&str]) -> Killed {
    Killed(Command::new(program).args(arguments).stdin(Stdio::piped()).spawn().unwrap())
}

fn stacks(output: &Output) -> Folded {
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words}");
    note_missed_switches(&words);
    let text = String::from_utf8_lossy(&output.stdout);
    eprintln!("{words}{text}");
    Folded::read(&text)
}

/// A shell that always waits for a child, one after the other.
fn those_who_are_born_and_end_have_the_time_that_they_lived() {
    let Some(stage) = Stage::new() else { return };
    let shell = run("sh", &["-c", "i=0; while [ $i -lt 60 ]; do sleep 0.25; i=$((i+1)); done"]);
    let pid = shell.0.id().to_string();
    let output = stage.command(&["watch", "--process", &pid, "--for", "6s", "--format", "folded"]).output();
    let seen = stacks(&output.unwrap());
    let waits = seen.ns("sh;asleep", &["do_wait"]);
    // Where it waited when counting began was not seen, for a quarter of a second at most, nor what its child did then; and to start
    // each child takes some milliseconds, more on a slow host.
    assert_near("the shell waits for a child, ns", waits, 6_000_000_000, 0.1, 0);
    let (sleeps, lived) = (seen.ns("sleep;asleep", &["nanosleep"]), seen.ns("sleep;", &[]));
    assert_near("its children sleep, ns", sleeps, 6_000_000_000, 0.1, 0);
    assert_near("all that they lived, ns", lived, 6_000_000_000, 0.05, 0);
}

#[test]
#[ignore = "ground truth: needs root and BPF; run by `make test`"]
fn folded_stacks_have_what_those_lived_who_were_born_and_ended() {
    retried_where_switches_are_missed(those_who_are_born_and_end_have_the_time_that_they_lived);
}

/// A process that is moved into the cgroup while that is watched, and has slept ever since it was started.
fn one_that_joins_has_the_time_since() {
    let Some(stage) = Stage::new() else { return };
    let Some(cgroup) = Limited::new("cpu", &[], &[]) else {
        return eprintln!("skipped: no cgroup with the CPU controller");
    };
    let procs = cgroup.folder().join("cgroup.procs");
    let (first, joins) = (run("cat", &[]), run("sleep", &["60"]));
    std::fs::write(&procs, first.0.id().to_string()).unwrap();
    let name = format!("/{}", cgroup.folder().file_name().unwrap().display());
    let mut command = stage.command(&["watch", "--process", &name, "--for", "5s", "--format", "folded"]);
    let watch = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(2_500));
    std::fs::write(&procs, joins.0.id().to_string()).unwrap();
    let seen = stacks(&watch.wait_with_output().unwrap());
    drop((first, joins));
    let (all, since) = (seen.ns("cat;", &[]), seen.ns("sleep;asleep", &[]));
    assert!(all >= 5_000_000_000, "{all} ns");
    // It is looked for once a second; the window began after the command did.
    assert!((500_000_000..3_000_000_000).contains(&since), "{since} ns of one that came in the middle");
    assert_eq!(seen.ns("sleep;", &[]), since);
}

#[test]
#[ignore = "ground truth: needs root, BPF and a cgroup with the CPU controller; run by `make test`"]
fn folded_stacks_have_of_one_that_joins_the_time_since() {
    retried_where_switches_are_missed(one_that_joins_has_the_time_since);
}
