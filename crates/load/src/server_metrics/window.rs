//! The figure that follows from two readings. Pure.

use machine::Missing;

use super::figure::Figure;
use super::histogram::{Histogram, NOTHING};
use super::lines::Lines;
use super::raw::{Content, Kind, Raw, Summary};
use super::spec::MetricSpec;
use super::take::Take;

/// The figure of the time between two readings that lie `seconds` apart ([`Raw::seconds_since`]), with its error.
///
/// # Errors
/// Why it is not known, by the figure's name: the server was restarted, nothing was observed, lines were lost, the source gives no number,
/// or what the recipe wants is not to be had of it.
pub fn figure(before: &Raw, after: &Raw, spec: &MetricSpec, seconds: f64) -> Result<Figure, Missing> {
    let missing = |why: String| Missing::new(&spec.name, format!("{}: {why}", spec.source));
    if !(seconds.is_finite() && seconds > 0.0) {
        return Err(Missing::new(&spec.name, "no time lies between its two readings"));
    }
    let factor = spec.factor().map_err(missing)?;
    let found = match (&before.content, &after.content) {
        (Content::Number { value: from, kind: _ }, Content::Number { value: to, kind }) => {
            of_numbers(*from, *to, spec.take.or(usual(*kind)), seconds).map(|figure| figure.times(factor))
        }
        (Content::Histogram(before), Content::Histogram(after)) => {
            after.since(before).and_then(|window| of_histogram(&window, spec.take, seconds, factor))
        }
        (Content::Summary(before), Content::Summary(after)) => {
            of_summaries(before, after, spec.take, seconds, factor)
        }
        (Content::Lines(before), Content::Lines(after)) => {
            after.since(before).and_then(|window| of_lines(&window, spec.take, seconds))
        }
        _ => Err("is of another type than before: the server or its exporter was replaced".into()),
    };
    found.map_err(missing)?.finite().map_err(missing)
}

/// As [`figure()`], where the value alone counts: one of which only a lower bound is known is missing.
///
/// # Errors
/// As for [`figure()`].
pub fn figures(before: &Raw, after: &Raw, spec: &MetricSpec, seconds: f64) -> Result<f64, Missing> {
    let figure = figure(before, after, spec, seconds)?;
    match figure.at_most {
        Some(_) => Ok(figure.value),
        None => {
            let why = format!(
                "it is above the last bound of the histogram's buckets, {}: add larger buckets",
                figure.value
            );
            Err(Missing::new(&spec.name, why))
        }
    }
}

/// What is taken of a number where the recipe does not say.
fn usual(kind: Kind) -> Option<Take> {
    match kind {
        Kind::Counter => Some(Take::Counter),
        Kind::Gauge => Some(Take::Gauge),
        Kind::Unstated => None,
    }
}

fn of_numbers(from: f64, to: f64, take: Option<Take>, seconds: f64) -> Result<Figure, String> {
    match take {
        Some(Take::Gauge) => Ok(Figure::exactly(to)),
        Some(Take::Counter) => growth(from, to).map(|growth| Figure::exactly(growth / seconds)),
        Some(Take::Count) => growth(from, to).map(Figure::exactly),
        Some(take @ (Take::Mean | Take::Percentile(_))) => Err(format!(
            "is a single number, of which there is no {take}: name a histogram or a summary, or take counter or gauge"
        )),
        None => Err("does not state its type: add counter or gauge to the figure".into()),
    }
}

/// By how much a counter grew. One that went back was reset: by how much it had grown before is not known.
fn growth(from: f64, to: f64) -> Result<f64, String> {
    match to - from {
        growth if growth >= 0.0 => Ok(growth),
        growth if growth.is_nan() => Err(format!("gives {to} after {from}, which is not a counter")),
        _ => Err(format!(
            "was reset in this time (from {from} to {to}): the server was restarted, or it is a gauge"
        )),
    }
}

fn of_histogram(window: &Histogram, take: Option<Take>, seconds: f64, factor: f64) -> Result<Figure, String> {
    let count = window.count();
    match take {
        Some(Take::Percentile(percent)) => {
            window.quantile(percent / 100.0).map(|figure| figure.times(factor))
        }
        Some(Take::Mean) => window.mean().map(|figure| figure.times(factor)),
        Some(Take::Counter) => Ok(Figure::exactly(count / seconds).of(count)),
        Some(Take::Count) => Ok(Figure::exactly(count).of(count)),
        Some(Take::Gauge) | None => {
            Err("is a histogram: add what to take of it: p50, p99, mean, counter or count".into())
        }
    }
}

fn of_summaries(
    before: &Summary,
    after: &Summary,
    take: Option<Take>,
    seconds: f64,
    factor: f64,
) -> Result<Figure, String> {
    let grown = |from: Option<f64>, to: Option<f64>, what: &str| match (from, to) {
        (Some(from), Some(to)) => growth(from, to),
        _ => Err(format!("has no {what}")),
    };
    let count = || grown(before.count, after.count, "count");
    match take {
        Some(Take::Percentile(percent)) => {
            stated(after, percent / 100.0).map(|value| Figure::exactly(value).times(factor))
        }
        Some(Take::Mean) => match (grown(before.sum, after.sum, "sum")?, count()?) {
            (_, count) if count <= 0.0 => Err(NOTHING.into()),
            (sum, count) => Ok(Figure::exactly(sum / count).of(count).times(factor)),
        },
        Some(Take::Counter) => count().map(|count| Figure::exactly(count / seconds).of(count)),
        Some(Take::Count) => count().map(|count| Figure::exactly(count).of(count)),
        Some(Take::Gauge) | None => {
            Err("is a summary: add what to take of it: p50, p99, mean, counter or count".into())
        }
    }
}

/// The quantile as the server states it: over which time it is, only the server knows.
fn stated(summary: &Summary, share: f64) -> Result<f64, String> {
    let quantile = summary.quantiles.iter().find(|(of, _)| (of - share).abs() < 1e-9);
    quantile.map(|(_, value)| *value).ok_or_else(|| {
        let stated: Vec<String> =
            summary.quantiles.iter().take(16).map(|(share, _)| format!("p{}", share * 100.0)).collect();
        match stated.is_empty() {
            true => "states no quantiles: take mean, counter or count".into(),
            false => format!("does not state this quantile: choose from {}", stated.join(", ")),
        }
    })
}

fn of_lines(window: &Lines, take: Option<Take>, seconds: f64) -> Result<Figure, String> {
    let count = window.count() as f64;
    match take {
        Some(Take::Percentile(percent)) => window.quantile(percent / 100.0),
        Some(Take::Mean) => window.mean(),
        Some(Take::Counter) => Ok(Figure::exactly(count / seconds).of(count)),
        Some(Take::Count) => Ok(Figure::exactly(count).of(count)),
        Some(Take::Gauge) | None => {
            Err("is a log: add what to take of its lines: mean, count, counter or p99".into())
        }
    }
}

#[cfg(test)]
mod tests;
