//! A figure of which a slice is only a sample: block by block to the sequential test.

use super::ages::Ages;
use super::evidence::Evidence;
use super::seen::Slice;
use super::share;
use crate::outcome::latency::Latency;

/// The fewest requests of which a breach is inferred.
const LEAST_REQUESTS: u64 = 20;
/// How many times its limit a mean of one block counts at most: a glitch of one reading decides nothing.
const MOST_OF_LIMIT: f64 = 10.0;
/// As how many requests a baseline counts at most; those of one stall are no independent sample.
const MOST_OF_BASELINE: f64 = 1000.0;
/// Of how many requests beyond its quantile it may be more.
const BEYOND_OF_BASELINE: f64 = 10.0;
/// The share of requests with errors that is allowed at least, where the baseline is the limit: whoever wants none writes `errors == 0`.
const LEAST_ERRORS: f64 = 0.001;
/// One part in so many of the limit: by this much beyond it is what is not answered yet shown.
const LITTLE: u64 = 100;

/// What is tested.
pub(super) enum What {
    /// That at most this share of the requests takes longer than the limit.
    Slow {
        /// The limit, ns.
        limit_ns: u64,
        /// Whether a request counts as soon as it has waited for longer, without an answer.
        counts_waiting: bool,
        /// Requests so far that took longer.
        slow: u64,
        /// Latencies of the stretch that may decide it.
        latency: Box<Latency>,
    },
    /// That errors are no larger a share of the requests than in the baseline.
    Errors {
        /// That share, as it was seen, times the factor of the guard.
        rate: f64,
    },
    /// That the mean over the requests is at most the limit.
    PerRequest {
        /// Fewer requests than this are a lull, 1/s.
        lull_per_s: f64,
    },
    /// That the mean over time is at most the limit.
    Mean,
    /// That the median of the blocks is at least the limit.
    Least {
        /// The figure in each block of the stretch that may decide it.
        values: Vec<f64>,
    },
}

/// A figure under test.
pub(super) struct Sequential {
    what: What,
    /// What a block may be on average: a share of the requests, or the limit.
    allowed: f64,
    evidence: Evidence,
    /// The block that is not over.
    block: Tally,
    /// Whether its figure is known.
    is_known: bool,
    /// The stretch that may decide it: from the block on since which the figure, all in all, has been beyond its limit.
    stretch: Tally,
    /// By how much it has been.
    excess: f64,
}

/// The figure with which a guard was breached.
pub(super) struct Found {
    /// What it was.
    pub(super) value: f64,
    /// What it could have been.
    pub(super) limit: f64,
    /// Requests that it is of.
    pub(super) requests: u64,
}

/// A sum, and the weight by which it is divided for the mean.
#[derive(Default)]
struct Tally {
    sum: f64,
    weight: f64,
    requests: u64,
}

impl Tally {
    fn add(&mut self, sum: f64, weight: f64, requests: u64) {
        self.sum += sum;
        self.weight += weight;
        self.requests += requests;
    }
}

/// The share of requests beyond a baseline's quantile that is believable of more traffic like it, when the baseline had so many requests, and
/// this share of requests that waited for longer than the limit and were not answered.
pub(super) fn beyond_quantile(quantile: f64, requests: u64, unanswered: f64, chance: f64) -> f64 {
    let of = (requests as f64).min(most_of_baseline(quantile));
    // As many lie beyond the sample's own quantile; 1e-6 for what is rounded off before.
    let seen = ((1.0 - quantile) * of + 1e-6).floor() + (unanswered * of).ceil();
    share::upper(seen, of, chance)
}

/// The share of requests that go without an answer which is believable of more traffic like that of a baseline with so many of them, of all
/// its requests; no more than it takes for a quantile.
pub(super) fn unanswered_like(quantile: f64, unanswered: u64, requests: u64, chance: f64) -> f64 {
    let of = (requests as f64).min(most_of_baseline(quantile));
    share::upper((unanswered as f64 / requests.max(1) as f64 * of).ceil(), of, chance)
}

fn most_of_baseline(quantile: f64) -> f64 {
    (BEYOND_OF_BASELINE / (1.0 - quantile)).max(MOST_OF_BASELINE)
}

/// The share of errors that is believable of more traffic like that of a baseline with this share.
pub(super) fn errors_like(rate: f64, requests: u64, chance: f64) -> f64 {
    let of = (requests as f64).min(BEYOND_OF_BASELINE * MOST_OF_BASELINE);
    share::upper(rate * of, of, chance).max(LEAST_ERRORS)
}

impl Sequential {
    /// A test that is wrong with this chance at most.
    pub(super) fn new(what: What, allowed: f64, chance: f64) -> Self {
        let (block, stretch) = Default::default();
        Self { what, allowed, evidence: Evidence::new(chance), block, is_known: false, stretch, excess: 0.0 }
    }

    /// Requests so far that took longer than a latency may.
    pub(super) fn slow(&self) -> Option<u64> {
        match self.what {
            What::Slow { slow, .. } => Some(slow),
            _ => None,
        }
    }

    /// Takes in a slice; `value`: the figure's. Whether the figure was known.
    pub(super) fn take(&mut self, slice: &Slice, value: Option<f64>) -> bool {
        let seconds = slice.to_ns.saturating_sub(slice.from_ns) as f64 / 1e9;
        let requests = slice.requests;
        if let What::Slow { limit_ns, counts_waiting, slow, latency } = &mut self.what {
            let Slow { beyond, counted, waiting } = Slow::of(&slice.ages, *limit_ns, *counts_waiting);
            *slow += beyond;
            latency.add(&slice.latency);
            if waiting > 0 {
                // They take longer than the limit, by how much is not known yet.
                let more_ns = (*limit_ns / LITTLE).max(1000);
                latency.record_many_ns(limit_ns.saturating_add(more_ns), waiting);
            }
            self.block.add(beyond as f64, counted as f64, counted);
            return counted > 0;
        }
        // Whatever a server says of itself, it is no less than nothing.
        let value = value.filter(|value| value.is_finite()).map(|value| value.max(0.0));
        match (&self.what, value) {
            // Errors may be counted less often than slices are taken: then they are of all requests since they were counted last.
            (What::Errors { .. }, errors) => self.block.add(errors.unwrap_or(0.0), requests as f64, requests),
            (What::PerRequest { .. }, Some(value)) => {
                self.block.add(value * requests as f64, requests as f64, requests)
            }
            (_, Some(value)) => self.block.add(value * seconds, seconds, requests),
            (_, None) => {}
        }
        self.is_known |= value.is_some();
        value.is_some()
    }

    /// The block is over, after so many seconds: whether the guard is breached.
    pub(super) fn end_block(&mut self, seconds: f64, figure: &str, limit: f64) -> Option<Found> {
        let block = self.whole_block().filter(|block| block.weight > 0.0 && !self.is_lull(block, seconds))?;
        let mean = block.sum / block.weight;
        self.excess += match &mut self.what {
            What::Least { values } => {
                values.push(mean);
                if is_below(mean, self.allowed) { 1.0 } else { -1.0 }
            }
            _ => block.sum / self.allowed - block.weight,
        };
        self.stretch.add(block.sum, block.weight, block.requests);
        let (ratio, weight) = self.stake(mean, &block);
        let decided = self.evidence.take(ratio, weight);
        if self.excess <= 0.0 {
            self.forget();
        } else if decided && self.has_enough() {
            return Some(self.found(figure, limit));
        }
        None
    }

    /// The block, if its figure is known.
    fn whole_block(&mut self) -> Option<Tally> {
        if !matches!(self.what, What::Errors { .. }) {
            return Some(std::mem::take(&mut self.block));
        }
        if !std::mem::take(&mut self.is_known) {
            return None;
        }
        let block = std::mem::take(&mut self.block);
        // A request that failed may not count as answered.
        let (weight, requests) = (block.weight.max(block.sum), block.requests.max(block.sum as u64));
        Some(Tally { weight, requests, ..block })
    }

    /// What a block is of what is allowed, and what it weighs.
    fn stake(&self, mean: f64, block: &Tally) -> (f64, f64) {
        let ratio = mean / self.allowed;
        match self.what {
            What::Slow { .. } | What::Errors { .. } => (ratio, block.weight),
            What::PerRequest { .. } => (ratio.min(MOST_OF_LIMIT), block.weight),
            What::Mean => (ratio.min(MOST_OF_LIMIT), 1.0),
            // One block in two may be below.
            What::Least { .. } => (if is_below(mean, self.allowed) { 2.0 } else { 0.0 }, 1.0),
        }
    }

    fn is_lull(&self, block: &Tally, seconds: f64) -> bool {
        matches!(self.what, What::PerRequest { lull_per_s } if (block.requests as f64) < lull_per_s * seconds)
    }

    fn has_enough(&self) -> bool {
        let of_time = matches!(self.what, What::Mean | What::Least { .. });
        of_time || self.stretch.requests >= LEAST_REQUESTS
    }

    /// Begins a new stretch.
    fn forget(&mut self) {
        self.excess = 0.0;
        self.stretch = Tally::default();
        match &mut self.what {
            What::Slow { latency, .. } => latency.clear(),
            What::Least { values } => values.clear(),
            What::Errors { .. } | What::PerRequest { .. } | What::Mean => {}
        }
    }

    /// The figure over the stretch.
    fn found(&self, figure: &str, limit: f64) -> Found {
        let stretch = &self.stretch;
        let (value, limit) = match &self.what {
            What::Slow { latency, .. } => (latency.figures().get(figure).copied().unwrap_or(limit), limit),
            What::Errors { rate } => (stretch.sum, rate * stretch.weight),
            What::PerRequest { .. } | What::Mean => (stretch.sum / stretch.weight, limit),
            What::Least { values } => (lower_median(values).unwrap_or(limit), limit),
        };
        Found { value, limit, requests: stretch.requests }
    }
}

/// Requests of a slice as a limit of latency sees them.
struct Slow {
    /// Those that have passed it in this slice.
    beyond: u64,
    /// All that count in this slice: those that were answered within it, and those beyond.
    counted: u64,
    /// Those beyond that are not answered.
    waiting: u64,
}

impl Slow {
    fn of(ages: &Ages, limit_ns: u64, counts_waiting: bool) -> Self {
        let (answered, slow) = (ages.answered.count(), ages.answered_beyond(limit_ns));
        let (late, waiting) = match counts_waiting {
            true => (ages.newly_answered(limit_ns), ages.newly_waiting(limit_ns)),
            false => (slow, 0),
        };
        let beyond = late.saturating_add(waiting);
        Self { beyond, counted: answered.saturating_sub(slow).saturating_add(beyond), waiting }
    }
}

/// Whether a mean is below its limit by more than what the sum is rounded by.
fn is_below(mean: f64, limit: f64) -> bool {
    mean < limit * (1.0 - 1e-9)
}

fn lower_median(values: &[f64]) -> Option<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_baseline_of_many_requests_counts_as_a_bounded_number_of_them() {
        let [few, some, many] =
            [30, 1000, 1_000_000].map(|requests| beyond_quantile(0.99, requests, 0.0, 1e-4));
        assert!(few > 0.2 && (0.02..0.04).contains(&some) && many == some, "{few} {some} {many}");
        assert!((0.5..0.6).contains(&beyond_quantile(0.5, 1_000_000, 0.0, 1e-4)));
        assert!((0.002..0.004).contains(&beyond_quantile(0.999, 1_000_000, 0.0, 1e-4)));
        assert_eq!(beyond_quantile(0.99, 0, 0.0, 1e-4), 1.0);
        assert_eq!(errors_like(0.0, 1_000_000, 1e-3), LEAST_ERRORS);
        assert!(errors_like(0.0, 10, 1e-3) > 0.4 && errors_like(0.5, 1_000_000, 1e-3) < 0.53);
    }

    #[test]
    fn requests_that_the_baseline_leaves_unanswered_are_allowed_for() {
        let [none, some] = [0.0, 0.05].map(|unanswered| beyond_quantile(0.99, 1000, unanswered, 1e-4));
        assert!(none < 0.04 && (0.06..0.12).contains(&some), "{none} {some}");
        let like = |(unanswered, requests)| unanswered_like(0.99, unanswered, requests, 1e-4);
        let [few, many] = [(5, 100), (50_000, 1_000_000)].map(like);
        assert!(few > 0.1 && (0.05..0.09).contains(&many), "{few} {many}");
    }

    #[test]
    fn the_lower_median_is_one_of_the_values() {
        assert_eq!([&[3.0, 1.0][..], &[3.0, 1.0, 2.0], &[]].map(lower_median), [Some(1.0), Some(2.0), None]);
    }
}
