//! What /proc shows about processes and threads.

use std::fs;
use std::io;

use machine::procfs::pid_stat::{self, PidStat};
use machine::procfs::pid_status;
use machine::{CpuSet, ProcessRef};

use crate::kernel::Users;

/// A part of /proc/PID/stat or /proc/PID/task/TID/stat.
///
/// # Errors
/// Those of open(2) and read(2); `InvalidInput` for what is not a line of this kind.
pub fn stat<T>(path: &str, part: impl FnOnce(PidStat) -> T) -> io::Result<T> {
    // The name of a program may have bytes that are not UTF-8; the fields used here come after it.
    let text = fs::read(path)?;
    pid_stat::parse(&String::from_utf8_lossy(&text)).map(part).map_err(invalid)
}

/// Start of a thread in clock ticks since boot.
///
/// # Errors
/// `NotFound` when there is no such thread; `PermissionDenied` when there is, and /proc does not show it.
pub fn start_time(pid: u32, tid: u32) -> io::Result<u64> {
    let start = stat(&format!("/proc/{pid}/task/{tid}/stat"), |stat| stat.start_time_ticks);
    start.map_err(|error| gone_or_hidden(tid, error))
}

/// Whether this very process is there and has not ended.
///
/// # Errors
/// /proc cannot be read now, or does not show a process of this number that is there.
pub fn sees_alive(process: &ProcessRef) -> io::Result<bool> {
    let runs = |stat: PidStat| stat.start_time_ticks == process.start_time_ticks && !stat.ended();
    let seen = stat(&format!("/proc/{}/stat", process.pid), runs);
    match seen.map_err(|error| gone_or_hidden(process.pid, error)) {
        Err(error) if says_ended(&error) => Ok(false),
        seen => seen,
    }
}

/// Whether this very process is seen to be there and not to have ended.
pub fn is_alive(process: &ProcessRef) -> bool {
    sees_alive(process).unwrap_or(false)
}

/// CPUs that a thread may use.
///
/// # Errors
/// There is no such thread; its status names no CPUs.
pub fn allowed_cpus(pid: u32, tid: u32) -> io::Result<CpuSet> {
    // Not sched_getaffinity(2): its answer leaves out CPUs that are offline. If it were restored, the thread would
    // stay off them when they return.
    let status = status(pid, tid)?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let list = list.ok_or_else(|| invalid("there is no Cpus_allowed_list in its status"))?;
    CpuSet::from_list(list).map_err(invalid)
}

/// The users of a thread, as our own user namespace numbers them.
///
/// # Errors
/// Those of open(2) and read(2); `Unsupported` where it is seen to be in another user namespace; its status names no users.
pub fn users(pid: u32, tid: u32) -> io::Result<Users> {
    let namespace = |of: &str| fs::read_link(format!("/proc/{of}/ns/user"));
    // Of a process over which we have no rights the namespace is hidden: then it is none that gives us some.
    if let (Ok(its), Ok(own)) = (namespace(&pid.to_string()), namespace("self"))
        && its != own
    {
        return Err(io::Error::new(io::ErrorKind::Unsupported, "it is in another user namespace"));
    }
    let status = status(pid, tid)?;
    let users = pid_status::parse(&status).map_err(invalid)?.uids;
    let [real, effective, ..] = users.ok_or_else(|| invalid("there is no Uid in its status"))?;
    Ok(Users { real, effective })
}

/// /proc/PID/task/TID/status: the name of a program may have bytes that are not UTF-8.
fn status(pid: u32, tid: u32) -> io::Result<String> {
    let text = fs::read(format!("/proc/{pid}/task/{tid}/status"))?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Whether an error about a process or thread says that it has ended.
pub fn says_ended(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH)
}

/// The entries of a directory whose names are numbers: /proc, /proc/PID/task.
pub fn numbers(directory: &str) -> io::Result<Vec<u32>> {
    let names = fs::read_dir(directory)?.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    Ok(names.collect())
}

/// Why the files of a thread cannot be read. Without procfs, or with one that hides the processes of other users
/// (hidepid), a thread that runs looks like one that has ended; kill(2) distinguishes them.
fn gone_or_hidden(tid: u32, error: io::Error) -> io::Error {
    if error.kind() != io::ErrorKind::NotFound {
        return error;
    }
    let Ok(number) = libc::pid_t::try_from(tid) else { return error };
    // SAFETY: no pointers; signal 0 is none.
    let there = unsafe { libc::kill(number, 0) } == 0
        || io::Error::last_os_error().raw_os_error() != Some(libc::ESRCH);
    match there {
        true => {
            let why = format!(
                "process or thread {tid} is there, and /proc does not show it (hidepid, or not mounted)"
            );
            io::Error::new(io::ErrorKind::PermissionDenied, why)
        }
        false => error,
    }
}

fn invalid(why: impl ToString) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_seen_to_run_and_another_of_its_number_or_none_not_to() {
        let pid = std::process::id();
        let own = ProcessRef { pid, start_time_ticks: start_time(pid, pid).unwrap() };
        assert!(sees_alive(&own).unwrap() && is_alive(&own));
        let other = ProcessRef { start_time_ticks: own.start_time_ticks + 1, ..own };
        assert!(!sees_alive(&other).unwrap() && !is_alive(&other));
        assert!(!sees_alive(&ProcessRef { pid: i32::MAX as u32, ..own }).unwrap());
    }

    #[test]
    fn a_thread_that_runs_is_not_gone_when_its_file_is_not_found() {
        let error = || io::Error::from(io::ErrorKind::NotFound);
        assert_eq!(gone_or_hidden(std::process::id(), error()).kind(), io::ErrorKind::PermissionDenied);
        assert_eq!(gone_or_hidden(i32::MAX as u32, error()).kind(), io::ErrorKind::NotFound);
    }
}
