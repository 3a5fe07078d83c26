//! Process groups that were launched by pinwise: who is in them, and how they are ended.

use std::io;
use std::time::{Duration, Instant};

use machine::{Class, Fault, ProcessRef};

use crate::kernel::{Kernel, ProcessSeen};
use crate::procfs::says_ended;

/// How long a process may take to die of SIGKILL (it can hang in the kernel, in state `D`).
const KILLED_WITHIN: Duration = Duration::from_secs(5);
/// Looking at all processes takes CPU time on a machine that has thousands, so that one looks less and less often.
const FIRST_WAIT: Duration = Duration::from_millis(2);
const LONGEST_WAIT: Duration = Duration::from_millis(50);

/// The living processes of a launch: those of its process group, and those that left the group (setsid, daemon) and
/// still carry its marker in their environment.
///
/// The number of a group proves nothing once its leader has been reaped: it may have been given to another group, whose leader
/// has ended in turn. So membership of the group counts only while the leader itself is there, running or a zombie; after that
/// the marker alone does. Only processes that are not older than the leader count.
pub fn members(kernel: &dyn Kernel, leader: &ProcessRef, marker: &str) -> io::Result<Vec<ProcessRef>> {
    let processes = kernel.processes()?;
    let is_led = is_led(&processes, leader);
    let in_launch = not_older(&processes, leader).filter(|seen| {
        (is_led && seen.group == leader.pid) || kernel.carries(seen.process.pid, marker) == Some(true)
    });
    Ok(in_launch.map(|seen| seen.process).collect())
}

/// Processes of a group of the leader's number that nothing shows to be of the launch: the leader is gone, and they do not
/// carry the marker. They may belong to the launch, with an environment of their own, or to somebody else whose group was
/// given the number since.
pub fn unproven(kernel: &dyn Kernel, leader: &ProcessRef, marker: &str) -> io::Result<Vec<ProcessRef>> {
    let processes = kernel.processes()?;
    // A number that a process has, or that an older process has as its group's, is of another group for certain.
    let is_taken = processes.iter().any(|seen| {
        seen.process.pid == leader.pid
            || (seen.group == leader.pid && seen.process.start_time_ticks < leader.start_time_ticks)
    });
    if is_taken {
        return Ok(Vec::new());
    }
    let in_group = not_older(&processes, leader)
        .filter(|seen| seen.group == leader.pid && kernel.carries(seen.process.pid, marker) != Some(true));
    Ok(in_group.map(|seen| seen.process).collect())
}

fn is_led(processes: &[ProcessSeen], leader: &ProcessRef) -> bool {
    processes.iter().any(|seen| seen.process == *leader)
}

fn not_older<'a>(
    processes: &'a [ProcessSeen],
    leader: &'a ProcessRef,
) -> impl Iterator<Item = &'a ProcessSeen> {
    processes.iter().filter(|seen| !seen.ended && seen.process.start_time_ticks >= leader.start_time_ticks)
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
                Err(error) if !says_ended(&error) => {
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
