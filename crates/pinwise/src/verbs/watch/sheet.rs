//! The sheet, in the form that `--format` names.

use std::io::{self, Write};

use advise::diagnosis::Diagnosis;
use machine::{Class, Fault};
use probe::account::Account;
use report::account::account_tables::{When, Writer};
use report::account::account_text::{self, Wanted};
use serde::Serialize;

use super::args::{Args, Form};
use crate::output::{self, Binary, Place};

const PARQUET: Binary =
    Binary { flag: "--format parquet", cause: "Parquet is not for terminals", example: "watched.parquet" };

const DRAWING: Binary = Binary {
    flag: "--format flamegraph",
    cause: "an SVG drawing is not for terminals",
    example: "watched.svg",
};

/// An account with what it is of.
#[derive(Serialize)]
pub struct Sheet<'a> {
    /// Who was watched, for programs.
    pub target: &'a serde_json::Value,
    /// Whether nobody in particular was watched.
    #[serde(skip)]
    pub everything: bool,
    /// By which means.
    pub how: &'a str,
    /// Of a ring: what was added together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recorded: Option<Recorded>,
    /// What it comes to.
    pub diagnosis: Diagnosis,
    /// Everything that was counted.
    #[serde(flatten)]
    pub account: Account,
}

/// Which part of a ring it is.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Recorded {
    /// The beginning of the first interval and the end of the last, ns since 1970.
    pub from_unix_ns: u64,
    /// The end.
    pub to_unix_ns: u64,
    /// Intervals that were added together.
    pub intervals: u64,
    /// Recorders that wrote them.
    pub sessions: u64,
}

/// Opens where the sheet goes: a file, or stdout.
///
/// # Errors
/// It does not take it.
pub fn place(args: &Args) -> Result<Place, Fault> {
    let binary = match args.format {
        Form::Parquet => Some(PARQUET),
        Form::Flamegraph => Some(DRAWING),
        _ => None,
    };
    output::open(args.output.as_deref(), binary)
}

/// Writes the sheet to its place.
pub fn write(args: &Args, title: &str, sheet: Sheet<'_>, place: Place) -> Result<(), Fault> {
    match args.format {
        Form::Text => {
            let wanted = Wanted { all: args.full, past: sheet.recorded.is_some() };
            let text = account_text::render(&sheet.account, &sheet.diagnosis, title, wanted);
            output::whole(place, &output::fitted(args.output.as_deref(), text))
        }
        Form::Json => output::whole(place, &output::pretty(&without_steps(sheet, args.full))?),
        // Traces and stacks are made by verbs/watch/perfetto.rs and folded.rs, out of something else.
        Form::Csv | Form::Parquet | Form::Perfetto | Form::Folded | Form::Flamegraph => {
            let mut table = Table::begin(args, sheet.everything, place)?;
            table.add(&sheet.account, When::default());
            table.end()
        }
    }
}

/// Lengths by step are reported when everything is wanted.
pub fn without_steps(sheet: Sheet<'_>, full: bool) -> Sheet<'_> {
    let account = if full { sheet.account } else { sheet.account.without_lengths() };
    Sheet { account, ..sheet }
}

/// A table that is written while it grows.
pub struct Table {
    writer: Writer<Box<dyn Write + Send>>,
    name: String,
    failed: Option<io::Error>,
}

impl Table {
    /// Begins what `args` ask for in a place; they ask for a table.
    pub fn begin(args: &Args, everything: bool, place: Place) -> Result<Self, Fault> {
        let Some(form) = args.format.of_table() else {
            let cause = "text and JSON are no tables";
            return Err(Fault::new(
                Class::Usage,
                "--format",
                cause,
                "choose --format csv or --format parquet",
            ));
        };
        let Place { name, to } = place;
        let writer = Writer::begin(args.table(everything), form, args.series, to);
        let writer = writer.map_err(|e| output::not_written(&name, &e))?;
        Ok(Self { writer, name, failed: None })
    }

    /// Adds an account; after a failure nothing more.
    pub fn add(&mut self, account: &Account, when: When) {
        if self.failed.is_none() {
            self.failed = self.writer.add(account, when).err();
        }
    }

    /// Ends it. A reader that went away (`| head`) is no error.
    pub fn end(self) -> Result<(), Fault> {
        let Self { writer, name, failed } = self;
        let ended = match failed {
            Some(error) => Err(error),
            None => writer.end().and_then(|mut to| to.flush()),
        };
        match ended {
            Err(e) if e.kind() != io::ErrorKind::BrokenPipe => Err(output::not_written(name, &e)),
            _ => Ok(()),
        }
    }
}
