//! Two threads on two CPUs that wake each other: each wake-up is counted, as a stretch asleep and one in the run queue.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::time::Duration;

use super::actor::{Actor, now_ns};
use super::figures::{assert_near, number};
use super::watching::{Stage, retried_where_switches_are_missed};

fn pipe() -> (File, File) {
    let (read, write) = rustix::pipe::pipe().unwrap();
    (read.into(), write.into())
}

#[test]
#[ignore = "ground truth: needs root and BPF; run by `make test`"]
fn each_ping_across_cpus_is_a_wake_up() {
    retried_where_switches_are_missed(|| {
        let Some(stage) = Stage::new() else { return };
        // Pipes, not a socket: a socket wakes its writer as well when what it wrote is read.
        let ((mut asked, mut ask), (mut answered, mut answer)) = (pipe(), pipe());
        let answers = Actor::start_fifo("answers", stage.cpu, 5, move |_| {
            let mut woken = Vec::with_capacity(100_000);
            let mut byte = [0];
            while asked.read_exact(&mut byte).is_ok() {
                woken.push(now_ns());
                answer.write_all(&byte).unwrap();
            }
            woken
        });
        let tid = answers.tid;
        let asks = Actor::start("asks", stage.aside, move |until| {
            let mut byte = [0];
            while until.goes_on() {
                ask.write_all(&byte).unwrap();
                answered.read_exact(&mut byte).unwrap();
                std::thread::sleep(Duration::from_micros(300));
            }
        });
        let sheet = stage.watch(&["--thread", &tid.to_string(), "--for", "2s"]);
        asks.stop();
        let woken = answers.stop().into_iter().filter(|at| sheet.has(*at)).count() as u64;
        let row = sheet.thread(tid);
        assert!(woken > 500, "only {woken} pings in the window");
        assert_near("wake-ups", number(&row["run_queue"]["count"]), woken, 0.02, 1);
        assert_near("times asleep", number(&row["asleep"]["count"]), woken, 0.02, 1);
        let asked: u64 =
            ["reschedule", "call_function_single"].iter().map(|s| sheet.came(stage.cpu, s)).sum();
        eprintln!("{asked} interrupts from another CPU for {woken} wake-ups");
        assert_eq!(number(&row["woken_elsewhere"]), 0);
    });
}
