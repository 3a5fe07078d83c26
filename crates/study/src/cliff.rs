//! Where a sequence of operations breaks, and which counter broke with it: pure, from the operations of one run and the counters that
//! were sampled beside them.
//!
//! Operations of one kind in one part of the sequence are alike, so each such part is searched for changes by itself
//! ([`change_points`]: by ranks, so that single collections of garbage move nothing). The sequence *breaks* at the first change after
//! which operations are slower: by [`SLOWER`] at the median, or by [`MORE_UNEVEN`] at the upper quartile, for at least ten of them. A
//! counter broke with it when its own growth by operation has a change within [`NEAR`] operations of that, upwards, and has grown by
//! more than stray events would.

use std::collections::BTreeMap;

use load::Operation;
use load::operations::{Kind, Phase};
use probe::recording::Interval;
use serde::{Deserialize, Serialize};

use crate::statistics::change_points::{Regime, Search, What, change_points};

/// The median grew by this factor.
pub const SLOWER: f64 = 1.5;
/// Or the upper quartile by this one.
pub const MORE_UNEVEN: f64 = 2.0;
/// So far, in operations, a counter's change may lie from that of the times: ten are the shortest stretch that counts.
pub const NEAR: usize = 10;

/// Counters that a break may come with, those that say most about its cause first: key in the series, words, and how far it has to grow
/// from the break on (stray pages of others are swapped now and then).
const COUNTERS: [(&str, &str, f64); 7] = [
    ("memory/pswpout", "pages written to swap", 200.0),
    ("memory/pswpin", "pages read from swap", 200.0),
    ("memory/server pgmajfault", "faults of the server that had to read", 200.0),
    ("memory/server throttled", "time that the server was held back by its CPU quota, us", 10_000.0),
    ("memory/pgsteal_direct", "pages freed by who wanted memory", 200.0),
    ("memory/allocstall", "allocations that had to free memory first", 20.0),
    ("pressure/memory some", "time that tasks waited for memory (PSI), us", 10_000.0),
];

/// The counter by whose growth it is reported when swapping began.
const SWAPPED_OUT: &str = COUNTERS[0].0;

/// What the operations of one run say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cliff {
    /// Each kind in each part of the sequence, in order.
    pub parts: Vec<Part>,
    /// Where it breaks; none where it does not.
    pub breaks: Option<Break>,
    /// The operation in which the machine's pages swapped out first came to more than 200 since the start; none when they did not.
    pub first_swap: Option<Place>,
}

/// One operation, by its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Its number in the sequence, from 0.
    pub operation: u64,
    /// What it does.
    pub kind: Kind,
    /// In which part of the sequence.
    pub phase: Phase,
    /// Its number among those of its kind in that part, from 1.
    pub nth: usize,
    /// How many of those there are.
    pub of: usize,
}

/// Operations of one kind in one part of the sequence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// The part.
    pub phase: Phase,
    /// The kind.
    pub kind: Kind,
    /// How many.
    pub operations: usize,
    /// Median, us.
    pub median_us: f64,
    /// The longest, us.
    pub max_us: f64,
    /// Stretches between changes, times in us; indices count the operations of the part.
    pub regimes: Vec<Regime>,
}

/// Where a sequence breaks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Break {
    /// The first operation that is slow.
    pub place: Place,
    /// What changed most.
    pub what: What,
    /// p against random orders.
    pub p: f64,
    /// Median of the stretch before, us.
    pub before_us: f64,
    /// Median of the stretch from there on, us.
    pub after_us: f64,
    /// Counters that broke with it, those that say most first; none where none did that is watched.
    pub moved: Vec<Moved>,
}

/// A counter that broke with the times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Moved {
    /// Its row in the series.
    pub counter: String,
    /// The same in words.
    pub words: String,
    /// Operation of its own change, number in the sequence.
    pub operation: u64,
    /// Mean growth in an operation before that.
    pub before: f64,
    /// And from there on.
    pub after: f64,
}

/// Growth of each counter in each operation; of counters that were there in the series.
pub type Growths = BTreeMap<String, Vec<f64>>;

/// What `operations` say, which began at `from_ns` (CLOCK_MONOTONIC), beside the counters of `series`. None where there are none.
pub fn of_run(operations: &[Operation], from_ns: u64, series: &[Interval]) -> Option<Cliff> {
    (!operations.is_empty()).then(|| of(operations, &growths(operations, from_ns, series)))
}

/// The same with what the counters grew in each operation.
pub fn of(operations: &[Operation], growths: &Growths) -> Cliff {
    let mut parts = Vec::new();
    let mut breaks: Option<Break> = None;
    for members in parts_of(operations) {
        let times: Vec<f64> = members.iter().map(|at| operations[*at].took_us as f64).collect();
        let found = change_points(&times, Search::default());
        let slower = found.changes.iter().enumerate().find_map(|(i, change)| {
            let (before, after) = (found.regimes.get(i)?, found.regimes.get(i + 1)?);
            is_slower(before, after).then_some((change, before.median, after.median))
        });
        if let Some((change, before_us, after_us)) = slower {
            let place = place(operations, &members, change.at);
            if breaks.as_ref().is_none_or(|earlier| place.operation < earlier.place.operation) {
                let moved = moved(operations, &members, change.at, growths);
                breaks = Some(Break { place, what: change.what, p: change.p, before_us, after_us, moved });
            }
        }
        parts.push(part(operations, &members, times, found.regimes));
    }
    Cliff { parts, breaks, first_swap: first_swap(operations, growths) }
}

/// Indices of the operations of each kind in each phase, in order of their first one.
fn parts_of(operations: &[Operation]) -> Vec<Vec<usize>> {
    let mut parts: Vec<((Phase, Kind), Vec<usize>)> = Vec::new();
    for (at, Operation { kind, phase, .. }) in operations.iter().enumerate() {
        match parts.iter_mut().find(|(of, _)| *of == (*phase, *kind)) {
            Some((_, members)) => members.push(at),
            None => parts.push(((*phase, *kind), vec![at])),
        }
    }
    parts.into_iter().map(|(_, members)| members).collect()
}

fn is_slower(before: &Regime, after: &Regime) -> bool {
    after.median >= SLOWER * before.median || after.quartile_3 >= MORE_UNEVEN * before.quartile_3
}

fn place(operations: &[Operation], members: &[usize], at: usize) -> Place {
    let Operation { number, kind, phase, .. } = operations[members[at]];
    Place { operation: number, kind, phase, nth: at + 1, of: members.len() }
}

fn part(operations: &[Operation], members: &[usize], mut times: Vec<f64>, regimes: Vec<Regime>) -> Part {
    let Operation { kind, phase, .. } = operations[members[0]];
    times.sort_by(f64::total_cmp);
    let (median_us, max_us) = (times[(times.len() - 1) / 2], times[times.len() - 1]);
    Part { phase, kind, operations: times.len(), median_us, max_us, regimes }
}

/// The counters whose own growth changes where the times of these operations do.
fn moved(operations: &[Operation], members: &[usize], at: usize, growths: &Growths) -> Vec<Moved> {
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len().max(1) as f64;
    let of_counter = |(counter, words, least): (&str, &str, f64)| {
        let growth = growths.get(counter)?;
        let own: Vec<f64> = members.iter().map(|at| growth[*at]).collect();
        if own[at..].iter().sum::<f64>() < least {
            return None;
        }
        let found = change_points(&own, Search::default());
        let (i, change) = found
            .changes
            .iter()
            .enumerate()
            .filter(|(_, change)| change.at.abs_diff(at) <= NEAR)
            .min_by_key(|(_, change)| change.at.abs_diff(at))?;
        let [before, after] =
            [i, i + 1].map(|regime| mean(&own[found.regimes[regime].from..found.regimes[regime].to]));
        let operation = operations[members[change.at]].number;
        let (counter, words) = (counter.to_string(), words.to_string());
        (after > before).then_some(Moved { counter, words, operation, before, after })
    };
    COUNTERS.into_iter().filter_map(of_counter).collect()
}

fn first_swap(operations: &[Operation], growths: &Growths) -> Option<Place> {
    let least = COUNTERS[0].2;
    let mut pages = 0.0;
    let at = growths.get(SWAPPED_OUT)?.iter().position(|growth| {
        pages += growth;
        pages > least
    })?;
    let members = parts_of(operations).into_iter().find(|members| members.contains(&at))?;
    let nth = members.iter().position(|member| *member == at)?;
    Some(place(operations, &members, nth))
}

/// What each counter grew by in each operation. Between two samples it is taken to have grown evenly.
fn growths(operations: &[Operation], from_ns: u64, series: &[Interval]) -> Growths {
    let mut growths = Growths::new();
    // A counter that did not move in an interval is not reported there; one that is never reported may not have been read at all.
    let is_reported = |counter: &str| series.iter().any(|interval| interval.system.contains_key(counter));
    for (counter, _, _) in COUNTERS.into_iter().filter(|(counter, _, _)| is_reported(counter)) {
        let mut total = 0.0;
        let mut points: Vec<(f64, f64)> =
            series.first().map(|first| (first.from_ns as f64, 0.0)).into_iter().collect();
        for interval in series {
            total += interval.system.get(counter).copied().unwrap_or(0) as f64;
            points.push((interval.to_ns as f64, total));
        }
        let by_operation = operations.iter().map(|operation| {
            let begun_ns = (from_ns + operation.begun_us * 1000) as f64;
            let done_ns = begun_ns + operation.took_us as f64 * 1000.0;
            (total_at(&points, done_ns) - total_at(&points, begun_ns)).max(0.0)
        });
        growths.insert(counter.to_string(), by_operation.collect());
    }
    growths
}

/// The total at a time, on straight lines between the points.
fn total_at(points: &[(f64, f64)], at_ns: f64) -> f64 {
    let next = points.partition_point(|(ns, _)| *ns <= at_ns);
    match (next.checked_sub(1).and_then(|last| points.get(last)), points.get(next)) {
        (Some((from_ns, from)), Some((to_ns, to))) => {
            from + (to - from) * (at_ns - from_ns) / (to_ns - from_ns).max(1.0)
        }
        (Some((_, last)), None) => *last,
        (None, first) => first.map_or(0.0, |(_, total)| *total),
    }
}

#[cfg(test)]
mod tests;
