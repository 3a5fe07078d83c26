//! A server that is stopped again and again on purpose, and what that has to do to the latencies of requests that are due at a fixed rate.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use load::monotonic_ns;
use rustix::process::{Pid, Signal, kill_process_group};

/// A time in which the server stood still, CLOCK_MONOTONIC ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pause {
    /// After SIGSTOP was sent.
    pub from_ns: u64,
    /// Before SIGCONT was sent.
    pub to_ns: u64,
}

/// A process group that is stopped for a while again and again, until [`end`](Self::end).
pub struct Paused {
    over: Arc<AtomicBool>,
    thread: JoinHandle<io::Result<Vec<Pause>>>,
}

impl Paused {
    /// Stops `group` for `pause`, once in each `every`.
    pub fn start(group: Pid, every: Duration, pause: Duration) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let seen = over.clone();
        let thread = std::thread::spawn(move || {
            let mut pauses = Vec::new();
            let mut next = Instant::now() + every - pause;
            while !seen.load(Ordering::Acquire) {
                if Instant::now() < next {
                    std::thread::sleep(Duration::from_millis(1).min(next - Instant::now()));
                    continue;
                }
                next += every;
                kill_process_group(group, Signal::STOP)?;
                let from_ns = monotonic_ns();
                std::thread::sleep(pause);
                let to_ns = monotonic_ns();
                kill_process_group(group, Signal::CONT)?;
                pauses.push(Pause { from_ns, to_ns });
            }
            Ok(pauses)
        });
        Self { over, thread }
    }

    /// Leaves the server alone from now on; the pauses that there were.
    ///
    /// # Errors
    /// The group could not be stopped: it is gone.
    pub fn end(self) -> io::Result<Vec<Pause>> {
        self.over.store(true, Ordering::Release);
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread that pauses panicked")))
    }
}

/// Quantiles of the latencies, us, that the pauses alone make of requests due every `gap_ns` from `from_ns` to `to_ns`: one that is due
/// within a pause waits for what is left of it, and any other for nothing.
pub fn latencies_us<const N: usize>(
    pauses: &[Pause],
    (from_ns, to_ns): (u64, u64),
    gap_ns: f64,
    quantiles: [f64; N],
) -> [f64; N] {
    let dues = (1..).map(|k| from_ns + (f64::from(k) * gap_ns) as u64).take_while(|due_ns| *due_ns < to_ns);
    let wait_ns = |due_ns: u64| {
        let within = pauses.iter().find(|pause| (pause.from_ns..pause.to_ns).contains(&due_ns));
        within.map_or(0, |pause| pause.to_ns - due_ns)
    };
    let mut waits: Vec<u64> = dues.map(wait_ns).collect();
    waits.sort_unstable();
    quantiles.map(|quantile| {
        let rank = (quantile * waits.len() as f64).ceil() as usize;
        waits.get(rank.max(1) - 1).map_or(f64::NAN, |ns| *ns as f64 / 1e3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_pause_makes_known_latencies() {
        // 2,000 requests, one a ms; 100 of them are due in the pause and wait for 100, 99, ... 1 ms.
        let pauses = [Pause { from_ns: 500_000_000, to_ns: 600_000_000 }];
        let of = |quantiles| latencies_us::<4>(&pauses, (0, 2_000_500_000), 1e6, quantiles);
        assert_eq!(of([0.5, 0.96, 0.999, 1.0]), [0.0, 20_000.0, 98_000.0, 100_000.0]);
        assert!(latencies_us(&pauses, (0, 10), 1e6, [0.5])[0].is_nan(), "none is due");
    }

    #[test]
    fn a_group_stands_still_for_the_requested_time() {
        let mut command = std::process::Command::new("sleep");
        let mut child =
            std::os::unix::process::CommandExt::process_group(command.arg("60"), 0).spawn().unwrap();
        let group = Pid::from_child(&child);
        let paused = Paused::start(group, Duration::from_millis(50), Duration::from_millis(20));
        std::thread::sleep(Duration::from_millis(200));
        let pauses = paused.end().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!pauses.is_empty() && pauses.iter().all(|pause| pause.to_ns - pause.from_ns >= 20_000_000));
        assert!(pauses.is_sorted_by(|a, b| a.to_ns < b.from_ns));
    }
}
