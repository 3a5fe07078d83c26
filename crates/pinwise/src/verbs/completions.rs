//! `pinwise completions`: completions for the shells that clap knows.

use clap::CommandFactory;
use clap_complete::Shell;
use machine::Fault;

use crate::cli::Cli;
use crate::output::{self, Answer};

/// Flags of `pinwise completions`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  pinwise completions bash > /etc/bash_completion.d/pinwise")]
pub struct Args {
    /// The shell
    shell: Shell,
}

/// Prints the completions.
pub fn run(args: &Args) -> Result<Answer, Fault> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "pinwise", &mut script);
    output::text(&String::from_utf8_lossy(&script))?;
    Ok(Answer::Done)
}
