//! A verb of pinwise that runs on this host beside the agent, for a controller on another.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use machine::Fault;
use rustix::process::{Pid, Signal, getpid, getppid, kill_process, set_parent_process_death_signal};

use crate::child_end::end_within;
use crate::protocol::{Line, RunVerb, VerbEnd};

/// The most of standard output that is kept, bytes.
const MOST_OF_STDOUT: u64 = 4 << 20;

/// The most of one line of standard error, bytes. What is longer becomes several.
const LONGEST_LINE: u64 = 64 << 10;

/// How long a verb that is ended may take to take back what it changed.
const GRACE: Duration = Duration::from_secs(20);

/// How long a verb that has ended is waited for to be read to its end: a process that it left may keep its pipes open.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Most lines that are handed on at once.
const MOST_LINES: usize = 100_000;

/// A verb that runs. Dropping it ends it, once it has taken back what it changed.
pub(super) struct VerbRun {
    child: Child,
    lines: Receiver<String>,
    /// What it has printed, once that has ended.
    stdout: Receiver<String>,
    status: Option<ExitStatus>,
}

impl VerbRun {
    /// Starts the verb. If this thread dies, the verb gets SIGTERM.
    ///
    /// # Errors
    /// It cannot be started.
    pub(super) fn start(exe: &Path, run: &RunVerb) -> Result<Self, Fault> {
        let mut command = Command::new(exe);
        command.arg(run.verb.word()).args(&run.arguments).current_dir(&run.folder);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Signals of a terminal are for the agent, which hands them on.
        command.process_group(0);
        let agent = getpid();
        // SAFETY: between fork and exec only system calls are made.
        unsafe {
            command.pre_exec(move || {
                set_parent_process_death_signal(Some(Signal::TERM))?;
                // One that died before that call sends nothing.
                match getppid() == Some(agent) {
                    true => Ok(()),
                    false => Err(std::io::ErrorKind::BrokenPipe.into()),
                }
            });
        }
        let mut child = command.spawn().map_err(|error| {
            let object = format!("pinwise {} in {}", run.verb.word(), run.folder);
            Fault::io(object, &error, "see whether it can be started there")
        })?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        Ok(Self { child, lines: lines_of(stderr), stdout: start_of(stdout), status: None })
    }

    /// What it has printed since; its end, which is the last.
    pub(super) fn poll(&mut self) -> Vec<Line> {
        if self.status.is_none() {
            self.status = self.child.try_wait().ok().flatten();
        }
        let Some(status) = self.status else { return self.printed(Duration::ZERO) };
        let mut lines = self.printed(LAST_WORDS);
        let stdout = self.stdout.recv_timeout(LAST_WORDS).unwrap_or_default();
        lines.push(Line::VerbEnded(VerbEnd { exit_code: exit_code(status), stdout }));
        lines
    }

    /// The lines that are there; where there is time, all until the last.
    fn printed(&self, at_most: Duration) -> Vec<Line> {
        let until = Instant::now() + at_most;
        let next = || self.lines.recv_timeout(until.saturating_duration_since(Instant::now())).ok();
        std::iter::from_fn(next).take(MOST_LINES).map(|text| Line::Printed { text }).collect()
    }

    /// Asks it to end as Ctrl-C does.
    pub(super) fn interrupt(&self) {
        self.signal(Signal::INT);
    }

    fn signal(&self, signal: Signal) {
        // One that has been waited for may have given its number to another.
        if self.status.is_none()
            && let Some(process) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw)
        {
            let _ = kill_process(process, signal);
        }
    }
}

impl Drop for VerbRun {
    fn drop(&mut self) {
        if self.status.is_some() {
            return;
        }
        self.signal(Signal::TERM);
        // Its ledger has what it did not take back until then.
        end_within(&mut self.child, GRACE);
    }
}

/// As a shell has it.
fn exit_code(status: ExitStatus) -> i32 {
    status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(-1)
}

/// Reads lines on a thread of its own.
fn lines_of(stderr: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (send, lines) = mpsc::channel();
    if let Some(stderr) = stderr {
        std::thread::spawn(move || {
            let mut stderr = BufReader::new(stderr);
            let mut line = Vec::new();
            while let Ok(1..) = stderr.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line) {
                let text = String::from_utf8_lossy(&line).trim_end_matches('\n').to_string();
                if send.send(text).is_err() {
                    return;
                }
                line.clear();
            }
        });
    }
    lines
}

/// Reads all on a thread of its own, and keeps the first of it.
fn start_of(stdout: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (send, start) = mpsc::channel();
    if let Some(mut stdout) = stdout {
        std::thread::spawn(move || {
            let mut kept = Vec::new();
            let _ = stdout.by_ref().take(MOST_OF_STDOUT).read_to_end(&mut kept);
            // Whoever prints more must not wait for ever.
            let _ = std::io::copy(&mut stdout, &mut std::io::sink());
            let _ = send.send(String::from_utf8_lossy(&kept).into_owned());
        });
    }
    start
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Verb;

    /// A script in the place of pinwise.
    fn started(dir: &Path, script: &str) -> VerbRun {
        use std::os::unix::fs::PermissionsExt as _;
        let exe = dir.join("pinwise");
        std::fs::write(&exe, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&exe, std::fs::Permissions::from_mode(0o700)).unwrap();
        let folder = dir.display().to_string();
        let run = RunVerb { verb: Verb::Status, arguments: vec!["a b".into()], folder };
        // While another test forks, the script may still be open for writing there (ETXTBSY).
        loop {
            match VerbRun::start(&exe, &run) {
                Err(fault) if fault.errno() == Some(rustix::io::Errno::TXTBSY) => {}
                started => return started.unwrap(),
            }
        }
    }

    fn all(run: &mut VerbRun) -> Vec<Line> {
        let mut lines = Vec::new();
        while !matches!(lines.last(), Some(Line::VerbEnded(_))) {
            lines.extend(run.poll());
            std::thread::sleep(Duration::from_millis(5));
        }
        lines
    }

    #[test]
    fn its_lines_come_before_its_end() {
        let dir = tempfile::tempdir().unwrap();
        let mut run = started(dir.path(), "echo \"$@\"; echo one >&2; printf two >&2; pwd >&2; exit 7");
        let printed = |text: &str| Line::Printed { text: text.into() };
        let folder = dir.path().canonicalize().unwrap();
        let end = VerbEnd { exit_code: 7, stdout: "status a b\n".into() };
        let last = printed(&format!("two{}", folder.display()));
        assert_eq!(all(&mut run), [printed("one"), last, Line::VerbEnded(end)]);
    }

    /// A shell cannot catch what was to be ignored when it was started.
    fn interrupts_are_ignored() -> bool {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
        u64::from_str_radix(mask.trim(), 16).unwrap() & 2 != 0
    }

    #[test]
    fn it_is_interrupted_and_says_how_it_ended() {
        if interrupts_are_ignored() {
            return eprintln!("skipped: SIGINT is ignored here");
        }
        let dir = tempfile::tempdir().unwrap();
        let script = "trap 'echo back >&2; exit 130' INT; echo ready >&2; while :; do sleep 0.01; done";
        let mut run = started(dir.path(), script);
        while run.poll().is_empty() {
            std::thread::sleep(Duration::from_millis(5));
        }
        run.interrupt();
        let end = VerbEnd { exit_code: 130, stdout: String::new() };
        assert_eq!(all(&mut run), [Line::Printed { text: "back".into() }, Line::VerbEnded(end)]);
    }

    #[test]
    fn dropped_it_takes_back_first() {
        let dir = tempfile::tempdir().unwrap();
        let script = "trap 'echo back > back; exit' TERM; echo ready >&2; while :; do sleep 0.01; done";
        let mut run = started(dir.path(), script);
        while run.poll().is_empty() {
            std::thread::sleep(Duration::from_millis(5));
        }
        drop(run);
        assert_eq!(std::fs::read_to_string(dir.path().join("back")).unwrap(), "back\n");
    }

    #[test]
    fn one_that_was_killed_ends_with_its_signal() {
        let dir = tempfile::tempdir().unwrap();
        let mut run = started(dir.path(), "kill -KILL $$");
        let end = VerbEnd { exit_code: 137, stdout: String::new() };
        assert_eq!(all(&mut run), [Line::VerbEnded(end)]);
    }

    #[test]
    fn output_without_end_is_read_and_not_kept() {
        let dir = tempfile::tempdir().unwrap();
        let mut run = started(dir.path(), "head -c 5000000 /dev/zero | tr '\\0' x");
        let lines = all(&mut run);
        let [Line::VerbEnded(end)] = &lines[..] else { panic!("{} lines", lines.len()) };
        assert_eq!((end.exit_code, end.stdout.len() as u64), (0, MOST_OF_STDOUT));
    }
}
