//! The thief on this very kernel: it takes what it is asked to, by the kernel's account of its threads.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to fail there")]

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use machine::procfs::pid_schedstat;
use machine::{CpuSet, Machine, Root, Scheduling};
use pinwise_load::thief::PERIOD_US;
use pinwise_load::{Spin, Thief, monotonic_ns};

/// One thief at a time: two on one CPU would take from each other.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn a_cpu() -> u32 {
    Machine::read_topology(&Root::live()).usable().last().unwrap()
}

/// Time on a CPU of the threads of this process with this name, ns; none where the kernel keeps no such account.
fn on_cpu_ns(name: &str) -> Option<u64> {
    let mut sum = None;
    for task in std::fs::read_dir("/proc/self/task").unwrap().flatten() {
        let read = |file: &str| std::fs::read_to_string(task.path().join(file)).ok();
        if read("comm").is_some_and(|comm| comm.trim_end() == name) {
            let schedstat = pid_schedstat::parse(&read("schedstat")?).ok().filter(|s| s.is_kept())?;
            sum = Some(sum.unwrap_or(0) + schedstat.on_cpu_ns?);
        }
    }
    sum
}

/// Share of `cpu` that the thief takes while this is asked, by the kernel's account.
fn taken_share(cpu: u32) -> Option<f64> {
    let name = format!("thief-{cpu}");
    // Its first periods are over, so that the kernel has an account of it.
    std::thread::sleep(Duration::from_millis(50));
    let (before, from_ns) = (on_cpu_ns(&name)?, monotonic_ns());
    std::thread::sleep(Duration::from_millis(800));
    let (after, to_ns) = (on_cpu_ns(&name)?, monotonic_ns());
    Some((after - before) as f64 / (to_ns - from_ns) as f64)
}

fn is_real_time(thief: &Thief) -> bool {
    thief.standings().iter().all(|s| matches!(s.scheduling, Some(Scheduling::Fifo { .. })))
}

fn takes_what_it_is_asked_to(busy_tasks: u32) {
    let _alone = alone();
    let cpu = a_cpu();
    for share in [0.05, 0.2, 0.5] {
        let busy = Spin::start(&CpuSet::single(cpu), busy_tasks).unwrap();
        let thief = Thief::start(&CpuSet::single(cpu), share, PERIOD_US).unwrap();
        if !is_real_time(&thief) {
            return eprintln!("skipped: {}", thief.standings()[0]);
        }
        let Some(taken) = taken_share(cpu) else {
            return eprintln!("skipped: this kernel keeps no schedstat");
        };
        drop((thief, busy));
        eprintln!("CPU {cpu}, {busy_tasks} busy tasks: asked {share}, took {taken:.4}");
        assert!((taken / share - 1.0).abs() < 0.2, "asked {share}, took {taken}");
    }
}

#[test]
fn it_takes_its_share_of_an_idle_cpu() {
    takes_what_it_is_asked_to(0);
}

#[test]
fn it_takes_its_share_of_a_busy_cpu() {
    takes_what_it_is_asked_to(1);
}

#[test]
fn it_ends_when_dropped() {
    let _alone = alone();
    let cpu = a_cpu();
    let thief = Thief::start(&CpuSet::single(cpu), 0.1, PERIOD_US).unwrap();
    assert_eq!(thief.standings().len(), 1);
    drop(thief);
    // A joined thread has ended, but its entry in /proc stays until the kernel reaps it (mm_release wakes the joiner before
    // exit_notify): what is asserted is that the entry goes.
    let name = format!("thief-{cpu}");
    let reaped = (0..500).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        on_cpu_ns(&name).is_none()
    });
    assert!(reaped, "a thread {name} is still there");
}
