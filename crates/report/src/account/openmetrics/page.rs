//! The text of a page of metrics: heads, samples, labels.

use std::fmt::Write as _;

use super::families::{Family, Kind};
use super::lengths::Lengths;

/// The forms of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// The text format of Prometheus that came before, 0.0.4: also that of node_exporter's textfile collector.
    Prometheus,
}

impl Form {
    /// What HTTP calls it.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

/// Names and values of the labels of a sample.
pub(super) type Labels<'a> = &'a [(&'a str, &'a str)];

/// A page that is written.
pub(super) struct Page {
    form: Form,
    text: String,
}

impl Page {
    pub(super) fn begin(form: Form) -> Self {
        Self { form, text: String::new() }
    }

    /// The samples of a family, which has its head once it has any.
    pub(super) fn of(&mut self, family: &'static Family) -> Samples<'_> {
        Samples { page: self, family, has_head: false }
    }

    /// The whole text.
    pub(super) fn end(mut self) -> String {
        if self.form == Form::OpenMetrics {
            self.text.push_str("# EOF\n");
        }
        self.text
    }
}

/// The samples of one family.
pub(super) struct Samples<'a> {
    page: &'a mut Page,
    family: &'static Family,
    has_head: bool,
}

impl Samples<'_> {
    /// How many.
    pub(super) fn number(&mut self, labels: Labels<'_>, number: u64) {
        self.sample(self.family.kind.endings()[0], labels, &number.to_string());
    }

    /// A time, given in ns and shown in s.
    pub(super) fn time(&mut self, labels: Labels<'_>, ns: u64) {
        self.sample(self.family.kind.endings()[0], labels, &seconds(ns));
    }

    /// Labels that say it all.
    pub(super) fn info(&mut self, labels: Labels<'_>) {
        self.number(labels, 1);
    }

    /// How many were how long.
    pub(super) fn lengths(&mut self, labels: Labels<'_>, lengths: &Lengths) {
        let mut of_bucket = |edge: &str, count: u64| {
            let labels: Vec<(&str, &str)> = labels.iter().copied().chain([("le", edge)]).collect();
            self.sample("_bucket", &labels, &count.to_string());
        };
        for (edge_ns, count) in lengths.up_to_edges() {
            of_bucket(&seconds(edge_ns), count);
        }
        of_bucket("+Inf", lengths.count());
        self.sample("_count", labels, &lengths.count().to_string());
        self.sample("_sum", labels, &seconds(lengths.total_ns()));
    }

    fn sample(&mut self, ending: &str, labels: Labels<'_>, value: &str) {
        if !self.has_head {
            self.head();
            self.has_head = true;
        }
        let text = &mut self.page.text;
        text.push_str(self.family.name);
        text.push_str(ending);
        for (place, (name, value)) in labels.iter().enumerate() {
            text.push_str(if place == 0 { "{" } else { "," });
            text.push_str(name);
            text.push_str("=\"");
            escape_into(text, value);
            text.push('"');
        }
        if !labels.is_empty() {
            text.push('}');
        }
        // A string takes all that is written to it.
        let _ = writeln!(text, " {value}");
    }

    fn head(&mut self) {
        let Family { name, kind, help } = self.family;
        // In the form of Prometheus a family has the name of its samples, and an info is a gauge.
        let (ending, word) = match (self.page.form, kind) {
            (Form::Prometheus, Kind::Info) => (kind.endings()[0], "gauge"),
            (Form::Prometheus, Kind::Counter) => (kind.endings()[0], kind.word()),
            _ => ("", kind.word()),
        };
        let text = &mut self.page.text;
        let _ = writeln!(text, "# TYPE {name}{ending} {word}");
        if let (Form::OpenMetrics, Some(unit)) = (self.page.form, self.family.unit()) {
            let _ = writeln!(text, "# UNIT {name} {unit}");
        }
        let _ = writeln!(text, "# HELP {name}{ending} {help}");
    }
}

/// Escapes what would end a value or its line.
fn escape_into(text: &mut String, value: &str) {
    for c in value.chars() {
        match c {
            '\\' => text.push_str("\\\\"),
            '"' => text.push_str("\\\""),
            '\n' => text.push_str("\\n"),
            c => text.push(c),
        }
    }
}

/// ns as s, exactly, without zeros at its end.
fn seconds(ns: u64) -> String {
    let (whole, rest) = (ns / 1_000_000_000, ns % 1_000_000_000);
    let text = format!("{whole}.{rest:09}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_exact_and_have_no_zeros_at_their_end() {
        let all = [0, 1, 1_023, 1_500_000_000, 10_000_000_000, u64::MAX];
        assert_eq!(
            all.map(seconds),
            ["0", "0.000000001", "0.000001023", "1.5", "10", "18446744073.709551615"]
        );
    }
}
