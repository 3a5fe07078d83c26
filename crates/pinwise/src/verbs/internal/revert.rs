//! The hidden verb `pinwise revert`: waits until the time to confirm a session is over, or until its process has ended, and takes it back.

use std::io::Write as _;
use std::thread::sleep;

use change::confirm::READY;
use change::revert::{Revert, Reverted, keep_in_memory};
use change::{LiveKernel, ledger_dir};
use machine::{Class, Fault};
use rustix::io::Errno;

use crate::interrupt;
use crate::output::{self, Answer};

// Flags of `pinwise revert`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  pinwise revert --session 1763700000-4711")]
pub struct Args {
    /// The session
    #[arg(long)]
    session: String,
    /// Take it back once its process has ended, and not because nobody confirms it
    #[arg(long)]
    orphaned: bool,
    /// Take it back also when one of its changes is in force for so long: its process hangs, and is killed
    #[arg(long, value_name = "SECONDS", requires = "orphaned")]
    in_force_s: Option<u64>,
}

/// Waits and reverts; the answer is no when something could not be taken back.
pub fn run(args: &Args) -> Result<Answer, Fault> {
    let (dir, kernel) = (ledger_dir()?, LiveKernel::new());
    let mut revert = Revert::of(&dir, &kernel, &args.session, &sleep)?;
    if args.orphaned {
        revert = revert.once_orphaned(args.in_force_s);
    }
    keep_in_memory();
    leave_the_session()?;
    revert.wait()?;
    match revert.take_back() {
        Reverted::NotNeeded => Ok(Answer::Done),
        Reverted::TakenBack(report) => {
            output::text(&format!("{}\n", report.to_string().trim_end()))?;
            Ok(if report.is_clean() { Answer::Done } else { Answer::No })
        }
    }
}

/// From here on no hang-up of a terminal reaches this process. Says so to who started it.
fn leave_the_session() -> Result<(), Fault> {
    let fault = |e: &dyn std::fmt::Display| {
        Fault::new(Class::MachineLacks, "a session of its own", e, "start this verb from 'pinwise apply'")
    };
    interrupt::ignore_hang_ups()?;
    match rustix::process::setsid() {
        // A service of systemd leads a session of its own already.
        Ok(_) | Err(Errno::PERM) => {}
        Err(e) => return Err(fault(&e)),
    }
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{READY}").and_then(|()| stdout.flush()).map_err(|e| fault(&e))
}
