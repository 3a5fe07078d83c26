//! The agent: pinwise on another host, which does what a controller asks over standard streams (`pinwise agent`).
//!
//! It trusts its controller as a shell would: whoever can start it could start anything. It trusts nothing else, and leaves nothing
//! behind: see [`run`].

mod left_behind;
mod load_parts;
mod machine_facts;
mod run_folders;
#[cfg(test)]
mod tests;
mod verb_run;

use std::io::{BufRead, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use load::monotonic_ns;
use machine::{Class, Fault};

use self::load_parts::LoadParts;
use self::verb_run::VerbRun;
use crate::protocol::{Answer, Ask, Failure, Line, PROTOCOL, Reply, Request, RunVerb};
use crate::wire;

/// The verb of the binary that is the agent.
pub const VERB: &str = "agent";

/// How long an agent waits for the first line, and for others until the controller says otherwise.
const FIRST_SILENCE: Duration = Duration::from_secs(30);

/// The silences that a controller may ask for, s.
const SILENCES_S: std::ops::RangeInclusive<f64> = 1.0..=600.0;

/// How often a running load is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// How often a verb is: what it prints is for people, and what it measures is not to be disturbed.
const LOOK_AT_VERB_EVERY: Duration = Duration::from_millis(100);

/// How often an idle agent looks at the flag of signals.
const IDLE: Duration = Duration::from_millis(200);

/// What came in.
enum Heard {
    Request(Request),
    /// The input has ended, or is none of a controller's.
    End(Option<Fault>),
}

/// Answers requests of `input` on `output` until the controller says [`Ask::Bye`], the input ends, nothing is heard for as long as the
/// controller said, or `interrupted` is raised. However it ends, load and verb are ended and what was changed is taken back first.
/// A verb that runs gets the first interruption instead, as SIGINT; `interrupted` is lowered then.
///
/// # Errors
/// The input is no controller's; something could not be taken back, which the ledger of this host keeps for `pinwise undo`.
pub fn run(
    input: impl BufRead + Send + 'static,
    output: &mut dyn Write,
    interrupted: &AtomicBool,
) -> Result<(), Fault> {
    let heard = listen(input);
    let mut agent = Agent::new(FIRST_SILENCE);
    let ended = agent.serve(&heard, output, interrupted);
    drop(agent.verb.take());
    let left = agent.parts.take_back();
    match (ended, left.is_empty()) {
        (ended, true) => ended,
        (_, false) => Err(Fault::new(
            Class::No,
            "this host",
            format!("not everything could be undone: {}", left.join("; ")),
            "run 'pinwise undo' there",
        )),
    }
}

/// Reads on a thread of its own, which ends with its input or the process.
fn listen(mut input: impl BufRead + Send + 'static) -> Receiver<Heard> {
    let (send, heard) = mpsc::channel();
    std::thread::spawn(move || {
        loop {
            let (next, is_last) = match wire::receive(&mut input, "the controller") {
                Ok(Some(request)) => (Heard::Request(request), false),
                Ok(None) => (Heard::End(None), true),
                Err(fault) => (Heard::End(Some(fault)), true),
            };
            if send.send(next).is_err() || is_last {
                return;
            }
        }
    });
    heard
}

struct Agent {
    parts: LoadParts,
    verb: Option<VerbRun>,
    /// Whether that was interrupted by a signal to the agent.
    passed_on: bool,
    silence: Duration,
    heard_at: Instant,
    over: bool,
}

impl Agent {
    fn new(silence: Duration) -> Self {
        Self {
            parts: LoadParts::default(),
            verb: None,
            passed_on: false,
            silence,
            heard_at: Instant::now(),
            over: false,
        }
    }

    fn serve(
        &mut self,
        heard: &Receiver<Heard>,
        output: &mut dyn Write,
        interrupted: &AtomicBool,
    ) -> Result<(), Fault> {
        while !self.over {
            if self.is_interrupted(interrupted) || self.heard_at.elapsed() > self.silence {
                return Ok(());
            }
            let said = match heard.recv_timeout(self.look_every()) {
                Ok(Heard::Request(request)) => Some(self.answer(request, monotonic_ns())),
                Ok(Heard::End(None)) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Ok(Heard::End(Some(fault))) => return Err(fault),
                Err(RecvTimeoutError::Timeout) => None,
            };
            let answered = said.is_some();
            let ended = self.parts.poll().map(|parts| Line::Ended { parts });
            for line in said.into_iter().chain(ended).chain(self.of_verb()) {
                if wire::send(output, &line).is_err() {
                    // Nobody reads: the controller is gone.
                    return Ok(());
                }
            }
            if answered {
                // It waited for the answer, however long that took.
                self.heard_at = Instant::now();
            }
        }
        Ok(())
    }

    /// Whether a signal is to end the agent. The first is the verb's, where one runs.
    fn is_interrupted(&mut self, interrupted: &AtomicBool) -> bool {
        match &self.verb {
            Some(verb) if !self.passed_on => {
                if interrupted.swap(false, Ordering::Relaxed) {
                    verb.interrupt();
                    self.passed_on = true;
                }
                false
            }
            _ => interrupted.load(Ordering::Relaxed),
        }
    }

    fn look_every(&self) -> Duration {
        match (self.parts.is_running(), &self.verb) {
            (true, _) => self.parts.due_in().map_or(LOOK_EVERY, |due| due.min(LOOK_EVERY)),
            (false, Some(_)) => LOOK_AT_VERB_EVERY,
            (false, None) => IDLE,
        }
    }

    /// What the verb has printed since, and its end.
    fn of_verb(&mut self) -> Vec<Line> {
        let lines = self.verb.as_mut().map(VerbRun::poll).unwrap_or_default();
        if matches!(lines.last(), Some(Line::VerbEnded(_))) {
            (self.verb, self.passed_on) = (None, false);
        }
        lines
    }

    /// # Errors
    /// Another verb or a load runs; what the load changed cannot be taken back; the verb cannot be started.
    fn run_verb(&mut self, run: &RunVerb) -> Result<(), Fault> {
        if self.verb.is_some() || self.parts.is_running() {
            let what = if self.verb.is_some() { "another verb" } else { "a load" };
            let object = format!("pinwise {}", run.verb.word());
            let cause = format!("{what} runs through this agent");
            return Err(Fault::new(Class::No, object, cause, "wait for its end"));
        }
        // The lock of this host is the verb's then.
        let left = self.parts.take_back();
        if !left.is_empty() {
            let remedy = "run 'pinwise undo' there";
            return Err(Fault::new(Class::No, "this host", left.join("; "), remedy));
        }
        run_folders::open(&run.folder)?;
        self.verb = Some(VerbRun::start(&run_folders::exe()?, run)?);
        Ok(())
    }

    fn answer(&mut self, request: Request, received_ns: u64) -> Line {
        self.heard_at = Instant::now();
        let result = match self.done(request.ask, received_ns) {
            Ok(answer) => Reply::Done(answer),
            Err(fault) => Reply::Failed(Failure::from(&fault)),
        };
        Line::Reply { id: request.id, result }
    }

    fn done(&mut self, ask: Ask, received_ns: u64) -> Result<Answer, Fault> {
        Ok(match ask {
            Ask::Hello { protocol, silence_s } => {
                self.silence = silence_asked(protocol, silence_s)?;
                Answer::Hello(machine_facts::hello()?)
            }
            Ask::Clock => Answer::Clock { received_ns, sent_ns: monotonic_ns() },
            Ask::Capture => Answer::Capture { archive: machine_facts::capture()? },
            Ask::Path { peer } => Answer::Path(machine_facts::path(peer)),
            Ask::Prepare(prepare) => Answer::Prepared { cpus: self.parts.prepare(prepare)? },
            Ask::Start { at_ns } => {
                self.parts.start(at_ns)?;
                Answer::Started
            }
            Ask::Stop => {
                self.parts.stop();
                Answer::Stopped
            }
            Ask::MakeFolder => {
                let exe = run_folders::exe()?;
                let folder = run_folders::make(&exe)?.display().to_string();
                Answer::Folder { folder, exe: exe.display().to_string() }
            }
            Ask::Put { folder, name, content } => {
                run_folders::put(&folder, &name, &content)?;
                Answer::Added
            }
            Ask::Run(run) => {
                self.run_verb(&run)?;
                Answer::Runs
            }
            Ask::Interrupt => {
                self.verb.iter().for_each(VerbRun::interrupt);
                Answer::Interrupted
            }
            Ask::List { folder, name } => Answer::Listed { entries: run_folders::list(&folder, &name)? },
            Ask::Read { folder, name, pieces } => {
                Answer::Read { contents: run_folders::read(&folder, &name, &pieces)? }
            }
            Ask::RemoveFolder { folder } => {
                run_folders::remove(&folder)?;
                Answer::Removed
            }
            Ask::Undo => Answer::Undone { left: self.parts.take_back() },
            Ask::Bye => {
                self.over = true;
                drop(self.verb.take());
                Answer::Undone { left: self.parts.take_back() }
            }
        })
    }
}

/// # Errors
/// The controller speaks another protocol, or asks for a silence that makes no sense.
fn silence_asked(protocol: u32, silence_s: f64) -> Result<Duration, Fault> {
    if protocol != PROTOCOL {
        let cause = format!("the controller speaks protocol {protocol}, this pinwise {PROTOCOL}");
        let remedy = "remove the copy of pinwise on that host, so that it is copied again";
        return Err(Fault::new(Class::MachineLacks, "agent", cause, remedy));
    }
    if !SILENCES_S.contains(&silence_s) {
        let remedy = format!("choose {} to {} s", SILENCES_S.start(), SILENCES_S.end());
        return Err(Fault::new(Class::Usage, format!("silence of {silence_s} s"), "out of range", remedy));
    }
    Ok(Duration::from_secs_f64(silence_s))
}
