//! Waits at futexes held against threads that know how long they waited, for which thread, and what that one did meanwhile. Root is needed; without it,
//! and on kernels that do not report their types, the tests say so and pass.

// clippy knows only functions marked #[test] as tests; these helpers serve them.
#![allow(clippy::unwrap_used)]

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use pinwise_probe::futexes::{CountingFutexes, Futex, FutexKind, FutexWaits};
use rustix::thread::{CpuSet, sched_setaffinity};

/// What is counted of this process meanwhile; `None` where nothing can be.
fn counted(meanwhile: impl FnOnce()) -> Option<FutexWaits> {
    let mut counting = match CountingFutexes::prepare(&[std::process::id()]) {
        Ok(counting) => counting,
        Err(missing) => {
            eprintln!("skipped: {}: {}", missing.fact, missing.why);
            return None;
        }
    };
    counting.start();
    meanwhile();
    counting.stop();
    Some(counting.end())
}

/// The futex at an address: a mutex of the standard library is one word, with what it protects behind it.
fn at<T>(waits: &FutexWaits, lock: &T) -> Option<Futex> {
    let from = std::ptr::from_ref(lock) as u64;
    let within = |futex: &&Futex| (from..from + size_of::<T>() as u64).contains(&futex.address);
    waits.futexes.iter().find(within).cloned()
}

fn spin(length: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < length {
        black_box(begun);
    }
}

fn pin(cpu: usize) {
    let mut cpus = CpuSet::new();
    cpus.set(cpu);
    sched_setaffinity(None, &cpus).unwrap();
}

/// Takes the lock, does that while it has it, and lets others have it; again and again. How long it waited, ns.
#[inline(never)]
fn takes_turns(lock: &Mutex<u64>, rounds: u32, held: impl Fn()) -> u64 {
    let mut waited = Duration::ZERO;
    for _ in 0..rounds {
        let asked = Instant::now();
        let mut guard = lock.lock().unwrap();
        waited += asked.elapsed();
        *guard += 1;
        held();
        drop(guard);
        // Others are woken now; the lock would else be taken again before they can.
        spin(Duration::from_micros(300));
    }
    waited.as_nanos() as u64
}

/// Threads that take turns, all from the same moment on; how long all waited, ns.
fn all_take_turns(
    lock: &Arc<Mutex<u64>>,
    threads: usize,
    rounds: u32,
    held: impl Fn(usize) + Copy + Send + 'static,
) -> u64 {
    let start = Arc::new(Barrier::new(threads));
    let thread = |number| {
        let (lock, start) = (Arc::clone(lock), Arc::clone(&start));
        thread::spawn(move || {
            start.wait();
            takes_turns(&lock, rounds, || held(number))
        })
    };
    let threads: Vec<JoinHandle<u64>> = (0..threads).map(thread).collect();
    threads.into_iter().map(|thread| thread.join().unwrap()).sum()
}

#[test]
fn waits_at_a_mutex_are_as_long_as_the_threads_say_and_their_waiters_release_it() {
    let (lock, waited) = (Arc::new(Mutex::new(0)), AtomicU64::new(0));
    let taking = || {
        waited.store(
            all_take_turns(&lock, 3, 100, |_| thread::sleep(Duration::from_millis(2))),
            Ordering::Relaxed,
        );
    };
    let Some(waits) = counted(taking) else { return };
    let futex = at(&waits, &*lock).unwrap_or_else(|| panic!("not there: {waits:?}"));
    let (seen, waited) = (futex.waited_ns() as f64, waited.into_inner() as f64);
    // What the threads say has the way into the kernel and back in it, and waiting for a CPU after the wake-up.
    assert!((0.80..1.005).contains(&(seen / waited)), "{seen} of {waited} ns: {futex:?}");
    assert_eq!((futex.kind, futex.broken_off.count, futex.going_on.count), (FutexKind::Mutex, 0, 0));
    assert!(futex.share_by_waiters().unwrap() > 0.9, "{futex:?}");
    // Who has it sleeps for 2 ms each time.
    let (held, asleep) = (futex.held_ns as f64, futex.holder_asleep_ns as f64);
    assert!(held <= seen && asleep <= held && asleep > 0.8 * held, "{futex:?}");
    let each_ms = held / futex.released.count as f64 / 1e6;
    assert!((1.0..4.0).contains(&each_ms), "{each_ms} ms: {futex:?}");
    let stacks = &futex.stacks[0];
    // The standard library keeps frame pointers; whoever calls the C library, which does not, is left out: here that is who releases.
    assert!(stacks.waiter.iter().any(|name| name.contains("takes_turns")), "{stacks:?}");
    assert!(!stacks.releaser.is_empty(), "{stacks:?}");
    assert!(futex.place.is_some(), "{futex:?}");
}

#[test]
fn a_holder_that_works_was_not_away() {
    let lock = Arc::new(Mutex::new(0));
    let taking = || {
        all_take_turns(&lock, 2, 100, |number| {
            pin(number);
            spin(Duration::from_millis(2));
        });
    };
    let Some(waits) = counted(taking) else { return };
    let futex = at(&waits, &*lock).unwrap_or_else(|| panic!("not there: {waits:?}"));
    // It does not sleep; how long it waits for a CPU is a matter of who else wants one.
    assert!(futex.holder_asleep_ns as f64 <= 0.05 * futex.held_ns as f64, "{futex:?}");
    assert!(futex.share_by_waiters().unwrap() > 0.9, "{futex:?}");
}

#[test]
fn a_holder_that_waits_for_a_cpu_is_told_from_one_that_sleeps() {
    let (lock, over) = (Arc::new(Mutex::new(0)), Arc::new(AtomicBool::new(false)));
    // Two busy threads beside the holder: it has a third of CPU 0, in slices of a few milliseconds.
    let busy: Vec<JoinHandle<()>> = (0..2)
        .map(|_| {
            let over = Arc::clone(&over);
            thread::spawn(move || {
                pin(0);
                while !over.load(Ordering::Relaxed) {
                    spin(Duration::from_millis(1));
                }
            })
        })
        .collect();
    let taking = || {
        all_take_turns(&lock, 2, 20, |number| {
            pin(number);
            spin(Duration::from_millis(if number == 0 { 20 } else { 1 }));
        });
    };
    let waits = counted(taking);
    over.store(true, Ordering::Relaxed);
    busy.into_iter().for_each(|thread| thread.join().unwrap());
    let Some(waits) = waits else { return };
    let futex = at(&waits, &*lock).unwrap_or_else(|| panic!("not there: {waits:?}"));
    assert!(futex.holder_waiting_ns > 5 * futex.holder_asleep_ns, "{futex:?}");
    // It has a third of its CPU: for two thirds of the time it waits.
    assert!(futex.holder_waiting_ns as f64 > 0.3 * futex.held_ns as f64, "{futex:?}");
}

#[test]
fn who_produces_work_for_others_does_not_wait_where_they_do() {
    let queue = Arc::new((Mutex::new(0u32), Condvar::new()));
    let work = || {
        let consumer = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || {
                for _ in 0..100 {
                    let (count, more) = &*queue;
                    let mut count = more.wait_while(count.lock().unwrap(), |count| *count == 0).unwrap();
                    *count -= 1;
                }
            })
        };
        for _ in 0..100 {
            thread::sleep(Duration::from_millis(2));
            *queue.0.lock().unwrap() += 1;
            queue.1.notify_one();
        }
        consumer.join().unwrap();
    };
    let Some(waits) = counted(work) else { return };
    let futex = at(&waits, &queue.1).unwrap_or_else(|| panic!("not there: {waits:?}"));
    assert!(futex.released.count > 90 && futex.released.total_ns > 150_000_000, "{futex:?}");
    assert_eq!(futex.by_waiters, 0, "{futex:?}");
}

#[test]
fn timeouts_are_no_release_and_what_sleeps_all_the_time_goes_on() {
    let timed = Arc::new((Mutex::new(()), Condvar::new()));
    let parked = Arc::new((Mutex::new(false), Condvar::new()));
    let sleeper = {
        let parked = Arc::clone(&parked);
        thread::spawn(move || drop(parked.1.wait_while(parked.0.lock().unwrap(), |done| !*done).unwrap()))
    };
    // It is asleep when counting begins.
    thread::sleep(Duration::from_millis(50));
    let waits = counted(|| {
        for _ in 0..20 {
            drop(timed.1.wait_timeout(timed.0.lock().unwrap(), Duration::from_millis(5)).unwrap());
        }
    });
    *parked.0.lock().unwrap() = true;
    parked.1.notify_one();
    sleeper.join().unwrap();
    let Some(waits) = waits else { return };
    let timeouts = at(&waits, &timed.1).unwrap_or_else(|| panic!("not there: {waits:?}"));
    assert_eq!((timeouts.released.count, timeouts.broken_off.count), (0, 20), "{timeouts:?}");
    let parked = at(&waits, &parked.1).unwrap_or_else(|| panic!("not there: {waits:?}"));
    assert_eq!((parked.released.count, parked.going_on.count), (0, 1), "{parked:?}");
    assert!(parked.going_on.total_ns >= 100_000_000, "{parked:?}");
}

#[test]
fn nothing_counts_before_it_starts_nor_after_it_stops() {
    let lock = Arc::new(Mutex::new(0));
    let turns = || all_take_turns(&lock, 2, 20, |_| thread::sleep(Duration::from_millis(1)));
    let Ok(mut counting) = CountingFutexes::prepare(&[std::process::id()]) else { return };
    turns();
    counting.start();
    counting.stop();
    turns();
    assert_eq!(at(&counting.end(), &*lock), None);
}

#[test]
fn a_process_that_is_gone_is_no_failure() {
    let Ok(mut counting) = CountingFutexes::prepare(&[u32::MAX]) else { return };
    counting.start();
    counting.stop();
    let waits = counting.end();
    assert!(waits.futexes.is_empty() && waits.missing.is_empty(), "{waits:?}");
}
