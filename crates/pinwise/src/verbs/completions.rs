//! `pinwise completions`: completions for the shells that clap knows.

use clap::Command;
use clap_complete::Shell;
use machine::Fault;

use crate::output::{self, Answer};

// Flags of `pinwise completions`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  pinwise completions bash > /etc/bash_completion.d/pinwise")]
pub struct Args {
    /// The shell
    shell: Shell,
}

/// Prints the completions of a command line.
pub fn run(args: &Args, command: &mut Command) -> Result<Answer, Fault> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, command, "pinwise", &mut script);
    output::text(&String::from_utf8_lossy(&script))?;
    Ok(Answer::Done)
}
