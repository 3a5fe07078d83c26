//! The system's own programs that are told of a change or make one.

use std::io;
use std::process::{Command, Stdio};

/// Folders of the system's own programs.
pub const SYSTEM: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// Runs one to its end; gives what it wrote to its standard output.
///
/// Errors: it cannot be started, or fails; with the last line of what it said.
pub fn run(program: &str, arguments: &[&str]) -> io::Result<String> {
    let mut command = Command::new(program);
    // Where su(1) and cron do not look.
    command.env("PATH", format!("{}:{SYSTEM}", std::env::var("PATH").unwrap_or_default()));
    let done = command.args(arguments).stdin(Stdio::null()).output();
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
