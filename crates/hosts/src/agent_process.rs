//! The process through which an agent is heard: ssh, srun, or the agent itself where it runs on this host.

use std::collections::VecDeque;
use std::io::{self, BufReader, Read};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use machine::Fault;

use crate::child_end;
use crate::host::HostSpec;
use crate::protocol::{Line, Request};
use crate::wire;

/// The last of standard error that is kept, bytes.
const KEPT_OF_STDERR: usize = 2_000;

/// What came of its standard output.
pub(crate) enum Heard {
    Line(Line),
    /// It has ended, or is none of an agent's.
    End(Option<Fault>),
}

/// The process, with its standard streams.
#[derive(Debug)]
pub(crate) struct AgentProcess {
    child: Child,
    input: Option<ChildStdin>,
    heard: Receiver<Heard>,
    stderr: Arc<Mutex<VecDeque<u8>>>,
}

impl AgentProcess {
    /// Starts the command that reaches the agent of `host`.
    ///
    /// # Errors
    /// Its program cannot be started.
    pub(crate) fn start(mut command: Command, host: &HostSpec) -> Result<Self, Fault> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Ctrl-C is for the controller, which ends its agents in order; ssh would die of it at once.
        command.process_group(0);
        let mut child = command.spawn().map_err(|error| {
            let program = command.get_program().to_string_lossy().into_owned();
            Fault::io(
                format!("host {}: {program}", host.name),
                &error,
                "install it (openssh-client, slurm-client)",
            )
        })?;
        let input = child.stdin.take();
        let heard = listen(child.stdout.take(), format!("host {}", host.name));
        let stderr = child.stderr.take().map(last_of).unwrap_or_default();
        Ok(Self { child, input, heard, stderr })
    }

    /// Sends a request.
    ///
    /// # Errors
    /// It does not read any more, or its input was closed.
    pub(crate) fn send(&mut self, request: &Request) -> io::Result<()> {
        match &mut self.input {
            Some(input) => wire::send(input, request),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// What is heard next; none where nothing came in time.
    pub(crate) fn hear(&self, at_most: Duration) -> Option<Heard> {
        match self.heard.recv_timeout(at_most) {
            Ok(heard) => Some(heard),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Heard::End(None)),
        }
    }

    /// The last of what it has printed on standard error.
    pub(crate) fn printed(&self) -> String {
        let stderr = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        let printed: Vec<u8> = stderr.iter().copied().collect();
        String::from_utf8_lossy(&printed).trim().to_string()
    }

    /// Closes its input, which makes the agent take everything back and end; how it has ended, none where it still runs after `at_most`.
    ///
    /// # Errors
    /// Something else has waited for it.
    pub(crate) fn ended_within(&mut self, at_most: Duration) -> io::Result<Option<ExitStatus>> {
        drop(self.input.take());
        child_end::ended_within(&mut self.child, at_most)
    }

    /// Closes its input likewise, and kills it where it has not ended within `grace`.
    pub(crate) fn end_within(&mut self, grace: Duration) {
        drop(self.input.take());
        child_end::end_within(&mut self.child, grace);
    }
}

/// Reads lines on a thread of its own.
fn listen(stdout: Option<impl Read + Send + 'static>, name: String) -> Receiver<Heard> {
    let (send, heard) = mpsc::channel();
    if let Some(stdout) = stdout {
        std::thread::spawn(move || {
            let mut stdout = BufReader::new(stdout);
            loop {
                let (next, is_last) = match wire::receive(&mut stdout, &name) {
                    Ok(Some(line)) => (Heard::Line(line), false),
                    Ok(None) => (Heard::End(None), true),
                    Err(fault) => (Heard::End(Some(fault)), true),
                };
                if send.send(next).is_err() || is_last {
                    return;
                }
            }
        });
    }
    heard
}

/// Keeps the last of what is printed on standard error.
fn last_of(mut stderr: impl Read + Send + 'static) -> Arc<Mutex<VecDeque<u8>>> {
    let kept = Arc::new(Mutex::new(VecDeque::new()));
    let into = Arc::clone(&kept);
    std::thread::spawn(move || {
        let mut buffer = [0; 512];
        while let Ok(bytes @ 1..) = stderr.read(&mut buffer) {
            let mut kept = into.lock().unwrap_or_else(PoisonError::into_inner);
            kept.extend(&buffer[..bytes]);
            let beyond = kept.len().saturating_sub(KEPT_OF_STDERR);
            kept.drain(..beyond);
        }
    });
    kept
}
