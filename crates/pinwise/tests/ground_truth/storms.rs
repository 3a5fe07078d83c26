//! Storms of timer interrupts, where the kernel lets them be what they are to be.

use std::time::Instant;

use load::storm::Storm;

use crate::watched::interrupts;

/// A storm of more than this is made by several events, and the kernel's limit holds for each.
const OF_ONE_EVENT_PER_S: u32 = 20_000;

/// A storm on one CPU; `None`, with a word on stderr, where none can be had or the kernel would stop it now and then: on a busy machine
/// it lowers the rate of samples by itself (perf_cpu_time_max_percent), down to some more than the storm's.
pub fn start(cpu: u32, rate_per_s: u32) -> Option<Storm> {
    let highest = std::fs::read_to_string("/proc/sys/kernel/perf_event_max_sample_rate").unwrap_or_default();
    if highest.trim().parse::<u32>().is_ok_and(|highest| highest < 2 * rate_per_s.min(OF_ONE_EVENT_PER_S)) {
        eprintln!("skipped: the kernel has lowered kernel.perf_event_max_sample_rate to {}", highest.trim());
        return None;
    }
    match Storm::start(cpu, rate_per_s) {
        Ok(storm) => Some(storm),
        Err(fault) => {
            eprintln!("skipped: {fault}");
            None
        }
    }
}

/// The share of its CPU that a storm takes that a study is to see.
const SHARE: f64 = 0.25;

/// As many interrupts a second as take a quarter of the CPU: what one costs differs tenfold between hosts. As [`start`] otherwise.
pub fn start_taking_a_quarter(cpu: u32) -> Option<(Storm, u32)> {
    start_taking(cpu, SHARE)
}

/// The same with another share of the CPU.
pub fn start_taking(cpu: u32, share: f64) -> Option<(Storm, u32)> {
    let rate_per_s = rate_taking(cpu, share)?;
    start(cpu, rate_per_s).map(|storm| (storm, rate_per_s))
}

/// The rate of such a storm; `None`, with a word on stderr, where it cannot be measured.
pub fn taking_a_quarter(cpu: u32) -> Option<u32> {
    rate_taking(cpu, SHARE)
}

fn rate_taking(cpu: u32, share: f64) -> Option<u32> {
    match load::interrupts_taking(cpu, share) {
        Ok(rate_per_s) => Some(rate_per_s),
        Err(fault) => {
            eprintln!("skipped: {fault}");
            None
        }
    }
}

/// Timer interrupts of a CPU since a moment, by the kernel's own count.
pub struct Rate {
    cpu: u32,
    since: Instant,
    before: u64,
}

impl Rate {
    /// From now on.
    pub fn of(cpu: u32) -> Self {
        Self { cpu, since: Instant::now(), before: interrupts("LOC", cpu) }
    }

    /// Whether there were nine tenths of `rate_per_s` at least: a storm that the kernel holds back makes nobody slow.
    pub fn is_at_least(&self, rate_per_s: u32) -> bool {
        let came = interrupts("LOC", self.cpu) - self.before;
        let seen_per_s = came as f64 / self.since.elapsed().as_secs_f64();
        eprintln!("CPU {}: {seen_per_s:.0} timer interrupts a second, {rate_per_s} asked for", self.cpu);
        seen_per_s >= 0.9 * f64::from(rate_per_s)
    }
}
