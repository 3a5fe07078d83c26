//! The storm on this very machine: it is there while it is held, where it was asked for, and gone afterwards.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to fail there")]

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use machine::{Class, Fault};
use pinwise_load::{Storm, interrupt_cost_ns, monotonic_ns};

/// One storm at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Local timer interrupts of each CPU column so far; none on machines that name them otherwise.
fn timer_interrupts() -> Option<Vec<u64>> {
    let table = std::fs::read_to_string("/proc/interrupts").ok()?;
    let row = table.lines().find_map(|line| line.trim_start().strip_prefix("LOC:").map(String::from))?;
    Some(row.split_whitespace().map_while(|word| word.parse().ok()).collect())
}

/// Timer interrupts a second on each CPU over a short while.
fn rates() -> Option<Vec<f64>> {
    let (before, from_ns) = (timer_interrupts()?, monotonic_ns());
    std::thread::sleep(Duration::from_millis(300));
    let (after, to_ns) = (timer_interrupts()?, monotonic_ns());
    Some(before.iter().zip(after).map(|(b, a)| (a - b) as f64 / ((to_ns - from_ns) as f64 / 1e9)).collect())
}

fn allowed_here(fault: &Fault) -> bool {
    if matches!(fault.class, Class::NotPermitted | Class::MachineLacks) {
        eprintln!("skipped: {fault}");
        return false;
    }
    true
}

/// Whether the kernel has lowered the rate of samples by itself (perf_cpu_time_max_percent), so far that it stops a storm of 5,000 now
/// and then.
fn rate_was_lowered() -> bool {
    let highest = std::fs::read_to_string("/proc/sys/kernel/perf_event_max_sample_rate").ok();
    highest.and_then(|text| text.trim().parse::<u64>().ok()).is_some_and(|highest| highest < 20_000)
}

#[test]
fn a_storm_is_where_it_was_asked_for_and_ends_when_dropped() {
    let _alone = alone();
    let Some(columns) = timer_interrupts().map(|row| row.len() as u32) else {
        return eprintln!("skipped: /proc/interrupts has no row LOC");
    };
    let cpus = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap();
    if columns < 2 || cpus.trim() != format!("0-{}", columns - 1) {
        return eprintln!("skipped: it takes two CPUs or more, all of them online");
    }
    if rate_was_lowered() {
        return eprintln!(
            "skipped: the kernel has lowered kernel.perf_event_max_sample_rate, as it does on a busy machine"
        );
    }
    for cpu in [0, columns - 1] {
        // A guest whose CPUs are taken away loses some; somebody else's storm adds some. Once it must be seen clearly.
        let seen = (0..10).any(|_| {
            let storm = match Storm::start(cpu, 5_000) {
                Ok(storm) => storm,
                Err(fault) => {
                    assert!(!allowed_here(&fault), "{fault}");
                    return true;
                }
            };
            let during = rates().unwrap();
            drop(storm);
            let after = rates().unwrap();
            let (here, other) = (cpu as usize, if cpu == 0 { columns as usize - 1 } else { 0 });
            eprintln!("CPU {cpu}: {during:.0?} with a storm of 5000 there, {after:.0?} afterwards");
            during[here] > 3_000.0 && after[here] < during[here] / 1.5 && during[other] < during[here]
        });
        assert!(seen, "no storm on CPU {cpu}");
    }
}

#[test]
fn a_cpu_that_does_not_exist_is_named() {
    let fault = Storm::start(4_000_000, 1_000).err().unwrap();
    assert!(fault.to_string().contains("CPU 4000000"), "{fault}");
    assert!(fault.class == Class::Usage || !allowed_here(&fault), "{fault}");
    assert!(interrupt_cost_ns(4_000_000).is_err());
}

#[test]
fn an_interrupt_costs_something_and_less_than_its_period() {
    let _alone = alone();
    match interrupt_cost_ns(0) {
        Ok(cost_ns) => assert!(cost_ns > 0.0 && cost_ns < 100_000.0, "{cost_ns}"),
        Err(fault) => assert!(!allowed_here(&fault) || fault.class == Class::Usage, "{fault}"),
    }
}
