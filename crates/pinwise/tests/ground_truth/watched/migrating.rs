//! A thread whose affinity is flipped: by itself while it runs, and by another one while it sleeps.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, Pid, sched_getcpu, sched_setaffinity};

use super::actor::{Actor, now_ns, pin};
use super::control::{Counters, Window};
use super::figures::{assert_near, number};
use super::watching::{Sheet, Stage, retried_where_switches_are_missed};

/// The class of a migration between two CPUs, by what /sys says of their core, of the caches that they share, and of their node.
fn class(from: u32, to: u32) -> &'static str {
    let folder = format!("/sys/devices/system/cpu/cpu{from}");
    let has = |file: String| {
        let list = std::fs::read_to_string(file).unwrap_or_default();
        list.trim().parse::<machine::CpuSet>().is_ok_and(|cpus| cpus.contains(to))
    };
    let cache = |index: u32| has(format!("{folder}/cache/index{index}/shared_cpu_list"));
    let node = || {
        (0..1024).any(|node| {
            std::path::Path::new(&format!("{folder}/node{node}")).exists()
                && has(format!("/sys/devices/system/node/node{node}/cpulist"))
        })
    };
    match () {
        () if has(format!("{folder}/topology/thread_siblings_list")) => "same_core",
        () if (0..8).any(cache) => "same_cache",
        () if node() => "same_node",
        () => "across_nodes",
    }
}

/// Each of `moves` (the CPU where it went to) is on its way, and all are of the class that lies between the two.
fn each_is_on_its_way(sheet: &Sheet, tid: u32, cpus: [u32; 2], moves: &[u32]) {
    for (from, to) in [(cpus[0], cpus[1]), (cpus[1], cpus[0])] {
        let route =
            sheet.rows("routes").iter().find(|route| route["from"] == from && route["to"] == to).unwrap();
        let truth = moves.iter().filter(|on| **on == to).count() as u64;
        assert_near(&format!("from CPU {from} to CPU {to}"), number(&route["times"]), truth, 0.02, 1);
    }
    assert_eq!(sheet.rows("routes").len(), 2, "{:#}", sheet.json["routes"]);
    let class = class(cpus[0], cpus[1]);
    for (of, times) in sheet.thread(tid)["migrations"].as_object().unwrap() {
        let truth = if of == class { moves.len() as u64 } else { 0 };
        if truth == 0 {
            assert_eq!(number(times), 0, "migrations {of}, and the CPUs are {class}");
        } else {
            assert_near(&format!("migrations {of}"), number(times), truth, 0.02, 1);
        }
    }
}

#[test]
#[ignore = "ground truth: needs root and BPF; run by `make test`"]
fn each_flip_of_the_affinity_is_a_migration() {
    retried_where_switches_are_missed(|| {
        let Some(stage) = Stage::new() else { return };
        let cpus = [stage.aside, stage.cpu];
        let (go, goes) = channel::<()>();
        let flipper = Actor::start("flipper", stage.cpu, move |until| {
            let mut flips = Vec::with_capacity(10_000);
            goes.recv().unwrap();
            while until.goes_on() {
                let to = cpus[flips.len() % 2];
                pin(to);
                flips.push((now_ns(), to));
                let next_ns = now_ns() + 10_000_000;
                while now_ns() < next_ns {}
            }
            flips
        });
        let (tid, words) = (flipper.tid, flipper.tid.to_string());
        let flags = ["--thread", &words, "--for", "2s"];
        let quiet = Window::quiet(&stage, &flags, Some(tid));
        go.send(()).unwrap();
        let counters = Counters::now(Some(tid));
        let sheet = stage.watch(&flags);
        let window = Window::of(&sheet, &counters, Some(tid));
        let flips: Vec<u32> =
            flipper.stop().into_iter().filter(|(at_ns, _)| sheet.has(*at_ns)).map(|(_, to)| to).collect();
        each_is_on_its_way(&sheet, tid, cpus, &flips);
        // Who moves itself sleeps until the kernel's thread has moved it, where that did not get the CPU at once: then it is woken there.
        let own = ["route from CPU ", "migrations ", "woken_elsewhere"];
        window.rises_only_in(&own, flips.len() as u64, &quiet);
        let elsewhere = number(&sheet.thread(tid)["woken_elsewhere"]);
        assert!(
            elsewhere <= flips.len() as u64 + 1,
            "woken elsewhere {elsewhere} times, flipped {}",
            flips.len()
        );
    });
}

/// Waits, for so long at most, until a thread of this process sleeps.
fn sleeps(tid: u32) {
    let deadline = Instant::now() + Duration::from_secs(5);
    let state = || std::fs::read_to_string(format!("/proc/self/task/{tid}/stat")).unwrap();
    while !state().rsplit_once(") ").unwrap().1.starts_with('S') {
        assert!(Instant::now() < deadline, "thread {tid} does not go to sleep");
        std::thread::yield_now();
    }
}

/// Wakes a thread every 5 ms, and gives it the other CPU before every third time, while it sleeps. It ends with the pipe.
fn wake(mut ask: File, tid: u32, cpus: [u32; 2], enough: impl Fn() -> bool) {
    let mut on = 1;
    for times in 0..2_000 {
        if enough() {
            return;
        }
        sleeps(tid);
        if times % 3 == 0 {
            on = 1 - on;
            let mut set = CpuSet::new();
            set.set(cpus[on] as usize);
            sched_setaffinity(Pid::from_raw(tid as i32), &set).unwrap();
        }
        ask.write_all(&[0]).unwrap();
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
#[ignore = "ground truth: needs root and BPF; run by `make test`"]
fn who_gets_another_cpu_while_it_sleeps_is_woken_there() {
    retried_where_switches_are_missed(|| {
        let Some(stage) = Stage::new() else { return };
        let cpus = [stage.aside, stage.cpu];
        let (read, write) = rustix::pipe::pipe().unwrap();
        let mut asked = File::from(read);
        let sleeper = Actor::start_fifo("sleeper", stage.cpu, 5, move |_| {
            let mut woken = Vec::with_capacity(10_000);
            while asked.read_exact(&mut [0]).is_ok() {
                woken.push((now_ns(), sched_getcpu() as u32));
            }
            woken
        });
        let tid = sleeper.tid;
        let waker = Actor::start("waker", stage.aside, move |until| {
            wake(write.into(), tid, cpus, || !until.goes_on());
        });
        let sheet = stage.watch(&["--thread", &tid.to_string(), "--for", "2s"]);
        waker.stop();
        let woken = sleeper.stop();
        let inside: Vec<_> = woken.windows(2).filter(|pair| sheet.has(pair[1].0)).collect();
        let moved: Vec<u32> =
            inside.iter().filter(|pair| pair[0].1 != pair[1].1).map(|pair| pair[1].1).collect();
        let row = sheet.thread(tid);
        assert!(moved.len() > 20, "moved {} times only", moved.len());
        assert_near("woken elsewhere", number(&row["woken_elsewhere"]), moved.len() as u64, 0.02, 1);
        assert_near("woken", number(&row["run_queue"]["count"]), inside.len() as u64, 0.02, 1);
        each_is_on_its_way(&sheet, tid, cpus, &moved);
    });
}
