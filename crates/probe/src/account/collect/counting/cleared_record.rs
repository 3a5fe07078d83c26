//! A record that is cleared while its thread is still on a CPU: a thread that ends is gone from /proc before its last switch.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use machine::{Machine, Root};

use super::{Counting, Record, Target, ThreadSeen, TracePoints};

/// Runs on a CPU nearly always, and leaves it often; returns its number at once.
fn busy<'scope>(scope: &'scope std::thread::Scope<'scope, '_>, ends: &'scope AtomicBool) -> u32 {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    scope.spawn(move || {
        NUMBER.store(rustix::thread::gettid().as_raw_nonzero().get() as u32, Ordering::Release);
        while !ends.load(Ordering::Relaxed) {
            (0..100_000).for_each(|_| std::hint::spin_loop());
            std::thread::sleep(Duration::from_micros(50));
        }
    });
    loop {
        match NUMBER.swap(0, Ordering::AcqRel) {
            0 => std::thread::yield_now(),
            number => return number,
        }
    }
}

fn no_stretch_begins_at_boot(trace_points: &TracePoints) {
    let (machine, ends) = (Machine::read(&Root::live()), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let number = busy(scope, &ends);
        let counting = Counting::begin(&Target::Processes(vec![std::process::id()]), &machine, trace_points);
        let mut counting = match counting {
            Ok(counting) => counting,
            Err(missing) => {
                ends.store(true, Ordering::Relaxed);
                let is_root = rustix::process::geteuid().is_root();
                assert!(!is_root, "{}: {}", missing.fact, missing.why);
                return eprintln!("skipped: {}: {}", missing.fact, missing.why);
            }
        };
        let mut written = Vec::new();
        for _ in 0..200 {
            std::thread::sleep(Duration::from_millis(1));
            for slot in counting.slots() {
                let tables = &mut counting.tables.threads;
                let Some(known) = tables.get(slot).filter(|thread| thread.tid == number) else { continue };
                tables.set(slot, &ThreadSeen::zeroed());
                std::thread::sleep(Duration::from_millis(1));
                written.extend(tables.get(slot).map(|thread| thread.on_cpu.total_ns));
                tables.set(slot, &known);
            }
        }
        counting.stop();
        ends.store(true, Ordering::Relaxed);
        assert!(written.len() > 50, "the record of the busy thread was met {} times", written.len());
        assert_eq!(written.iter().max(), Some(&0));
    });
}

#[test]
fn a_thread_whose_record_was_cleared_adds_nothing() {
    no_stretch_begins_at_boot(&TracePoints::Best);
}

#[test]
fn it_adds_nothing_with_raw_trace_points_either() {
    no_stretch_begins_at_boot(&TracePoints::Raw);
}
