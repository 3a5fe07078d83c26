//! `pinwise confirm`: lets stay what waits to be confirmed.

use change::{LiveKernel, confirm, ledger_dir};
use machine::Fault;
use serde::Serialize;

use crate::format::Format;
use crate::output::{self, Answer};

// Flags of `pinwise confirm`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  pinwise apply plan.toml --confirm-within 60s && pinwise confirm")]
pub struct Args {
    /// Confirm only this session (listed by 'pinwise status')
    #[arg(long)]
    session: Option<String>,
    /// Form of the output
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Serialize)]
struct Document {
    confirmed: Vec<String>,
}

/// Confirms.
pub fn run(args: &Args) -> Result<Answer, Fault> {
    let confirmed = confirm::confirm(&ledger_dir()?, &LiveKernel::new(), args.session.as_deref())?;
    match args.format {
        Format::Json => output::json(&Document { confirmed })?,
        Format::Text => {
            let lines = confirmed.iter().map(|id| {
                format!("Session {id} stays in force. Undo it with: pinwise undo --session {id}\n")
            });
            output::text(&lines.collect::<String>())?;
        }
    }
    Ok(Answer::Done)
}
