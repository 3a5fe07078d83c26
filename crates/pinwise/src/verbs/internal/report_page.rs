//! The hidden verb `pinwise report-page`: prints the report of a case as HTML, for `pinwise serve`. In a process of its own, a case that takes much
//! memory or time, or makes it panic, costs one request and not the server.

use std::path::PathBuf;

use machine::Fault;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::system::sysinfo;

use crate::conclusion;
use crate::output::{self, Answer};

/// The least address space that it may have, bytes: enough for a usual case on a small machine.
const LEAST: u64 = 512 << 20;

/// The most, bytes: many times the 256 MiB that the files of a case may have to be listed.
const MOST: u64 = 4 << 30;

// Flags of `pinwise report-page`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  pinwise report-page cases/redis-1 > report.html")]
pub struct Args {
    /// The case folder
    case: PathBuf,
}

/// Prints the report. Nothing is written into the case.
///
/// # Errors
/// As `pinwise report`. Where it would take more than half of the machine's memory, or 4 GiB, it ends: a read that fails is an error, any other
/// allocation ends the process (SIGABRT).
pub fn run(args: &Args) -> Result<Answer, Fault> {
    bound_memory();
    output::text(&conclusion::report_of(&args.case)?)?;
    Ok(Answer::Done)
}

/// Bounds the address space of this process, setrlimit(2). A kernel that refuses makes no report impossible.
fn bound_memory() {
    let machine = sysinfo();
    let of_machine = machine.totalram.saturating_mul(machine.mem_unit.into());
    let before = getrlimit(Resource::As);
    let current = Some(most_of(of_machine, before.current));
    let _ = setrlimit(Resource::As, Rlimit { current, ..before });
}

/// How much address space it may have on a machine with so much memory, bytes: no more than it might have `before`.
fn most_of(of_machine: u64, before: Option<u64>) -> u64 {
    let bound = (of_machine / 2).clamp(LEAST, MOST);
    before.map_or(bound, |before| before.min(bound))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_has_half_of_the_memory_within_bounds_and_a_lower_limit_stays() {
        const GIB: u64 = 1 << 30;
        assert_eq!(most_of(6 * GIB, None), 3 * GIB);
        assert_eq!((most_of(1024 * GIB, None), most_of(GIB / 4, None)), (MOST, LEAST));
        assert_eq!((most_of(6 * GIB, Some(GIB)), most_of(6 * GIB, Some(64 * GIB))), (GIB, 3 * GIB));
    }
}
