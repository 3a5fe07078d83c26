//! One metric of an exposition: the text format of Prometheus (version 0.0.4), and OpenMetrics 1.0. Pure.
//!
//! Lines of other metrics are passed over unread, so that only what was asked for can be malformed. One series is wanted: several that
//! fit are named, and none is chosen or added up.

use super::histogram::Histogram;
use super::labels::{Label, in_braces, labels};
use super::raw::{Content, Kind, Summary};
use super::selector::Selector;
use crate::drive::answer::shown;

/// A line is not longer than this, bytes.
const LONGEST_LINE: usize = 64 << 10;
/// Of one metric there are no more lines with fitting labels than this.
const MOST_SAMPLES: usize = 16_384;
/// So many of several series are named.
const NAMED: usize = 3;

/// Labels that part a series in lines: bounds of buckets, shares of quantiles.
const PARTS: [&str; 2] = ["le", "quantile"];

/// What the exposition says of the selected series. The error says why it gives none.
pub(super) fn content(text: &str, selector: &Selector) -> Result<Content, String> {
    let found = Found::of(text, selector)?;
    let is_whole = !PARTS.iter().any(|part| selector.names(part));
    match found.kind {
        Some("gaugehistogram") => Err("is a histogram of gauges, which have no quantiles of a time".into()),
        Some("histogram") if is_whole => found.histogram().map(Content::Histogram),
        None | Some("untyped" | "unknown") if is_whole && found.is_like_histogram() => {
            found.histogram().map(Content::Histogram)
        }
        Some("summary") if is_whole => found.summary().map(Content::Summary),
        _ => found.number(selector),
    }
}

/// What stands behind the metric's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Plain,
    Total,
    Bucket,
    Sum,
    Count,
}

static ENDS: [(&str, End); 5] = [
    ("", End::Plain),
    ("_total", End::Total),
    ("_bucket", End::Bucket),
    ("_sum", End::Sum),
    ("_count", End::Count),
];

/// One line with fitting labels.
struct Sample {
    end: End,
    labels: Vec<Label>,
    value: f64,
}

impl Sample {
    /// The labels that all lines of one series have, in order.
    fn series(&self) -> Vec<Label> {
        let mut labels = self.labels.clone();
        labels.retain(|(name, _)| !PARTS.contains(&name.as_str()));
        labels.sort();
        labels
    }

    /// The number that this label is.
    fn part(&self, name: &str) -> Option<Result<f64, String>> {
        self.labels.iter().find(|(label, _)| label == name).map(|(_, value)| number(value))
    }
}

/// The lines about one metric.
struct Found<'t> {
    name: &'t str,
    /// Its declared type.
    kind: Option<&'t str>,
    /// The type of the metric that it is a part of, and which part.
    part_of: Option<(&'t str, End)>,
    samples: Vec<Sample>,
}

impl<'t> Found<'t> {
    fn of(text: &'t str, selector: &'t Selector) -> Result<Self, String> {
        let mut found = Self { name: &selector.name, kind: None, part_of: None, samples: Vec::new() };
        for (at, line) in text.lines().enumerate() {
            let line = line.trim_start();
            if let Some(comment) = line.strip_prefix('#') {
                found.declared(comment);
                continue;
            }
            let Some((end, rest)) = line.strip_prefix(found.name).and_then(end_of_name) else { continue };
            let malformed = |why: String| format!("is malformed in line {} of the answer: {why}", at + 1);
            if line.len() > LONGEST_LINE {
                return Err(malformed(format!("it is longer than {LONGEST_LINE} bytes")));
            }
            let (labels, value) = sample(rest).map_err(malformed)?;
            if selector.fits(&labels) {
                if found.samples.len() == MOST_SAMPLES {
                    return Err(format!("has more than {MOST_SAMPLES} lines: add labels"));
                }
                found.samples.push(Sample { end, labels, value });
            }
        }
        Ok(found)
    }

    /// Takes in `TYPE name type`, if it is about this metric.
    fn declared(&mut self, comment: &'t str) {
        let mut words = comment.split_ascii_whitespace();
        if let (Some("TYPE"), Some(name), Some(kind)) = (words.next(), words.next(), words.next()) {
            if name == self.name {
                self.kind = self.kind.or(Some(kind));
            } else if let Some(end) = self.name.strip_prefix(name)
                && let Some((_, end)) = ENDS.iter().find(|(text, _)| *text == end)
            {
                self.part_of = self.part_of.or(Some((kind, *end)));
            }
        }
    }

    fn is_like_histogram(&self) -> bool {
        let has = |end: End| self.samples.iter().any(|sample| sample.end == end);
        has(End::Bucket) && !has(End::Plain)
    }

    /// The samples with these ends, all of one series.
    fn alone(&self, ends: &[End]) -> Result<Vec<&Sample>, String> {
        let samples: Vec<&Sample> = self.samples.iter().filter(|sample| ends.contains(&sample.end)).collect();
        let mut series: Vec<Vec<Label>> = samples.iter().map(|sample| sample.series()).collect();
        series.sort();
        series.dedup();
        match series.len() {
            0 => Err("is not in the answer: compare its name and labels with the exposition".into()),
            1 => Ok(samples),
            _ => Err(self.several(&series)),
        }
    }

    fn several(&self, series: &[Vec<Label>]) -> String {
        let name = |labels: &Vec<Label>| shown(format!("{}{}", self.name, in_braces(labels)).as_bytes());
        let named: Vec<String> = series.iter().take(NAMED).map(name).collect();
        let more = if series.len() > NAMED { ", ..." } else { "" };
        format!("is {} series, {}{more}: add labels so that one is left", series.len(), named.join(", "))
    }

    /// The one sample with this end, of these; none without one.
    fn single(&self, samples: &[&Sample], end: End) -> Result<Option<f64>, String> {
        let mut of_end = samples.iter().filter(|sample| sample.end == end);
        match (of_end.next(), of_end.next()) {
            (Some(_), Some(_)) => Err("is given twice with the same labels".into()),
            (first, _) => Ok(first.map(|sample| sample.value)),
        }
    }

    fn histogram(&self) -> Result<Histogram, String> {
        let samples = self.alone(&[End::Bucket, End::Sum, End::Count])?;
        let mut buckets = Vec::new();
        for sample in samples.iter().filter(|sample| sample.end == End::Bucket) {
            let bound = sample.part("le").ok_or("has a bucket without a bound (label le)")??;
            buckets.push((bound, sample.value));
        }
        Histogram::new(buckets, self.single(&samples, End::Count)?, self.single(&samples, End::Sum)?)
    }

    fn summary(&self) -> Result<Summary, String> {
        let samples = self.alone(&[End::Plain, End::Sum, End::Count])?;
        let mut quantiles: Vec<(f64, f64)> = Vec::new();
        for sample in samples.iter().filter(|sample| sample.end == End::Plain) {
            let share = sample.part("quantile").ok_or("has a line without a quantile")??;
            if quantiles.iter().any(|(other, _)| *other == share) {
                return Err("states a quantile twice".into());
            }
            quantiles.push((share, sample.value));
        }
        let (count, sum) = (self.single(&samples, End::Count)?, self.single(&samples, End::Sum)?);
        Ok(Summary { quantiles, count, sum })
    }

    fn number(&self, selector: &Selector) -> Result<Content, String> {
        let has_plain = self.samples.iter().any(|sample| sample.end == End::Plain);
        // OpenMetrics declares a counter without the end that its line has.
        let end = if has_plain || self.kind != Some("counter") { End::Plain } else { End::Total };
        let samples = self.alone(&[end])?;
        let is_part =
            |sample: &&&Sample| sample.labels.iter().any(|(name, _)| PARTS.contains(&name.as_str()));
        if samples.iter().filter(is_part).count() > 1 {
            return Err("is several lines that differ in le or quantile: add that label".into());
        }
        let value = self.single(&samples, end)?.ok_or("is not in the answer")?;
        Ok(Content::Number { value, kind: self.kind_of_number(selector) })
    }

    fn kind_of_number(&self, selector: &Selector) -> Kind {
        match (self.kind, self.part_of) {
            (Some("counter"), _) => Kind::Counter,
            (Some("gauge" | "stateset" | "info"), _) => Kind::Gauge,
            (Some("summary"), _) if selector.names("quantile") => Kind::Gauge,
            (_, Some(("counter", End::Total))) => Kind::Counter,
            (_, Some(("histogram" | "summary", End::Bucket | End::Sum | End::Count))) => Kind::Counter,
            _ => Kind::Unstated,
        }
    }
}

/// What stands behind the metric's name, and the rest of the line; none where another name goes on.
fn end_of_name(text: &str) -> Option<(End, &str)> {
    ENDS.iter().find_map(|(name, end)| {
        let rest = text.strip_prefix(name)?;
        rest.starts_with(['{', ' ', '\t']).then_some((*end, rest))
    })
}

/// Labels and value of a line, from behind the name on. A time, and an exemplar of OpenMetrics, may follow.
fn sample(text: &str) -> Result<(Vec<Label>, f64), String> {
    let (labels, rest) = match text.trim_start().strip_prefix('{') {
        Some(inside) => labels(inside)?,
        None => (Vec::new(), text),
    };
    let value = rest.split_ascii_whitespace().next().ok_or("it has no value")?;
    Ok((labels, number(value)?))
}

/// A number, `NaN`, `+Inf` or `-Inf`.
fn number(text: &str) -> Result<f64, String> {
    text.parse().map_err(|_| format!("'{}' is not a number", shown(text.as_bytes())))
}

#[cfg(test)]
mod tests;
