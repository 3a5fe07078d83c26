//! Requests that go without an answer for a second, beside those of the baseline.
//!
//! Where one of several workers does not run, its connections wait and those of the others are served. A client that waits for its answer sends
//! nothing more, so each such connection is one slow request in the whole trial, which a quantile lets pass. So they are counted over the
//! trial, and compared with the baseline's, which has look-alikes: long polls, reads that need no answer, requests of which the client sends
//! only a part.
//!
//! Two counts of events that come one by one and equally often: given both together, the arm's is binomial, with the arm's share of all
//! requests. The test is made at any time. The arm's count only grows; so where the share is taken to be that of the most requests up to which a
//! level reaches, it is wrong at any time of the level no more often than at its end. Each level has twice the requests of the one before, and
//! a part of the chance.

use super::ages::Ages;
use super::seen::Slice;
use super::sequential::Found;
use super::share;

/// A request that waits for longer than this counts, ns: what a human notices, and far longer than a stall that a quantile lets pass.
pub(super) const LONG_NS: u64 = 1_000_000_000;

/// Its figure, and how the guard is written.
pub(super) const FIGURE: &str = "unanswered_requests";
pub(super) const GUARD: &str = "unanswered_requests <= baseline";

/// The first level ends at 2^this times the baseline's requests.
const FIRST_LEVEL: i32 = -4;
/// The part of the chance that each of the levels up to the baseline's requests has; those beyond share the rest, each half of what is left.
const PART: f64 = 0.125;

/// What has been counted.
pub(super) struct Unanswered {
    /// How long a request waits that counts, ns.
    long_ns: u64,
    /// Those of the baseline, and all its requests.
    baseline: (u64, u64),
    /// Those of the arm.
    so_far: u64,
    /// Requests of the arm that were answered.
    answered: u64,
    /// With which chance it is wrong at most.
    chance: f64,
}

impl Unanswered {
    /// Requests that wait for longer than this count, and for longer than [`LONG_NS`]; none where the baseline had no requests.
    pub(super) fn new(longest_ns: u64, baseline: &Ages, chance: f64) -> Option<Self> {
        let long_ns = longest_ns.max(LONG_NS);
        let seen = baseline.newly_waiting(long_ns);
        let all = baseline.answered.count().saturating_add(baseline.unanswered(long_ns));
        (all > 0).then_some(Self { long_ns, baseline: (seen, all), so_far: 0, answered: 0, chance })
    }

    /// Takes in a slice: whether there are more of them than the baseline makes believable.
    pub(super) fn take(&mut self, slice: &Slice) -> Option<Found> {
        let new = slice.ages.newly_waiting(self.long_ns);
        self.so_far = self.so_far.saturating_add(new);
        self.answered = self.answered.saturating_add(slice.ages.answered.count());
        if new == 0 || !self.is_unlikely(self.so_far) {
            return None;
        }
        let most = (0..self.so_far).rev().find(|count| !self.is_unlikely(*count)).unwrap_or(0);
        Some(Found { value: self.so_far as f64, limit: most as f64, requests: self.requests() })
    }

    fn requests(&self) -> u64 {
        self.answered.saturating_add(self.so_far)
    }

    /// Whether so many are more than what is believable of the requests so far.
    fn is_unlikely(&self, count: u64) -> bool {
        let (of_baseline, all) = self.baseline;
        let level = level(self.requests() as f64 / all as f64);
        let times = f64::from(level).exp2();
        let tail = share::tail(count as f64, count.saturating_add(of_baseline) as f64, times / (1.0 + times));
        tail < self.chance * part(level)
    }
}

/// The first level that reaches up to so many times the baseline's requests.
fn level(times: f64) -> i32 {
    let mut level = FIRST_LEVEL;
    while level < 64 && f64::from(level).exp2() < times {
        level += 1;
    }
    level
}

fn part(level: i32) -> f64 {
    let of_first = f64::from(1 - FIRST_LEVEL) * PART;
    if level <= 0 { PART } else { (1.0 - of_first) * f64::from(-level).exp2() }
}

#[cfg(test)]
mod tests;
