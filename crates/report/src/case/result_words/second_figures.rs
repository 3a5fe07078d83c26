//! Figures beside the one that decides, in words.

use study::evidence::{AlsoCompared, Pooled};

use crate::number;

/// Stands behind the name of a figure that no verdict rests on.
const SECOND: &str = "a second figure: it decides nothing";

/// A figure beside the one that decides, as a heading.
pub fn second_figure(also: &AlsoCompared) -> String {
    // The unit once: most names end with theirs.
    let is_named = also.unit.is_empty() || also.metric.ends_with(&format!("_{}", also.unit));
    let unit = if is_named { String::new() } else { format!(", {}", also.unit) };
    format!("{}{unit} ({SECOND})", also.metric)
}

/// A quantile over all requests, as a heading.
pub fn pooled_figure(pooled: &Pooled) -> String {
    format!("{} over all requests of an arm ({SECOND})", pooled.metric)
}

/// What the quantiles over all requests are, what they are not, and what of them is not known: a sentence each.
pub fn pooled(pooled: &Pooled) -> Vec<String> {
    let what = if pooled.quantile < 0.9 { "Over all requests" } else { "The slowest of all requests" };
    let mut words = vec![format!(
        "{what} of {} blocks together, where a rare bad run counts with all of its requests; the comparison above is of typical runs, and it alone decides. Intervals: BCa bootstrap over whole blocks, {} samples, each for itself.",
        pooled.blocks,
        number::count(pooled.samples),
    )];
    let mut by_cause: Vec<(&str, Vec<&str>)> = Vec::new();
    for missing in &pooled.missing {
        match by_cause.iter_mut().find(|(why, _)| *why == missing.why) {
            Some((_, facts)) => facts.push(&missing.fact),
            None => by_cause.push((&missing.why, vec![&missing.fact])),
        }
    }
    words.extend(by_cause.into_iter().map(|(why, facts)| match facts.as_slice() {
        [first, second, rest @ ..] if !rest.is_empty() => {
            format!("not known: {first}, {second} and {} more: {why}", rest.len())
        }
        few => format!("not known: {}: {why}", few.join(", ")),
    }));
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::Missing;
    use study::Direction;

    #[test]
    fn what_is_not_known_of_many_arms_for_one_reason_is_said_once() {
        let of_arm =
            |n: usize| Missing::new(format_args!("interval of cpu {n}"), "7 blocks; an interval takes 8");
        let mut missing: Vec<Missing> = (0..5).map(of_arm).collect();
        missing.insert(1, Missing::new("block 3, trials/0012", "its file is not there"));
        let sentences = pooled(&Pooled {
            metric: "latency_p99_us".into(),
            quantile: 0.99,
            better: Direction::Lower,
            method: String::new(),
            level: 0.95,
            samples: 2000,
            seed: 1,
            blocks: 7,
            against_baseline: Vec::new(),
            missing,
        });
        assert!(
            sentences[0].contains("7 blocks") && sentences[0].contains("it alone decides"),
            "{sentences:?}"
        );
        let why = "not known: interval of cpu 0, interval of cpu 1 and 3 more: 7 blocks; an interval takes 8";
        assert_eq!(sentences[1..], [why, "not known: block 3, trials/0012: its file is not there"]);
    }
}
