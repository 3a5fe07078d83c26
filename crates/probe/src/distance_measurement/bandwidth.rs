//! Bandwidth of memory: all CPUs of a node read, or write, each its own part of a buffer from end to end.
//!
//! Reading takes one word of each line, which brings the whole line; writing fills the lines, with ordinary stores, so that caches
//! read a line before they own it, as they do for a server that writes.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};

use machine::CpuSet;

use super::Surroundings;
use super::node_memory::NodeMemory;
use super::pointer_chase::LINE_BYTES;
use crate::clock;

/// What is done with the lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stream {
    Read,
    Write,
}

const WORDS_A_LINE: usize = LINE_BYTES / size_of::<u64>();

/// Lines after which the clock is read: 256 KiB.
const PORTION_LINES: usize = 4_096;

/// What the threads did.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Streamed {
    /// All together, MB/s (10^6 bytes).
    pub(super) mb_per_s: f64,
    /// The share of the time in which they had their CPUs, 0 to 1.
    pub(super) cpu_share: f64,
}

/// All threads together. The error says in words which thread could not run where.
pub(super) fn measure(
    stream: Stream,
    memory: &NodeMemory,
    cpus: &CpuSet,
    length_ns: u64,
    surroundings: &dyn Surroundings,
    stop: &AtomicBool,
) -> Result<Streamed, String> {
    let (ready, given_up) = (Barrier::new(cpus.len()), AtomicBool::new(false));
    let lines_each = memory.bytes() / LINE_BYTES / cpus.len().max(1);
    let one = |number: usize, cpu: u32| {
        let entered = surroundings.enter(cpu).map_err(|fault| fault.to_string());
        given_up.fetch_or(entered.is_err(), Ordering::AcqRel);
        ready.wait();
        entered?;
        match given_up.load(Ordering::Acquire) {
            true => Ok::<_, String>(Streamed::default()),
            // SAFETY: the parts of the threads lie within the memory and do not meet.
            false => Ok(unsafe { run(stream, memory, number * lines_each, lines_each, length_ns, stop) }),
        }
    };
    let one = &one;
    std::thread::scope(|scope| {
        let start = |(number, cpu): (usize, u32)| {
            std::thread::Builder::new()
                .name(format!("streams-{cpu}"))
                .spawn_scoped(scope, move || one(number, cpu))
        };
        let mut threads = Vec::with_capacity(cpus.len());
        for place in cpus.iter().enumerate() {
            match start(place) {
                Ok(thread) => threads.push(thread),
                Err(e) => {
                    // Those that wait go on, see that it was given up, and end.
                    given_up.store(true, Ordering::Release);
                    for _ in threads.len()..cpus.len() {
                        scope.spawn(|| ready.wait());
                    }
                    return Err(format!("thread for CPU {}: {e}", place.1));
                }
            }
        }
        let mut sum = Streamed::default();
        for thread in threads {
            let one = thread.join().map_err(|_| "a thread of the measurement died".to_string())??;
            sum.mb_per_s += one.mb_per_s;
            sum.cpu_share += one.cpu_share / cpus.len() as f64;
        }
        Ok(sum)
    })
}

/// One thread over its part, again and again.
///
/// # Safety
/// The part must lie within the memory, and no other thread may use it.
unsafe fn run(
    stream: Stream,
    memory: &NodeMemory,
    first_line: usize,
    lines: usize,
    length_ns: u64,
    stop: &AtomicBool,
) -> Streamed {
    let began_cpu_ns = clock::thread_cpu_ns();
    let began_ns = clock::monotonic_ns();
    let (mut done_lines, mut at, mut now_ns) = (0_u64, 0, began_ns);
    while lines > 0 && now_ns - began_ns < length_ns && !stop.load(Ordering::Relaxed) {
        let portion = PORTION_LINES.min(lines - at);
        let start = memory.words().wrapping_add((first_line + at) * WORDS_A_LINE);
        // SAFETY: as the caller promises.
        unsafe {
            match stream {
                Stream::Read => read(start, portion),
                Stream::Write => write(start, portion, now_ns),
            }
        }
        done_lines += portion as u64;
        at = if at + portion >= lines { 0 } else { at + portion };
        now_ns = clock::monotonic_ns();
    }
    let cpu_ns = clock::thread_cpu_ns() - began_cpu_ns;
    let length_ns = (now_ns - began_ns).max(1) as f64;
    let bytes = (done_lines * LINE_BYTES as u64) as f64;
    Streamed { mb_per_s: bytes * 1e3 / length_ns, cpu_share: cpu_ns as f64 / length_ns }
}

/// # Safety
/// So many lines from `start` on must be there.
unsafe fn read(start: *const u64, lines: usize) {
    for line in 0..lines {
        // SAFETY: as the caller promises.
        unsafe { start.add(line * WORDS_A_LINE).read_volatile() };
    }
}

/// # Safety
/// So many lines from `start` on must be there, and nobody else's.
unsafe fn write(start: *mut u64, lines: usize, value: u64) {
    for word in 0..lines * WORDS_A_LINE {
        // SAFETY: as the caller promises. Volatile, so that it stays ordinary stores whatever the compiler knows of memset.
        unsafe { start.add(word).write_volatile(value) };
    }
}

/// Touches all of it.
pub(super) fn touch(memory: &NodeMemory) {
    // SAFETY: the memory is ours alone, and as long as that.
    unsafe { write(memory.words(), memory.bytes() / LINE_BYTES, 1) };
}
