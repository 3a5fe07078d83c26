//! Tables in Markdown, shares with their intervals.

use std::fmt::Write;

use serde_json::{Value, json};

/// How often something happened, of how many.
#[derive(Debug, Clone, Copy, Default)]
pub struct Share {
    /// Times that it happened.
    pub hits: usize,
    /// Times that it could have.
    pub of: usize,
}

impl Share {
    /// Counts one more.
    pub fn count(&mut self, happened: bool) {
        self.hits += usize::from(happened);
        self.of += 1;
    }

    /// The 95 % interval (Wilson 1927).
    pub fn interval(self) -> (f64, f64) {
        let (n, p, z) = (self.of as f64, self.hits as f64 / self.of as f64, 1.959_963_985);
        let middle = (p + z * z / (2.0 * n)) / (1.0 + z * z / n);
        let half = z / (1.0 + z * z / n) * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
        ((middle - half).max(0.0), (middle + half).min(1.0))
    }

    /// `4.9 % [3.7, 6.4]`.
    pub fn in_words(self) -> String {
        let (low, high) = self.interval();
        format!(
            "{:.1} % [{:.1}, {:.1}]",
            100.0 * self.hits as f64 / self.of as f64,
            100.0 * low,
            100.0 * high
        )
    }

    /// `93 %`, for tables with many cells.
    pub fn short(self) -> String {
        format!("{:.0} %", 100.0 * self.hits as f64 / self.of as f64)
    }

    fn as_json(self) -> Value {
        let (low, high) = self.interval();
        json!({ "hits": self.hits, "of": self.of, "low": low, "high": high })
    }
}

/// One cell.
#[derive(Debug, Clone)]
pub enum Cell {
    /// Words or a number that is no share.
    Text(String),
    /// A share with its interval.
    Full(Share),
    /// A share alone; its interval stands in the JSON.
    Short(Share),
}

/// A table with a title and a remark.
#[derive(Debug)]
pub struct Table {
    /// Heading.
    pub title: String,
    /// What is in it.
    pub remark: String,
    /// Column names.
    pub columns: Vec<&'static str>,
    /// Cells.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// As Markdown.
    pub fn markdown(&self) -> String {
        let mut text = format!("### {}\n\n{}\n\n| {} |\n", self.title, self.remark, self.columns.join(" | "));
        text.push_str(&format!("|{}\n", "---|".repeat(self.columns.len())));
        for row in &self.rows {
            let cells: Vec<String> = row.iter().map(Cell::in_words).collect();
            let _ = writeln!(text, "| {} |", cells.join(" | "));
        }
        text
    }

    /// As JSON: every row an object by column.
    pub fn as_json(&self) -> Value {
        let rows: Vec<Value> = self
            .rows
            .iter()
            .map(|row| {
                let cells = self.columns.iter().zip(row);
                Value::Object(cells.map(|(name, cell)| ((*name).to_string(), cell.as_json())).collect())
            })
            .collect();
        json!({ "title": self.title, "remark": self.remark, "rows": rows })
    }
}

impl Cell {
    fn in_words(&self) -> String {
        match self {
            Cell::Text(text) => text.clone(),
            Cell::Full(share) => share.in_words(),
            Cell::Short(share) => share.short(),
        }
    }

    fn as_json(&self) -> Value {
        match self {
            Cell::Text(text) => Value::String(text.clone()),
            Cell::Full(share) | Cell::Short(share) => share.as_json(),
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Cell::Text(text.into())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Cell::Text(text)
    }
}
