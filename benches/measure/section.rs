//! A section of the results: what was measured, a table, and what the figures say about the goal.

use std::fmt;

use benches::blocks::{Outcome, Ratio, middle};

/// One section.
#[derive(Debug, Default)]
pub struct Section {
    title: String,
    parts: Vec<String>,
}

impl Section {
    /// A section with its title.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), parts: Vec::new() }
    }

    /// Adds a paragraph.
    pub fn say(&mut self, text: impl Into<String>) {
        self.parts.push(text.into());
    }

    /// Adds a table of arms, each beside the first one.
    pub fn compare(&mut self, what: &str, outcomes: &[Outcome]) {
        let Some(first) = outcomes.first() else { return };
        let blocks = first.cpu_ns.len();
        let mut text = format!(
            "{what}, {blocks} blocks:\n\n| | CPU, ms | of the first | time, ms | of the first |\n|---|---:|---:|---:|---:|\n"
        );
        for outcome in outcomes {
            let ratio = |this: &[f64], other: &[f64]| match std::ptr::eq(outcome, first) {
                true => "1".to_string(),
                false => Ratio::of(this, other).map_or_else(|| "-".into(), |ratio| ratio.to_string()),
            };
            text.push_str(&format!(
                "| {} | {:.2} | {} | {:.2} | {} |\n",
                outcome.name,
                middle(&outcome.cpu_ns) / 1e6,
                ratio(&outcome.cpu_ns, &first.cpu_ns),
                middle(&outcome.wall_ns) / 1e6,
                ratio(&outcome.wall_ns, &first.wall_ns),
            ));
        }
        self.parts.push(text.trim_end().to_string());
    }
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n## {}\n", self.title)?;
        writeln!(f, "{}", self.parts.join("\n\n"))
    }
}
