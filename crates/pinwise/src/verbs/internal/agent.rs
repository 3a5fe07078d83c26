//! The hidden verb `pinwise agent`: what a study starts on other hosts.

use std::io::BufReader;

use machine::Fault;

use crate::interrupt;
use crate::output::Answer;

// Flags of `pinwise agent`: there are none, everything comes on standard input.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  echo '{\"id\":0,\"ask\":\"clock\"}' | pinwise agent       one line a request, one line an answer (docs/hosts.md)")]
pub struct Args {}

/// Does what the controller asks, until its input ends; what it changed is taken back then.
pub fn run(_: &Args) -> Result<Answer, Fault> {
    let interrupted = interrupt::flag_of_changes()?;
    hosts::agent::run(BufReader::new(std::io::stdin()), &mut std::io::stdout(), &interrupted)?;
    Ok(Answer::Done)
}
