//! How exactly the means of a run are known, of which its blocks of time are a sample. Pure.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{LEAST_BLOCK_NS, MetricSlice, SliceSums};

/// How exactly a mean is known.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// Its standard error, in the unit of the figure: by its blocks, of which neighbours may be alike.
    pub standard_error: f64,
    /// How many blocks there were, 2 or more.
    pub blocks: u64,
}

/// A sum, and what it is divided by for the mean.
type Part = (f64, f64);

/// The noise of the figures that [`super::Traffic::figures`] takes of these slices and readings, by name. Counts have none.
pub(super) fn noise(slices: &[SliceSums], readings: &[&MetricSlice]) -> BTreeMap<String, Noise> {
    let blocks = blocks(slices);
    let parts = |of: fn(&SliceSums) -> Option<Part>| blocks.iter().map(of).collect::<Option<Vec<Part>>>();
    let us = |of: fn(&SliceSums) -> Option<Part>| parts(of).and_then(|parts| influences(&parts));
    let wait = us(|block| Some((block.waited_ns as f64 / 1e3, block.read as f64)));
    let service = us(|block| Some((block.served_ns as f64 / 1e3, block.answered as f64)));
    let cpu = us(|block| Some((block.cpu_ns? as f64 / 1e3, block.answered as f64)));
    let both = wait.as_ref().zip(service.as_ref());
    let mean = both.map(|(wait, service)| wait.iter().zip(service).map(|(a, b)| a + b).collect::<Vec<f64>>());
    let named = [
        ("latency_wait_us", wait),
        ("latency_service_us", service),
        ("latency_mean_us", mean),
        ("cpu_us_per_request", cpu),
    ];
    let known = |influences: Option<Vec<f64>>| Noise::of(&influences?);
    let of_requests = named.into_iter().filter_map(|(name, of)| Some((name.to_string(), known(of)?)));
    of_requests.chain(of_readings(readings)).collect()
}

/// Slices as blocks of a tenth of a second, as guards judge them; those at the end that are shorter belong to the last one.
fn blocks(slices: &[SliceSums]) -> Vec<SliceSums> {
    let is_short = |block: &SliceSums| block.to_ns.saturating_sub(block.from_ns) < LEAST_BLOCK_NS;
    let mut blocks: Vec<SliceSums> = Vec::new();
    for slice in slices {
        match blocks.last_mut().filter(|block| is_short(block)) {
            Some(last) => *last = last.and(slice),
            None => blocks.push(*slice),
        }
    }
    if blocks.len() > 1
        && let Some(rest) = blocks.pop_if(|block| is_short(block))
        && let Some(last) = blocks.last_mut()
    {
        *last = last.and(&rest);
    }
    blocks
}

fn of_readings(readings: &[&MetricSlice]) -> BTreeMap<String, Noise> {
    let mut parts = BTreeMap::<&String, Vec<Part>>::new();
    for reading in readings {
        let seconds = reading.seconds();
        for (name, figure) in &reading.figures {
            parts.entry(name).or_default().push((figure * seconds, seconds));
        }
    }
    let noise = |parts: &[Part]| Noise::of(&influences(parts)?);
    parts.into_iter().filter_map(|(name, parts)| Some((name.clone(), noise(&parts)?))).collect()
}

/// By how much each block moves the mean of all: what it has beyond its share, by the weight of all. They add up to 0.
fn influences(parts: &[Part]) -> Option<Vec<f64>> {
    let (sum, weight) = parts.iter().fold((0.0, 0.0), |(sum, weight), part| (sum + part.0, weight + part.1));
    let influence = |(sum_of_block, its_weight): &Part| (sum_of_block - its_weight * sum / weight) / weight;
    (weight > 0.0).then(|| parts.iter().map(influence).collect())
}

impl Noise {
    /// Of a mean that blocks move by so much; none of fewer than two blocks, and where it is no number.
    fn of(influences: &[f64]) -> Option<Self> {
        let blocks = influences.len() as f64;
        if blocks < 2.0 {
            return None;
        }
        let alone: f64 = influences.iter().map(|influence| influence * influence).sum();
        let with_next: f64 = influences.windows(2).map(|pair| pair[0] * pair[1]).sum();
        // What slows one block down often slows the next one, too.
        let variance = (alone + 2.0 * with_next.max(0.0)) * blocks / (blocks - 1.0);
        let standard_error = variance.sqrt();
        standard_error.is_finite().then_some(Self { standard_error, blocks: influences.len() as u64 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A slice of a tenth of a second whose requests each took so much CPU time.
    fn slice(tenth: u64, answered: u64, cpu_us: u64) -> SliceSums {
        SliceSums {
            from_ns: tenth * 100_000_000,
            to_ns: (tenth + 1) * 100_000_000,
            read: answered,
            waited_ns: 2_000 * answered,
            answered,
            served_ns: 10_000 * answered,
            cpu_ns: Some(cpu_us * 1_000 * answered),
        }
    }

    fn of(slices: &[SliceSums]) -> BTreeMap<String, Noise> {
        noise(slices, &[])
    }

    #[test]
    fn the_error_of_a_mean_is_that_of_independent_blocks() {
        // Deviations of 1 that alternate: the standard deviation by 20 of them is 1.026, by the root of 20.
        let slices: Vec<SliceSums> = (0..20).map(|at| slice(at, 10, 50 + 2 * (at % 2))).collect();
        let noise = of(&slices);
        let cpu = noise["cpu_us_per_request"];
        assert!(cpu.blocks == 20 && (cpu.standard_error - (1.0f64 / 19.0).sqrt()).abs() < 1e-9, "{cpu:?}");
        assert_eq!(noise["latency_mean_us"].standard_error, 0.0, "it is always the same");
    }

    #[test]
    fn neighbours_that_are_alike_say_less() {
        let mean = |pattern: fn(u64) -> u64| {
            let slices: Vec<SliceSums> = (0..20).map(|at| slice(at, 10, pattern(at))).collect();
            of(&slices)["cpu_us_per_request"].standard_error
        };
        assert!(mean(|at| 50 + 2 * (at / 10)) > 1.5 * mean(|at| 50 + 2 * (at % 2)));
    }

    #[test]
    fn a_block_of_few_requests_counts_for_little() {
        let of = |requests| {
            let mut slices: Vec<SliceSums> = (0..20).map(|at| slice(at, 100, 50)).collect();
            slices[7] = slice(7, requests, 500);
            of(&slices)["cpu_us_per_request"].standard_error
        };
        assert!(of(1) < of(100) / 10.0, "{} {}", of(1), of(100));
    }

    #[test]
    fn short_slices_are_blocks_of_a_tenth_of_a_second() {
        let short = |at: u64| {
            let (from_ns, to_ns) = (at * 10_000_000, (at + 1) * 10_000_000);
            SliceSums { from_ns, to_ns, ..slice(0, 1, 50) }
        };
        let slices: Vec<SliceSums> = (0..34).map(short).collect();
        let found = blocks(&slices);
        assert_eq!(found.iter().map(|block| block.answered).sum::<u64>(), 34);
        assert_eq!((found.len(), found[0].answered, found[2].answered), (3, 9, 16));
        assert!(of(&slices[..9]).is_empty(), "of one block nothing is known");
    }

    #[test]
    fn what_is_not_known_has_no_noise() {
        let unknown = SliceSums { cpu_ns: None, ..slice(1, 10, 50) };
        let noise = of(&[slice(0, 10, 50), unknown]);
        assert!(!noise.contains_key("cpu_us_per_request") && noise.contains_key("latency_wait_us"));
        assert!(of(&[slice(0, 0, 0), slice(1, 0, 0)]).is_empty(), "a lull has no mean");
    }

    #[test]
    fn readings_are_blocks_of_their_own() {
        let reading = |at: u64, value: f64| MetricSlice {
            from_ns: at * 500_000_000,
            to_ns: (at + 1) * 500_000_000,
            figures: BTreeMap::from([("queue_len".to_string(), value)]),
            grown: BTreeMap::from([("errors".to_string(), 1.0)]),
        };
        let readings = [reading(0, 3.0), reading(1, 5.0), reading(2, 3.0), reading(3, 5.0)];
        let noise = noise(&[], &readings.iter().collect::<Vec<_>>());
        assert_eq!(noise.len(), 1);
        let error = noise["queue_len"].standard_error;
        assert!(noise["queue_len"].blocks == 4 && (error - (1.0f64 / 3.0).sqrt()).abs() < 1e-9, "{error}");
    }
}
