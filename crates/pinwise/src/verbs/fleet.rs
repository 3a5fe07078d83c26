//! `pinwise fleet`: many hosts at once.

mod apply;
mod captures;
mod gathered;
mod map;
mod reached;
mod study;
mod surveyed;
mod table;
mod there;

use machine::Fault;

use crate::output::Answer;

// Flags of `pinwise fleet`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  pinwise fleet map --from captures/                     a folder of captures: one host each
  pinwise fleet map --hosts hosts.toml -o fleet.parquet  hosts that ssh or srun reaches
  pinwise fleet study recipe.toml --hosts hosts.toml     one host of each shape, compared
  pinwise fleet apply plan.toml --hosts hosts.toml --waves 1,10%,100% --check 'curl -sf http://{host}/health'
                                                         a plan in waves, undone if one does harm")]
pub struct Args {
    /// What is asked of the hosts.
    #[command(subcommand)]
    question: Question,
}

// What can be asked of many hosts.
#[derive(Debug, clap::Subcommand)]
enum Question {
    /// Group hosts by their shape, and list how each deviates from what is usual in its group
    Map(map::Args),
    /// Run a recipe on one host of each shape, and compare the results
    Study(study::Args),
    /// Apply a plan in waves of hosts, and undo it if a wave does harm
    Apply(apply::Args),
}

/// Answers the question.
pub fn run(args: &Args) -> Result<Answer, Fault> {
    match &args.question {
        Question::Map(args) => map::run(args),
        Question::Study(args) => study::run(args),
        Question::Apply(args) => apply::run(args),
    }
}
