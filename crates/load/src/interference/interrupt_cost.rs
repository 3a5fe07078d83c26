//! What one interrupt costs the thread that it interrupts, measured on this machine.

use std::hint::black_box;
use std::os::fd::OwnedFd;

use machine::{Class, CpuSet, Fault, Root, procfs};

use crate::clock::{monotonic_ns, thread_cpu_ns};
use crate::interference::storm::{RATES_PER_S, Storm};
use crate::workloads::string::work::{digest, rounds_for};

const RATE_PER_S: u32 = 10_000;
const PAIRS: usize = 15;

/// One run: this many times some computation and a few system calls. A loop of computation alone holds its state in a few
/// registers, hardly misses what an interrupt displaces, and was slowed by a quarter less on the machine where this was
/// tried (16 against 21 us an interrupt).
const STEPS: u32 = 800;
/// Steps of a run on a machine on which [`STEPS`] would take much longer than elsewhere, such as an emulated one: as many as take
/// [`RUN_NS`], and these at least.
const FEWEST_STEPS: u32 = 40;
/// Wall time of such a run, about, ns.
const RUN_NS: u64 = 50_000_000;
const COMPUTED_US: f64 = 15.0;
const MESSAGES: u32 = 6;

/// What one timer interrupt costs a thread that computes on `cpu`, ns: entry, handler, return, and the caches that it
/// leaves cold.
///
/// A fixed amount of work, half computation and half system calls as servers have it, is timed with and without a [`Storm`], 15 pairs in
/// turn, about 0.7 s in all, and the median of the pairs' differences counts. Fails as [`Storm::start`] does, when we may not run on the CPU, and when the
/// differences are lost in the noise.
pub fn interrupt_cost_ns(cpu: u32) -> Result<f64, Fault> {
    let object = format!("cost of an interrupt on CPU {cpu}");
    let clock = clock(cpu);
    // A thread of its own: the caller keeps its CPUs.
    let measured = std::thread::scope(|scope| scope.spawn(|| measure(cpu, clock)).join());
    let costs_ns = measured.unwrap_or_else(|_| {
        let remedy = machine::IS_A_BUG;
        Err(Fault::new(Class::WorkloadFailed, &object, "the measuring thread panicked", remedy))
    })?;
    median(costs_ns).filter(|cost_ns| *cost_ns > 0.0).ok_or_else(|| {
        let cause = "lost in the noise: the work was not slower with interrupts than without";
        Fault::new(Class::MachineLacks, object, cause, "try again when less runs on this CPU")
    })
}

/// The shares of a CPU that interrupts may be asked to take.
const SHARES: std::ops::RangeInclusive<f64> = 0.01..=0.5;

/// Timer interrupts a second that take `share` of `cpu`, from what one costs there now, within [`RATES_PER_S`].
///
/// Takes some 0.7 s. Fails as [`interrupt_cost_ns`] does, and when the share is below 0.01 or above 0.5.
pub fn interrupts_taking(cpu: u32, share: f64) -> Result<u32, Fault> {
    if !SHARES.contains(&share) {
        let object = format!("interrupts that take {share} of CPU {cpu}");
        let remedy = format!("choose {} to {}", SHARES.start(), SHARES.end());
        return Err(Fault::new(Class::Usage, object, "out of range", remedy));
    }
    let rate_per_s = share * 1e9 / interrupt_cost_ns(cpu)?;
    Ok((rate_per_s as u32).clamp(*RATES_PER_S.start(), *RATES_PER_S.end()))
}

/// The clock that sees the interrupts and as little else as can be.
///
/// A thread's CPU time leaves out what its neighbours take. On kernels without IRQ_TIME_ACCOUNTING it has the time of the
/// interrupts in it; on kernels with it interrupts are booked apart, and only the wall clock sees them.
fn clock(cpu: u32) -> fn() -> u64 {
    let stat = Root::live().read("/proc/stat").unwrap_or_default();
    match accounts_interrupts(&stat, cpu) {
        Some(false) => thread_cpu_ns,
        _ => monotonic_ns,
    }
}

/// Whether the kernel books interrupt time apart: only then is the column `irq` of /proc/stat not 0. None when that cannot
/// be reported.
fn accounts_interrupts(stat: &str, cpu: u32) -> Option<bool> {
    let stat = procfs::stat::parse(stat).ok()?;
    let (_, time) = stat.cpus.iter().find(|(number, _)| *number == cpu)?;
    let column = procfs::stat::COLUMNS.iter().position(|name| *name == "irq")?;
    time.get(column).map(|ticks| ticks > 0)
}

fn measure(cpu: u32, clock: fn() -> u64) -> Result<Vec<f64>, Fault> {
    change::calling_thread::run_on(&CpuSet::single(cpu))?;
    let pipe = rustix::pipe::pipe().map_err(|why| {
        Fault::new(Class::WorkloadFailed, "pipe", why, "check the limit of open files (ulimit -n)")
    })?;
    let rounds = rounds_for(COMPUTED_US);
    let fewest_took_ns = || {
        let from_ns = monotonic_ns();
        work(&pipe, rounds, FEWEST_STEPS);
        monotonic_ns() - from_ns
    };
    // The shortest: one that others held up says nothing of the machine.
    let steps = steps(fewest_took_ns().min(fewest_took_ns()).min(fewest_took_ns()));
    let time_ns = || {
        let from_ns = clock();
        work(&pipe, rounds, steps);
        (clock() - from_ns) as f64
    };
    let disturbed_ns = || Storm::start(cpu, RATE_PER_S).map(|_storm| time_ns());
    (0..PAIRS)
        .map(|pair| {
            // Either is first in turn, so that a drift cancels.
            let (quiet_ns, disturbed_ns) = match pair % 2 {
                0 => (time_ns(), disturbed_ns()?),
                _ => {
                    let disturbed_ns = disturbed_ns()?;
                    (time_ns(), disturbed_ns)
                }
            };
            let interrupts = disturbed_ns * 1e-9 * f64::from(RATE_PER_S);
            Ok((disturbed_ns - quiet_ns) / interrupts)
        })
        .collect()
}

/// Steps of a run where [`FEWEST_STEPS`] took so long.
fn steps(fewest_took_ns: u64) -> u32 {
    let fitting = u64::from(FEWEST_STEPS) * RUN_NS / fewest_took_ns.max(1);
    u32::try_from(fitting).unwrap_or(STEPS).clamp(FEWEST_STEPS, STEPS)
}

/// A server's work without a client: computation, and messages through the kernel.
fn work((reader, writer): &(OwnedFd, OwnedFd), rounds: u64, steps: u32) {
    let mut message = [0u8; 64];
    for _ in 0..steps {
        black_box(digest(black_box(b"interrupt"), rounds));
        for _ in 0..MESSAGES {
            // An empty pipe takes a message whole, and gives it back.
            let _ = rustix::io::write(writer, &message);
            let _ = rustix::io::read(reader, &mut message);
        }
    }
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupt_accounting_is_seen_in_the_irq_column() {
        let without = "cpu  9 0 9 9 9 0 9 9 0 0\ncpu0 4 0 5 6 7 0 5 2 0 0\n";
        let with = "cpu  9 0 9 9 9 3 9 9 0 0\ncpu0 4 0 5 6 7 3 5 2 0 0\n";
        assert_eq!(accounts_interrupts(without, 0), Some(false));
        assert_eq!(accounts_interrupts(with, 0), Some(true));
        assert_eq!(accounts_interrupts(without, 7), None, "no such CPU");
        assert_eq!(accounts_interrupts("cpu0 4 0 x", 0), None, "malformed");
        assert_eq!(accounts_interrupts("", 0), None);
    }

    #[test]
    fn a_share_of_nothing_or_of_more_than_half_is_refused() {
        for share in [0.0, 0.9, f64::NAN] {
            assert_eq!(interrupts_taking(0, share).unwrap_err().class, Class::Usage, "{share}");
        }
    }

    #[test]
    fn a_slow_machine_does_fewer_steps() {
        assert_eq!(steps(0), STEPS);
        assert_eq!(steps(1_200_000), STEPS, "0.03 ms a step");
        assert_eq!(steps(10_000_000), 200, "0.25 ms a step");
        assert_eq!(steps(u64::MAX), FEWEST_STEPS);
    }

    #[test]
    fn the_median_stands_in_the_middle() {
        assert_eq!(median(vec![3.0, -1.0, 2.0]), Some(2.0));
        assert_eq!(median(Vec::new()), None);
    }
}
