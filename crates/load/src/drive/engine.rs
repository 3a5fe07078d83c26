//! One thread of a load: one epoll, its connections, and what is due on them.
//!
//! Closed loop: each lane of each connection asks again as soon as it has its answer. Open loop: requests are due at times that the
//! server cannot influence; one that is late because all lanes are busy waits and is counted from the time at which it was *due* (no
//! coordinated omission). Every answer is checked by the dialogue; every failure is counted by kind.

use std::collections::VecDeque;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

use super::connection::{Broken, Connection, Lane, Received, Request, State};
use super::dialogue::{Dialogue, News, Refusal};
use super::endpoint::Endpoint;
use super::pace::Pace;
use super::recorder::{Failure, INTERVAL_NS, Recorder};
use super::schedule::Schedule;
use crate::clock::{monotonic_ns, thread_cpu_ns};

const TIMER: u64 = u64::MAX;
const STOP: u64 = u64::MAX - 1;

/// What one reading takes at most, bytes.
const BUFFER_BYTES: usize = 256 << 10;

/// After a refusal a connection waits this long: a server that is gone is not hammered.
const PAUSE_NS: u64 = 10_000_000;

/// The run is given up after this long without a single success while requests fail.
const GIVE_UP_NS: u64 = 2_000_000_000;
/// The same when the server refuses connections: it is gone.
const GIVE_UP_REFUSED_NS: u64 = 500_000_000;
/// And not before this many failures.
const GIVE_UP_FAILURES: u64 = 3;

/// How long connections may take until they are ready for the first request.
const OPENING_NS: u64 = 10_000_000_000;

/// How long the server may take to end connections that said farewell.
const FAREWELL_NS: u64 = 200_000_000;

/// Why the loop ended.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum End {
    /// Its time is over, or all requests are finished.
    Done,
    Stopped,
    GaveUp,
    /// The first answer was an error.
    Refused(Refusal),
    /// It never began: the words say why.
    NeverReady(String),
}

fn never_ready(broken: Broken) -> End {
    End::NeverReady(match broken {
        Broken::Socket(failure) => failure.words(),
        Broken::Over(words) => words,
    })
}

/// One thread's loop.
pub(super) struct Engine<'a, D> {
    pace: &'a Pace,
    phase: f64,
    epoll: OwnedFd,
    timer: OwnedFd,
    timer_set_for_ns: u64,
    connections: Vec<Connection<D>>,
    /// Free lanes as (connection, lane), the last freed out first.
    free: Vec<(u32, u32)>,
    /// Connections that pause after a refusal, until when, in order of time.
    paused: VecDeque<(u64, u32)>,
    /// Connections with something to send.
    to_flush: Vec<u32>,
    schedule: Option<Schedule>,
    pub(super) recorder: Recorder,
    begun: u64,
    pub(super) from_ns: u64,
    end_ns: u64,
    cpu_from_ns: u64,
    next_look_ns: u64,
    /// A request has failed on which those after it rest.
    sequence_broken: bool,
    refused: Option<Refusal>,
    /// The first words about an answer that was wrong, and the last of a server that ended a connection.
    pub(super) first_wrong: Option<String>,
    pub(super) last_over: Option<String>,
    /// Used again and again.
    buffer: Vec<u8>,
    news: Vec<News>,
    events: Vec<Event>,
}

/// What is left when the loop has ended.
pub(super) struct Left {
    pub(super) to_ns: u64,
    /// CPU time of the thread since the clock started, ns.
    pub(super) cpu_ns: u64,
    /// Requests that were begun and not ended.
    pub(super) in_flight: u64,
    /// Requests of an open loop that were due and never begun, and for how long the first of them was due, ns.
    pub(super) never_begun: u64,
    pub(super) late_ns: u64,
}

impl<'a, D: Dialogue> Engine<'a, D> {
    pub(super) fn new(
        pace: &'a Pace,
        phase: f64,
        server: Endpoint,
        dialogue: impl Fn(u32) -> D,
        stop: Option<BorrowedFd<'_>>,
    ) -> Result<Self, Errno> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let timer =
            timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
        epoll::add(&epoll, &timer, EventData::new_u64(TIMER), EventFlags::IN)?;
        if let Some(stop) = stop {
            epoll::add(&epoll, stop, EventData::new_u64(STOP), EventFlags::IN)?;
        }
        let connections = (0..pace.connections)
            .map(|index| Connection::new(server, &epoll, index as usize, dialogue(index)))
            .collect::<Result<Vec<_>, _>>()?;
        let lanes =
            |index: u32| (0..connections[index as usize].lanes.len() as u32).map(move |lane| (index, lane));
        // The first connection's first lane comes out first.
        let mut free: Vec<(u32, u32)> = (0..pace.connections).flat_map(lanes).collect();
        free.reverse();
        Ok(Self {
            pace,
            phase,
            epoll,
            timer,
            timer_set_for_ns: 0,
            connections,
            free,
            paused: VecDeque::new(),
            to_flush: Vec::new(),
            schedule: None,
            recorder: Recorder::new(0),
            begun: 0,
            from_ns: 0,
            end_ns: 0,
            cpu_from_ns: 0,
            next_look_ns: 0,
            sequence_broken: false,
            refused: None,
            first_wrong: None,
            last_over: None,
            buffer: vec![0; BUFFER_BYTES],
            news: Vec::new(),
            events: Vec::with_capacity(64),
        })
    }

    /// Makes the connections where they are kept and something has to be said before the first request: what that takes is no part of
    /// the run.
    pub(super) fn open(&mut self) -> Result<Option<End>, Errno> {
        if !self.pace.keep_alive {
            return Ok(None);
        }
        for index in 0..self.connections.len() {
            if self.connections[index].opens_in_silence() {
                return Ok(None);
            }
            let epoll = &self.epoll;
            let connection = &mut self.connections[index];
            if let Err(broken) = connection.open().and_then(|()| connection.flush(epoll)) {
                return Ok(Some(never_ready(broken)));
            }
        }
        let until_ns = monotonic_ns() + OPENING_NS;
        while self.connections.iter().any(|connection| connection.state != State::Ready) {
            self.set_timer(until_ns)?;
            let events = self.wait()?;
            for event in &events {
                match event.data.u64() {
                    TIMER => return Ok(Some(End::NeverReady(self.still_opening()))),
                    STOP => return Ok(Some(End::Stopped)),
                    index => {
                        if let Err(broken) = self.turn(index as u32, event.flags)? {
                            return Ok(Some(never_ready(broken)));
                        }
                    }
                }
            }
            self.events = events;
            self.flush_all()?;
        }
        Ok(None)
    }

    fn still_opening(&self) -> String {
        let not = self.connections.iter().filter(|connection| connection.state != State::Ready).count();
        format!(
            "{not} of {} connections were not ready after {} s",
            self.connections.len(),
            OPENING_NS / 1_000_000_000
        )
    }

    /// Runs from `from_ns` on until the end.
    pub(super) fn run(&mut self, from_ns: u64) -> Result<End, Errno> {
        self.from_ns = from_ns;
        self.end_ns = from_ns + (self.pace.seconds * 1e9) as u64;
        self.schedule = Schedule::of(self.pace, from_ns, self.phase);
        self.recorder = Recorder::new(from_ns);
        self.cpu_from_ns = thread_cpu_ns();
        self.next_look_ns = from_ns + INTERVAL_NS;
        loop {
            let now_ns = monotonic_ns();
            if let Some(refusal) = self.refused.take() {
                return Ok(End::Refused(refusal));
            }
            if now_ns >= self.end_ns || self.finished() && !self.sequence_broken {
                return Ok(End::Done);
            }
            if now_ns >= self.next_look_ns && self.look_around(now_ns)? || self.sequence_broken {
                return Ok(End::GaveUp);
            }
            self.go_on_after_pauses(now_ns);
            self.begin_due(now_ns)?;
            self.flush_all()?;
            self.set_timer(self.next_ns())?;
            let events = self.wait()?;
            for event in &events {
                match event.data.u64() {
                    TIMER => self.timer_set_for_ns = 0,
                    STOP => return Ok(End::Stopped),
                    index => self.go_on(index as u32, event.flags)?,
                }
            }
            self.events = events;
        }
    }

    fn go_on(&mut self, index: u32, flags: EventFlags) -> Result<(), Errno> {
        if let Err(broken) = self.turn(index, flags)? {
            self.fail_connection(index, broken)?;
        }
        // A closed loop asks again at once, before the other events of this round are looked at.
        if self.schedule.is_none() {
            self.begin_due(monotonic_ns())?;
        }
        self.flush_all()
    }

    /// What has happened; to be given back as [`Engine::events`], so that it is made once.
    fn wait(&mut self) -> Result<Vec<Event>, Errno> {
        let mut events = std::mem::take(&mut self.events);
        events.clear();
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), None) {
            Ok(_) | Err(Errno::INTR) => Ok(events),
            Err(error) => Err(error),
        }
    }

    /// What the server answered first, on the first connection that has an answer to show.
    pub(super) fn first_answer(&self) -> Option<String> {
        self.connections.iter().find_map(|connection| connection.dialogue.first_answer()).map(String::from)
    }

    fn finished(&self) -> bool {
        let finished = self.recorder.completed() + self.recorder.failed();
        self.pace.max_requests.is_some_and(|most| finished >= most)
    }

    fn may_begin(&self) -> bool {
        self.pace.max_requests.is_none_or(|most| self.begun < most)
    }

    /// Begins what is due: in a closed loop a request on each free lane, in an open loop what the schedule says.
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
            if let Some((index, lane)) = self.free.pop() {
                self.begin(index, lane, intended_ns, now_ns)?;
            }
        }
        Ok(())
    }

    fn begin(&mut self, index: u32, lane: u32, intended_ns: u64, now_ns: u64) -> Result<(), Errno> {
        let request = Request { intended_ns, begun_ns: now_ns.max(intended_ns), number: self.begun };
        self.begun += 1;
        match self.connections[index as usize].begin(lane, request) {
            Ok(()) => {
                self.note_to_flush(index);
                Ok(())
            }
            Err(broken) => self.fail_connection(index, broken),
        }
    }

    fn note_to_flush(&mut self, index: u32) {
        // Lanes of one connection come one after the other.
        if self.to_flush.last() != Some(&index) {
            self.to_flush.push(index);
        }
    }

    /// Sends what was asked since: all requests of a connection in one go.
    fn flush_all(&mut self) -> Result<(), Errno> {
        while let Some(index) = self.to_flush.pop() {
            if let Err(broken) = self.connections[index as usize].flush(&self.epoll) {
                self.fail_connection(index, broken)?;
            }
        }
        Ok(())
    }

    /// Takes an event of a connection; the inner error says that it is no use any more.
    fn turn(&mut self, index: u32, flags: EventFlags) -> Result<Result<(), Broken>, Errno> {
        let connection = &mut self.connections[index as usize];
        if connection.state == State::Unconnected {
            return Ok(Ok(()));
        }
        if let Err(broken) = connection.flush(&self.epoll) {
            return Ok(Err(broken));
        }
        if flags == EventFlags::OUT {
            return Ok(Ok(()));
        }
        let hung_up = flags.intersects(EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR);
        loop {
            let received = self.connections[index as usize].receive(&mut self.buffer, &mut self.news);
            if let Some(broken) = self.take_news(index)? {
                return Ok(Err(broken));
            }
            let connection = &mut self.connections[index as usize];
            match received {
                // What was hung up or made anew has nothing more of this connection.
                _ if connection.state == State::Unconnected => return Ok(Ok(())),
                Ok(Received::All) => {}
                // The last words of one that hangs up are followed by its end.
                Ok(Received::Some) if hung_up => {}
                Ok(Received::Some | Received::Nothing) => return Ok(Ok(())),
                Err(_) if !connection.is_busy() && connection.state == State::Ready => {
                    // The server ended a kept connection between two requests, as it may.
                    connection.hang_up();
                    return Ok(Ok(()));
                }
                Err(broken) => return Ok(Err(broken)),
            }
        }
    }

    /// Books what has come; what it gives says that the connection is over.
    fn take_news(&mut self, index: u32) -> Result<Option<Broken>, Errno> {
        let now_ns = monotonic_ns();
        let mut news = std::mem::take(&mut self.news);
        let mut over = None;
        for item in news.drain(..) {
            match item {
                News::Ready => {
                    let connection = &mut self.connections[index as usize];
                    connection.state = State::Ready;
                    connection.ask_what_is_due();
                }
                News::Answered(lane) => self.answered(index, lane, now_ns)?,
                News::Wrong(lane, words) => {
                    self.first_wrong.get_or_insert(words);
                    self.give_up(index, lane, Failure::WrongAnswer, now_ns)?;
                }
                News::Refused(refusal) => {
                    self.refused.get_or_insert(refusal);
                    self.give_up(index, 0, Failure::WrongAnswer, now_ns)?;
                }
                News::Over(words) => over = Some(Broken::Over(words)),
            }
        }
        self.news = news;
        self.note_to_flush(index);
        Ok(over)
    }

    fn answered(&mut self, index: u32, lane: u32, now_ns: u64) -> Result<(), Errno> {
        let connection = &mut self.connections[index as usize];
        match connection.lanes.get_mut(lane as usize) {
            Some(state @ Lane::Asked(_)) => {
                let request = state.request();
                let intended_ns = request.map_or(now_ns, |request| request.intended_ns);
                *state = Lane::Free;
                self.recorder.done(now_ns, now_ns.saturating_sub(intended_ns));
                let number = request.map_or(0, |request| request.number);
                if let Some(what) = connection.dialogue.operation(number) {
                    self.recorder.operation(number, what, (intended_ns, now_ns));
                }
            }
            // The late answer of a request that was given up, or of none.
            _ => return Ok(()),
        }
        let to_keep = self.pace.keep_alive && connection.dialogue.goes_on();
        if !to_keep && !connection.is_busy() && !connection.hang_up() {
            connection.renew(&self.epoll)?;
        }
        self.free.push((index, lane));
        Ok(())
    }

    /// Counts the request of a lane as failed, or what came for a lane without one. What still comes for it could be taken for the answer of
    /// another request: a connection with one lane is made anew, and of several the others go on.
    fn give_up(&mut self, index: u32, lane: u32, failure: Failure, now_ns: u64) -> Result<(), Errno> {
        self.recorder.fail(now_ns, failure);
        self.note_broken_sequence(index);
        let connection = &mut self.connections[index as usize];
        let was_out = connection.lanes[lane as usize].request().is_some();
        if connection.lanes.len() == 1 {
            connection.renew(&self.epoll)?;
            // A lane without a request is among the free ones already.
            self.free.extend(was_out.then_some((index, lane)));
        } else if was_out {
            connection.lanes[lane as usize] = Lane::Lost;
        }
        Ok(())
    }

    /// Counts every request that is out on the connection as failed, and makes it anew.
    fn fail_connection(&mut self, index: u32, broken: Broken) -> Result<(), Errno> {
        let now_ns = monotonic_ns();
        let failure = match broken {
            Broken::Socket(failure) => failure,
            Broken::Over(words) => {
                self.last_over = Some(words);
                Failure::Over
            }
        };
        let connection = &mut self.connections[index as usize];
        let out = connection.lanes.iter().filter(|lane| lane.request().is_some()).count();
        // One that ends while nothing is asked is a failure too: messages may be lost on it.
        for _ in 0..out.max(1) {
            self.recorder.fail(now_ns, failure);
        }
        connection.renew(&self.epoll)?;
        self.note_broken_sequence(index);
        // The kernel or the server turned it away at once; it would do so again.
        self.free.retain(|(of, _)| *of != index);
        self.paused.push_back((now_ns + PAUSE_NS, index));
        Ok(())
    }

    fn note_broken_sequence(&mut self, index: u32) {
        self.sequence_broken |= self.connections[index as usize].dialogue.operation(0).is_some();
    }

    fn go_on_after_pauses(&mut self, now_ns: u64) {
        while self.paused.front().is_some_and(|(until_ns, _)| *until_ns <= now_ns) {
            if let Some((_, index)) = self.paused.pop_front() {
                let lanes = self.connections[index as usize].lanes.len() as u32;
                self.free.extend((0..lanes).rev().map(|lane| (index, lane)));
            }
        }
    }

    /// Ten times a second: requests out of time, and whether to give up.
    fn look_around(&mut self, now_ns: u64) -> Result<bool, Errno> {
        self.next_look_ns = now_ns + INTERVAL_NS;
        self.recorder.advance(now_ns);
        let timeout_ns = (self.pace.timeout_s * 1e9) as u64;
        for index in 0..self.connections.len() {
            for lane in 0..self.connections[index].lanes.len() {
                let request = self.connections[index].lanes[lane].request();
                if request.is_some_and(|request| now_ns.saturating_sub(request.begun_ns) > timeout_ns) {
                    self.give_up(index as u32, lane as u32, Failure::TimedOut, now_ns)?;
                }
            }
        }
        let without_success_ns = now_ns.saturating_sub(self.recorder.last_success_ns);
        let patience_ns = match self.recorder.failed_since.1 {
            Some(Failure::Refused) => GIVE_UP_REFUSED_NS,
            _ => GIVE_UP_NS,
        };
        Ok(self.recorder.failed_since.0 >= GIVE_UP_FAILURES && without_success_ns > patience_ns)
    }

    /// When something is to be done next.
    fn next_ns(&self) -> u64 {
        let mut at_ns = self.end_ns.min(self.next_look_ns);
        if let Some((until_ns, _)) = self.paused.front() {
            at_ns = at_ns.min(*until_ns);
        }
        match &self.schedule {
            Some(schedule) if !self.free.is_empty() && self.may_begin() => at_ns.min(schedule.next_due_ns()),
            _ => at_ns,
        }
    }

    /// Wakes us then; a timerfd, since epoll counts whole milliseconds.
    fn set_timer(&mut self, at_ns: u64) -> Result<(), Errno> {
        if at_ns == self.timer_set_for_ns {
            return Ok(());
        }
        self.timer_set_for_ns = at_ns;
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        let at = Timespec { tv_sec: (at_ns / 1_000_000_000) as _, tv_nsec: (at_ns % 1_000_000_000) as _ };
        let spec = Itimerspec { it_interval: zero, it_value: at };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &spec).map(drop)
    }

    /// What is left at the end; says farewell to the server.
    pub(super) fn leave(&mut self) -> Left {
        let to_ns = monotonic_ns();
        if self.from_ns == 0 {
            // It never ran.
            (self.from_ns, self.cpu_from_ns, self.recorder) = (to_ns, thread_cpu_ns(), Recorder::new(to_ns));
        }
        let cpu_ns = thread_cpu_ns().saturating_sub(self.cpu_from_ns);
        let in_flight = self.connections.iter().flat_map(|connection| &connection.lanes);
        let in_flight = in_flight.filter(|lane| lane.request().is_some()).count() as u64;
        let until_ns = to_ns.min(self.end_ns);
        let (never_begun, late_ns) = match (self.pace.max_requests, self.schedule.take()) {
            (None, Some(schedule)) => {
                let late_ns = until_ns.saturating_sub(schedule.next_due_ns());
                (schedule.left_until(until_ns), late_ns)
            }
            _ => (0, 0),
        };
        self.say_farewell();
        Left { to_ns, cpu_ns, in_flight, never_begun, late_ns }
    }

    /// A server that is left without a word logs errors, and may keep what belonged to the connection for a while.
    fn say_farewell(&mut self) {
        let epoll = &self.epoll;
        let mut ending: Vec<&mut Connection<D>> = self
            .connections
            .iter_mut()
            .filter_map(|connection| connection.close(epoll).then_some(connection))
            .collect();
        let until_ns = monotonic_ns() + FAREWELL_NS;
        while !ending.is_empty() && monotonic_ns() < until_ns {
            ending.retain_mut(|connection| !connection.has_ended(&mut self.buffer));
            if !ending.is_empty() {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
        }
    }
}
