//! `pinwise resume`: goes on with a study that was stopped or killed.

use std::path::PathBuf;

use machine::Fault;
use study::Case;

use crate::cli::Format;
use crate::output::Answer;
use crate::{interrupt, reboots};

/// Flags of `pinwise resume`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  pinwise undo && pinwise resume cases/string-server-1      after a kill -9 in the middle of a trial
  pinwise resume cases/boots-1                              after the restart that a study of boot parameters asked for")]
pub struct Args {
    /// The case folder
    case: PathBuf,
    /// Of a study of boot parameters: start the machine again whenever a trial needs another boot, until the study is done
    #[arg(long)]
    reboot: bool,
    /// Form of the result on stdout
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Runs what remains, in the order that was drawn when the case was made.
pub fn run(args: &Args) -> Result<Answer, Fault> {
    let mut case = match Case::resume(&args.case) {
        Err(fault) if args.reboot => return Err(reboots::give_up(&args.case, fault)),
        case => case?,
    };
    for mended in &case.mended {
        eprintln!("pinwise: {mended}");
    }
    reboots::run(&mut case, &interrupt::flag()?, args.reboot, args.format)
}
