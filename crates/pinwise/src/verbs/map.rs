//! `pinwise map`: what the machine is.

use std::path::PathBuf;

use clap::ValueEnum;
use machine::{Fault, Machine, Root};
use report::picture::{self, Heat};

use crate::output::{self, Answer};

/// Flags of `pinwise map`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  pinwise map                                  this machine
  pinwise map --format json | jq .irqs         for programs
  pinwise map --format svg -o map.svg          a picture: nodes, caches, cores, devices, interrupts
  pinwise map --format html -o map.html        picture, sheet and interrupts on one page
  pinwise map --from web7.tar.zst              a machine that pinwise capture took home")]
pub struct Args {
    /// Read a captured directory or archive (.tar.zst, .tar.gz, .tar.bz2, .tar) instead of this machine
    #[arg(long, value_name = "PATH")]
    from: Option<PathBuf>,
    /// Form of the output
    #[arg(long, value_enum, default_value_t)]
    format: Form,
    /// Write to a file instead of stdout
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Forms of the map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Form {
    /// For people: the sheet.
    #[default]
    Text,
    /// For programs: one JSON document.
    Json,
    /// A picture that needs nothing else.
    Svg,
    /// One page: the picture, the sheet, the interrupt lines, what is not known.
    Html,
}

/// Reads and prints the machine.
pub fn run(args: &Args) -> Result<Answer, Fault> {
    let root = match &args.from {
        Some(path) => Root::at(path)?,
        None => Root::live(),
    };
    let machine = Machine::read(&root);
    let text = match args.format {
        Form::Text => report::machine_text::render(&machine),
        Form::Json => output::pretty(&machine)?,
        Form::Svg => picture::svg(&machine, Heat::interrupts(&machine).as_ref()),
        Form::Html => picture::page(&machine, Heat::interrupts(&machine).as_ref()),
    };
    output::to(args.output.as_deref(), &text)?;
    Ok(Answer::Done)
}
