//! Origin node to node: latency and bandwidth of each node's memory from each node's CPUs.

mod buffers;
mod cells;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use machine::distances::{Buffer, MemoryCell, MemoryDistances};
use machine::{Class, Fault, Machine, Missing};

use super::bandwidth::{self, Stream, Streamed};
use super::median::{FEWEST, estimate, median};
use super::random_order::Random;
use super::rounds::{interrupted, overdue};
use super::{Memory, Plan, Surroundings, pointer_chase};
use buffers::{Bound, Buffers};
use cells::{Nodes, Origin};

/// The length of a block that is aimed at, and the shortest.
const GOOD_BLOCK: Duration = Duration::from_millis(40);
const SHORTEST_BLOCK: Duration = Duration::from_millis(4);

/// Rounds that are aimed at, at least and at most.
const GOOD_ROUNDS: usize = 9;
const MOST_ROUNDS: usize = 51;

/// What it takes when nobody says how long: at least this.
const USUAL_TIME: Duration = Duration::from_secs(4);

/// Latency, reading, writing.
const FIGURES: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Schedule {
    rounds: usize,
    block: Duration,
}

/// Shares the time out to rounds; the error is the shortest time that would do.
fn schedule(cells: usize, time: Option<Duration>) -> Result<Schedule, Duration> {
    let blocks = (cells * FIGURES).max(1) as f64;
    let usual_s = || USUAL_TIME.as_secs_f64().max(GOOD_BLOCK.as_secs_f64() * blocks * GOOD_ROUNDS as f64);
    let time_s = time.map_or_else(usual_s, |time| time.as_secs_f64());
    let rounds_of = |block: Duration| (time_s / blocks / block.as_secs_f64() + 1e-9) as usize;
    let most = rounds_of(SHORTEST_BLOCK);
    if most < FEWEST {
        return Err(Duration::from_secs_f64(SHORTEST_BLOCK.as_secs_f64() * blocks * FEWEST as f64));
    }
    let rounds = rounds_of(GOOD_BLOCK).clamp(GOOD_ROUNDS, MOST_ROUNDS).min(most);
    let block = Duration::from_secs_f64(time_s / blocks / rounds as f64);
    Ok(Schedule { rounds, block: block.clamp(SHORTEST_BLOCK, 5 * GOOD_BLOCK) })
}

/// One cell as it is measured.
struct Cell<'a> {
    from: &'a Origin,
    bound: &'a Bound,
    latency_ns: Vec<f64>,
    read_mb_per_s: Vec<f64>,
    write_mb_per_s: Vec<f64>,
    cpu_shares: Vec<f64>,
    failed: Vec<String>,
}

/// Threads that had less of their CPUs than this shared them with others, and so did the bandwidth.
const LEAST_CPU_SHARE: f64 = 0.95;

/// Measures all cells; `None` where there is none, which is said.
pub(super) fn measure(
    memory: &Memory,
    plan: &Plan,
    machine: &Machine,
    surroundings: &dyn Surroundings,
    stop: &AtomicBool,
    missing: &mut Vec<Missing>,
) -> Result<Option<MemoryDistances>, Fault> {
    let nodes = Nodes::of(machine, &plan.cpus, missing);
    let schedule = schedule(nodes.from.len() * nodes.memory.len(), plan.time).map_err(|needed| {
        let cause = format!(
            "it is too short for the memory of {} nodes from {}, {FEWEST} rounds each",
            nodes.memory.len(),
            nodes.from.len()
        );
        let remedy = format!("give {:.1} s or more", (needed.as_secs_f64() * 10.0).ceil() / 10.0);
        Fault::new(Class::Usage, "--for", cause, remedy)
    })?;
    surroundings.passes("memory", 0.0);
    let buffers = Buffers::make(&nodes, machine, memory.chase_bytes, plan.seed, missing);
    let cell = |from, bound| Cell {
        from,
        bound,
        latency_ns: Vec::new(),
        read_mb_per_s: Vec::new(),
        write_mb_per_s: Vec::new(),
        cpu_shares: Vec::new(),
        failed: Vec::new(),
    };
    let bounds = &buffers.bound;
    let mut cells: Vec<Cell> =
        nodes.from.iter().flat_map(|from| bounds.iter().map(move |bound| cell(from, bound))).collect();
    if cells.is_empty() {
        return Ok(None);
    }
    let mut random = Random::new(plan.seed);
    let mut order: Vec<(usize, usize)> =
        (0..cells.len()).flat_map(|cell| (0..FIGURES).map(move |figure| (cell, figure))).collect();
    let (began, mut told_at) = (Instant::now(), Instant::now());
    let planned = schedule.block * (schedule.rounds * order.len()) as u32;
    let mut rounds = 0;
    while rounds < schedule.rounds && !overdue(began, planned, (rounds, schedule.rounds), "memory", missing) {
        random.shuffle(&mut order);
        for (position, (cell, figure)) in order.iter().enumerate() {
            let length_ns = schedule.block.as_nanos() as u64;
            cells[*cell].block(*figure, rounds, length_ns, surroundings, stop);
            if stop.load(Ordering::Acquire) {
                return Err(interrupted());
            }
            if told_at.elapsed() > Duration::from_millis(200) {
                let done =
                    (rounds * order.len() + position + 1) as f64 / (schedule.rounds * order.len()) as f64;
                surroundings.passes("memory", done);
                told_at = Instant::now();
            }
        }
        rounds += 1;
    }
    Ok(Some(MemoryDistances {
        rounds,
        seed: plan.seed,
        block_us: schedule.block.as_secs_f64() * 1e6,
        cells: cells.into_iter().map(|cell| cell.summary(missing)).collect(),
    }))
}

impl Cell<'_> {
    fn block(
        &mut self,
        figure: usize,
        round: usize,
        length_ns: u64,
        surroundings: &dyn Surroundings,
        stop: &AtomicBool,
    ) {
        let stream = |stream| {
            bandwidth::measure(stream, &self.bound.streamed, &self.from.cpus, length_ns, surroundings, stop)
        };
        match figure {
            0 => {
                // Another CPU in each round: the figure is the node's.
                let cpus: Vec<u32> = self.from.cpus.iter().collect();
                let cpu = cpus[round % cpus.len()];
                match walked(cpu, self.bound, length_ns, surroundings, stop) {
                    Ok(ns) => self.latency_ns.extend(ns),
                    Err(why) => self.failed.push(why),
                }
            }
            1 => self.keep(stream(Stream::Read), |cell| &mut cell.read_mb_per_s),
            _ => self.keep(stream(Stream::Write), |cell| &mut cell.write_mb_per_s),
        }
    }

    fn keep(&mut self, streamed: Result<Streamed, String>, of: fn(&mut Self) -> &mut Vec<f64>) {
        match streamed {
            Ok(streamed) => {
                of(self).push(streamed.mb_per_s);
                self.cpu_shares.push(streamed.cpu_share);
            }
            Err(why) => self.failed.push(why),
        }
    }

    fn summary(self, missing: &mut Vec<Missing>) -> MemoryCell {
        let (from, node) = (self.from.node, self.bound.node);
        if let Some(why) = self.failed.first() {
            let fact = format!("{} rounds of node {from} to the memory of node {node}", self.failed.len());
            missing.push(Missing::new(fact, why));
        }
        if let Some(share) = median(&self.cpu_shares).filter(|share| *share < LEAST_CPU_SHARE) {
            let fact = format!("bandwidth of node {from} to the memory of node {node} with all of its CPUs");
            let why = format!(
                "other tasks ran there: half of the rounds had {:.0} % of the CPUs or less",
                share * 100.0
            );
            missing.push(Missing::new(fact, why));
        }
        let buffer = |bytes: u64, caches: Option<u64>, of: &Buffer| Buffer {
            bytes,
            times_caches: caches.filter(|caches| *caches > 0).map(|caches| bytes as f64 / caches as f64),
            ..*of
        };
        MemoryCell {
            from,
            memory: node,
            cpus: self.from.cpus.clone(),
            latency_ns: estimate(&self.latency_ns),
            read_mb_per_s: estimate(&self.read_mb_per_s),
            write_mb_per_s: estimate(&self.write_mb_per_s),
            latency_buffer: buffer(
                self.bound.chased.bytes() as u64,
                self.from.cache_bytes,
                &self.bound.chased_lies,
            ),
            bandwidth_buffer: buffer(
                self.bound.streamed.bytes() as u64,
                self.from.all_caches_bytes,
                &self.bound.streamed_lies,
            ),
        }
    }
}

/// A walk on a CPU.
fn walked(
    cpu: u32,
    bound: &Bound,
    length_ns: u64,
    surroundings: &dyn Surroundings,
    stop: &AtomicBool,
) -> Result<Option<f64>, String> {
    std::thread::scope(|scope| {
        let body = || {
            surroundings.enter(cpu).map_err(|fault| fault.to_string())?;
            Ok(pointer_chase::walk(&bound.chased, length_ns, stop))
        };
        let thread = std::thread::Builder::new().name(format!("chases-{cpu}")).spawn_scoped(scope, body);
        let thread = thread.map_err(|e| format!("thread for CPU {cpu}: {e}"))?;
        thread.join().map_err(|_| "a thread of the measurement died".to_string())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_kept_or_refused() {
        for (cells, ms) in [(1, 500), (1, 10_000), (16, 4_000), (64, 60_000)] {
            let reported = schedule(cells, Some(Duration::from_millis(ms))).unwrap();
            let takes = reported.block * (reported.rounds * cells * FIGURES) as u32;
            assert!(
                takes <= Duration::from_millis(ms + 1) && reported.rounds >= FEWEST,
                "{cells} {ms} {reported:?}"
            );
        }
        let needed = schedule(64, Some(Duration::from_millis(100))).unwrap_err();
        assert!(schedule(64, Some(needed)).is_ok(), "{needed:?}");
        assert_eq!(schedule(16, None).unwrap(), Schedule { rounds: GOOD_ROUNDS, block: GOOD_BLOCK });
    }
}
