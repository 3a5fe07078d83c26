//! What threads sleep for: each kind of sleep is found in its own part, and the parts are all of it.

use std::io::{Read as _, Write as _};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::actor::{Actor, Slice, Until, now_ns, sleep_until};
use super::figures::{assert_near, number};
use super::limited::Limited;
use super::watching::{Sheet, Stage, retried_where_switches_are_missed};
use crate::processes::Killed;

/// How long each sleep takes. The time of a wake-up, some 100 us here, is no sleep: of these it is less than a per cent.
const TIMER: Duration = Duration::from_millis(20);
const FUTEX: Duration = Duration::from_millis(30);
const ANSWER: Duration = Duration::from_millis(25);
const EPOLL: Duration = Duration::from_millis(40);

/// What may be between the clock of who sleeps and the kernel's account.
const SHARE: f64 = 0.03;

/// A thread's own account of what it slept for.
#[derive(Default)]
struct Slept {
    timer: Vec<Slice>,
    futex: Vec<Slice>,
    input: Vec<Slice>,
}

fn keep(slices: &mut Vec<Slice>, sleep: impl FnOnce()) {
    let from_ns = now_ns();
    sleep();
    slices.push(Slice { from_ns, to_ns: now_ns() });
}

/// An epoll that nothing is ever ready on.
fn epoll() -> OwnedFd {
    // SAFETY: without arguments in memory; what it gives is ours.
    let made = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
    assert!(made >= 0, "epoll_create1: {}", std::io::Error::last_os_error());
    // SAFETY: as above.
    unsafe { OwnedFd::from_raw_fd(made) }
}

fn wait_until_over(epoll: &OwnedFd) {
    let mut event = libc::epoll_event { events: 0, u64: 0 };
    // SAFETY: room for one event, as said.
    let ready = unsafe { libc::epoll_wait(epoll.as_raw_fd(), &raw mut event, 1, EPOLL.as_millis() as i32) };
    assert!(ready <= 0, "nothing was ready");
}

/// Sleeps for each in turn; `peer` answers each byte after a while.
fn sleep_in_turn(until: &Until, mut peer: UnixStream) -> Slept {
    let (lock, condition, epoll) = (Mutex::new(()), Condvar::new(), epoll());
    let mut slept = Slept::default();
    while until.goes_on() {
        keep(&mut slept.timer, || sleep_until(now_ns() + TIMER.as_nanos() as u64));
        keep(&mut slept.futex, || drop(condition.wait_timeout(lock.lock().unwrap(), FUTEX)));
        keep(&mut slept.input, || {
            peer.write_all(&[0]).unwrap();
            peer.read_exact(&mut [0]).unwrap();
        });
        keep(&mut slept.input, || wait_until_over(&epoll));
    }
    slept
}

fn answer(mut peer: UnixStream) {
    while peer.read_exact(&mut [0]).is_ok() {
        std::thread::sleep(ANSWER);
        let _ = peer.write_all(&[0]);
    }
}

/// What a thread slept for a reason, ns.
fn part(row: &Value, reason: &str) -> u64 {
    row["asleep_for"].get(reason).map_or(0, |part| number(&part["total_ns"]))
}

/// The parts of a thread's sleep are all of it, to the ns.
#[track_caller]
pub fn parts_are_all(row: &Value) {
    let parts = || row["asleep_for"].as_object().into_iter().flat_map(|parts| parts.values());
    for sum in ["count", "total_ns"] {
        let all: u64 = parts().map(|part| number(&part[sum])).sum();
        assert_eq!(all, number(&row["asleep"][sum]), "{sum} of {row:#}");
    }
}

#[track_caller]
fn near(sheet: &Sheet, tid: u32, reason: &str, slices: &[Slice]) {
    let truth = slices.iter().map(|slice| slice.within(sheet.window())).sum();
    assert_near(&format!("asleep for {reason}, ns"), part(sheet.thread(tid), reason), truth, SHARE, 0);
}

/// No reasons but these.
#[track_caller]
fn only(row: &Value, reasons: &[&str]) {
    let reported: Vec<&str> = row["asleep_for"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(reported, reasons, "{row:#}");
    parts_are_all(row);
}

#[test]
#[ignore = "ground truth: needs root and BPF; run by `make test`"]
fn each_sleep_is_found_in_its_own_part() {
    retried_where_switches_are_missed(|| {
        let Some(stage) = Stage::new() else { return };
        let (near_end, far_end) = UnixStream::pair().unwrap();
        let answers = Actor::start("answers", stage.aside, move |_| answer(far_end));
        let sleeper = Actor::start_fifo("sleeps", stage.cpu, 10, move |until| sleep_in_turn(until, near_end));
        // A timeout of a call that waits for input is no timer.
        let polls = Actor::start_fifo("polls", stage.cpu, 11, |until| {
            let (epoll, mut slices) = (epoll(), Vec::new());
            while until.goes_on() {
                keep(&mut slices, || wait_until_over(&epoll));
            }
            slices
        });
        let sheet = stage.watch(&["--process", &std::process::id().to_string(), "--for", "4s"]);
        let (tid, polls_tid) = (sleeper.tid, polls.tid);
        let (slept, polled) = (sleeper.stop(), polls.stop());
        answers.stop();
        near(&sheet, tid, "timer", &slept.timer);
        near(&sheet, tid, "futex", &slept.futex);
        near(&sheet, tid, "input", &slept.input);
        only(sheet.thread(tid), &["futex", "input", "timer"]);
        near(&sheet, polls_tid, "input", &polled);
        only(sheet.thread(polls_tid), &["input"]);
        sheet.rows("threads").iter().for_each(parts_are_all);
        parts_are_all(&sheet.json["together"]);
    });
}

/// With raw trace points nobody says in which call a thread is.
#[test]
#[ignore = "ground truth: needs root and BPF; run by `make test`"]
fn raw_trace_points_show_no_system_call() {
    retried_where_switches_are_missed(|| {
        let Some(stage) = Stage::new() else { return };
        let polls = Actor::start("polls", stage.cpu, |until| {
            let epoll = epoll();
            while until.goes_on() {
                wait_until_over(&epoll);
            }
        });
        let sheet = stage.watch(&["--thread", &polls.tid.to_string(), "--for", "1s", "--raw"]);
        only(sheet.thread(polls.tid), &["unknown"]);
        polls.stop();
    });
}

/// A child that sleeps for longer than any test.
fn sleeping() -> Killed {
    Killed(Command::new("sleep").arg("60").stdin(Stdio::null()).spawn().unwrap())
}

/// Watches a child that stands still in the middle of the window, and says when that was.
fn held(
    stage: &Stage,
    child: u32,
    more: &[&str],
    hold: impl FnOnce(),
    let_go: impl FnOnce(),
) -> (Sheet, Slice) {
    let tid = child.to_string();
    let watching = stage.begin(&[&["--process", &tid, "--for", "4s"], more].concat());
    std::thread::sleep(Duration::from_millis(500));
    hold();
    let from_ns = now_ns();
    std::thread::sleep(Duration::from_millis(1_500));
    let to_ns = now_ns();
    let_go();
    let sheet = watching.end();
    assert!(
        sheet.has(from_ns) && sheet.has(to_ns),
        "the window did not begin or end in time: a machine too busy"
    );
    (sheet, Slice { from_ns, to_ns })
}

/// It slept in a call, was held, and the call went on: which call that is, its number no longer says.
fn held_between_sleeps(sheet: &Sheet, child: u32, held: Slice) {
    let (from_ns, to_ns) = sheet.window();
    near(sheet, child, "stopped", &[held]);
    near(sheet, child, "timer", &[Slice { from_ns, to_ns: held.from_ns }]);
    near(sheet, child, "unknown", &[Slice { from_ns: held.to_ns, to_ns }]);
    only(sheet.thread(child), &["stopped", "timer", "unknown"]);
}

fn send(child: u32, signal: Signal) {
    kill_process(Pid::from_raw(child as i32).unwrap(), signal).unwrap();
}

#[test]
#[ignore = "ground truth: needs root and BPF; run by `make test`"]
fn who_is_stopped_by_a_signal_sleeps_for_no_timer() {
    retried_where_switches_are_missed(|| {
        let Some(stage) = Stage::new() else { return };
        let child = sleeping();
        let tid = child.0.id();
        let (sheet, slice) = held(&stage, tid, &[], || send(tid, Signal::STOP), || send(tid, Signal::CONT));
        held_between_sleeps(&sheet, tid, slice);
    });
}

#[test]
#[ignore = "ground truth: needs root and BPF; run by `make test`"]
fn raw_trace_points_show_who_is_stopped() {
    retried_where_switches_are_missed(|| {
        let Some(stage) = Stage::new() else { return };
        let child = sleeping();
        let tid = child.0.id();
        let (sheet, slice) =
            held(&stage, tid, &["--raw"], || send(tid, Signal::STOP), || send(tid, Signal::CONT));
        near(&sheet, tid, "stopped", &[slice]);
        only(sheet.thread(tid), &["stopped", "unknown"]);
    });
}

/// Writes a word to a file of a cgroup, and waits until another says that it holds.
fn set(folder: &Path, file: &str, word: &str, until: (&str, &str)) {
    std::fs::write(folder.join(file), word).unwrap();
    let deadline = Instant::now() + Duration::from_secs(5);
    while !std::fs::read_to_string(folder.join(until.0)).unwrap().contains(until.1) {
        assert!(Instant::now() < deadline, "{}: no {}", folder.display(), until.1);
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn put(child: &Killed, into: &Limited) -> u32 {
    std::fs::write(into.folder().join("cgroup.procs"), child.0.id().to_string()).unwrap();
    child.0.id()
}

/// In a frozen cgroup of version 2 a thread sleeps in an ordinary state.
#[test]
#[ignore = "ground truth: needs root, BPF and cgroups of version 2; run by `make test`"]
fn who_is_frozen_with_a_cgroup_sleeps_for_no_timer() {
    retried_where_switches_are_missed(|| {
        let Some(stage) = Stage::new() else { return };
        let Some(cgroup) = Limited::of_second() else { return eprintln!("skipped: no cgroup of version 2") };
        let child = sleeping();
        let tid = put(&child, &cgroup);
        let freeze = || set(cgroup.folder(), "cgroup.freeze", "1", ("cgroup.events", "frozen 1"));
        let thaw = || set(cgroup.folder(), "cgroup.freeze", "0", ("cgroup.events", "frozen 0"));
        let (sheet, slice) = held(&stage, tid, &[], freeze, thaw);
        drop(child);
        held_between_sleeps(&sheet, tid, slice);
    });
}

/// In one of version 1 it has a state of its own.
#[test]
#[ignore = "ground truth: needs root, BPF and the freezer of cgroups of version 1; run by `make test`"]
fn a_task_frozen_by_the_old_freezer_is_reported_as_well() {
    retried_where_switches_are_missed(|| {
        let Some(stage) = Stage::new() else { return };
        let Some(cgroup) = Limited::new("freezer", &[], &[]) else {
            return eprintln!("skipped: no freezer of version 1");
        };
        let spins = ["-c", &stage.cpu.to_string(), "sh", "-c", "ulimit -t 10; while :; do :; done"];
        let child = Killed(Command::new("taskset").args(spins).spawn().unwrap());
        let tid = put(&child, &cgroup);
        let freeze = || set(cgroup.folder(), "freezer.state", "FROZEN", ("freezer.state", "FROZEN"));
        let thaw = || set(cgroup.folder(), "freezer.state", "THAWED", ("freezer.state", "THAWED"));
        let (sheet, slice) = held(&stage, tid, &[], freeze, thaw);
        drop(child);
        near(&sheet, tid, "stopped", &[slice]);
        only(sheet.thread(tid), &["stopped"]);
    });
}
