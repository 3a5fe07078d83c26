//! `pinwise noise --cores` and `--memory` where the truth is known: an answer that is late by a known time, other loops that measure
//! the same, a buffer that lies in the nearest cache. What is expected comes from the same run, on the same CPUs.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use machine::distances::CorePair;
use machine::{CpuSet, Distances, Fault, Machine, Root};
use probe::distance_measurement::{Cores, Memory, Plan, Surroundings, measure, spin};

struct Here;

impl Surroundings for Here {
    fn enter(&self, cpu: u32) -> Result<(), Fault> {
        change::calling_thread::run_on(&CpuSet::single(cpu))
    }

    fn passes(&self, _what: &str, _done: f64) {}
}

/// Two CPUs, of different cores where there are some.
fn two_cpus(machine: &Machine) -> Option<(u32, u32)> {
    let usable: Vec<u32> = machine.usable().iter().collect();
    let first = *usable.first()?;
    let core = machine.cpu(first).and_then(|cpu| cpu.siblings.clone()).unwrap_or_default();
    let other = usable.iter().find(|cpu| !core.contains(**cpu)).or(usable.get(1))?;
    Some((first, *other))
}

fn run(plan: &Plan, machine: &Machine) -> Distances {
    measure(plan, machine, &Root::live(), &Here, &AtomicBool::new(false)).unwrap()
}

/// A batch in five that was disturbed leaves the median where it is; where more were, or where the interval is as wide as a fifth of the
/// median, others have the CPUs.
fn is_sharp(pair: &CorePair) -> bool {
    let undisturbed = pair.slow_batches * 5 <= pair.batches;
    undisturbed && pair.ns.width().is_some_and(|width| width < 0.2 * pair.ns.median)
}

const ATTEMPTS: usize = 8;

/// One way, ns, in both directions; `None`, with a word on stderr, where others leave the CPUs too little for any figure.
fn between(machine: &Machine, (a, b): (u32, u32), answer_after_spins: u32) -> Option<[f64; 2]> {
    let plan = Plan {
        cpus: [a, b].into_iter().collect(),
        cores: Some(Cores { answer_after_spins }),
        time: Some(Duration::from_secs(1)),
        ..Plan::default()
    };
    for _ in 0..ATTEMPTS {
        let result = run(&plan, machine);
        let pairs = [(a, b), (b, a)].map(|(from, to)| result.pair(from, to).unwrap().clone());
        if pairs.iter().all(is_sharp) {
            return Some(pairs.map(|pair| pair.ns.median));
        }
    }
    eprintln!("skipped: others are busy on CPUs {a} and {b}, in each of {ATTEMPTS} measurements");
    None
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// What a turn of the loop costs on a CPU while another one is busy too, ns.
fn turn_ns((cpu, other): (u32, u32)) -> f64 {
    const TURNS: u32 = 20_000;
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            Here.enter(other).unwrap();
            while !stop.load(Ordering::Relaxed) {
                spin(100);
            }
        });
        let measured = scope.spawn(|| {
            Here.enter(cpu).unwrap();
            let one = |_| {
                let began = Instant::now();
                spin(TURNS);
                began.elapsed().as_nanos() as f64 / f64::from(TURNS)
            };
            median((0..2_000).map(one).collect())
        });
        let result = measured.join().unwrap();
        stop.store(true, Ordering::Relaxed);
        result
    })
}

#[test]
#[ignore = "ground truth: needs two CPUs; run by `make test`"]
fn an_answer_that_is_late_by_a_known_time_is_measured_as_that_much_later() {
    const SPINS: u32 = 300;
    let machine = Machine::read(&Root::live());
    let Some((a, b)) = two_cpus(&machine) else { return eprintln!("skipped: there is one CPU") };
    // In turn, so that a host that changes its clock meets all alike.
    let mut found = Vec::new();
    for _ in 0..7 {
        let Some([plain, _]) = between(&machine, (a, b), 0) else { return };
        // The asker waits for the whole of it in each round trip, and half of a round trip is reported.
        let expected = turn_ns((b, a)) * f64::from(SPINS) / 2.0;
        let Some([delayed, _]) = between(&machine, (a, b), SPINS) else { return };
        found.push((delayed - plain) / expected);
    }
    assert!((0.75..1.35).contains(&median(found.clone())), "{found:?}");
}

/// The median of batches of an own loop: compare and swap, as other tools have it, one way, ns.
fn by_compare_and_swap((a, b): (u32, u32)) -> f64 {
    const TRIPS: u32 = 200;
    const BATCHES: u32 = 3_000;
    let line = &AtomicU32::new(0);
    std::thread::scope(|scope| {
        let swap = move |from: u32, to: u32| {
            while line.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed).is_err() {}
        };
        scope.spawn(move || {
            Here.enter(b).unwrap();
            (0..TRIPS * BATCHES).for_each(|_| swap(1, 0));
        });
        let asker = scope.spawn(move || {
            Here.enter(a).unwrap();
            let batch = |_| {
                let began = Instant::now();
                for _ in 0..TRIPS {
                    swap(0, 1);
                }
                began.elapsed().as_nanos() as f64 / f64::from(2 * TRIPS)
            };
            median((0..BATCHES).map(batch).collect())
        });
        asker.join().unwrap()
    })
}

/// An atomic addition that nobody else wants, ns.
fn alone(cpu: u32) -> f64 {
    let work = move || {
        Here.enter(cpu).unwrap();
        let number = AtomicU64::new(0);
        let batch = |_| {
            let began = Instant::now();
            (0..1_000).for_each(|_| _ = number.fetch_add(1, Ordering::AcqRel));
            began.elapsed().as_nanos() as f64 / 1_000.0
        };
        median((0..500).map(batch).collect())
    };
    std::thread::spawn(work).join().unwrap()
}

#[test]
#[ignore = "ground truth: needs two CPUs; run by `make test`"]
fn a_line_takes_longer_than_an_atomic_alone_and_about_as_long_as_another_loop_says() {
    let machine = Machine::read(&Root::live());
    let Some((a, b)) = two_cpus(&machine) else { return eprintln!("skipped: there is one CPU") };
    let Some([forth, back]) = between(&machine, (a, b), 0) else { return };
    let (alone, other) = (alone(a), by_compare_and_swap((a, b)));
    for ns in [forth, back] {
        assert!(ns > alone, "{ns} ns, an atomic alone {alone} ns");
        // Swapping costs a few times as much as a plain store where both hammer the line.
        assert!((0.2..3.0).contains(&(ns / other)), "{ns} ns, by compare and swap {other} ns");
    }
    assert!((0.33..3.0).contains(&(forth / back)), "{forth} ns there, {back} ns back");
}

fn memory(machine: &Machine, chase_bytes: Option<u64>) -> f64 {
    let plan = Plan {
        cpus: machine.usable(),
        memory: Some(Memory { chase_bytes }),
        time: Some(Duration::from_secs(3)),
        ..Plan::default()
    };
    let result = run(&plan, machine).memory.unwrap();
    let near = result.cells.iter().filter_map(|cell| cell.latency_ns).map(|result| result.median);
    let nearest = near.fold(f64::INFINITY, f64::min);
    assert!(nearest.is_finite(), "{result:?}");
    nearest
}

/// An own chase, by index, through so many lines; ns a load.
fn by_index(lines: usize) -> f64 {
    // A stride that has no factor in common with a power of two meets all lines; its multiples are far apart.
    let stride = 0x9e37_79b9_usize | 1;
    let mut at = 0;
    let next: Vec<[u32; 16]> = (0..lines).map(|line| [((line + stride) % lines) as u32; 16]).collect();
    let batch = |_| {
        let began = Instant::now();
        for _ in 0..1_000 {
            at = next[at][at % 16] as usize;
        }
        began.elapsed().as_nanos() as f64 / 1_000.0
    };
    let result = median((0..3_000).map(batch).collect());
    std::hint::black_box(at);
    result
}

#[test]
#[ignore = "ground truth: fills some hundred MiB of memory; run by `make test`"]
fn memory_is_further_than_the_nearest_cache_and_as_far_as_another_loop_says() {
    let machine = Machine::read(&Root::live());
    let (near, far) = (memory(&machine, Some(16 << 10)), memory(&machine, None));
    assert!(far > 5.0 * near, "{far} ns through a large buffer, {near} ns through 16 KiB");
    let other = by_index(1 << 21);
    assert!((0.25..4.0).contains(&(far / other)), "{far} ns, by index {other} ns");
}
