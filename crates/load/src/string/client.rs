//! The load generator of the string load: one thread, one epoll, in a process of its own.
//!
//! Closed loop: each of k connections asks again as soon as it has its answer. Open loop: requests are due at times
//! that the server cannot influence; one that is late because all connections are busy waits and is counted from the
//! time at which it was *due* (no coordinated omission). Every answer is checked; every failure is counted by kind.
//!
//! What a request costs (2-CPU guest, server and client on a CPU each, 16 connections): the client 42-46 us with a
//! connection for each request, 97 % of it in the kernel's TCP, and about 20 us with kept ones; the server 22-25 us
//! beside its work. Hence [`DEFAULT_WORK_US`](super::work::DEFAULT_WORK_US): with less the client comes near its limit.

mod connection;
mod document;
mod recorder;
mod schedule;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use machine::{Class, Fault};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

pub use super::options::{ClientOptions, Spacing, StringLoad};
use super::{protocol, signals};
use crate::clock::{monotonic_ns, thread_cpu_ns};
pub use document::{Broken, Document};

use connection::{Connection, Exchange, Progress, State};
use recorder::{Failure, INTERVAL_NS, Recorder};
use schedule::Schedule;

/// Runs the load to its end, or until SIGTERM or SIGINT; the hidden verb `pinwise string-load`.
///
/// Fails only when it cannot begin (senseless options, no descriptors). What happens with the server is told in the
/// document.
pub fn run(options: &ClientOptions) -> Result<Document, Fault> {
    let signals = signals::terminate().map_err(|e| kernel_refused("signalfd", e))?;
    drive(options, Some(signals.as_fd()))
}

/// As [`run`], until `stop` becomes readable instead of on a signal.
pub fn drive(options: &ClientOptions, stop: Option<BorrowedFd<'_>>) -> Result<Document, Fault> {
    options.load.check()?;
    // Before the clock starts: precomputing the answers costs what the server's work costs.
    let exchanges = exchanges(&options.load);
    let mut client = Client::new(options, exchanges, stop).map_err(|e| kernel_refused("string load", e))?;
    let end = client.run().map_err(|e| kernel_refused("string load", e))?;
    Ok(client.document(end))
}

fn kernel_refused(object: &str, error: Errno) -> Fault {
    Fault::new(Class::WorkloadFailed, object, error, "check the limit of open files (ulimit -n)")
}

/// The lines to send in turn, each with its answer, so that checking costs the client a comparison.
fn exchanges(load: &StringLoad) -> Vec<Exchange> {
    let requests = match &load.request {
        Some(line) => vec![with_end(line)],
        None => (0..protocol::LINES).map(protocol::request).collect(),
    };
    requests
        .into_iter()
        .map(|request| {
            let expected = match (load.rounds, &load.expect) {
                (Some(rounds), _) => {
                    let mut answer = Vec::new();
                    protocol::answer(&request[..request.len() - 1], rounds, &mut answer);
                    Some(answer)
                }
                (None, Some(line)) => Some(with_end(line)),
                (None, None) => None,
            };
            Exchange { request, expected }
        })
        .collect()
}

fn with_end(line: &str) -> Vec<u8> {
    let mut bytes = line.as_bytes().to_vec();
    if bytes.last() != Some(&b'\n') {
        bytes.push(b'\n');
    }
    bytes
}

const TIMER: u64 = u64::MAX;
const STOP: u64 = u64::MAX - 1;

/// After a refusal a connection waits this long: a server that is gone is not hammered.
const PAUSE_NS: u64 = 10_000_000;

/// The run is given up after this long without a single success while requests fail.
const GIVE_UP_NS: u64 = 2_000_000_000;
/// The same when the server refuses connections: it is gone.
const GIVE_UP_REFUSED_NS: u64 = 500_000_000;
/// And not before this many failures.
const GIVE_UP_FAILURES: u64 = 3;

/// Why the loop ended.
#[derive(Debug, PartialEq)]
enum End {
    /// Its time is over, or all requests are finished.
    Done,
    Stopped,
    GaveUp,
}

struct Client<'a> {
    options: &'a ClientOptions,
    exchanges: Vec<Exchange>,
    epoll: OwnedFd,
    timer: OwnedFd,
    timer_set_for_ns: u64,
    connections: Vec<Connection>,
    /// Connections without a request, the longest free first out last.
    free: Vec<usize>,
    /// Connections that pause after a refusal, until when, in order of time.
    paused: std::collections::VecDeque<(u64, usize)>,
    schedule: Option<Schedule>,
    recorder: Recorder,
    next_exchange: usize,
    begun: u64,
    from_ns: u64,
    end_ns: u64,
    cpu_from_ns: u64,
    next_look_ns: u64,
    first_wrong: Option<(usize, Vec<u8>)>,
}

impl<'a> Client<'a> {
    fn new(
        options: &'a ClientOptions,
        exchanges: Vec<Exchange>,
        stop: Option<BorrowedFd<'_>>,
    ) -> Result<Self, Errno> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let timer =
            timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
        epoll::add(&epoll, &timer, EventData::new_u64(TIMER), EventFlags::IN)?;
        if let Some(stop) = stop {
            epoll::add(&epoll, stop, EventData::new_u64(STOP), EventFlags::IN)?;
        }
        let count = options.load.connections as usize;
        let connections = (0..count)
            .map(|i| Connection::new(options.server(), &epoll, i))
            .collect::<Result<Vec<_>, _>>()?;
        let from_ns = monotonic_ns();
        Ok(Self {
            options,
            exchanges,
            epoll,
            timer,
            timer_set_for_ns: 0,
            connections,
            free: (0..count).rev().collect(),
            paused: std::collections::VecDeque::new(),
            schedule: Schedule::of(&options.load, from_ns),
            recorder: Recorder::new(from_ns),
            next_exchange: 0,
            begun: 0,
            from_ns,
            end_ns: from_ns + (options.load.seconds * 1e9) as u64,
            cpu_from_ns: thread_cpu_ns(),
            next_look_ns: from_ns + INTERVAL_NS,
            first_wrong: None,
        })
    }

    fn run(&mut self) -> Result<End, Errno> {
        let mut events = Vec::with_capacity(64);
        loop {
            let now_ns = monotonic_ns();
            if now_ns >= self.end_ns || self.finished() {
                return Ok(End::Done);
            }
            if now_ns >= self.next_look_ns && self.look_around(now_ns)? {
                return Ok(End::GaveUp);
            }
            while self.paused.front().is_some_and(|(until_ns, _)| *until_ns <= now_ns) {
                self.free.extend(self.paused.pop_front().map(|(_, index)| index));
            }
            self.begin_due(now_ns)?;
            self.set_timer()?;
            events.clear();
            match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), None) {
                Err(Errno::INTR) => continue,
                other => other?,
            };
            for event in &events {
                match event.data.u64() {
                    TIMER => self.timer_set_for_ns = 0,
                    STOP => return Ok(End::Stopped),
                    index => self.turn(index as usize, event.flags)?,
                }
            }
        }
    }

    fn finished(&self) -> bool {
        let finished = self.recorder.completed() + self.recorder.failed();
        self.options.load.max_requests.is_some_and(|most| finished >= most)
    }

    fn may_begin(&self) -> bool {
        self.options.load.max_requests.is_none_or(|most| self.begun < most)
    }

    /// Begins what is due: in a closed loop a request on each free connection, in an open loop what the schedule says.
    fn begin_due(&mut self, now_ns: u64) -> Result<(), Errno> {
        while self.may_begin() && !self.free.is_empty() {
            let intended_ns = match &mut self.schedule {
                None => monotonic_ns(),
                Some(schedule) if schedule.next_due_ns() <= now_ns => {
                    let due_ns = schedule.next_due_ns();
                    schedule.step();
                    due_ns
                }
                Some(_) => break,
            };
            if let Some(index) = self.free.pop() {
                self.begin(index, intended_ns, now_ns)?;
            }
        }
        Ok(())
    }

    fn begin(&mut self, index: usize, intended_ns: u64, now_ns: u64) -> Result<(), Errno> {
        let connection = &mut self.connections[index];
        connection.intended_ns = intended_ns;
        connection.begun_ns = now_ns.max(intended_ns);
        connection.exchange = self.next_exchange;
        self.next_exchange = (self.next_exchange + 1) % self.exchanges.len();
        self.begun += 1;
        let exchange = &self.exchanges[connection.exchange];
        let progress = connection.begin(self.options.server(), exchange, &self.epoll, index);
        self.take(index, progress)
    }

    fn turn(&mut self, index: usize, flags: EventFlags) -> Result<(), Errno> {
        let connection = &mut self.connections[index];
        let exchange = &self.exchanges[connection.exchange];
        let progress = connection.turn(flags, exchange, &self.epoll, index);
        self.take(index, progress)
    }

    /// Books what came of a request, and makes its connection free.
    fn take(&mut self, index: usize, progress: Progress) -> Result<(), Errno> {
        match progress {
            Progress::Pending => Ok(()),
            Progress::Done => {
                let now_ns = monotonic_ns();
                let connection = &mut self.connections[index];
                self.recorder.done(now_ns, now_ns.saturating_sub(connection.intended_ns));
                if self.options.load.keep_alive {
                    connection.state = State::Connected;
                } else if !connection.hang_up() {
                    self.renew(index)?;
                }
                self.free.push(index);
                // A closed loop asks again at once, before the other events of this round are looked at.
                match self.schedule {
                    None => self.begin_due(now_ns),
                    Some(_) => Ok(()),
                }
            }
            Progress::Failed(failure, wrong) => {
                if let (None, Some(wrong)) = (&self.first_wrong, wrong) {
                    self.first_wrong = Some((self.connections[index].exchange, wrong));
                }
                self.fail(index, failure)
            }
        }
    }

    fn fail(&mut self, index: usize, failure: Failure) -> Result<(), Errno> {
        let now_ns = monotonic_ns();
        self.recorder.fail(now_ns, failure);
        self.renew(index)?;
        match failure {
            Failure::WrongAnswer | Failure::TimedOut => self.free.push(index),
            // The kernel or the server turned it away at once; it would do so again.
            _ => self.paused.push_back((now_ns + PAUSE_NS, index)),
        }
        Ok(())
    }

    /// A fresh socket in place of one whose state is not to be trusted.
    fn renew(&mut self, index: usize) -> Result<(), Errno> {
        self.connections[index] = Connection::new(self.options.server(), &self.epoll, index)?;
        Ok(())
    }

    /// Ten times a second: requests out of time, and whether to give up.
    fn look_around(&mut self, now_ns: u64) -> Result<bool, Errno> {
        self.next_look_ns = now_ns + INTERVAL_NS;
        self.recorder.advance(now_ns);
        let timeout_ns = (self.options.load.timeout_s * 1e9) as u64;
        for index in 0..self.connections.len() {
            let connection = &self.connections[index];
            let busy = matches!(connection.state, State::Connecting | State::Waiting);
            if busy && now_ns.saturating_sub(connection.begun_ns) > timeout_ns {
                self.fail(index, Failure::TimedOut)?;
            }
        }
        let without_success_ns = now_ns.saturating_sub(self.recorder.last_success_ns);
        let patience_ns = match self.recorder.failed_since.1 {
            Some(Failure::Refused) => GIVE_UP_REFUSED_NS,
            _ => GIVE_UP_NS,
        };
        Ok(self.recorder.failed_since.0 >= GIVE_UP_FAILURES && without_success_ns > patience_ns)
    }

    /// Wakes us at the next time that something is to be done; a timerfd, since epoll counts whole milliseconds.
    fn set_timer(&mut self) -> Result<(), Errno> {
        let mut at_ns = self.end_ns.min(self.next_look_ns);
        if let Some((until_ns, _)) = self.paused.front() {
            at_ns = at_ns.min(*until_ns);
        }
        if let Some(schedule) = &self.schedule
            && !self.free.is_empty()
            && self.may_begin()
        {
            at_ns = at_ns.min(schedule.next_due_ns());
        }
        if at_ns == self.timer_set_for_ns {
            return Ok(());
        }
        self.timer_set_for_ns = at_ns;
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        let at = Timespec { tv_sec: (at_ns / 1_000_000_000) as _, tv_nsec: (at_ns % 1_000_000_000) as _ };
        let spec = Itimerspec { it_interval: zero, it_value: at };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &spec).map(drop)
    }
}
