//! `pinwise status`: what is in force and not yet taken back.

use change::ledger_dir;
use machine::Fault;

use crate::format::Format;
use crate::output::{self, Answer};

// Flags of `pinwise status`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  pinwise status")]
pub struct Args {
    /// Form of the output
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Reads the ledger.
pub fn run(args: &Args) -> Result<Answer, Fault> {
    let status = change::status(&ledger_dir()?)?;
    match args.format {
        Format::Json => output::json(&status)?,
        Format::Text => output::text(&format!("{}\n", status.to_string().trim_end()))?,
    }
    Ok(Answer::Done)
}
