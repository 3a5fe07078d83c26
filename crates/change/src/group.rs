//! Process groups that were launched by pinwise: who is in them, and how they are ended.

use std::io;
use std::time::{Duration, Instant};

use machine::{Class, Fault, ProcessRef};

use crate::kernel::Kernel;

/// How long a process may take to die of SIGKILL (it can hang in the kernel, in state `D`).
const KILLED_WITHIN: Duration = Duration::from_secs(5);
/// Looking at all processes takes CPU time on a machine that has thousands, so that one looks less and less often.
const FIRST_WAIT: Duration = Duration::from_millis(2);
const LONGEST_WAIT: Duration = Duration::from_millis(50);

/// The living processes of a launch: those of its process group, and those that left the group (setsid, daemon) and
/// still carry its marker in their environment.
///
/// A group of the same number is only taken for ours when its leader is that very process, or is gone; and only
/// processes that are not older than the leader count.
pub fn members(kernel: &dyn Kernel, leader: &ProcessRef, marker: &str) -> io::Result<Vec<ProcessRef>> {
    let processes = kernel.processes()?;
    let holds_number = processes.iter().find(|seen| seen.process.pid == leader.pid);
    let ours = holds_number.is_none_or(|seen| seen.process == *leader);
    let young = processes
        .iter()
        .filter(|seen| !seen.ended && seen.process.start_time_ticks >= leader.start_time_ticks);
    let in_launch = young.filter(|seen| {
        (ours && seen.group == leader.pid) || kernel.carries(seen.process.pid, marker) == Some(true)
    });
    Ok(in_launch.map(|seen| seen.process).collect())
}

/// Ends every process of a launch: SIGTERM, and SIGKILL after `grace` (at once when that is zero).
///
/// Returns whether SIGKILL was needed. Errors: a process that does not die, or may not be signalled.
pub fn end(kernel: &dyn Kernel, leader: &ProcessRef, marker: &str, grace: Duration) -> Result<bool, Fault> {
    if !grace.is_zero() && all_gone(kernel, leader, marker, libc::SIGTERM, grace)? {
        return Ok(false);
    }
    if all_gone(kernel, leader, marker, libc::SIGKILL, KILLED_WITHIN)? {
        return Ok(true);
    }
    let object = format!("process group {}", leader.pid);
    let cause = format!("still there {} s after SIGKILL", KILLED_WITHIN.as_secs());
    Err(Fault::new(
        Class::WorkloadFailed,
        object,
        cause,
        "it hangs in the kernel (state D): see /proc/PID/stack, and what it waits for",
    ))
}

/// Signals every member and waits; new members (a fork that raced us) are signalled as they appear.
fn all_gone(
    kernel: &dyn Kernel,
    leader: &ProcessRef,
    marker: &str,
    signal: i32,
    within: Duration,
) -> Result<bool, Fault> {
    let until = Instant::now() + within;
    let mut wait = FIRST_WAIT;
    let mut signalled = std::collections::BTreeSet::new();
    loop {
        let members = members(kernel, leader, marker)
            .map_err(|e| Fault::io("/proc", &e, "mount /proc without hidepid, or run as root"))?;
        if members.is_empty() {
            return Ok(true);
        }
        for member in members.into_iter().filter(|member| signalled.insert(*member)) {
            match kernel.signal(&member, signal) {
                Err(error) if !crate::deed::says_ended(&error) => {
                    let object = format!("process {}", member.pid);
                    return Err(Fault::io(object, &error, "end it as the user that it runs as, or as root"));
                }
                _ => {}
            }
        }
        if Instant::now() >= until {
            return Ok(false);
        }
        std::thread::sleep(wait);
        wait = (wait * 2).min(LONGEST_WAIT);
    }
}
