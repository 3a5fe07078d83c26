//! One guard of one trial.

use machine::Missing;

use super::beyond::Beyond;
use super::bound::{Guard, Limit, Relation};
use super::check::{MEAN_LATENCIES, Subject};
use super::seen::{Reference, Slice};
use super::sequential::{Found, Sequential, What, errors_like};
use super::student;
use crate::outcome::latency::Latency;

/// The share of the baseline's rate of requests below which the cost of a request is not compared.
const LULL: f64 = 0.5;

/// What a request costs.
const COST: &str = "cpu_us_per_request";

/// A guard, and what it has seen.
pub(super) struct Judge {
    pub(super) guard: Guard,
    /// The limit, in the unit of the figure.
    limit: f64,
    rule: Rule,
    /// Whether its figure was in a slice.
    seen: bool,
}

enum Rule {
    /// Not one request that is answered takes longer than this, ns.
    Longest(u64),
    /// There are no more than the limit.
    Count { so_far: f64, requests: u64 },
    /// It is inferred from the blocks.
    Inferred(Box<Sequential>),
}

impl Judge {
    /// The judge of a guard, which is wrong with this chance at most; what is missing where the baseline does not have its figure.
    pub(super) fn new(guard: Guard, reference: Option<&Reference>, chance: f64) -> Result<Self, Missing> {
        // Half of the chance is for a baseline of which too few requests were slow, or had an error, or whose mean was low by chance.
        let half = if guard.is_of_baseline() { chance / 2.0 } else { chance };
        let (limit, of) = limit(&guard, reference, half).map_err(|why| Missing::new(&guard, why))?;
        let inferred =
            |what, allowed, chance| Rule::Inferred(Box::new(Sequential::new(what, allowed, chance)));
        let rule = match Subject::of(&guard.figure) {
            Some(Subject::Quantile(quantile)) => {
                let limit_ns = ns(limit);
                let beyond = Beyond { quantile, limit_ns, is_multiple: of.is_some(), reference, chance };
                let allowed = beyond.allowed().map_err(|why| Missing::new(&guard, why))?;
                let (counts_waiting, latency) = (allowed.counts_waiting, Box::new(Latency::new()));
                let what = What::Slow { limit_ns, counts_waiting, slow: 0, latency };
                inferred(what, allowed.share, allowed.chance)
            }
            Some(Subject::Longest) => Rule::Longest(ns(limit)),
            Some(Subject::Count) => match of {
                None => Rule::Count { so_far: 0.0, requests: 0 },
                Some(of) => {
                    let (times, rate) = (times(&guard), limit / of.requests.max(1) as f64);
                    let allowed = times * errors_like(rate / times, of.requests, half);
                    inferred(What::Errors { rate }, allowed, half)
                }
            },
            Some(Subject::Value) | None => inferred(value_of(&guard, of), limit, half),
        };
        Ok(Self { guard, limit, rule, seen: false })
    }

    /// Takes in a slice: whether it breaches the guard by itself.
    pub(super) fn take(&mut self, slice: &Slice) -> Option<Found> {
        let value = slice.figures.get(&self.guard.figure).copied();
        match &mut self.rule {
            Rule::Longest(limit_ns) => {
                self.seen |= slice.ages.answered.count() > 0;
                let breached = slice.ages.answered_beyond(*limit_ns) > 0;
                let value = slice.latency.figures().get("latency_max_us").copied().filter(|_| breached)?;
                Some(Found { value, limit: self.limit, requests: slice.latency.count() })
            }
            Rule::Count { so_far, requests } => {
                *requests += slice.requests;
                let value = value.filter(|value| value.is_finite())?;
                self.seen = true;
                *so_far += value.max(0.0);
                let found = Found { value: *so_far, limit: self.limit, requests: *requests };
                (found.value > found.limit).then_some(found)
            }
            Rule::Inferred(test) => {
                self.seen |= test.take(slice, value);
                None
            }
        }
    }

    /// The block is over, after so many seconds: whether its guard is breached.
    pub(super) fn end_block(&mut self, seconds: f64) -> Option<Found> {
        match &mut self.rule {
            Rule::Inferred(test) => test.end_block(seconds, &self.guard.figure, self.limit),
            Rule::Longest(_) | Rule::Count { .. } => None,
        }
    }

    /// Whether a breach of it is inferred, and not counted.
    pub(super) fn infers(&self) -> bool {
        matches!(self.rule, Rule::Inferred(_))
    }

    /// Of a latency of single requests: its limit, ns.
    pub(super) fn latency_limit_ns(&self) -> Option<u64> {
        let of_requests = Subject::of(&self.guard.figure)
            .is_some_and(|subject| matches!(subject, Subject::Quantile(_) | Subject::Longest));
        of_requests.then(|| ns(self.limit))
    }

    /// Of a quantile of the latency: its limit, us, and the requests so far that took longer.
    pub(super) fn slow(&self) -> Option<(f64, u64)> {
        match &self.rule {
            Rule::Inferred(test) => test.slow().map(|slow| (self.limit, slow)),
            Rule::Longest(_) | Rule::Count { .. } => None,
        }
    }

    /// That its figure was in no slice yet, if so.
    pub(super) fn unseen(&self) -> Option<Missing> {
        (!self.seen)
            .then(|| Missing::new(&self.guard, format!("no slice had the figure {}", self.guard.figure)))
    }
}

/// The limit, and the baseline that it is a multiple of, whose means are wrong with this chance at most; why there is none.
fn limit<'a>(
    guard: &Guard,
    reference: Option<&'a Reference>,
    chance: f64,
) -> Result<(f64, Option<&'a Reference>), String> {
    let times = match guard.limit {
        Limit::Absolute(value) => return Ok((value, None)),
        Limit::OfBaseline(times) => times,
    };
    let reference = reference.ok_or("there is no baseline yet")?;
    let figure = &guard.figure;
    let known = reference.figures.get(figure).copied().filter(|value| value.is_finite() && *value >= 0.0);
    let value = known.ok_or_else(|| format!("the baseline does not have the figure {figure}"))?;
    let subject = Subject::of(figure);
    if value == 0.0 && subject != Some(Subject::Count) {
        return Err(format!("{figure} was 0 in the baseline, of which there is no multiple"));
    }
    match subject {
        // A figure that the server states itself is known without requests.
        Some(Subject::Value) => Ok((times * believable(guard, value, reference, chance)?, Some(reference))),
        _ if reference.requests == 0 => Err("the baseline had no requests".into()),
        _ => Ok((times * value, Some(reference))),
    }
}

/// What the mean of the baseline may have been in truth, on the side on which the guard allows more: a bound that is wrong with this chance, by
/// Student's t over the blocks of the baseline.
fn believable(guard: &Guard, value: f64, reference: &Reference, chance: f64) -> Result<f64, String> {
    let figure = &guard.figure;
    let noise = reference.noise.get(figure).filter(|noise| noise.blocks > 1);
    let noise = noise.ok_or_else(|| format!("the baseline had too few slices with the figure {figure}"))?;
    let error = noise.standard_error * student::upper_quantile(noise.blocks - 1, chance);
    let bound = if guard.relation == Relation::AtLeast { value - error } else { value + error };
    match bound.is_finite() && bound > 0.0 {
        true => Ok(bound),
        false => Err(format!("{figure} changes so much in the baseline that it bounds nothing")),
    }
}

fn times(guard: &Guard) -> f64 {
    match guard.limit {
        Limit::Absolute(_) => 1.0,
        Limit::OfBaseline(times) => times,
    }
}

/// What is tested of a figure's value.
fn value_of(guard: &Guard, of: Option<&Reference>) -> What {
    let is_cost = guard.figure == COST;
    match guard.relation {
        Relation::AtLeast => What::Least { values: Vec::new() },
        Relation::AtMost | Relation::Equal if is_cost || MEAN_LATENCIES.contains(&guard.figure.as_str()) => {
            let usual_per_s = of.and_then(|of| of.figures.get("requests_per_s")).copied().unwrap_or(0.0);
            // What the server does anyhow makes the requests of a lull dear, and none of them slow.
            What::PerRequest { lull_per_s: if is_cost { LULL * usual_per_s } else { 0.0 } }
        }
        Relation::AtMost | Relation::Equal => What::Mean,
    }
}

/// A latency in ns, without parts of one.
fn ns(us: f64) -> u64 {
    (us * 1000.0).min(1e18) as u64
}
