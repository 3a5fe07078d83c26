//! CPU time of the server per request: pure.

use machine::Missing;

use super::trial_figure::{Measured, TrialFigure};
use crate::recipe::Direction;

/// CPU time of all the server's threads by request that was answered, where both are known. Kernels without IRQ_TIME_ACCOUNTING charge
/// interrupts to the interrupted task, so that it rises with them.
pub(super) static PER_REQUEST: TrialFigure = TrialFigure {
    name: "server_cpu_us_per_request",
    unit: Some("us"),
    direction: Some(Direction::Lower),
    of: per_request,
};

fn per_request(measured: &Measured<'_>) -> Result<Option<f64>, Missing> {
    let observation = measured.observation;
    let on_cpu_us: Vec<u64> = observation.threads.iter().filter_map(|thread| thread.on_cpu_us).collect();
    let completed = measured.requests_per_s.map_or(0.0, |per_s| per_s * observation.window_s());
    let is_known = !on_cpu_us.is_empty() && completed >= 1.0;
    Ok(is_known.then(|| on_cpu_us.iter().sum::<u64>() as f64 / completed))
}

#[cfg(test)]
mod tests {
    use probe::{Observation, ThreadSeen};

    use super::*;

    fn of(on_cpu_us: &[Option<u64>], requests_per_s: Option<f64>) -> Option<f64> {
        let thread = |on_cpu_us: &Option<u64>| ThreadSeen { on_cpu_us: *on_cpu_us, ..ThreadSeen::default() };
        let threads = on_cpu_us.iter().map(thread).collect();
        let observation = Observation { to_ns: 2_000_000_000, threads, ..Observation::default() };
        per_request(&Measured { requests_per_s, ..Measured::by_observation(&observation) }).unwrap()
    }

    #[test]
    fn the_time_of_all_threads_is_shared_out_over_the_requests() {
        assert_eq!(of(&[Some(30_000), None, Some(10_000)], Some(1000.0)), Some(20.0));
        assert_eq!(of(&[Some(30_000)], Some(0.4)), None, "no request was answered");
        assert_eq!(of(&[Some(30_000)], None), None, "the load counts no requests");
        assert_eq!(of(&[None], Some(1000.0)), None, "no thread's time was read");
    }
}
