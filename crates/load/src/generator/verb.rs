//! The verb `pinwise drive`: this process is the load.

use std::os::fd::AsFd;

use machine::{Class, Fault};

use super::flags;
use crate::drive::{Course, Document};
use crate::signals;

/// The verb of the binary that is the load; see [`run`].
pub const VERB: &str = "drive";

/// Runs the load that the flags say, and standard input where they ask for it, to its end, or until SIGTERM or SIGINT; the verb `pinwise
/// drive`. See [`flags`].
///
/// Fails as [`Driven::drive`](crate::workloads::Driven::drive) does, and when a flag is unknown or malformed.
pub fn run(args: &[String]) -> Result<Document, Fault> {
    let (server, load, start) = flags::from_args(args, &mut std::io::stdin())?;
    load.workload().check()?;
    let signals = signals::terminate().map_err(|error| {
        Fault::new(Class::WorkloadFailed, "signalfd", error, "check the limit of open files (ulimit -n)")
    })?;
    match load.driven() {
        Some(driven) => {
            let (start_at_ns, announces) = (start.at_ns, start.announces);
            driven.drive(server, Course { stop: Some(signals.as_fd()), start_at_ns, announces })
        }
        None => {
            let remedy = "run the command itself";
            Err(Fault::new(Class::Usage, "--driver command", "it is not driven by pinwise", remedy))
        }
    }
}
