//! What a hang-up of the terminal does to a verb that takes its time.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test that cannot go on must fail")]

use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use machine::{Machine, Root};

/// The exit code of `pinwise ticks`, started with this disposition of SIGHUP and hung up on once it heeds signals.
fn hung_up(disposition: libc::sighandler_t) -> Option<i32> {
    let cpu = Machine::read(&Root::live()).usable().first().unwrap().to_string();
    let mut command = Command::new(env!("CARGO_BIN_EXE_pinwise"));
    command
        .args(["ticks", "--cpu", &cpu, "--for", "2s"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    // SAFETY: signal(2) is all that the child calls between fork and exec.
    unsafe {
        command.pre_exec(move || {
            libc::signal(libc::SIGHUP, disposition);
            Ok(())
        });
    }
    let mut child: Child = command.spawn().unwrap();
    let caught = |signal: i32| {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap().trim().to_string();
        u64::from_str_radix(&mask, 16).unwrap() & (1 << (signal - 1)) != 0
    };
    while !caught(libc::SIGTERM) {
        std::thread::sleep(Duration::from_millis(5));
    }
    // SIGHUP comes right after SIGTERM.
    std::thread::sleep(Duration::from_millis(200));
    // SAFETY: a signal to a child of ours that has not been waited for.
    assert_eq!(unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGHUP) }, 0);
    child.wait().unwrap().code()
}

#[test]
fn a_closed_terminal_ends_it_and_nohup_keeps_it() {
    assert_eq!(hung_up(libc::SIG_DFL), Some(130));
    assert_eq!(hung_up(libc::SIG_IGN), Some(0), "nohup(1) wants it to go on");
}
