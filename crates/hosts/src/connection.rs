//! The controller's end of one agent.

use std::cell::Cell;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use load::monotonic_ns;
use machine::devices::path::PathEnd;
use machine::{Class, Fault};

use crate::agent::VERB;
use crate::agent_process::{AgentProcess, Heard};
use crate::clock::{Clock, RoundTrip};
use crate::host::HostSpec;
use crate::protocol::{Answer, Ask, Hello, Line, PROTOCOL, PartEnded, Reply, Request};
use crate::staging;
use crate::transport::Transport;
use crate::verb_seen::VerbSeen;

/// An agent that hears nothing for this long takes everything back: longer than a cut that TCP bridges unseen, short enough that a load
/// does not go on for long without anybody who wants it.
pub const SILENCE: Duration = Duration::from_secs(10);

/// An agent that has not answered for this long is lost.
const LOST_AFTER: Duration = Duration::from_secs(8);

/// The same while it reads or writes more than a few words: a large machine, or files.
const LOST_AT_WORK_AFTER: Duration = Duration::from_secs(60);

/// How often a clock is asked for beside everything else, which keeps the agent from taking silence for the end.
const HEARTBEAT: Duration = Duration::from_secs(2);

/// Round trips when a host is connected: the shortest of them bounds the error of the clock's offset.
const FIRST_ROUND_TRIPS: usize = 16;

/// How long an agent may take to end by itself.
const GRACE: Duration = Duration::from_secs(3);

/// The same while it has a verb take back what that changed.
const GRACE_OF_VERB: Duration = Duration::from_secs(25);

/// An agent that runs on another host. Dropping it ends the agent, which takes back what it changed.
#[derive(Debug)]
pub struct Connection {
    host: HostSpec,
    process: AgentProcess,
    hello: Hello,
    clock: Clock,
    next_id: u64,
    /// A clock that was asked for and has not come, with when.
    heartbeat: Option<(u64, u64)>,
    asked_at: Instant,
    heard_at: Instant,
    ended: Option<Vec<PartEnded>>,
    /// Of the verb that was run last.
    pub(crate) verb: VerbSeen,
    lost: Cell<bool>,
}

impl Connection {
    /// Copies `exe` to the host where it is not there yet, starts the agent, and compares the clocks.
    ///
    /// # Errors
    /// The host cannot be reached, cannot run this binary, or its agent speaks another protocol. The fault names the host, and has what
    /// ssh or srun printed.
    pub fn open(host: &HostSpec, exe: &Path, transport: &Transport) -> Result<Self, Fault> {
        host.check()?;
        let there = staging::stage(host, exe, transport)?;
        let process = AgentProcess::start(transport.command(host, &[&there, VERB])?, host)?;
        let mut connection = Self {
            host: host.clone(),
            process,
            // Until it has said who it is.
            hello: Hello::default(),
            clock: Clock::default(),
            next_id: 0,
            heartbeat: None,
            asked_at: Instant::now(),
            heard_at: Instant::now(),
            ended: None,
            verb: VerbSeen::default(),
            lost: Cell::new(false),
        };
        connection.greet()?;
        Ok(connection)
    }

    fn greet(&mut self) -> Result<(), Fault> {
        let hello = Ask::Hello { protocol: PROTOCOL, silence_s: SILENCE.as_secs_f64() };
        match self.ask(hello)? {
            Answer::Hello(hello) if hello.protocol == PROTOCOL => self.hello = hello,
            other => return Err(self.nonsense(&other)),
        }
        (0..FIRST_ROUND_TRIPS).try_for_each(|_| self.compare_clocks())
    }

    /// The host that it is.
    pub fn host(&self) -> &HostSpec {
        &self.host
    }

    /// Who answered.
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// How its clock stands to ours.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// The agent refuses, or is lost; the fault names the host.
    pub fn ask(&mut self, ask: Ask) -> Result<Answer, Fault> {
        let lost_after = patience(&ask);
        let id = self.send(ask)?;
        loop {
            match self.next(lost_after)? {
                Some(Line::Reply { id: of, result }) if of == id => return self.settled(result),
                Some(line) => self.take(line),
                None => return Err(self.lost(format!("has not answered for {} s", lost_after.as_secs()))),
            }
        }
    }

    /// The capture of the host, a tar.zst.
    ///
    /// # Errors
    /// The host is lost, cannot be read, or answers what is no capture.
    pub fn capture(&mut self) -> Result<Vec<u8>, Fault> {
        match self.ask(Ask::Capture)? {
            Answer::Capture { archive } => STANDARD.decode(archive).map_err(|error| {
                let object = format!("host {}: capture", self.host.name);
                Fault::new(Class::WorkloadFailed, object, error, "try again")
            }),
            other => Err(self.nonsense(&other)),
        }
    }

    /// How the host reaches `peer`, as far as it knows without sending anything.
    ///
    /// # Errors
    /// The host is lost.
    pub fn path(&mut self, peer: SocketAddr) -> Result<PathEnd, Fault> {
        match self.ask(Ask::Path { peer })? {
            Answer::Path(end) => Ok(end),
            other => Err(self.nonsense(&other)),
        }
    }

    /// One round trip for the clock.
    ///
    /// # Errors
    /// The agent is lost.
    pub(crate) fn compare_clocks(&mut self) -> Result<(), Fault> {
        let sent_ns = monotonic_ns();
        match self.ask(Ask::Clock)? {
            Answer::Clock { received_ns, sent_ns: replied_ns } => {
                self.clock.add(RoundTrip { sent_ns, received_ns, replied_ns, returned_ns: monotonic_ns() });
                Ok(())
            }
            other => Err(self.nonsense(&other)),
        }
    }

    /// Takes in what the agent has said, waits for more for `at_most` so long, and lets it hear something now and then.
    ///
    /// # Errors
    /// The agent is lost.
    pub fn attend(&mut self, at_most: Duration) -> Result<(), Fault> {
        if self.heartbeat.is_none() && self.asked_at.elapsed() > HEARTBEAT {
            let sent_ns = monotonic_ns();
            self.heartbeat = Some((self.send(Ask::Clock)?, sent_ns));
        }
        let mut wait = at_most;
        while let Some(line) = self.next(wait)? {
            self.take(line);
            wait = Duration::ZERO;
        }
        if self.heartbeat.is_some() && self.heard_at.elapsed() > LOST_AFTER {
            return Err(self.lost(format!("has not answered for {} s", LOST_AFTER.as_secs())));
        }
        Ok(())
    }

    /// What came of the load that was started last, once and when all its processes have ended.
    pub fn take_ended(&mut self) -> Option<Vec<PartEnded>> {
        self.ended.take()
    }

    /// Forgets the end of a load that was started earlier.
    pub fn forget_ended(&mut self) {
        self.ended = None;
    }

    fn send(&mut self, ask: Ask) -> Result<u64, Fault> {
        let id = self.next_id;
        self.next_id += 1;
        let sent = self.process.send(&Request { id, ask });
        self.asked_at = Instant::now();
        sent.map(|()| id).map_err(|error| self.lost(error))
    }

    /// The next line; `None` when none came in time.
    fn next(&mut self, at_most: Duration) -> Result<Option<Line>, Fault> {
        match self.process.hear(at_most) {
            None => Ok(None),
            Some(Heard::Line(line)) => {
                self.heard_at = Instant::now();
                Ok(Some(line))
            }
            Some(Heard::End(None)) => Err(self.lost("its agent has ended")),
            Some(Heard::End(Some(fault))) => {
                self.lost.set(true);
                Err(fault)
            }
        }
    }

    fn take(&mut self, line: Line) {
        match line {
            Line::Ended { parts } => self.ended = Some(parts),
            Line::Printed { text } => self.verb.printed.push(text),
            Line::VerbEnded(end) => self.verb.end = Some(end),
            Line::Reply { id, result } => {
                let Some((_, sent_ns)) = self.heartbeat.take_if(|(asked, _)| *asked == id) else { return };
                if let Reply::Done(Answer::Clock { received_ns, sent_ns: replied_ns }) = result {
                    let returned_ns = monotonic_ns();
                    self.clock.add(RoundTrip { sent_ns, received_ns, replied_ns, returned_ns });
                }
            }
        }
    }

    fn settled(&self, result: Reply) -> Result<Answer, Fault> {
        match result {
            Reply::Done(answer) => Ok(answer),
            Reply::Failed(failure) => Err(failure.on(&self.host.name)),
        }
    }

    pub(crate) fn nonsense(&self, answer: &Answer) -> Fault {
        let object = format!("host {}", self.host.name);
        let cause = format!("its agent answers what was not asked: {answer:?}");
        Fault::new(Class::WorkloadFailed, object, cause, machine::IS_A_BUG)
    }

    /// Whether it has failed for good, rather than refused something.
    pub fn is_lost(&self) -> bool {
        self.lost.get()
    }

    /// Whether the agent has ended, or ends soon, and says that nothing is left.
    pub fn ended_well(&mut self) -> bool {
        matches!(self.process.ended_within(GRACE), Ok(Some(status)) if status.success())
    }

    fn lost(&self, cause: impl std::fmt::Display) -> Fault {
        self.lost.set(true);
        let cause = match self.process.printed().as_str() {
            "" => cause.to_string(),
            printed => format!("{cause}\n{printed}"),
        };
        let remedy = match self.host.via {
            crate::Via::Ssh => format!("try: ssh {} true", self.host.destination()),
            crate::Via::Srun => format!("see: scontrol show node {}", self.host.name),
            crate::Via::Local => "see what it printed".into(),
        };
        Fault::new(Class::WorkloadFailed, format!("host {}", self.host.name), cause, remedy)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.process.end_within(if self.verb.runs && !self.is_lost() { GRACE_OF_VERB } else { GRACE });
    }
}

/// How long an answer may take.
fn patience(ask: &Ask) -> Duration {
    match ask {
        Ask::Capture | Ask::MakeFolder | Ask::RemoveFolder { .. } => LOST_AT_WORK_AFTER,
        Ask::Put { .. } | Ask::List { .. } | Ask::Read { .. } => LOST_AT_WORK_AFTER,
        _ => LOST_AFTER,
    }
}
