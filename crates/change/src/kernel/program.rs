//! The system's own programs that are told of a change or make one.

use std::io;
use std::process::{Command, Stdio};

/// Folders of the system's own programs.
const SYSTEM: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// One of them, found where su(1) and cron do not look, and with nothing to read.
pub fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    command.env("PATH", format!("{}:{SYSTEM}", std::env::var("PATH").unwrap_or_default()));
    command.stdin(Stdio::null());
    command
}

/// Runs one to its end; gives what it wrote to its standard output.
///
/// Errors: it cannot be started, or fails; with the last line of what it said.
pub fn run(program: &str, arguments: &[&str]) -> io::Result<String> {
    let done = command(program).args(arguments).output();
    let done = done.map_err(|e| io::Error::new(e.kind(), format!("{program} could not be started: {e}")))?;
    let said = String::from_utf8_lossy(&done.stderr);
    match done.status.success() {
        true => Ok(String::from_utf8_lossy(&done.stdout).into_owned()),
        false => {
            let why =
                said.lines().last().map_or_else(|| format!("it failed ({})", done.status), String::from);
            Err(io::Error::other(format!("{program}: {why}")))
        }
    }
}
