//! `pinwise report`: shows a case again from its files.

mod table;

use std::path::PathBuf;

use clap::ValueEnum;
use machine::{Class, Fault};
use report::case::tables;
use study::Case;

use crate::conclusion;
use crate::format::Format;
use crate::notes::note;
use crate::output::Answer;

// Flags of `pinwise report`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  pinwise report cases/string-server-1                      the table, and report.html in the case
  pinwise report cases/string-server-1 -o report.html       the report here, for example if the case is on a read-only file system
  pinwise report cases/string-server-1 --format json | jq .findings
  pinwise report cases/string-server-1 --format parquet -o trials.parquet      one row for each trial (docs/tables.md)
  pinwise report cases/string-server-1 --format csv --table series > series.csv")]
pub struct Args {
    /// The case folder
    case: PathBuf,
    /// Where to write the HTML report; with --format csv and parquet, the table. Without it: report.html in the case; the table on stdout
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Form of the result on stdout; with csv and parquet, only the table is written, and nothing into the case
    #[arg(long, value_enum, default_value_t)]
    format: Form,
    /// With --format csv or parquet: which table. Without it: trials
    #[arg(long, value_enum)]
    table: Option<Table>,
}

/// Forms of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Form {
    /// For people.
    #[default]
    Text,
    /// For programs: one JSON document; progress and notes stay on stderr.
    Json,
    /// One table for spreadsheets, RFC 4180.
    Csv,
    /// One table in Apache Parquet, for programs that plot.
    Parquet,
}

/// Tables of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Table {
    /// Trials with their figures.
    Trials,
    /// Intervals of the load.
    Series,
    /// Latencies in the measured window.
    Latencies,
    /// Where the time of server and load went, in observed trials.
    Accounts,
    /// Counters of the kernel by CPU.
    Counters,
}

impl From<Table> for tables::Table {
    fn from(table: Table) -> Self {
        match table {
            Table::Trials => Self::Trials,
            Table::Series => Self::Series,
            Table::Latencies => Self::Latencies,
            Table::Accounts => Self::Accounts,
            Table::Counters => Self::Counters,
        }
    }
}

/// Computes evidence, findings and report again from the files of the case, or writes one of its tables.
pub fn run(args: &Args) -> Result<Answer, Fault> {
    match args.format {
        Form::Text => whole(args, Format::Text),
        Form::Json => whole(args, Format::Json),
        Form::Csv => table::write(args, tables::Form::Csv),
        Form::Parquet => table::write(args, tables::Form::Parquet),
    }
}

fn whole(args: &Args, format: Format) -> Result<Answer, Fault> {
    if args.table.is_some() {
        let cause = "text and JSON show the whole case";
        return Err(Fault::new(Class::Usage, "--table", cause, "add --format csv or --format parquet"));
    }
    let case = Case::open(&args.case)?;
    if args.output.is_none() {
        // In a folder of somebody else, what is written may land anywhere.
        case.folder().map_err(|fault| {
            let remedy = format!("write the report elsewhere (-o report.html); or {}", fault.remedy);
            Fault { remedy, ..fault }
        })?;
    }
    for repair in &case.repairs {
        note!("pinwise: {repair}");
    }
    // What was expected was answered by the study; showing it again is done.
    conclusion::conclude_with(&case, format, args.output.as_deref()).map(|_| Answer::Done)
}
