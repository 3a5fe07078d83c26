//! One connection of the load generator: a request is begun on it and comes to an end, well or not.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

use super::recorder::Failure;

/// An answer longer than this is none, bytes.
const LONGEST_ANSWER_BYTES: usize = 64 * 1024;

/// A request line and what must come back.
pub(super) struct Exchange {
    pub(super) request: Vec<u8>,
    /// The whole answer with its end; none when any one line will do.
    pub(super) expected: Option<Vec<u8>>,
}

/// How far a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// No connection and no request.
    Unconnected,
    /// A kept connection without a request.
    Connected,
    /// The connection is being made; the request goes out as soon as it stands.
    Connecting,
    /// The request is out, the answer is not in.
    Waiting,
}

/// What an event brought.
#[derive(Debug, PartialEq)]
pub(super) enum Progress {
    /// Nothing to act on yet.
    Pending,
    /// The answer is in and right.
    Done,
    /// The request failed; with a wrong answer comes what it was.
    Failed(Failure, Option<Vec<u8>>),
}

/// A socket that is used again and again.
pub(super) struct Connection {
    fd: OwnedFd,
    pub(super) state: State,
    /// When the request was meant to go out, CLOCK_MONOTONIC ns.
    pub(super) intended_ns: u64,
    /// When it was begun in fact.
    pub(super) begun_ns: u64,
    /// Which exchange it is.
    pub(super) exchange: usize,
    /// The start of an answer whose end has not come.
    got: Vec<u8>,
    /// Whether epoll tells when the socket becomes writable.
    wants_out: bool,
}

const INTEREST: EventFlags = EventFlags::IN.union(EventFlags::RDHUP).union(EventFlags::ET);

impl Connection {
    /// A fresh socket, known to `epoll` as `index`.
    pub(super) fn new(server: SocketAddr, epoll: &OwnedFd, index: usize) -> Result<Self, Errno> {
        let family = match server {
            SocketAddr::V4(_) => AddressFamily::INET,
            SocketAddr::V6(_) => AddressFamily::INET6,
        };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let fd = net::socket_with(family, SocketType::STREAM, flags, None)?;
        // Edge-triggered: a socket between two requests is hung up all the time, which must not wake us.
        epoll::add(epoll, &fd, EventData::new_u64(index as u64), INTEREST)?;
        Ok(Self {
            fd,
            state: State::Unconnected,
            intended_ns: 0,
            begun_ns: 0,
            exchange: 0,
            got: Vec::new(),
            wants_out: false,
        })
    }

    /// Begins a request: connects where needed and sends the line.
    pub(super) fn begin(
        &mut self,
        server: SocketAddr,
        exchange: &Exchange,
        epoll: &OwnedFd,
        index: usize,
    ) -> Progress {
        self.got.clear();
        if self.state == State::Unconnected {
            match net::connect(&self.fd, &server) {
                Ok(()) | Err(Errno::INPROGRESS) => {}
                Err(error) => return Progress::Failed(Failure::of(error), None),
            }
        }
        self.state = State::Connecting;
        // On one host the handshake is over by now more often than not.
        self.send(exchange, epoll, index)
    }

    /// Takes an event.
    pub(super) fn turn(
        &mut self,
        flags: EventFlags,
        exchange: &Exchange,
        epoll: &OwnedFd,
        index: usize,
    ) -> Progress {
        match self.state {
            State::Unconnected => Progress::Pending,
            State::Connected => {
                if flags.intersects(EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR) {
                    // The server ended a kept connection between two requests, as it may.
                    self.hang_up();
                }
                Progress::Pending
            }
            State::Connecting => self.send(exchange, epoll, index),
            State::Waiting if flags == EventFlags::OUT => Progress::Pending,
            State::Waiting => self.receive(exchange),
        }
    }

    fn send(&mut self, exchange: &Exchange, epoll: &OwnedFd, index: usize) -> Progress {
        match net::send(&self.fd, &exchange.request, SendFlags::NOSIGNAL) {
            Ok(n) if n == exchange.request.len() => {
                self.state = State::Waiting;
                Progress::Pending
            }
            // An empty socket buffer takes a line whole; a server that never reads gets here in keep-alive mode.
            Ok(_) => Progress::Failed(Failure::TimedOut, None),
            Err(Errno::AGAIN | Errno::INTR) if self.wants_out => Progress::Pending,
            Err(Errno::AGAIN | Errno::INTR) => {
                self.wants_out = true;
                let data = EventData::new_u64(index as u64);
                match epoll::modify(epoll, &self.fd, data, INTEREST | EventFlags::OUT) {
                    Ok(()) => Progress::Pending,
                    Err(error) => Progress::Failed(Failure::of(error), None),
                }
            }
            Err(error) => Progress::Failed(Failure::of(self.cause(error)), None),
        }
    }

    /// The socket's own error where the call only says that it is broken.
    fn cause(&self, error: Errno) -> Errno {
        match (error, net::sockopt::socket_error(&self.fd)) {
            (Errno::PIPE, Ok(Err(cause))) => cause,
            _ => error,
        }
    }

    fn receive(&mut self, exchange: &Exchange) -> Progress {
        let mut buffer = [0u8; 4096];
        loop {
            let n = match net::recv(&self.fd, &mut buffer[..], RecvFlags::empty()) {
                Ok((0, _)) => return Progress::Failed(Failure::ClosedEarly, None),
                Ok((n, _)) => n,
                Err(Errno::AGAIN) => return Progress::Pending,
                Err(Errno::INTR) => continue,
                Err(error) => return Progress::Failed(Failure::of(error), None),
            };
            let answer = match self.got.is_empty() {
                true => &buffer[..n],
                false => {
                    self.got.extend_from_slice(&buffer[..n]);
                    &self.got[..]
                }
            };
            match judge(answer, exchange.expected.as_deref()) {
                Some(true) => return Progress::Done,
                Some(false) => return Progress::Failed(Failure::WrongAnswer, Some(answer.to_vec())),
                None if self.got.is_empty() => self.got.extend_from_slice(&buffer[..n]),
                None => {}
            }
        }
    }

    /// Ends the connection so that the socket can connect anew.
    ///
    /// connect(2) to AF_UNSPEC resets the connection at once: no TIME_WAIT is left on either side, so that tens of
    /// thousands of connections a second do not use up the 28,000 local ports, and socket, file and epoll entry are
    /// kept, which SO_LINGER 0 with close(2) would make anew for each request. Nothing is lost: the whole answer is in.
    pub(super) fn hang_up(&mut self) -> bool {
        self.state = State::Unconnected;
        net::connect_unspec(&self.fd).is_ok()
    }
}

/// Whether the bytes so far are the right answer; none when more must come.
fn judge(answer: &[u8], expected: Option<&[u8]>) -> Option<bool> {
    match (answer.iter().position(|b| *b == b'\n'), expected) {
        (Some(end), None) => Some(end + 1 == answer.len()),
        (Some(_), Some(expected)) => Some(answer == expected),
        (None, Some(expected)) if !expected.starts_with(answer) => Some(false),
        (None, _) if answer.len() > LONGEST_ANSWER_BYTES => Some(false),
        (None, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_judged_when_whole() {
        assert_eq!(judge(b"abc\n", Some(b"abc\n")), Some(true));
        assert_eq!(judge(b"ab", Some(b"abc\n")), None);
        assert_eq!(judge(b"abd", Some(b"abc\n")), Some(false));
        assert_eq!(judge(b"abc\nx", Some(b"abc\n")), Some(false), "more than was asked for");
        assert_eq!(judge(b"anything\n", None), Some(true));
        assert_eq!(judge(b"two\nlines\n", None), Some(false));
        assert_eq!(judge(&vec![b'x'; LONGEST_ANSWER_BYTES + 1], None), Some(false));
    }
}
