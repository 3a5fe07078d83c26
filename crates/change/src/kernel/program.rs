//! Programs of the system that make a change or have to notice one.

use std::io;
use std::process::{Command, Stdio};

/// Folders of the system's own programs.
const SYSTEM: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// A command for a program that is also found in the sbin directories, which are not in every PATH (su(1), cron(8)). Its
/// standard input is /dev/null.
pub fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    command.env("PATH", format!("{}:{SYSTEM}", std::env::var("PATH").unwrap_or_default()));
    command.stdin(Stdio::null());
    command
}

/// Runs a program to its end and returns its standard output.
///
/// # Errors
/// It cannot be started; it fails (with the last line of its standard error).
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
