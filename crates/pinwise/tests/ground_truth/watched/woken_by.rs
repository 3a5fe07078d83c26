//! Who woke a thread: a task on its CPU or on another one, or a timer.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;

use super::actor::{Actor, now_ns, sleep_until};
use super::figures::number;
use super::watching::{Sheet, Stage, retried_where_switches_are_missed};

/// Share of a thread's counted wake-ups by this process in this context, on the same CPU or elsewhere.
fn share(sheet: &Sheet, tid: u32, context: &str, elsewhere: bool, pid: Option<u32>) -> f64 {
    let row = sheet.thread(tid);
    let wakers = row["wakers"].as_array().unwrap();
    let count = |waker: &&serde_json::Value| number(&waker["count"]) as f64;
    let pid = pid.map_or(serde_json::Value::Null, Into::into);
    let of = wakers.iter().filter(|waker| {
        waker["context"] == context && waker["elsewhere"] == elsewhere && waker["pid"] == pid
    });
    of.map(|waker| count(&waker)).sum::<f64>() / wakers.iter().map(|waker| count(&waker)).sum::<f64>()
}

/// A reader on the actors' CPU, woken a thousand times a second by a writer on this CPU.
fn written_from(stage: &Stage, cpu: u32) -> (Sheet, u32) {
    let (mut from, mut into) = UnixStream::pair().unwrap();
    let reader = Actor::start("reader", stage.cpu, move |_| {
        let mut byte = [0];
        while from.read(&mut byte).unwrap() > 0 {}
    });
    let writer = Actor::start("writer", cpu, move |until| {
        let mut due_ns = now_ns();
        while until.goes_on() {
            due_ns += 1_000_000;
            sleep_until(due_ns);
            into.write_all(&[1]).unwrap();
        }
    });
    let tid = reader.tid;
    let sheet = stage.watch(&["--thread", &tid.to_string(), "--for", "1s"]);
    writer.stop();
    reader.stop();
    (sheet, tid)
}

#[test]
#[ignore = "ground truth: needs root and BPF; run by `make test`"]
fn a_writer_on_another_cpu_and_one_on_the_same_are_distinguished() {
    retried_where_switches_are_missed(|| {
        let Some(stage) = Stage::new() else { return };
        let own = Some(std::process::id());
        let (sheet, tid) = written_from(&stage, stage.aside);
        let by_other = share(&sheet, tid, "task", true, own);
        assert!(by_other > 0.95, "{by_other}: {}", sheet.thread(tid));
        assert_eq!(sheet.thread(tid)["wakers"][0]["comm"].as_str().map(str::is_empty), Some(false));
        let (sheet, tid) = written_from(&stage, stage.cpu);
        let by_same = share(&sheet, tid, "task", false, own);
        assert!(by_same > 0.95, "{by_same}: {}", sheet.thread(tid));
    });
}

#[test]
#[ignore = "ground truth: needs root and BPF; run by `make test`"]
fn a_timer_is_an_interrupt_and_no_process() {
    retried_where_switches_are_missed(|| {
        let Some(stage) = Stage::new() else { return };
        let sleeper = Actor::start("sleeper", stage.cpu, |until| {
            while until.goes_on() {
                sleep_until(now_ns() + 1_000_000);
            }
        });
        let sheet = stage.watch(&["--thread", &sleeper.tid.to_string(), "--for", "1s"]);
        let by_timer = share(&sheet, sleeper.tid, "interrupt", false, None);
        assert!(by_timer > 0.95, "{by_timer}: {}", sheet.thread(sleeper.tid));
        sleeper.stop();
    });
}
