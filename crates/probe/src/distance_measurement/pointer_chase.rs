//! Latency of memory: a walk along pointers, each of which lies where the one before it points, so that a load cannot begin before the
//! one before it has ended. The way is one random cycle over all cache lines: no prefetcher can guess it, and no line is met
//! twice before all others were.

use std::sync::atomic::{AtomicBool, Ordering};

use super::node_memory::NodeMemory;
use super::random_order::Random;
use crate::clock;

/// Distance of the places of the cycle, bytes: a cache line of x86 and most others.
pub(super) const LINE_BYTES: usize = 64;

/// Loads for which the clock is read once.
const LOADS: u32 = 1_000;

/// Most batches of a block that are kept, and the fewest of which a median is taken.
const MOST_BATCHES: usize = 16_384;
const FEWEST_BATCHES: usize = 5;

/// Lays the cycle. The memory is touched by this.
pub(super) fn lay(memory: &NodeMemory, seed: u64) {
    let lines = memory.bytes() / LINE_BYTES;
    let word = |line: usize| memory.words().wrapping_add(line * (LINE_BYTES / size_of::<u64>()));
    let next = Random::new(seed).cycle(u32::try_from(lines).unwrap_or(u32::MAX));
    for (line, next) in next.into_iter().enumerate() {
        // SAFETY: both lines are within the memory, which is ours alone.
        unsafe { word(line).write(word(next as usize) as u64) };
    }
}

/// Walks for a while from the first line on, or until `stop`; gives the time of a load in the median batch, ns.
pub(super) fn walk(memory: &NodeMemory, length_ns: u64, stop: &AtomicBool) -> Option<f64> {
    let mut batches = Vec::with_capacity(MOST_BATCHES);
    let began_ns = clock::monotonic_ns();
    // Each walk begins elsewhere: the first lines of the one before may still lie in a cache.
    let start = (began_ns as usize / 64) % (memory.bytes() / LINE_BYTES);
    let mut at: *const u64 = memory.words().wrapping_add(start * (LINE_BYTES / size_of::<u64>()));
    let mut last_ns = began_ns;
    while batches.len() < MOST_BATCHES && !stop.load(Ordering::Relaxed) {
        if last_ns - began_ns >= length_ns && batches.len() >= FEWEST_BATCHES {
            break;
        }
        let before_ns = clock::monotonic_ns();
        for _ in 0..LOADS {
            // SAFETY: every line holds the address of a line (see `lay`).
            at = unsafe { at.read_volatile() } as *const u64;
        }
        last_ns = clock::monotonic_ns();
        batches.push(last_ns - before_ns);
    }
    std::hint::black_box(at);
    batches.sort_unstable();
    batches.get(batches.len() / 2).map(|ns| *ns as f64 / f64::from(LOADS))
}
