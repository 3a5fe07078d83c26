//! Programs of the system that make a change or have to notice one.

use std::io;
use std::process::{Command, Stdio};

use machine::program_path::{of_system, system_path};

/// A command for a program of the system's own, whatever PATH says. Its standard input is /dev/null. Starting one that is not installed
/// fails with `NotFound`.
pub fn command(program: &str) -> Command {
    let path = of_system(program).unwrap_or_else(|| format!("/usr/sbin/{program}").into());
    let mut command = Command::new(path);
    command.env("PATH", system_path()).stdin(Stdio::null());
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
