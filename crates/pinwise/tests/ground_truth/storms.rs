//! Storms of timer interrupts, where the kernel lets them be what they are to be.

use load::storm::Storm;

/// A storm on one CPU; `None`, with a word on stderr, where none can be had or the kernel would stop it now and then: on a busy machine
/// it lowers the rate of samples by itself (perf_cpu_time_max_percent), down to some more than the storm's.
pub fn start(cpu: u32, rate_per_s: u32) -> Option<Storm> {
    let highest = std::fs::read_to_string("/proc/sys/kernel/perf_event_max_sample_rate").unwrap_or_default();
    if highest.trim().parse::<u32>().is_ok_and(|highest| highest < 2 * rate_per_s) {
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
