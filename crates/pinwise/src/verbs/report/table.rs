//! A table of a case, as a file or on stdout. Nothing is written into the case.

use std::io::{self, Write};

use load::Outcome;
use machine::{Fault, Missing};
use report::case::tables::{self, Form, OfTrial, Writer};
use study::{Case, Facts};

use super::{Args, Table};
use crate::notes::note;
use crate::output::{self, Answer, Binary, Place};

const PARQUET: Binary =
    Binary { flag: "--format parquet", cause: "Parquet is not for terminals", example: "trials.parquet" };

/// Writes it trial by trial. Files that cannot be read are said, and what they would have said is not in the table.
///
/// # Errors
/// The case cannot be read; the table cannot be written.
pub(super) fn write(args: &Args, form: Form) -> Result<Answer, Fault> {
    let table: tables::Table = args.table.unwrap_or(Table::Trials).into();
    let case = Case::open(&args.case)?;
    case.repairs.iter().for_each(|repair| note!("pinwise: {repair}"));
    let facts = Facts::read(&case)?;
    let binary = (form == Form::Parquet).then_some(PARQUET);
    let Place { name, to } = output::open(args.output.as_deref(), binary)?;
    let mut missing = Vec::new();
    let written = Writer::begin(table, form, &facts, to).and_then(|mut writer| {
        for of in tables::of_case(&facts) {
            let outcome = if table.needs_outcomes() { outcome(&case, &of, &mut missing) } else { None };
            writer.add(&of, outcome.as_ref())?;
        }
        writer.end()?.flush()
    });
    for Missing { fact, why, .. } in &missing {
        note!("pinwise: left out of the table: {fact}: {why}");
    }
    match written {
        // A reader that went away (`| head`) is no error.
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => Err(output::not_written(name, &e)),
        _ => Ok(Answer::Done),
    }
}

/// What the load reported of a trial; `None` of one that failed, and where the file cannot be read, which is noted.
fn outcome(case: &Case, of: &OfTrial<'_>, missing: &mut Vec<Missing>) -> Option<Outcome> {
    if of.has_failed() {
        return None;
    }
    let read = case.read_fact(&format!("{}/outcome.json", of.folder()));
    read.map_err(|why| missing.push(why)).ok()
}
