//! `pinwise capture`: the files that the readers read, taken home.

use std::path::PathBuf;

use machine::processes::Server;
use machine::{Class, Fault, Machine, Root};

use crate::measured_distances;
use crate::notes::note;
use crate::output::Answer;

// Flags of `pinwise capture`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  pinwise capture -o web7.tar.zst              an archive
  pinwise capture -o web7/                     a directory
  pinwise capture --process nginx -o w.tar.zst  with one server: its threads, affinities, memory by node
  pinwise map --from web7.tar.zst              read it anywhere")]
pub struct Args {
    /// Where to write: an archive NAME.tar.zst, or a directory, which must be new or empty
    #[arg(short, long, value_name = "PATH")]
    output: PathBuf,
    /// Include a running server, for 'pinwise map --from PATH --process ...'. May be given several times
    #[arg(long, value_name = "PID|NAME|UNIT|CGROUP|CONTAINER|GUEST|POD|JOB")]
    process: Vec<String>,
    /// Include measured distances: a file written by 'pinwise noise --cores --memory --save FILE'
    #[arg(long, value_name = "FILE")]
    distances: Option<PathBuf>,
    /// Do not mask the host name, addresses, serial numbers and secrets of the kernel command line
    #[arg(long)]
    unmasked: bool,
}

/// Reads the machine through a recording root and writes what was read.
pub fn run(args: &Args) -> Result<Answer, Fault> {
    let root = Root::recording(measured_distances::add(Root::live(), args.distances.as_deref())?);
    let machine = Machine::read(&root);
    for asked in &args.process {
        Server::read(&root, asked)?;
    }
    let mut capture = root.take_capture().ok_or_else(|| {
        Fault::new(Class::Storage, args.output.display(), "nothing was recorded", machine::IS_A_BUG)
    })?;
    if !args.unmasked {
        capture.mask();
    }
    capture.write(&args.output)?;
    note!(
        "captured {} CPUs, {} devices, {} interrupts to {}; {} facts missing (pinwise map --from lists them)",
        machine.cpus.len(),
        machine.devices.len(),
        machine.irqs.len(),
        args.output.display(),
        machine.missing.len()
    );
    Ok(Answer::Done)
}
