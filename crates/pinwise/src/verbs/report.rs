//! `pinwise report`: shows a case again from its files.

use std::path::PathBuf;

use machine::Fault;
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
  pinwise report cases/string-server-1 -o report.html       the report here, as for a case on a read-only file system
  pinwise report cases/string-server-1 --format json | jq .findings")]
pub struct Args {
    /// The case folder
    case: PathBuf,
    /// Where to write the report (HTML); report.html in the case otherwise
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Form of the result on stdout
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Computes evidence, findings and report again from the files of the case.
pub fn run(args: &Args) -> Result<Answer, Fault> {
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
    conclusion::conclude_with(&case, args.format, args.output.as_deref()).map(|_| Answer::Done)
}
