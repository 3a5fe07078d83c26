//! A figure from the server itself, as a recipe or a command line gives it: its name, its source, and what is taken of it. Pure.

use std::fmt;
use std::str::FromStr;

use machine::{Class, Fault};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::source::Source;
use super::take::Take;
use super::unit;
use crate::drive::answer::shown;
use crate::workloads::command::extract::Extract;

/// What parts a source from what is taken of it, on a command line.
const BAR: &str = " | ";
/// A name, and an expression, are not longer than this, bytes.
const LONGEST_NAME: usize = 64;
const LONGEST_EXPRESSION: usize = 4096;

/// A figure that the server, or a program or log beside it, states itself.
///
/// On a command line `NAME=SOURCE[ | TAKE][ | regex EXPRESSION]`, for example
/// `latency_p99_us=prometheus:http://127.0.0.1:9100/metrics#http_request_duration_seconds | p99`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MetricSpec {
    /// The figure's name, its unit last: `commands_per_s`, `latency_p99_us`. Lower-case letters, digits and underscores.
    pub name: String,
    /// Where it is read: `prometheus:URL#METRIC{label="value"}`, `command:LINE` or `log:PATH`.
    pub source: Source,
    /// What is taken of two readings: gauge, counter, count, mean, or a percentile such as p99. Of Prometheus counters and gauges it
    /// follows from their type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub take: Option<Take>,
    /// Where in the output of a command, or in the lines of a log, the figure stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figure: Option<Extract>,
}

impl MetricSpec {
    /// Fails, naming the figure, where its name, its source and what is taken of it do not go together.
    ///
    /// # Errors
    /// A fault of usage.
    pub fn check(&self) -> Result<(), Fault> {
        if !is_figure_name(&self.name) {
            return self.wrong(
                "its name is none of a figure",
                "use lower-case letters, digits and underscores, with the unit last: commands_per_s",
            );
        }
        if format!("{} ", self.source).contains(BAR) {
            return self.wrong(
                "its source contains ' | ', which ends a source",
                "leave it out; no shell runs a command",
            );
        }
        if let Some(extract) = &self.figure {
            let (Extract::Regex(text) | Extract::JsonPointer(text)) = extract;
            if text.len() > LONGEST_EXPRESSION {
                return self.wrong("its expression is longer than 4096 bytes", "give a shorter one");
            }
        }
        match &self.source {
            Source::Prometheus { .. } => self.check_prometheus(),
            Source::Command(command) => {
                command.check(&format!("figure {}", self.name), &[])?;
                self.check_command()
            }
            Source::Log(_) => self.check_log(),
        }
    }

    fn check_prometheus(&self) -> Result<(), Fault> {
        if self.figure.is_some() {
            return self.wrong("a metric is found by its name and labels", "leave the expression out");
        }
        match self.factor() {
            Ok(_) => Ok(()),
            Err(why) => self.wrong(&why, "rename the figure"),
        }
    }

    fn check_command(&self) -> Result<(), Fault> {
        let Some(extract) = &self.figure else {
            return self.wrong(
                "it is not said where in the output it stands",
                "add: regex EXPRESSION, or json-pointer POINTER",
            );
        };
        if let Err(why) = extract.check() {
            return self.wrong(&format!("its {} {why}", extract.name()), "correct it");
        }
        match self.take {
            Some(Take::Gauge | Take::Counter | Take::Count) => Ok(()),
            _ => self.wrong(
                "it is not said whether the number is a counter or a gauge",
                "add one of: counter, gauge, count",
            ),
        }
    }

    fn check_log(&self) -> Result<(), Fault> {
        let Some(Extract::Regex(expression)) = &self.figure else {
            return self.wrong("it is not said which lines count", "add: regex EXPRESSION");
        };
        match self.take {
            Some(Take::Mean | Take::Percentile(_)) => match Extract::Regex(expression.clone()).check() {
                Ok(()) => Ok(()),
                Err(why) => self.wrong(&format!("its regular expression {why}"), "correct it"),
            },
            Some(Take::Count | Take::Counter) => match regex::Regex::new(expression) {
                Ok(_) => Ok(()),
                Err(why) => self.wrong(&format!("its regular expression is malformed: {why}"), "correct it"),
            },
            Some(Take::Gauge) | None => self.wrong(
                "it is not said what is taken of the lines of a window",
                "add one of: mean, count, counter (lines each second), or a percentile such as p99",
            ),
        }
    }

    /// What turns the source's number into the figure's unit; 1 unless both state one.
    pub(super) fn factor(&self) -> Result<f64, String> {
        match &self.source {
            Source::Prometheus { series, .. } => unit::factor(&series.name, &self.name),
            Source::Command(_) | Source::Log(_) => Ok(1.0),
        }
    }

    fn wrong(&self, cause: &str, remedy: &str) -> Result<(), Fault> {
        Err(Fault::new(Class::Usage, format!("figure {}", shown(self.name.as_bytes())), cause, remedy))
    }
}

fn is_figure_name(text: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
    text.len() <= LONGEST_NAME
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.bytes().all(allowed)
}

impl FromStr for MetricSpec {
    type Err = Fault;

    /// Reads the form of a command line, and checks it. An expression comes last, as it may contain a bar.
    fn from_str(text: &str) -> Result<Self, Fault> {
        let Some((name, rest)) = text.split_once('=') else {
            let object = format!("figure '{}'", shown(text.as_bytes()));
            return Err(Fault::new(
                Class::Usage,
                object,
                "it has no source",
                "write NAME=prometheus:URL#METRIC",
            ));
        };
        let (source, mut more) = parted(rest);
        let mut spec =
            Self { name: name.trim().to_string(), source: source.trim().parse()?, take: None, figure: None };
        while let Some(part) = more {
            let part = part.trim_start();
            if let Some(expression) = part.strip_prefix("regex ") {
                spec.figure = Some(Extract::Regex(expression.to_string()));
                break;
            }
            if let Some(pointer) = part.strip_prefix("json-pointer ") {
                spec.figure = Some(Extract::JsonPointer(pointer.to_string()));
                break;
            }
            let (take, rest) = parted(part);
            if spec.take.is_some() {
                spec.wrong("it is said twice what is taken", "say it once; an expression comes last")?;
            }
            spec.take = Some(take.trim().parse()?);
            more = rest;
        }
        spec.check()?;
        Ok(spec)
    }
}

/// What stands before the first bar, and what behind it.
fn parted(text: &str) -> (&str, Option<&str>) {
    match text.split_once(BAR) {
        Some((first, rest)) => (first, Some(rest)),
        None => (text, None),
    }
}

impl fmt::Display for MetricSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.source)?;
        if let Some(take) = self.take {
            write!(f, "{BAR}{take}")?;
        }
        match &self.figure {
            None => Ok(()),
            Some(Extract::Regex(expression)) => write!(f, "{BAR}regex {expression}"),
            Some(Extract::JsonPointer(pointer)) => write!(f, "{BAR}json-pointer {pointer}"),
        }
    }
}

#[cfg(test)]
mod tests;
