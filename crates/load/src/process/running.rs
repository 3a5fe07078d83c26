//! A load that runs: asked now and then whether it is done, ended when its time is over or nobody wants it any more.

use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use change::{Hand, Launch, Launched, Stdout};
use machine::{Class, Fault, ProcessRef};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::log_tail;
use super::stdout::{MOST_BYTES, Output};
use crate::clock::monotonic_ns;
use crate::drive::BEGAN;
use crate::outcome::Outcome;

const GRACE: Duration = Duration::from_secs(2);

/// What a load has left when it has ended.
pub(crate) struct Finished {
    /// Its command, in words of a shell.
    pub(crate) command: String,
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
    /// Whether it printed more there than is kept.
    pub(crate) is_cut: bool,
    /// Standard error.
    pub(crate) log: PathBuf,
    /// CLOCK_MONOTONIC ns.
    pub(crate) from_ns: u64,
    /// When its end was noticed.
    pub(crate) to_ns: u64,
}

impl Finished {
    /// Standard output as text, and where that is empty standard error.
    pub(crate) fn tail(&self) -> String {
        match self.stdout.iter().all(u8::is_ascii_whitespace) {
            true => log_tail::of_file(&self.log),
            false => log_tail::of_text(&String::from_utf8_lossy(&self.stdout)),
        }
    }

    /// # Errors
    /// It printed more on standard output than is kept: figures that stand at its end would be those of its middle.
    pub(crate) fn is_whole(&self) -> Result<(), Fault> {
        match self.is_cut {
            false => Ok(()),
            true => {
                let cause = format!(
                    "printed more than {} MiB on standard output, which is not read",
                    MOST_BYTES >> 20
                );
                let remedy = "let it print its figures alone";
                Err(Fault::new(Class::WorkloadFailed, self.named(), cause, remedy))
            }
        }
    }

    fn named(&self) -> String {
        format!("load '{}'", self.command)
    }

    /// A fault about this load, with what it printed last.
    pub(crate) fn fault(&self, cause: impl std::fmt::Display, remedy: impl Into<String>) -> Fault {
        let cause = format!("{cause}; {}", self.tail());
        Fault::new(Class::WorkloadFailed, self.named(), cause, remedy)
    }
}

type Reckoning<T> = Box<dyn FnOnce(Finished) -> Result<T, Fault> + Send>;

/// A load in a process of its own, and what comes of it. Dropping it ends it.
pub struct Running<T = Outcome> {
    launched: Launched,
    output: Output,
    command: String,
    log: PathBuf,
    from_ns: u64,
    until: Instant,
    timeout: Duration,
    reckoning: Option<Reckoning<T>>,
}

impl<T> Running<T> {
    /// Starts `launch` (its standard output is read here whatever it says), which must end within `timeout`;
    /// `reckoning` makes a `T` of what it leaves.
    pub(crate) fn start(
        hand: &mut Hand,
        launch: Launch,
        timeout: Duration,
        reckoning: impl FnOnce(Finished) -> Result<T, Fault> + Send + 'static,
    ) -> Result<Self, Fault> {
        let launch = Launch { stdout: Stdout::Piped, ..launch };
        let command = shell_words::join(&launch.argv);
        let from_ns = monotonic_ns();
        let mut launched = hand.launch(&launch)?;
        let pipe = launched.take_stdout().ok_or_else(|| {
            let remedy = machine::IS_A_BUG;
            Fault::new(
                Class::WorkloadFailed,
                format!("load '{command}'"),
                "it has no standard output",
                remedy,
            )
        })?;
        Ok(Self {
            launched,
            output: Output::of(pipe),
            command,
            log: launch.log,
            from_ns,
            until: Instant::now() + timeout,
            timeout,
            reckoning: Some(Box::new(reckoning)),
        })
    }

    /// The same, called by these words in faults instead of by those that it was launched with.
    pub(crate) fn called(self, words: &[String]) -> Self {
        Self { command: shell_words::join(words), ..self }
    }

    /// The outcome or fault once the load has ended, and only once; none while it runs. A load that does not end in
    /// time is ended here. Ask ten times a second or so.
    pub fn poll(&mut self) -> Option<Result<T, Fault>> {
        self.reckoning.as_ref()?;
        match self.launched.try_wait() {
            Ok(None) if Instant::now() < self.until => None,
            Ok(None) => Some(self.too_late()),
            Ok(Some(status)) => Some(self.finish(status)),
            Err(fault) => {
                self.reckoning = None;
                Some(Err(fault))
            }
        }
    }

    /// Waits until it has ended, for `at_most` so long. Ask [`poll`](Self::poll) then, whatever the reason.
    pub fn wait(&self, at_most: Duration) {
        let seconds = i64::try_from(at_most.as_secs()).unwrap_or(i64::MAX);
        let at_most_then = Timespec { tv_sec: seconds, tv_nsec: at_most.subsec_nanos().into() };
        // Its number is not given to another as long as nobody has waited for it, which only `poll` and `stop` do.
        let pid = i32::try_from(self.launched.process().pid).ok().and_then(Pid::from_raw);
        let ended = pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        let waited = ended.map(|ended| poll(&mut [PollFd::new(&ended, PollFlags::IN)], Some(&at_most_then)));
        if !matches!(waited, Some(Ok(_))) {
            std::thread::sleep(at_most);
        }
    }

    fn finish(&mut self, status: ExitStatus) -> Result<T, Fault> {
        let finished = self.finished(status);
        match self.reckoning.take() {
            Some(reckoning) => reckoning(finished),
            None => Err(finished.fault("it has ended before", "ask only once")),
        }
    }

    fn too_late(&mut self) -> Result<T, Fault> {
        self.reckoning = None;
        let ended = self.launched.stop(GRACE)?;
        let cause = format!("still ran after {} s and was ended", self.timeout.as_secs_f64());
        let remedy = "raise its timeout_s, or make its command end by itself (wrk -d, redis-benchmark -n)";
        Err(self.finished(ended.status.unwrap_or_default()).fault(cause, remedy))
    }

    fn finished(&mut self, status: ExitStatus) -> Finished {
        let to_ns = monotonic_ns();
        let printed = self.output.take();
        Finished {
            command: self.command.clone(),
            status,
            to_ns,
            stdout: printed.bytes,
            is_cut: printed.is_cut,
            log: self.log.clone(),
            from_ns: self.from_ns,
        }
    }

    /// When its first request was sent, CLOCK_MONOTONIC ns; `None` as long as it has not said so, and of a load that does not say.
    pub fn began_ns(&self) -> Option<u64> {
        self.output.first_line()?.strip_prefix(BEGAN)?.trim().parse().ok()
    }

    /// When its process was started, CLOCK_MONOTONIC ns.
    pub fn started_ns(&self) -> u64 {
        self.from_ns
    }

    /// Its first process.
    pub fn process(&self) -> ProcessRef {
        self.launched.process()
    }

    /// Ends it before its time: SIGTERM, and SIGKILL after two seconds. What it leaves beside its outcome is kept.
    pub fn stop(mut self) -> Result<(), Fault> {
        let ended = self.launched.stop(GRACE)?;
        // It is no outcome, whatever it says.
        let _ = self.finish(ended.status.unwrap_or_default());
        Ok(())
    }
}
