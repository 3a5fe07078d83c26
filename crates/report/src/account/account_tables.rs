//! The account as plain tables, for spreadsheets and for programs that plot: one row a thing, one column a figure, the unit at the
//! end of its name.
//!
//! A table names its cells once, by taking each field of a row ([`rows`]): so head and cells cannot differ, and no field can be
//! forgotten. How they are written is apart ([`Form`]).

mod cell;
mod rows;
#[cfg(test)]
mod tests;
mod to_csv;
mod to_parquet;

use std::io;

use probe::account::Account;

pub use cell::Cell;
pub(crate) use cell::word;

/// The tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    /// Threads of the target.
    Threads,
    /// Who took the CPU.
    Takers,
    /// CPUs.
    Cpus,
    /// What interrupted each CPU.
    Sources,
    /// Tasks on the CPUs.
    Tasks,
    /// Lines of devices by CPU.
    Lines,
    /// What the kernel ran for others.
    Functions,
    /// Between which CPUs threads moved.
    Migrations,
    /// Interrupts that no program sees, by /proc/interrupts.
    Counted,
}

/// When an interval was, by the wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct When {
    /// Its beginning and end, ns since 1970.
    pub from_unix_ns: u64,
    /// The end.
    pub to_unix_ns: u64,
}

impl When {
    fn cells(self) -> Vec<Cell> {
        let length_ns = self.to_unix_ns.saturating_sub(self.from_unix_ns);
        vec![
            Cell::moment("from_unix_ns", self.from_unix_ns),
            Cell::moment("to_unix_ns", self.to_unix_ns),
            Cell::whole("interval_ns", length_ns),
        ]
    }
}

impl Table {
    /// Rows of this table.
    pub fn rows(self, account: &Account) -> Vec<Vec<Cell>> {
        match self {
            Self::Threads => account.threads.iter().map(rows::thread).collect(),
            Self::Takers => account.takers.iter().map(rows::taker).collect(),
            Self::Cpus => account.cpus.iter().map(rows::cpu).collect(),
            Self::Sources => {
                let all = account.cpus.iter().flat_map(|cpu| {
                    cpu.sources.iter().map(|(source, seen)| rows::source(cpu.cpu, source, seen))
                });
                all.collect()
            }
            Self::Tasks => account.tasks.iter().map(rows::task).collect(),
            Self::Lines => account.lines.iter().map(rows::line).collect(),
            Self::Functions => account.functions.iter().map(rows::function).collect(),
            Self::Migrations => account.routes.iter().map(rows::route).collect(),
            Self::Counted => account.counted_only.iter().map(rows::counted).collect(),
        }
    }

    /// A row of which only names and kinds count: the head.
    fn head(self) -> Vec<Cell> {
        self.rows(&rows::one_of_each()).into_iter().next().unwrap_or_default()
    }

    /// A row of an interval.
    fn rows_of(self, account: &Account, when: Option<When>) -> Vec<Vec<Cell>> {
        let before = when.map(When::cells).unwrap_or_default();
        self.rows(account).into_iter().map(|row| [before.clone(), row].concat()).collect()
    }
}

/// A form in which a table is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Comma-separated values (RFC 4180), UTF-8, with a line of names. A cell that is not known is empty.
    Csv,
    /// Apache Parquet, compressed with zstd. A cell that is not known is null.
    Parquet,
}

/// A table on its way out.
pub struct Writer<W: io::Write + Send> {
    table: Table,
    series: bool,
    rows: Rows<W>,
}

/// Rows that all have the cells of one head, on their way out.
pub(crate) struct Rows<W>(Box<dyn Written<W>>);

impl<W: io::Write + Send + 'static> Rows<W> {
    /// Begins them: the names and kinds of the head's cells are those of the columns.
    ///
    /// # Errors
    /// When they cannot be written.
    pub(crate) fn begin(head: &[Cell], form: Form, to: W) -> io::Result<Self> {
        Ok(match form {
            Form::Csv => Self(Box::new(to_csv::Csv::begin(head, to)?)),
            Form::Parquet => Self(Box::new(to_parquet::Parquet::begin(head, to)?)),
        })
    }

    /// Adds rows.
    ///
    /// # Errors
    /// When they cannot be written.
    pub(crate) fn add(&mut self, rows: Vec<Vec<Cell>>) -> io::Result<()> {
        self.0.rows(rows)
    }

    /// Ends them, and hands back what they were written to.
    ///
    /// # Errors
    /// When the last of them cannot be written.
    pub(crate) fn end(self) -> io::Result<W> {
        self.0.end()
    }
}

/// What a form does.
trait Written<W> {
    fn rows(&mut self, rows: Vec<Vec<Cell>>) -> io::Result<()>;
    fn end(self: Box<Self>) -> io::Result<W>;
}

impl<W: io::Write + Send + 'static> Writer<W> {
    /// Begins a table; in a series each row has its interval before it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn begin(table: Table, form: Form, series: bool, to: W) -> io::Result<Self> {
        let head = [if series { When::default().cells() } else { Vec::new() }, table.head()].concat();
        Ok(Self { table, series, rows: Rows::begin(&head, form, to)? })
    }

    /// Adds the rows of an account.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn add(&mut self, account: &Account, when: When) -> io::Result<()> {
        self.rows.add(self.table.rows_of(account, self.series.then_some(when)))
    }

    /// Ends the table, and hands back what it was written to.
    ///
    /// # Errors
    /// When the last of it cannot be written.
    pub fn end(self) -> io::Result<W> {
        self.rows.end()
    }
}
