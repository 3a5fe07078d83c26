//! Two threads pass a cache line back and forth.
//!
//! The one that asks writes an odd number into a line, the one that answers spins on it until it sees the number and writes the next
//! even one, on which the first spins. So a round trip is two moves of the line from owner to reader. Waiting is a plain load without
//! a pause instruction, which would make it coarse. There is no system call but the clock's around a batch, which the vDSO
//! answers, and no memory is asked for.
//!
//! Which slice of a shared cache, or which agent of the mesh, looks after a line depends on its address: on large chips that alone
//! makes some ten per cent. So batches take [`LINES`] lines in turn, and the median is over all of them; a tool that uses one
//! line gives another map in each run.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Barrier, OnceLock};

use machine::Fault;

use super::Surroundings;
use super::mapping::Mapping;
use crate::clock;

/// Round trips for which the clock is read once.
pub(super) const ROUND_TRIPS: u32 = 100;

/// Lines that batches take in turn.
const LINES: usize = 64;

/// Most batches of a block that are kept, and the fewest of which a median is taken.
const MOST_BATCHES: usize = 16_384;
const FEWEST_BATCHES: usize = 5;

/// How many times its length a block may take before it ends with fewer batches: in a guest whose CPUs do not run at the same time a
/// round trip can take milliseconds.
const MOST_LENGTHS: u64 = 4;

/// The part of a block before which batches are not kept: clocks rise, sleepers wake, lines come into the caches.
const WARM_UP: f64 = 0.2;

/// What stands in a line when there is nothing more to answer.
const END: u64 = u64::MAX;

/// A line and its neighbour, which prefetchers fetch along.
#[repr(C, align(128))]
struct Line(AtomicU64);

/// The lines of a block: fresh memory, so that they lie on the node of the thread that touches them first.
struct Lines(Mapping);

impl Lines {
    fn new() -> Result<Self, Fault> {
        let lines = Self(Mapping::new(LINES * size_of::<Line>())?);
        lines.all().iter().for_each(|line| line.0.store(0, Ordering::Relaxed));
        Ok(lines)
    }

    fn all(&self) -> &[Line] {
        // SAFETY: the mapping is as long as that, aligned to a page, and zeroed, which is a valid Line; it is only ever used as
        // atomics, and lives as long as the slice.
        unsafe { std::slice::from_raw_parts(self.0.start().as_ptr().cast::<Line>(), LINES) }
    }
}

/// What a block gives.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Block {
    /// Half of a round trip in the median batch, ns.
    pub(super) one_way_ns: f64,
    /// Batches that were kept.
    pub(super) batches: u64,
    /// Those of them that took more than twice the median.
    pub(super) slow_batches: u64,
}

/// Measures from CPU to CPU for a while. `answer_after_spins` makes the answer late by so many turns of [`spin`]: a control.
///
/// # Errors
/// In words: a thread could not be where it was to be, or did not stay there.
pub(super) fn block(
    (from, to): (u32, u32),
    length_ns: u64,
    answer_after_spins: u32,
    surroundings: &dyn Surroundings,
) -> Result<Block, String> {
    let (shared, ready, given_up) = (OnceLock::new(), Barrier::new(2), AtomicBool::new(false));
    // Both come to the barrier whatever happens, or the other would wait for ever.
    let prepare = |cpu: u32, own: &dyn Fn() -> Result<(), Fault>| {
        let prepared = surroundings.enter(cpu).and_then(|()| own()).map_err(|fault| fault.to_string());
        given_up.fetch_or(prepared.is_err(), Ordering::AcqRel);
        ready.wait();
        prepared
    };
    let lines = || shared.get().filter(|_| !given_up.load(Ordering::Acquire)).map(Lines::all);
    std::thread::scope(|scope| {
        let answerer = || {
            prepare(to, &|| Ok(()))?;
            lines().map_or(Ok(()), |lines| {
                answer(lines, answer_after_spins);
                stayed(to)
            })
        };
        let spawned = |name: &str| std::thread::Builder::new().name(name.into());
        let answerer = spawned("answers").spawn_scoped(scope, answerer).map_err(|e| e.to_string())?;
        let asker = || {
            // Touched first here: the lines are on this thread's node.
            prepare(from, &|| Lines::new().map(|lines| drop(shared.set(lines))))?;
            let mut batches = Vec::with_capacity(MOST_BATCHES);
            let Some(lines) = lines() else { return Ok(batches) };
            ask(lines, length_ns, &mut batches);
            stayed(from).map(|()| batches)
        };
        let asker = match spawned("asks").spawn_scoped(scope, asker) {
            Ok(asker) => asker,
            Err(e) => {
                given_up.store(true, Ordering::Release);
                ready.wait();
                return Err(e.to_string());
            }
        };
        let died = |_| "a thread of the measurement died".to_string();
        let (asked, answered) = (asker.join().map_err(died)?, answerer.join().map_err(died)?);
        answered?;
        summed_up(&mut asked?).ok_or_else(|| "no batch was finished".to_string())
    })
}

/// Whether the calling thread is still where it was put: a CPU that goes offline, or out of a cpuset, sends its threads away.
fn stayed(cpu: u32) -> Result<(), String> {
    match rustix::thread::sched_getcpu() {
        here if here == cpu as usize => Ok(()),
        here => {
            Err(format!("the thread on CPU {cpu} was moved to CPU {here}: offline, or taken from the cpuset"))
        }
    }
}

/// Answers until the end stands in a line.
fn answer(lines: &[Line], after_spins: u32) {
    let mut awaited = 1;
    for line in lines.iter().cycle() {
        for _ in 0..ROUND_TRIPS {
            loop {
                match line.0.load(Ordering::Acquire) {
                    seen if seen == awaited => break,
                    END => return,
                    _ => {}
                }
            }
            spin(after_spins);
            line.0.store(awaited + 1, Ordering::Release);
            awaited += 2;
        }
    }
}

/// Asks until the time is up, and keeps how long each batch took after the warm-up, ns.
fn ask(lines: &[Line], length_ns: u64, batches: &mut Vec<u64>) {
    let began_ns = clock::monotonic_ns();
    let warm_ns = began_ns + (length_ns as f64 * WARM_UP) as u64;
    let until_ns = began_ns + length_ns;
    let (mut number, mut last_ns) = (1, began_ns);
    for line in lines.iter().cycle() {
        let enough = last_ns >= until_ns && batches.len() >= FEWEST_BATCHES;
        let late = last_ns >= began_ns + MOST_LENGTHS * length_ns && !batches.is_empty();
        if enough || late || batches.len() >= MOST_BATCHES {
            line.0.store(END, Ordering::Release);
            return;
        }
        let before_ns = clock::monotonic_ns();
        for _ in 0..ROUND_TRIPS {
            line.0.store(number, Ordering::Release);
            while line.0.load(Ordering::Acquire) != number + 1 {}
            number += 2;
        }
        last_ns = clock::monotonic_ns();
        if before_ns >= warm_ns {
            batches.push(last_ns - before_ns);
        }
    }
}

/// The loop by which an answer can be made late: for those who want to know what a turn of it costs. Each turn waits for the one before
/// it, in registers alone, so that a turn costs the same wherever it runs and whatever runs beside it.
#[inline(never)]
pub fn spin(turns: u32) {
    let mut number = u64::from(turns);
    for turn in 0..turns {
        number = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from(turn);
    }
    std::hint::black_box(number);
}

fn summed_up(batches: &mut [u64]) -> Option<Block> {
    batches.sort_unstable();
    let median_ns = *batches.get(batches.len() / 2)?;
    let slow_batches = batches.iter().filter(|ns| **ns > 2 * median_ns).count() as u64;
    let one_way_ns = median_ns as f64 / f64::from(2 * ROUND_TRIPS);
    Some(Block { one_way_ns, batches: batches.len() as u64, slow_batches })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_that_lost_their_cpu_count_and_do_not_move_the_median() {
        let mut batches = vec![10_000; 40];
        batches.extend([4_000_000; 3]);
        let reported = summed_up(&mut batches).unwrap();
        assert_eq!(reported, Block { one_way_ns: 50.0, batches: 43, slow_batches: 3 });
        assert_eq!(summed_up(&mut []), None);
    }

    #[test]
    fn each_question_is_answered_and_the_end_is_understood() {
        let lines = Lines::new().unwrap();
        let mut batches = Vec::with_capacity(MOST_BATCHES);
        std::thread::scope(|scope| {
            let answers = scope.spawn(|| answer(lines.all(), 0));
            ask(lines.all(), 3_000_000, &mut batches);
            answers.join().unwrap();
        });
        assert!(!batches.is_empty() && batches.capacity() == MOST_BATCHES);
    }
}
