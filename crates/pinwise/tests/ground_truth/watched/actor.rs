//! Threads with a job, bounded in time, and the clock by which they keep account.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_setaffinity};
use rustix::time::{ClockId, Timespec, clock_gettime};

/// No actor works for longer, whatever becomes of its test.
const LONGEST: Duration = Duration::from_secs(30);

/// CLOCK_MONOTONIC, ns.
pub fn now_ns() -> u64 {
    read(ClockId::Monotonic)
}

/// CPU time of the calling thread, ns.
pub fn cpu_time_ns() -> u64 {
    read(ClockId::ThreadCPUTime)
}

/// A line of the calling thread's status, in proc_pid_status(5), that is a count.
pub fn switches(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap().trim().parse().unwrap()
}

fn read(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Sleeps until CLOCK_MONOTONIC reads `at_ns`. A function of its own in every build, since stacks are expected to name it.
#[inline(never)]
pub fn sleep_until(at_ns: u64) {
    let at = Timespec { tv_sec: (at_ns / 1_000_000_000) as i64, tv_nsec: (at_ns % 1_000_000_000) as i64 };
    let _ = rustix::thread::clock_nanosleep_absolute(ClockId::Monotonic, &at);
}

/// Binds the calling thread to one CPU.
pub fn pin(cpu: u32) {
    let mut set = CpuSet::new();
    set.set(cpu as usize);
    sched_setaffinity(None, &set).unwrap();
}

/// How long an actor goes on.
pub struct Until {
    stop: Arc<AtomicBool>,
    deadline: Instant,
}

impl Until {
    pub fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::Relaxed) && Instant::now() < self.deadline
    }
}

/// A thread of the test that does one thing on one CPU until it is stopped.
pub struct Actor<T> {
    /// Its number.
    pub tid: u32,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<T>>,
}

impl<T: Send + 'static> Actor<T> {
    /// Starts it, with the default policy.
    pub fn start(name: &str, cpu: u32, job: impl FnOnce(&Until) -> T + Send + 'static) -> Self {
        Self::start_with(name, cpu, None, job)
    }

    /// Starts it under SCHED_FIFO, so that nothing else of a busy machine comes between.
    pub fn start_fifo(
        name: &str,
        cpu: u32,
        priority: u32,
        job: impl FnOnce(&Until) -> T + Send + 'static,
    ) -> Self {
        Self::start_with(name, cpu, Some(priority), job)
    }

    fn start_with(
        name: &str,
        cpu: u32,
        fifo: Option<u32>,
        job: impl FnOnce(&Until) -> T + Send + 'static,
    ) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let until = Until { stop: stop.clone(), deadline: Instant::now() + LONGEST };
        let (send_tid, receive_tid) = mpsc::channel();
        let (go, goes) = mpsc::channel::<()>();
        let body = move || {
            pin(cpu);
            send_tid.send(rustix::thread::gettid().as_raw_nonzero().get() as u32).unwrap();
            goes.recv().unwrap();
            job(&until)
        };
        let thread = std::thread::Builder::new().name(name.into()).spawn(body).unwrap();
        let tid = receive_tid.recv().unwrap();
        if let Some(priority) = fifo {
            real_time(tid, priority);
        }
        go.send(()).unwrap();
        Self { tid, stop, thread: Some(thread) }
    }

    /// Ends it, and hands out what it kept.
    pub fn stop(mut self) -> T {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }
}

impl<T> Drop for Actor<T> {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// Puts a thread under SCHED_FIFO.
pub fn real_time(tid: u32, priority: u32) {
    let status =
        Command::new("chrt").args(["-f", "-p", &priority.to_string(), &tid.to_string()]).status().unwrap();
    assert!(status.success(), "chrt: SCHED_FIFO for thread {tid} was refused");
}

/// Uses the CPU until `until` is over. A function of its own in every build, since stacks are expected to name it.
#[inline(never)]
pub fn spin(until: &Until) {
    while until.goes_on() {
        std::hint::spin_loop();
    }
}

/// A time in which something was done.
#[derive(Debug, Clone, Copy)]
pub struct Slice {
    pub from_ns: u64,
    pub to_ns: u64,
}

impl Slice {
    /// The part that lies in a window, ns.
    pub fn within(&self, window: (u64, u64)) -> u64 {
        self.to_ns.min(window.1).saturating_sub(self.from_ns.max(window.0))
    }
}
