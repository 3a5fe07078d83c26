//! The hidden verb `pinwise report-page`: prints the report of a case as HTML, for `pinwise serve`. In a process of its own, a case that takes much
//! memory or time, or makes it panic, costs one request and not the server.

use std::path::PathBuf;

use machine::Fault;

use crate::conclusion;
use crate::output::{self, Answer};

// Flags of `pinwise report-page`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  pinwise report-page cases/redis-1 > report.html")]
pub struct Args {
    /// The case folder
    case: PathBuf,
}

/// Prints the report. Nothing is written into the case.
pub fn run(args: &Args) -> Result<Answer, Fault> {
    output::text(&conclusion::report_of(&args.case)?)?;
    Ok(Answer::Done)
}
