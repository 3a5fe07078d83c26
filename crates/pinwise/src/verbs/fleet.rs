//! `pinwise fleet`: many hosts at once.

mod captures;
mod gathered;
mod map;
mod reached;
mod table;

use machine::Fault;

use crate::output::Answer;

/// Flags of `pinwise fleet`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  pinwise fleet map --from captures/                     a folder of captures: one host each
  pinwise fleet map --hosts hosts.toml -o fleet.parquet  hosts that ssh or srun reaches")]
pub struct Args {
    /// What is asked of the hosts.
    #[command(subcommand)]
    question: Question,
}

/// What can be asked of many hosts.
#[derive(Debug, clap::Subcommand)]
enum Question {
    /// Group hosts by their shape, and list what deviates from what is usual within each group
    Map(map::Args),
}

/// Answers the question.
pub fn run(args: &Args) -> Result<Answer, Fault> {
    match &args.question {
        Question::Map(args) => map::run(args),
    }
}
