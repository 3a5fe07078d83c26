//! `pinwise map`: what the machine is.

use std::path::PathBuf;

use machine::{Fault, Machine, Root};

use crate::cli::Format;
use crate::output::{self, Answer};
use crate::verbs::map_watch;

/// Flags of `pinwise map`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  pinwise map                                  this machine
  pinwise map --format json | jq .irqs         for programs
  pinwise map --watch                          live: interrupts, softirqs and CPU time
  pinwise map --from web7.tar.zst              a machine that pinwise capture took home")]
pub struct Args {
    /// Read a captured directory or archive (.tar.zst, .tar.gz, .tar.bz2, .tar) instead of this machine
    #[arg(long, value_name = "PATH")]
    from: Option<PathBuf>,
    #[command(flatten)]
    watch: map_watch::Flags,
    /// Form of the output
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Write to a file instead of stdout
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Reads and prints the machine.
pub fn run(args: &Args) -> Result<Answer, Fault> {
    if args.watch.wanted() {
        return map_watch::run(&args.watch, args.format);
    }
    let root = match &args.from {
        Some(path) => Root::at(path)?,
        None => Root::live(),
    };
    let machine = Machine::read(&root);
    let text = match args.format {
        Format::Text => report::machine_text::render(&machine),
        Format::Json => output::pretty(&machine)?,
    };
    output::to(args.output.as_deref(), &text)?;
    Ok(Answer::Done)
}
