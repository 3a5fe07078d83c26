//! A port of this machine that leads to a server in a guest. It is opened when somebody in the guest listens there, and not before: who
//! waits for the port waits for the server.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use machine::{Class, Fault};

use crate::qemu;

/// How long QEMU's monitor may take to answer.
const LATEST: Duration = Duration::from_secs(10);

/// What the monitor prints when it waits for the next command.
const PROMPT: &str = "(qemu) ";

/// Where QEMU's monitor listens.
pub(crate) fn monitor(folder: &Path) -> PathBuf {
    folder.join("monitor")
}

/// Has QEMU take connections to `port` of the loopback address here, and hand them to the same port of the guest's first card.
///
/// # Errors
/// The port is taken here, or QEMU does not answer.
pub(super) fn open(folder: &Path, port: u16) -> Result<(), Fault> {
    let failed = |cause: String| {
        let remedy = "choose a port that nobody has here";
        Fault::new(Class::WorkloadFailed, format!("port {port} of 127.0.0.1"), cause, remedy)
    };
    let command =
        format!("hostfwd_add {} tcp:127.0.0.1:{port}-{}:{port}\n", qemu::FIRST_CARD, qemu::FIRST_ADDRESS);
    let answer = ask(&monitor(folder), &command)
        .map_err(|why| failed(format!("QEMU's monitor does not answer: {why}")))?;
    match refusal(&answer) {
        None => Ok(()),
        Some(why) => Err(failed(format!("QEMU cannot forward it: {why}"))),
    }
}

/// Gives a command to the monitor; what it printed for it.
fn ask(monitor: &Path, command: &str) -> io::Result<String> {
    let mut stream = UnixStream::connect(monitor)?;
    stream.set_read_timeout(Some(LATEST))?;
    let until = Instant::now() + LATEST;
    until_prompt(&mut stream, until)?;
    stream.write_all(command.as_bytes())?;
    until_prompt(&mut stream, until)
}

fn until_prompt(stream: &mut UnixStream, until: Instant) -> io::Result<String> {
    let mut heard = Vec::new();
    let mut buffer = [0; 4096];
    while !heard.ends_with(PROMPT.as_bytes()) {
        let bytes = stream.read(&mut buffer)?;
        if bytes == 0 || Instant::now() > until {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "no prompt"));
        }
        heard.extend_from_slice(&buffer[..bytes]);
    }
    Ok(String::from_utf8_lossy(&heard).into_owned())
}

/// What the monitor says against a command. It gives the command back first, a character and its way to the cursor at a time, on a line
/// of its own; nothing else is printed where all went well.
fn refusal(answer: &str) -> Option<String> {
    let lines: Vec<&str> = answer.lines().skip(1).map(str::trim).collect();
    let said = lines.join(" ");
    let said = said.trim_end_matches(PROMPT.trim_end()).trim();
    (!said.is_empty()).then(|| said.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_monitor_that_says_nothing_has_done_it() {
        let echo = "h\u{1b}[K\u{1b}[Dho\u{1b}[K\r\n";
        assert_eq!(refusal(&format!("{echo}(qemu) ")), None);
        let answer = format!("{echo}could not set up host forwarding rule 'tcp:127.0.0.1:80-:80'\r\n(qemu) ");
        assert!(refusal(&answer).unwrap().starts_with("could not set up"));
    }
}
