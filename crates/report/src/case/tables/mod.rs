//! A case as plain tables, for programs that plot and calculate: one row a trial, an interval of it, a step of its latencies, a part of
//! its account, or a counter. The form of columns and files is that of the tables of an account.
//!
//! Each row has its trial before it, so that no table has to be joined with another to be grouped by arm.

mod accounts;
mod counters;
mod latencies;
mod of_trial;
mod series;
#[cfg(test)]
mod tests;
mod trials;

use std::io;

use load::{Interval, Outcome};
use study::{Facts, Trial};

pub use crate::account::account_tables::Form;
use crate::account::account_tables::{Cell, Rows};
pub use of_trial::{OfTrial, of_case};
use trials::FigureColumn;

/// The tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    /// Trials with their figures.
    Trials,
    /// Intervals of the load.
    Series,
    /// Latencies in the measured window, by step.
    Latencies,
    /// The time of the server and the load in observed trials, by term and part.
    Accounts,
    /// Counters of the kernel in the measured window, by CPU.
    Counters,
}

impl Table {
    /// Whether its rows come from what the load reported of a trial.
    pub fn needs_outcomes(self) -> bool {
        matches!(self, Self::Series | Self::Latencies)
    }

    /// A row of which only names and kinds count: the head.
    fn head(self, figures: &[FigureColumn]) -> Vec<Cell> {
        let trial = Trial::default();
        let of = OfTrial::alone(&trial);
        match self {
            Self::Trials => trials::row(&of, figures),
            Self::Series => {
                let interval =
                    Interval { from_ns: 0, to_ns: 0, completed: 0, failed: 0, latency: String::new() };
                series::row(&of, &Outcome::default(), &interval)
            }
            Self::Latencies => latencies::row(&of, (0, 0)),
            Self::Accounts => accounts::row(&of, &accounts::Line::default()),
            Self::Counters => counters::row(&of, &counters::Line::default()),
        }
    }
}

/// A table on its way out.
pub struct Writer<W> {
    table: Table,
    figures: Vec<FigureColumn>,
    rows: Rows<W>,
}

impl<W: io::Write + Send + 'static> Writer<W> {
    /// Begins a table of a case: its columns of figures are those that a trial of the case has.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn begin(table: Table, form: Form, facts: &Facts, to: W) -> io::Result<Self> {
        let figures = trials::figure_columns(facts);
        let rows = Rows::begin(&table.head(&figures), form, to)?;
        Ok(Self { table, figures, rows })
    }

    /// Adds the rows of a trial; `outcome` is what the load reported of it, where it is known and the table needs it.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn add(&mut self, of: &OfTrial<'_>, outcome: Option<&Outcome>) -> io::Result<()> {
        self.rows.add(match (self.table, outcome) {
            (Table::Trials, _) => vec![trials::row(of, &self.figures)],
            (Table::Accounts, _) => accounts::rows(of),
            (Table::Counters, _) => counters::rows(of),
            (Table::Series, Some(outcome)) => series::rows(of, outcome),
            (Table::Latencies, Some(outcome)) => latencies::rows(of, outcome),
            (Table::Series | Table::Latencies, None) => Vec::new(),
        })
    }

    /// Ends the table, and hands back what it was written to.
    ///
    /// # Errors
    /// When the last of it cannot be written.
    pub fn end(self) -> io::Result<W> {
        self.rows.end()
    }
}
