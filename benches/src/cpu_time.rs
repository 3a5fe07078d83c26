//! CPU time: of this thread, and of a child process with all that it started. On a noisy host it says what wall time cannot.

use std::io;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};

/// What a piece of work in this thread costs.
///
/// # Errors
/// Those of the work.
pub fn of_work<T>(work: impl FnOnce() -> io::Result<T>) -> io::Result<(Cost, T)> {
    let (before, began) = (thread_ns(), Instant::now());
    let answer = work()?;
    Ok((Cost { cpu_ns: thread_ns() - before, wall_ns: began.elapsed().as_nanos() as u64 }, answer))
}

/// CPU time of the calling thread so far, ns.
fn thread_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// What a run cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// CPU time, user and system, ns.
    pub cpu_ns: u64,
    /// Time on the clock, ns.
    pub wall_ns: u64,
}

/// Runs a command to its end with its output thrown away.
///
/// # Errors
/// When it cannot be started or fails.
pub fn of(command: &mut Command) -> io::Result<Cost> {
    let (before, began) = (children_ns(), Instant::now());
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    let wall_ns = began.elapsed().as_nanos() as u64;
    match status.success() {
        true => Ok(Cost { cpu_ns: children_ns() - before, wall_ns }),
        false => Err(io::Error::other(format!("{command:?}: {status}"))),
    }
}

/// CPU time, ns, of a child and all that it started, from its start to the end of `work`, which waits for it; and its answer.
/// No other child may end meanwhile.
///
/// # Errors
/// Those of the work.
pub fn of_child<T>(
    child: &mut Child,
    work: impl FnOnce(&mut Child) -> io::Result<T>,
) -> io::Result<(u64, T)> {
    let before = children_ns();
    let answer = work(child)?;
    Ok((children_ns() - before, answer))
}

/// CPU time of all children that ended so far, user and system, ns (getrusage(2)).
fn children_ns() -> u64 {
    // SAFETY: rusage is a struct of numbers, for which all zeros is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` lives and may be written, and the target is valid, so that the call cannot fail.
    unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage) };
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
    ns(usage.ru_utime) + ns(usage.ru_stime)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_that_works_has_cpu_time_and_one_that_fails_is_an_error() {
        let script = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
        let cost = of(Command::new("sh").args(["-c", script])).unwrap();
        assert!(cost.cpu_ns > 100_000 && cost.wall_ns > 0, "{cost:?}");
        assert!(of(&mut Command::new("false")).is_err());
        assert!(of(&mut Command::new("/no/such/program")).is_err());
    }
}
