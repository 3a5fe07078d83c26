//! Exit statuses of processes, in words.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// `exited with code 1`, `killed by signal 9 (SIGKILL)`; with what the code usually means.
pub fn exit_words(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(0), _) => "exited with code 0".into(),
        (Some(126), _) => "exited with code 126 (a shell could not execute the program)".into(),
        (Some(127), _) => "exited with code 127 (a shell did not find the program)".into(),
        (Some(code), _) => format!("exited with code {code}"),
        (None, Some(signal)) => {
            let core = if status.core_dumped() { ", core dumped" } else { "" };
            format!("killed by signal {signal} ({}){core}", signal_name(signal))
        }
        (None, None) => "is stopped".into(),
    }
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        libc::SIGHUP => "SIGHUP",
        libc::SIGINT => "SIGINT",
        libc::SIGQUIT => "SIGQUIT",
        libc::SIGILL => "SIGILL",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGKILL => "SIGKILL: sent by pinwise, by another process, or by the OOM killer",
        libc::SIGUSR1 => "SIGUSR1",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGUSR2 => "SIGUSR2",
        libc::SIGPIPE => "SIGPIPE: nobody reads its output",
        libc::SIGALRM => "SIGALRM",
        libc::SIGTERM => "SIGTERM",
        libc::SIGSYS => "SIGSYS: a system call that is not allowed",
        libc::SIGXCPU => "SIGXCPU: over its CPU time limit",
        libc::SIGXFSZ => "SIGXFSZ: over its file size limit",
        _ => "see signal(7)",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_signals_are_distinguished() {
        let words = |raw| exit_words(ExitStatus::from_raw(raw));
        assert_eq!(words(0), "exited with code 0");
        assert_eq!(words(3 << 8), "exited with code 3");
        assert!(words(127 << 8).contains("did not find"));
        assert!(words(9).starts_with("killed by signal 9 (SIGKILL"));
        assert!(words(11 | 0x80).ends_with("core dumped"));
    }
}
