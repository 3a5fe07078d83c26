//! Runs a program for what it prints, within a time and up to a bound. No shell is between.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use change::exit_words;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::drive::answer::shown;

/// Standard output, and standard error, are not longer than this, bytes.
const LONGEST: usize = 1 << 20;
/// How often a program is looked at that has printed all and not ended yet.
const LOOK: Duration = Duration::from_millis(1);

/// What a program has printed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Printed {
    pub(super) stdout: String,
    pub(super) stderr: String,
}

/// Runs a program with its arguments in the C locale, in a process group of its own, which is killed where it takes longer than `within`
/// or prints too much. The error says why nothing came of it.
pub(super) fn ask(words: &[String], within: Duration) -> Result<Printed, String> {
    let [program, arguments @ ..] = words else { return Err("names no program".into()) };
    let until = Instant::now() + within;
    let mut command = Command::new(program);
    command.args(arguments).env("LC_ALL", "C").process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|why| format!("cannot be started: {why}"))?;
    let ended = heard(&mut child, until);
    if !matches!(ended, Ok((Some(_), _))) {
        end(&mut child);
    }
    match ended? {
        (None, _) => Err(format!("was still running after {} s and was ended", within.as_secs_f64())),
        (Some(status), printed) if status.success() => Ok(printed),
        (Some(status), printed) => {
            let last =
                printed.stderr.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it printed no error");
            Err(format!("{}; its last line: {}", exit_words(status), shown(last.as_bytes())))
        }
    }
}

/// Kills it with what it has started, and waits for it.
fn end(child: &mut Child) {
    // Nobody has waited for it: its number is no other's. Where it is gone already, nothing is to be done.
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
    let _ = child.wait();
}

/// What it prints until its end, and how it ended; no status where it still runs at that time.
fn heard(child: &mut Child, until: Instant) -> Result<(Option<ExitStatus>, Printed), String> {
    let stdout = child.stdout.take().map(OwnedFd::from);
    let stderr = child.stderr.take().map(OwnedFd::from);
    let mut pipes = [Pipe::of(stdout)?, Pipe::of(stderr)?];
    let mut is_late = false;
    while !is_late && pipes.iter().any(|pipe| pipe.file.is_some()) {
        is_late = !wait(&pipes, until)?;
        for pipe in &mut pipes {
            pipe.take()?;
        }
    }
    let [stdout, stderr] = pipes.map(|pipe| String::from_utf8_lossy(&pipe.bytes).into_owned());
    let printed = Printed { stdout, stderr };
    // Not waited for before it is killed: until then its number stays its own.
    if is_late {
        return Ok((None, printed));
    }
    loop {
        match child.try_wait().map_err(|why| why.to_string())? {
            None if Instant::now() < until => std::thread::sleep(LOOK),
            status => return Ok((status, printed)),
        }
    }
}

/// Waits until one of the pipes has something to read, or an end; false where the time is over before.
fn wait(pipes: &[Pipe], until: Instant) -> Result<bool, String> {
    let Some(left) = until.checked_duration_since(Instant::now()) else { return Ok(false) };
    let left = Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() };
    let files = pipes.iter().filter_map(|pipe| pipe.file.as_ref());
    let mut polled: Vec<PollFd<'_>> = files.map(|file| PollFd::new(file, PollFlags::IN)).collect();
    match poll(&mut polled, Some(&left)) {
        Ok(ready) => Ok(ready > 0),
        Err(rustix::io::Errno::INTR) => Ok(true),
        Err(why) => Err(why.to_string()),
    }
}

/// One of its outputs.
struct Pipe {
    /// None at its end.
    file: Option<File>,
    bytes: Vec<u8>,
}

impl Pipe {
    fn of(end: Option<OwnedFd>) -> Result<Self, String> {
        let end = end.ok_or("has no output")?;
        rustix::io::ioctl_fionbio(&end, true).map_err(|why| why.to_string())?;
        Ok(Self { file: Some(File::from(end)), bytes: Vec::new() })
    }

    /// Takes what is there. Fails where it is too much.
    fn take(&mut self) -> Result<(), String> {
        let mut piece = [0; 8192];
        while let Some(file) = &mut self.file {
            match file.read(&mut piece) {
                Ok(0) => self.file = None,
                Ok(n) if self.bytes.len() + n > LONGEST => {
                    return Err(format!("printed more than {} MiB and was ended", LONGEST >> 20));
                }
                Ok(n) => self.bytes.extend_from_slice(&piece[..n]),
                Err(why) if why.kind() == ErrorKind::Interrupted => {}
                Err(why) if why.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(why) => return Err(format!("gives an output that cannot be read: {why}")),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No test waits for so long.
    const AMPLE: Duration = Duration::from_secs(60);

    fn asked(script: &str, within: Duration) -> Result<Printed, String> {
        ask(&["sh", "-c", script].map(String::from), within)
    }

    #[test]
    fn both_outputs_are_read_to_their_ends() {
        let printed = asked("echo one; echo two >&2; echo $LC_ALL", AMPLE).unwrap();
        assert_eq!(printed, Printed { stdout: "one\nC\n".into(), stderr: "two\n".into() });
        // More than a pipe holds.
        let long = asked("head -c 300000 /dev/zero | tr '\\0' a", AMPLE).unwrap();
        assert_eq!(long.stdout.len(), 300_000);
        assert!(asked("exec >&- 2>&-; true", AMPLE).unwrap().stdout.is_empty());
    }

    #[test]
    fn no_shell_reads_the_words() {
        let words = ["echo", "$HOME;", "'a'"].map(String::from);
        assert_eq!(ask(&words, AMPLE).unwrap().stdout, "$HOME; 'a'\n");
    }

    #[test]
    fn what_fails_prints_too_much_or_does_not_end_is_named() {
        let failed = asked("echo no >&2; exit 3", AMPLE).unwrap_err();
        assert!(failed.contains('3') && failed.contains("its last line: no"), "{failed}");
        assert!(asked("exec yes", AMPLE).unwrap_err().contains("more than 1 MiB"));
        let late = Duration::from_millis(50);
        assert!(asked("exec sleep 600", late).unwrap_err().contains("after 0.05 s"));
        assert!(asked("sleep 600 & exit 0", late).unwrap_err().contains("after 0.05 s"), "it holds the pipe");
        assert!(asked("exec >&- 2>&-; sleep 600", late).unwrap_err().contains("after 0.05 s"));
        let absent = ask(&["/nowhere/tool".to_string()], AMPLE).unwrap_err();
        assert!(absent.contains("cannot be started"), "{absent}");
        assert!(ask(&[], AMPLE).unwrap_err().contains("no program"));
    }
}
