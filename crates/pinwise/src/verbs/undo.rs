//! `pinwise undo`: takes back what pinwise changed.

use change::{LiveKernel, Point, UndoOptions, ledger_dir};
use machine::Fault;

use crate::format::Format;
use crate::interrupt;
use crate::output::{self, Answer};

// Flags of `pinwise undo`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  pinwise undo                     undo everything, newest first
  pinwise undo --to 1763700000-4711.3    undo what came after act 3 of that session; the act itself stays
  pinwise undo --force             also undo settings that something else has changed since")]
pub struct Args {
    /// Undo only this session (listed by 'pinwise status')
    #[arg(long)]
    session: Option<String>,
    /// Undo only what was done after this session, or after this act of it
    #[arg(long, value_name = "SESSION[.ACT]", conflicts_with = "session")]
    to: Option<Point>,
    /// Also restore settings that something else has changed since
    #[arg(long)]
    force: bool,
    /// Form of the output
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Undoes, whatever signal comes; the answer is no when something was left.
pub fn run(args: &Args) -> Result<Answer, Fault> {
    interrupt::hold_off()?;
    let (session, to) = (args.session.clone(), args.to.clone());
    let options = UndoOptions { force: args.force, owned_too: false, session, to };
    let report = change::undo(&ledger_dir()?, &LiveKernel::new(), &options)?;
    match args.format {
        Format::Json => output::json(&report)?,
        Format::Text => output::text(&format!("{}\n", report.to_string().trim_end()))?,
    }
    Ok(if report.is_clean() { Answer::Done } else { Answer::No })
}
