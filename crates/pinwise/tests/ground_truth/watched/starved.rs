//! A thread that gets no CPU in a whole window, because a task of real-time priority has had it since before the window began.

use super::actor::{Actor, spin};
use super::figures::number;
use super::watching::{Sheet, Stage, retried_where_switches_are_missed};

/// Windows, so short that the kernel leaves the CPU to the task in most of them without a switch: it takes 50 ms of each second from it.
const WINDOWS: usize = 4;
const WINDOW: &str = "300ms";

/// What a task took from the thread by this sheet, and what the thread waited, ns.
fn took_and_waited(sheet: &Sheet, task: &str, tid: u32) -> (u64, u64) {
    let row = sheet.thread(tid);
    let waited_ns = number(&row["preempted"]["total_ns"]) + number(&row["run_queue"]["total_ns"]);
    let took = sheet.rows("tasks").iter().filter(|row| row["comm"] == task);
    (took.map(|row| number(&row["took"]["total_ns"])).sum(), waited_ns)
}

#[test]
#[ignore = "ground truth: needs root and BPF; run by `make test`"]
fn a_task_that_never_leaves_the_cpu_is_named() {
    retried_where_switches_are_missed(|| {
        let Some(stage) = Stage::new() else { return };
        let starved = Actor::start("starved", stage.cpu, spin);
        let hog = Actor::start_fifo("hog", stage.cpu, 50, spin);
        for _ in 0..WINDOWS {
            let sheet = stage.watch(&["--thread", &starved.tid.to_string(), "--for", WINDOW]);
            let (took_ns, waited_ns) = took_and_waited(&sheet, "hog", starved.tid);
            let window_ns = 300_000_000;
            assert!(waited_ns > window_ns / 2, "the thread waited for {waited_ns} ns");
            assert!(took_ns > waited_ns - waited_ns / 10, "{took_ns} of {waited_ns} ns: {}", sheet.json);
        }
        hog.stop();
        starved.stop();
    });
}

#[test]
#[ignore = "ground truth: needs root and BPF; run by `make test`"]
fn a_task_that_has_another_cpu_takes_nothing() {
    retried_where_switches_are_missed(|| {
        let Some(stage) = Stage::new() else { return };
        let sleeper = Actor::start("sleeper", stage.cpu, |until| {
            while until.goes_on() {
                super::actor::sleep_until(super::actor::now_ns() + 5_000_000);
            }
        });
        let busy = Actor::start("elsewhere", stage.aside, spin);
        let sheet = stage.watch(&["--thread", &sleeper.tid.to_string(), "--for", WINDOW]);
        let (took_ns, _) = took_and_waited(&sheet, "elsewhere", sleeper.tid);
        assert_eq!(took_ns, 0, "{}", sheet.json);
        busy.stop();
        sleeper.stop();
    });
}
