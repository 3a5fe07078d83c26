//! `pinwise undo`: takes back what pinwise changed.

use change::{LiveKernel, UndoOptions, ledger_dir};
use machine::Fault;

use crate::cli::Format;
use crate::output::{self, Answer};

/// Flags of `pinwise undo`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  pinwise undo                     everything that is outstanding, newest first
  pinwise undo --force             also what somebody else has changed since")]
pub struct Args {
    /// Only this session (pinwise status names them)
    #[arg(long)]
    session: Option<String>,
    /// Restore also what was changed by somebody else since, and sessions whose pinwise still runs
    #[arg(long)]
    force: bool,
    /// Form of the output
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Undoes; the answer is no when something was left.
pub fn run(args: &Args) -> Result<Answer, Fault> {
    let options = UndoOptions { force: args.force, session: args.session.clone() };
    let report = change::undo(&ledger_dir()?, &LiveKernel::new(), &options)?;
    match args.format {
        Format::Json => output::json(&report)?,
        Format::Text => output::text(&format!("{}\n", report.to_string().trim_end()))?,
    }
    Ok(if report.is_clean() { Answer::Done } else { Answer::No })
}
