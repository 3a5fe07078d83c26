//! When requests are meant to be sent.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use super::pace::{Pace, Spacing};

/// The intended send times of an open loop. They come from the clock alone, never from how the server does: a request
/// that is late because all connections are busy keeps the time at which it was due.
pub(super) struct Schedule {
    gap_ns: f64,
    spacing: Spacing,
    random: ChaCha8Rng,
    from_ns: u64,
    /// Offset of the next request from `from_ns`. A float of 53 bits counts single ns for 104 days.
    next_ns: f64,
}

impl Schedule {
    /// The schedule that `pace` asks for; none for a closed loop. `phase`: by how much of a gap it comes before that of another thread, 0
    /// to 1, so that equal gaps stay equal over all of them.
    pub(super) fn of(pace: &Pace, from_ns: u64, phase: f64) -> Option<Self> {
        let rate_per_s = pace.rate_per_s?;
        let gap_ns = 1e9 / rate_per_s;
        let random = ChaCha8Rng::seed_from_u64(pace.seed);
        let mut schedule = Self { gap_ns, spacing: pace.spacing, random, from_ns, next_ns: 0.0 };
        schedule.step();
        if schedule.spacing == Spacing::Uniform {
            schedule.next_ns -= phase * gap_ns;
        }
        Some(schedule)
    }

    /// When the next request is due, CLOCK_MONOTONIC ns.
    pub(super) fn next_due_ns(&self) -> u64 {
        self.from_ns + self.next_ns as u64
    }

    /// Goes on to the request after that.
    pub(super) fn step(&mut self) {
        self.next_ns += match self.spacing {
            Spacing::Uniform => self.gap_ns,
            Spacing::Poisson => {
                // 53 random bits, shifted away from 0, whose logarithm does not exist.
                let uniform = ((self.random.next_u64() >> 11) as f64 + 1.0) / (1u64 << 53) as f64;
                -uniform.ln() * self.gap_ns
            }
        };
    }

    /// How many requests are due until `to_ns` and were not taken.
    pub(super) fn left_until(mut self, to_ns: u64) -> u64 {
        let mut left = 0;
        while self.next_due_ns() <= to_ns {
            left += 1;
            self.step();
        }
        left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(rate_per_s: Option<f64>, spacing: Spacing) -> Pace {
        Pace {
            connections: 1,
            threads: 1,
            keep_alive: false,
            rate_per_s,
            spacing,
            seed: 1,
            seconds: 5.0,
            max_requests: None,
            timeout_s: 5.0,
        }
    }

    fn dues(spacing: Spacing, n: usize) -> Vec<u64> {
        let mut schedule = Schedule::of(&pace(Some(1000.0), spacing), 5_000, 0.0).unwrap();
        (0..n)
            .map(|_| {
                let due = schedule.next_due_ns();
                schedule.step();
                due
            })
            .collect()
    }

    #[test]
    fn uniform_gaps_are_equal() {
        assert_eq!(dues(Spacing::Uniform, 3), [1_005_000, 2_005_000, 3_005_000]);
    }

    #[test]
    fn poisson_gaps_have_the_mean_and_spread_of_an_exponential() {
        let dues = dues(Spacing::Poisson, 20_000);
        let gaps: Vec<f64> = dues.windows(2).map(|w| (w[1] - w[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let deviation =
            (gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / (gaps.len() - 1) as f64).sqrt();
        assert!((mean / 1e6 - 1.0).abs() < 0.03, "{mean}");
        assert!((deviation / mean - 1.0).abs() < 0.05, "{deviation}");
    }

    #[test]
    fn a_closed_loop_has_no_schedule_and_what_was_not_taken_is_counted() {
        assert!(Schedule::of(&pace(None, Spacing::Poisson), 0, 0.0).is_none());
        let uniform = pace(Some(1000.0), Spacing::Uniform);
        assert_eq!(
            Schedule::of(&uniform, 0, 0.25).unwrap().next_due_ns(),
            750_000,
            "a quarter of a gap earlier"
        );
        assert_eq!(Schedule::of(&uniform, 0, 0.0).unwrap().left_until(10_500_000), 10);
    }
}
