//! One connection of the load: a socket, what is to be sent, what has come, and the lanes of its dialogue.

use std::os::fd::OwnedFd;

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{self, RecvFlags, SendFlags, Shutdown};

use super::dialogue::{Dialogue, News};
use super::endpoint::Endpoint;
use super::recorder::Failure;

/// An answer longer than this is none, bytes.
const LONGEST_ANSWER_BYTES: usize = 64 << 20;

/// How far a connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// No connection, and nothing asked.
    Unconnected,
    /// The connection is being made, or what comes before the first request is not yet answered.
    Opening,
    /// Requests may be asked.
    Ready,
}

/// How far a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lane {
    /// There is none.
    Free,
    /// It is to be asked as soon as the connection is ready.
    Due(Request),
    /// It is asked, and not answered.
    Asked(Request),
    /// Its request was given up; what still comes cannot be distinguished from the answer of another one.
    Lost,
}

/// A request's times, CLOCK_MONOTONIC ns, and its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Request {
    /// When it was meant to go out.
    pub(super) intended_ns: u64,
    /// When it was begun in fact.
    pub(super) begun_ns: u64,
    pub(super) number: u64,
}

impl Lane {
    /// The request that is begun and not ended.
    pub(super) fn request(&self) -> Option<Request> {
        match self {
            Self::Due(request) | Self::Asked(request) => Some(*request),
            Self::Free | Self::Lost => None,
        }
    }
}

/// Why a connection is no use any more.
#[derive(Debug)]
pub(super) enum Broken {
    /// By a failure of the socket, which every request that is out shares.
    Socket(Failure),
    /// The dialogue says so.
    Over(String),
}

impl From<Errno> for Broken {
    fn from(error: Errno) -> Self {
        Self::Socket(Failure::of(error))
    }
}

/// What one reading brought.
pub(super) enum Received {
    /// As much as there was room for: there may be more.
    All,
    /// Less than that.
    Some,
    Nothing,
}

/// A socket that is used again and again, and the dialogue on it.
pub(super) struct Connection<D> {
    fd: OwnedFd,
    server: Endpoint,
    index: u64,
    pub(super) state: State,
    pub(super) dialogue: D,
    pub(super) lanes: Vec<Lane>,
    /// What is to be sent; the first `sent` bytes are.
    out: Vec<u8>,
    sent: usize,
    /// What came and was not understood yet.
    got: Vec<u8>,
    /// Whether epoll reports when the socket becomes writable.
    wants_out: bool,
}

const INTEREST: EventFlags = EventFlags::IN.union(EventFlags::RDHUP).union(EventFlags::ET);

fn socket(server: &Endpoint, epoll: &OwnedFd, index: u64) -> Result<OwnedFd, Errno> {
    let fd = server.socket()?;
    // Edge-triggered: a socket between two requests is hung up all the time, which must not wake us.
    epoll::add(epoll, &fd, EventData::new_u64(index), INTEREST)?;
    Ok(fd)
}

impl<D: Dialogue> Connection<D> {
    /// A fresh socket, known to `epoll` as `index`.
    pub(super) fn new(server: Endpoint, epoll: &OwnedFd, index: usize, dialogue: D) -> Result<Self, Errno> {
        let index = index as u64;
        Ok(Self {
            fd: socket(&server, epoll, index)?,
            server,
            index,
            state: State::Unconnected,
            lanes: vec![Lane::Free; dialogue.lanes().max(1) as usize],
            dialogue,
            out: Vec::new(),
            sent: 0,
            got: Vec::new(),
            wants_out: false,
        })
    }

    /// A fresh socket in place of one whose state is not to be trusted; all lanes are free.
    pub(super) fn renew(&mut self, epoll: &OwnedFd) -> Result<(), Errno> {
        self.fd = socket(&self.server, epoll, self.index)?;
        self.wants_out = false;
        self.lanes.fill(Lane::Free);
        self.forget();
        Ok(())
    }

    fn forget(&mut self) {
        self.state = State::Unconnected;
        self.out.clear();
        self.sent = 0;
        self.got.clear();
    }

    /// Connects and says what comes first. Nothing is sent yet: see [`flush`](Self::flush).
    pub(super) fn open(&mut self) -> Result<(), Broken> {
        match self.server.connect(&self.fd) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(error) => return Err(error.into()),
        }
        self.state = match self.dialogue.open(&mut self.out) {
            true => State::Ready,
            false => State::Opening,
        };
        Ok(())
    }

    /// Whether requests may be asked at once on a fresh connection.
    pub(super) fn opens_in_silence(&mut self) -> bool {
        let silent = self.dialogue.open(&mut self.out);
        self.forget();
        silent
    }

    /// Begins a request on a free lane: connects where needed, and asks as soon as the connection is ready.
    pub(super) fn begin(&mut self, lane: u32, request: Request) -> Result<(), Broken> {
        self.lanes[lane as usize] = Lane::Due(request);
        if self.state == State::Unconnected {
            self.open()?;
        }
        if self.state == State::Ready {
            self.ask(lane, request);
        }
        Ok(())
    }

    fn ask(&mut self, lane: u32, request: Request) {
        self.lanes[lane as usize] = Lane::Asked(request);
        self.dialogue.ask(lane, request.number, &mut self.out);
    }

    /// Asks what was due before the connection was ready.
    pub(super) fn ask_what_is_due(&mut self) {
        for lane in 0..self.lanes.len() {
            if let Lane::Due(request) = self.lanes[lane] {
                self.ask(lane as u32, request);
            }
        }
    }

    /// Sends what there is to send, as far as the socket takes it.
    pub(super) fn flush(&mut self, epoll: &OwnedFd) -> Result<(), Broken> {
        while self.sent < self.out.len() {
            let until = self.sent + self.server.first_part(self.out.len() - self.sent);
            match net::send(&self.fd, &self.out[self.sent..until], SendFlags::NOSIGNAL) {
                Ok(n) => self.sent += n,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return self.want_out(epoll),
                Err(error) => return Err(self.cause(error).into()),
            }
        }
        self.out.clear();
        self.sent = 0;
        Ok(())
    }

    fn want_out(&mut self, epoll: &OwnedFd) -> Result<(), Broken> {
        if !self.wants_out {
            epoll::modify(epoll, &self.fd, EventData::new_u64(self.index), INTEREST | EventFlags::OUT)?;
            self.wants_out = true;
        }
        Ok(())
    }

    /// The socket's own error where the call only says that it is broken.
    fn cause(&self, error: Errno) -> Errno {
        match (error, net::sockopt::socket_error(&self.fd)) {
            (Errno::PIPE, Ok(Err(cause))) => cause,
            _ => error,
        }
    }

    /// Whether a request is begun and not ended.
    pub(super) fn is_busy(&self) -> bool {
        self.lanes.iter().any(|lane| lane.request().is_some())
    }

    /// Reads once into `buffer` and has it understood.
    pub(super) fn receive(&mut self, buffer: &mut [u8], news: &mut Vec<News>) -> Result<Received, Broken> {
        let n = match net::recv(&self.fd, &mut buffer[..], RecvFlags::empty()) {
            Ok((0, _)) => return Err(Broken::Socket(Failure::ClosedEarly)),
            Ok((n, _)) => n,
            Err(Errno::AGAIN) => return Ok(Received::Nothing),
            Err(Errno::INTR) => return Ok(Received::All),
            Err(error) => return Err(error.into()),
        };
        if self.got.is_empty() {
            let understood = self.dialogue.hear(&buffer[..n], &mut self.out, news);
            self.got.extend_from_slice(&buffer[understood.min(n)..n]);
        } else {
            self.got.extend_from_slice(&buffer[..n]);
            let understood = self.dialogue.hear(&self.got, &mut self.out, news);
            self.got.drain(..understood.min(self.got.len()));
        }
        match self.got.len() > LONGEST_ANSWER_BYTES {
            true => {
                Err(Broken::Over(format!("an answer of more than {LONGEST_ANSWER_BYTES} bytes has no end")))
            }
            // Of messages that are apart one reading takes one, and others may wait.
            false if n == buffer.len() || self.server.transport.keeps_messages_apart() => Ok(Received::All),
            false => Ok(Received::Some),
        }
    }

    /// Ends the connection so that the socket can connect anew.
    ///
    /// connect(2) to AF_UNSPEC resets the connection at once: no TIME_WAIT is left on either side, so that tens of
    /// thousands of connections a second do not use up the 28,000 local ports, and socket, file and epoll entry are
    /// kept, which SO_LINGER 0 with close(2) would make anew for each request. Nothing is lost: the whole answer is in.
    pub(super) fn hang_up(&mut self) -> bool {
        self.forget();
        net::connect_unspec(&self.fd).is_ok()
    }

    /// Says farewell, where the protocol has one and the connection stands. True when the server is to end it now.
    pub(super) fn close(&mut self, epoll: &OwnedFd) -> bool {
        if self.state != State::Ready || self.sent < self.out.len() {
            return false;
        }
        self.dialogue.close(&mut self.out);
        !self.out.is_empty() && self.flush(epoll).is_ok() && net::shutdown(&self.fd, Shutdown::Write).is_ok()
    }

    /// Reads until the server has ended the connection. False while it has not.
    pub(super) fn has_ended(&self, buffer: &mut [u8]) -> bool {
        loop {
            match net::recv(&self.fd, &mut buffer[..], RecvFlags::empty()) {
                Ok((0, _)) => return true,
                Ok(_) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return false,
                Err(_) => return true,
            }
        }
    }
}
