//! CPU time: of this thread, and of a child process with all that it started. On a noisy host it says what wall time cannot.

use std::io;
use std::process::{Command, Stdio};

use rustix::time::{ClockId, clock_gettime};

/// CPU time of the calling thread so far, ns.
pub fn thread_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Runs a command to its end with its output thrown away; answers with its CPU time (user and system), ns.
///
/// # Errors
/// When it cannot be started or fails.
pub fn of(command: &mut Command) -> io::Result<u64> {
    let before = children_ns();
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    match status.success() {
        true => Ok(children_ns() - before),
        false => Err(io::Error::other(format!("{command:?}: {status}"))),
    }
}

/// CPU time of all children that ended so far, ns (getrusage(2); the kernel scales the ticks of user and system time so
/// that their sum is the exact run time).
fn children_ns() -> u64 {
    // SAFETY: rusage is a struct of numbers, for which all zeros is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` lives and may be written; RUSAGE_CHILDREN is a valid target, so the call cannot fail.
    unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage) };
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
    ns(usage.ru_utime) + ns(usage.ru_stime)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_that_works_has_cpu_time_and_one_that_fails_is_an_error() {
        let ns =
            of(Command::new("sh").args(["-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"])).unwrap();
        assert!(ns > 100_000, "{ns}");
        assert!(of(&mut Command::new("false")).is_err());
        assert!(of(&mut Command::new("/no/such/program")).is_err());
    }
}
