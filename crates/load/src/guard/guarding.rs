//! The guards of one trial.

use machine::{Class, Fault, Missing};

use super::FALSE_BREACH;
use super::bound::Guard;
use super::breach::{Breach, Certainty};
use super::judge::Judge;
use super::seen::{Reference, Slice};
use super::sequential::Found;
use super::unanswered::{self, Unanswered};
use crate::outcome::traffic::LEAST_BLOCK_NS;

/// The part of the chance of a false breach that the count of unanswered requests has; the guards share the rest.
const OF_UNANSWERED: f64 = 0.1;

/// How certain a breach is that is inferred from a sample.
const INFERRED: Certainty = Certainty::Inferred { false_breach: FALSE_BREACH };

/// The guards of one trial, which are shown its slices in order.
///
/// What is uncertain is decided by blocks of slices of a tenth of a second, so that nothing depends on how long the slices are; slices that
/// are longer are a block each. Where all requests are beyond a p99, a trial ends after five to seven blocks that have requests: one
/// stall, however many requests wait for its end, is not enough.
///
/// What holds: a trial whose figures are within all its guards ends by a breach with a chance of [`FALSE_BREACH`] at most, for any
/// length of the trial, any length of the slices, and any dependence between requests of the same block or of neighbouring ones.
/// A limit that is a multiple of the baseline counts as kept by traffic like the baseline's that takes so many times as long; that the
/// baseline is only a sample is allowed for in quantiles and counts, as if its requests were independent and at most a thousand (for p99.9
/// and errors ten thousand), and in means, as if those of its blocks were normally distributed and dependent on their neighbours only.
///
/// Beside a baseline a request counts as slow as soon as it has waited for longer than a limit of latency, and requests that wait for a second
/// or more are compared with the baseline's. Without one, requests that wait unanswered are in no slice.
pub struct Guarding {
    judges: Vec<Judge>,
    /// Guards that the baseline does not have the figures for.
    unjudged: Vec<Missing>,
    /// Requests that go without an answer, where there are guards and a baseline.
    unanswered: Option<Unanswered>,
    /// When the block began that is not over.
    block_from_ns: Option<u64>,
}

impl Guarding {
    /// The guards of a trial, and the baseline beside it. Without a baseline, or where it does not have a figure, a guard that is a
    /// multiple of it is not judged, and is in [`Guarding::not_judged`]. Fails on a guard that cannot be kept, and on one that is given
    /// twice.
    pub fn new(guards: Vec<Guard>, reference: Option<Reference>) -> Result<Self, Fault> {
        for (at, guard) in guards.iter().enumerate() {
            guard.check()?;
            if guards[..at].contains(guard) {
                return Err(Fault::new(
                    Class::Usage,
                    format!("guard '{guard}'"),
                    "it is given twice",
                    "leave one out",
                ));
            }
        }
        // A guard that counts has no chance of being wrong; that those have their part all the same costs nothing to speak of.
        let each = (1.0 - OF_UNANSWERED) * FALSE_BREACH / guards.len().max(1) as f64;
        let is_guarded = !guards.is_empty();
        let (mut judges, mut unjudged) = (Vec::new(), Vec::new());
        for guard in guards {
            match Judge::new(guard, reference.as_ref(), each) {
                Ok(judge) => judges.push(judge),
                Err(missing) => unjudged.push(missing),
            }
        }
        let longest_ns = judges.iter().filter_map(Judge::latency_limit_ns).max().unwrap_or_default();
        let ages = reference.as_ref().and_then(|reference| reference.ages.as_ref()).filter(|_| is_guarded);
        let unanswered =
            ages.and_then(|ages| Unanswered::new(longest_ns, ages, OF_UNANSWERED * FALSE_BREACH));
        Ok(Self { judges, unjudged, unanswered, block_from_ns: None })
    }

    /// Takes in a slice, which follows the one before: the first breach, if there is one.
    pub fn look(&mut self, slice: &Slice) -> Option<Breach> {
        let began_ns = *self.block_from_ns.get_or_insert(slice.from_ns);
        let block_ns = slice.to_ns.saturating_sub(began_ns);
        let is_over = block_ns >= LEAST_BLOCK_NS;
        if is_over {
            self.block_from_ns = None;
        }
        let mut first = None;
        for judge in &mut self.judges {
            let at_once = judge.take(slice);
            let at_end = if is_over { judge.end_block(block_ns as f64 / 1e9) } else { None };
            if first.is_none() {
                first = at_once.or(at_end).map(|found| breach(judge, &found, slice));
            }
        }
        let unanswered = self.unanswered.as_mut().and_then(|unanswered| unanswered.take(slice));
        first.or_else(|| unanswered.map(|found| breach_of_unanswered(&found, slice)))
    }

    /// How many requests so far took longer than a guard on a quantile allows. Of several guards, the one with the longest limit counts;
    /// `None` without one, or while there is no baseline that it could be compared with.
    pub fn slow_requests(&self) -> Option<u64> {
        let slow = self.judges.iter().filter_map(Judge::slow);
        slow.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, slow)| slow)
    }

    /// Guards that nothing was compared with so far, and why: there is no baseline with their figure, or no slice had it.
    pub fn not_judged(&self) -> Vec<Missing> {
        self.unjudged.iter().cloned().chain(self.judges.iter().filter_map(Judge::unseen)).collect()
    }
}

fn breach(judge: &Judge, found: &Found, slice: &Slice) -> Breach {
    let certainty = match judge.infers() {
        true => INFERRED,
        false => Certainty::Counted,
    };
    breach_by(judge.guard.to_string(), judge.guard.figure.clone(), found, slice, certainty)
}

fn breach_of_unanswered(found: &Found, slice: &Slice) -> Breach {
    breach_by(unanswered::GUARD.into(), unanswered::FIGURE.into(), found, slice, INFERRED)
}

fn breach_by(guard: String, figure: String, found: &Found, slice: &Slice, certainty: Certainty) -> Breach {
    Breach {
        guard,
        figure,
        value: found.value,
        limit: found.limit,
        requests: found.requests,
        seen_ns: slice.to_ns,
        slice_began_ns: slice.from_ns,
        certainty,
    }
}

#[cfg(test)]
mod tests;
