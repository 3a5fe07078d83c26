//! `pinwise map`: what the machine is.

use std::path::PathBuf;

use machine::processes::{Remark, Server, remarks};
use machine::{Fault, Machine, Root};

use crate::cli::Format;
use crate::output::{self, Answer};

/// Flags of `pinwise map`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  pinwise map                                  this machine
  pinwise map --process nginx                  one server: a systemd unit, a process number, a cgroup
  pinwise map --format json | jq .irqs         for programs
  pinwise map --from web7.tar.zst              a machine that pinwise capture took home")]
pub struct Args {
    /// Read a captured directory or archive (.tar.zst, .tar.gz, .tar.bz2, .tar) instead of this machine
    #[arg(long, value_name = "PATH")]
    from: Option<PathBuf>,
    /// One running server instead: its threads, where they may run, where its memory lies
    #[arg(long, value_name = "PID|UNIT|CGROUP")]
    process: Option<String>,
    /// Form of the output
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Write to a file instead of stdout
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Reads and prints the machine.
pub fn run(args: &Args) -> Result<Answer, Fault> {
    let root = match &args.from {
        Some(path) => Root::at(path)?,
        None => Root::live(),
    };
    let text = match &args.process {
        Some(asked) => server(&root, asked, args.format)?,
        None => machine(&root, args.format)?,
    };
    output::to(args.output.as_deref(), &text)?;
    Ok(Answer::Done)
}

fn machine(root: &Root, format: Format) -> Result<String, Fault> {
    let machine = Machine::read(root);
    match format {
        Format::Text => Ok(report::machine_text::render(&machine)),
        Format::Json => output::pretty(&machine),
    }
}

/// A server and what its machine makes of it.
#[derive(serde::Serialize)]
struct Sheet<'a> {
    #[serde(flatten)]
    server: &'a Server,
    remarks: &'a [Remark],
}

fn server(root: &Root, asked: &str, format: Format) -> Result<String, Fault> {
    let server = Server::read(root, asked)?;
    let remarks = remarks::of(&server, &Machine::read(root));
    match format {
        Format::Text => Ok(report::machine_text::process::render(&server, &remarks)),
        Format::Json => output::pretty(&Sheet { server: &server, remarks: &remarks }),
    }
}
