//! A thread that wakes another one on its CPU, goes on inside the kernel, and then goes to sleep before it could be preempted: where yet
//! another one is in the run queue, the kernel does not bring the clock of the queue up to date at such a switch, because it was when the
//! other one was woken (rq_clock_skip_update). What lies in between is the waker's, and the other one waited.
//!
//! Kernels that preempt threads inside the kernel do so at once: what is reported has to be true there too, but nothing can be mistaken.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;

use machine::{Machine, Root};
use rustix::event::{PollFd, PollFlags, poll};

use super::actor::{Actor, Slice, now_ns, spin};
use super::figures::{assert_near, number};
use super::watching::{Sheet, Stage, retried_where_switches_are_missed};

/// Far more than the socket holds: a write of it sleeps until some is read.
const WRITTEN: usize = 4 << 20;

/// What the socket holds. It takes in 48 KiB at a time and wakes its reader at the first (net/unix/af_unix.c, unix_stream_sendmsg):
/// most of what it takes to fill it comes after the wake-up.
const HELD: usize = 416 << 10;

/// What a call that sleeps takes by itself, ns: 2,260 on a host with dear calls and switches (AMD EPYC, 65,900 times in 2 s), where some 15 us
/// pass until there is something to read.
const ON_THE_WAY_NS: u64 = 2_500;

/// Has one thread write to another on one CPU, and watches the writer or the reader; when the reader, which goes before the writer, had
/// nothing to read: then the writer ran, or, seldom, a third one.
fn while_watched(stage: &Stage, writer_is_watched: bool) -> (Sheet, u32, Vec<Slice>) {
    let (mut from, mut into) = UnixStream::pair().unwrap();
    rustix::net::sockopt::set_socket_send_buffer_size(&into, HELD / 2).unwrap();
    let reader = Actor::start_fifo("reader", stage.cpu, 5, move |_| {
        let mut away = Vec::with_capacity(1_000_000);
        let mut bytes = vec![0; HELD];
        loop {
            let from_ns = now_ns();
            poll(&mut [PollFd::new(&from, PollFlags::IN)], None).unwrap();
            away.push(Slice { from_ns, to_ns: now_ns() });
            if from.read(&mut bytes).unwrap() == 0 {
                return away;
            }
        }
    });
    let writer = Actor::start("writer", stage.cpu, move |until| {
        let bytes = vec![1; WRITTEN];
        while until.goes_on() {
            into.write_all(&bytes).unwrap();
        }
    });
    let rest = Actor::start("rest", stage.cpu, |until| {
        rustix::process::setpriority_process(None, 19).unwrap();
        spin(until);
    });
    let tid = if writer_is_watched { writer.tid } else { reader.tid };
    let sheet = stage.watch(&["--thread", &tid.to_string(), "--for", "2s"]);
    writer.stop();
    rest.stop();
    let away = reader.stop();
    (sheet, tid, away)
}

/// How long the reader was away in the window, and what of it may have been its own way there and back, ns. Its own CPU clock does not show it:
/// it goes by the clock of the queue, which is what this is about.
fn away_ns(sheet: &Sheet, away: &[Slice]) -> (u64, u64) {
    let times = away.iter().filter(|away| sheet.has(away.from_ns)).count() as u64;
    assert!(times > 1_000, "away {times} times only");
    (away.iter().map(|away| away.within(sheet.window())).sum(), times * ON_THE_WAY_NS)
}

#[test]
#[ignore = "ground truth: needs root and BPF; run by `make test`"]
fn who_is_woken_waits_while_its_waker_goes_on() {
    retried_where_switches_are_missed(|| {
        let Some(stage) = Stage::new() else { return };
        let (sheet, tid, away) = while_watched(&stage, false);
        let row = sheet.thread(tid);
        let [asleep, waiting] = ["asleep", "run_queue"].map(|state| number(&row[state]["total_ns"]));
        let (away_ns, on_the_way_ns) = away_ns(&sheet, &away);
        // It does not sleep on the way there and back.
        assert_near("away, ns", asleep + waiting, away_ns, 0.1, on_the_way_ns);
        let model = Machine::read(&Root::live()).kernel.preempt;
        if !["none", "voluntary"].contains(&model.as_deref().unwrap_or_default()) {
            return eprintln!(
                "skipped in part: who is woken need not wait on this kernel, which preempts inside: {model:?}"
            );
        }
        assert!(waiting > away_ns / 2, "waited {waiting} ns, slept {asleep} ns");
    });
}

#[test]
#[ignore = "ground truth: needs root and BPF; run by `make test`"]
fn a_waker_has_the_cpu_until_it_sleeps() {
    retried_where_switches_are_missed(|| {
        let Some(stage) = Stage::new() else { return };
        let (sheet, tid, away) = while_watched(&stage, true);
        let row = sheet.thread(tid);
        let ran_ns = number(&row["on_cpu"]["total_ns"]) + number(&row["interrupted_ns"]);
        let (away_ns, on_the_way_ns) = away_ns(&sheet, &away);
        assert_near("on the CPU, ns", ran_ns, away_ns, 0.1, on_the_way_ns);
    });
}
