//! The built-in string server: single-threaded, one short line in, one line out.
//!
//! It serves clients that connect for each request and clients that keep their connection, without knowing which is which.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use machine::{Class, Fault};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{self, RecvFlags, SocketFlags, SocketType};
use serde::{Deserialize, Serialize};

use super::protocol;
use crate::flags::{self, Flags};
use crate::signals;
use crate::sockets::{self, Outbox};

/// Where the string server listens and how much it works.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerOptions {
    /// Address to listen on.
    pub address: IpAddr,
    /// TCP port; 0 lets the kernel choose (see [`StringServer::local_address`]).
    pub port: u16,
    /// Rounds of [`super::work::digest`] for each request.
    pub rounds: u64,
}

impl ServerOptions {
    /// Reads `--address A --port P --rounds N`. Fails on unknown, missing or malformed flags.
    pub fn from_args(args: &[String]) -> Result<Self, Fault> {
        let mut given = Flags::parse("string-server", args, &[])?;
        let options = Self {
            address: given.optional("address")?.unwrap_or(IpAddr::from([127, 0, 0, 1])),
            port: given.required("port")?,
            rounds: given.required("rounds")?,
        };
        given.finish()?;
        Ok(options)
    }

    /// The flags that [`ServerOptions::from_args`] reads back.
    pub fn to_args(&self) -> Vec<String> {
        let mut args = Vec::new();
        flags::push(&mut args, "address", self.address);
        flags::push(&mut args, "port", self.port);
        flags::push(&mut args, "rounds", self.rounds);
        args
    }
}

/// Serves until SIGTERM or SIGINT arrives; the hidden verb `pinwise string-server`.
///
/// Fails when it cannot listen (port taken, address not here, port below 1024 without privilege) or when the kernel
/// refuses a call that it needs.
pub fn serve(options: &ServerOptions) -> Result<(), Fault> {
    let signals = signals::terminate().map_err(|e| failed("signalfd", e))?;
    StringServer::bind(options)?.run(signals.as_fd())
}

/// A string server that listens already.
pub struct StringServer {
    listener: OwnedFd,
    local: SocketAddr,
    rounds: u64,
}

impl StringServer {
    /// Listens at the address and port. Fails as [`serve`] does.
    pub fn bind(options: &ServerOptions) -> Result<Self, Fault> {
        let at = SocketAddr::new(options.address, options.port);
        let listen = || {
            let listener = sockets::bound(at, SocketType::STREAM)?;
            net::listen(&listener, 4096).map(|()| listener)
        };
        let listener = listen().map_err(|error| sockets::cannot_listen(at, error))?;
        let local = sockets::local_address(&listener, at)?;
        Ok(Self { listener, local, rounds: options.rounds })
    }

    /// Where it really listens.
    pub fn local_address(&self) -> SocketAddr {
        self.local
    }

    /// Serves until `stop` becomes readable. Fails when epoll does.
    pub fn run(self, stop: BorrowedFd<'_>) -> Result<(), Fault> {
        Loop::new(self, stop).and_then(Loop::run).map_err(|e| failed("string server", e))
    }
}

fn failed(object: &str, error: Errno) -> Fault {
    let remedy = format!("try again; if it fails again, {}", machine::IS_A_BUG);
    Fault::new(Class::WorkloadFailed, object, error, remedy)
}

/// Event data of what is no client; clients use their descriptor's number.
const LISTENER: u64 = u64::MAX;
const STOP: u64 = u64::MAX - 1;

/// A client that sends faster than it reads is not read from while this much waits for it, bytes.
const MOST_PENDING_BYTES: usize = 64 * 1024;

struct Client {
    /// The socket, and answers that it did not take yet.
    out: Outbox,
    /// The start of a line whose end has not come.
    partial: Vec<u8>,
    interest: EventFlags,
    closing: bool,
}

/// What is to become of a client after an event.
#[derive(PartialEq)]
enum Next {
    Keep,
    Close,
}

struct Loop<'a> {
    server: StringServer,
    stop: BorrowedFd<'a>,
    epoll: OwnedFd,
    /// By descriptor number.
    clients: Vec<Option<Client>>,
    /// False while accepting would fail for lack of descriptors.
    accepting: bool,
    out: Vec<u8>,
}

impl<'a> Loop<'a> {
    fn new(server: StringServer, stop: BorrowedFd<'a>) -> Result<Self, Errno> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &server.listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
        epoll::add(&epoll, stop, EventData::new_u64(STOP), EventFlags::IN)?;
        Ok(Self { server, stop, epoll, clients: Vec::new(), accepting: true, out: Vec::with_capacity(8192) })
    }

    fn run(mut self) -> Result<(), Errno> {
        let mut events = Vec::with_capacity(64);
        loop {
            events.clear();
            match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), None) {
                Err(Errno::INTR) => continue,
                other => other?,
            };
            for event in &events {
                match event.data.u64() {
                    LISTENER => self.accept()?,
                    STOP => return epoll::delete(&self.epoll, self.stop),
                    fd => self.turn(fd as usize, event.flags)?,
                }
            }
        }
    }

    /// Takes a bounded number of connections, so that clients who have one are served in between.
    fn accept(&mut self) -> Result<(), Errno> {
        for _ in 0..16 {
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            match net::accept_with(&self.server.listener, flags) {
                Ok(fd) => self.welcome(fd)?,
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => {
                    // The rest wait in the backlog until a client leaves; level-triggered epoll would spin.
                    self.accepting = false;
                    let nothing = EventFlags::empty();
                    return epoll::modify(
                        &self.epoll,
                        &self.server.listener,
                        EventData::new_u64(LISTENER),
                        nothing,
                    );
                }
                // Errors of one connection that ended before it was accepted (accept(2)).
                Err(_) => {}
            }
        }
        Ok(())
    }

    /// A new client's line is there already most of the time: answering at once spares a wait.
    fn welcome(&mut self, fd: OwnedFd) -> Result<(), Errno> {
        let number = fd.as_raw_fd() as usize;
        let out = Outbox::new(fd, MOST_PENDING_BYTES);
        let mut client = Client { out, partial: Vec::new(), interest: EventFlags::IN, closing: false };
        if client.read(self.server.rounds, &mut self.out) == Next::Close {
            return Ok(());
        }
        client.interest = client.wanted();
        epoll::add(&self.epoll, &client.out.fd, EventData::new_u64(number as u64), client.interest)?;
        if self.clients.len() <= number {
            self.clients.resize_with(number + 1, || None);
        }
        self.clients[number] = Some(client);
        Ok(())
    }

    /// One client's turn after an event.
    fn turn(&mut self, number: usize, flags: EventFlags) -> Result<(), Errno> {
        let Some(client) = self.clients.get_mut(number).and_then(Option::as_mut) else { return Ok(()) };
        let mut next = Next::Keep;
        if flags.contains(EventFlags::OUT) {
            next = client.flush();
        }
        if next == Next::Keep && flags.intersects(EventFlags::IN | EventFlags::HUP | EventFlags::ERR) {
            next = client.read(self.server.rounds, &mut self.out);
        }
        if next == Next::Close {
            self.clients[number] = None;
            return self.accept_again();
        }
        let wanted = client.wanted();
        if wanted != client.interest {
            client.interest = wanted;
            epoll::modify(&self.epoll, &client.out.fd, EventData::new_u64(number as u64), wanted)?;
        }
        Ok(())
    }

    fn accept_again(&mut self) -> Result<(), Errno> {
        if self.accepting {
            return Ok(());
        }
        self.accepting = true;
        epoll::modify(&self.epoll, &self.server.listener, EventData::new_u64(LISTENER), EventFlags::IN)
    }
}

impl Client {
    fn wanted(&self) -> EventFlags {
        self.out.wanted(!self.closing)
    }

    /// Reads once and answers every whole line.
    fn read(&mut self, rounds: u64, out: &mut Vec<u8>) -> Next {
        if self.closing || self.out.is_full() {
            return Next::Keep;
        }
        let mut buffer = [0u8; 4096];
        let n = match net::recv(&self.out.fd, &mut buffer[..], RecvFlags::empty()) {
            Ok((0, _)) => return Next::Close,
            Ok((n, _)) => n,
            Err(Errno::AGAIN | Errno::INTR) => return Next::Keep,
            Err(_) => return Next::Close,
        };
        out.clear();
        let mut rest = &buffer[..n];
        while let Some(end) = rest.iter().position(|b| *b == b'\n') {
            self.answer(&rest[..end], rounds, out);
            rest = &rest[end + 1..];
        }
        if self.partial.len() + rest.len() > protocol::LONGEST_LINE_BYTES {
            out.extend_from_slice(protocol::too_long());
            self.closing = true;
        } else {
            self.partial.extend_from_slice(rest);
        }
        self.send(out)
    }

    fn answer(&mut self, end_of_line: &[u8], rounds: u64, out: &mut Vec<u8>) {
        match self.partial.is_empty() {
            true => protocol::answer(end_of_line, rounds, out),
            false => {
                self.partial.extend_from_slice(end_of_line);
                protocol::answer(&self.partial, rounds, out);
                self.partial.clear();
            }
        }
    }

    fn send(&mut self, answers: &[u8]) -> Next {
        let sent = self.out.send(answers);
        self.after(sent)
    }

    fn flush(&mut self) -> Next {
        let sent = self.out.flush();
        self.after(sent)
    }

    fn after(&self, sent: Result<(), Errno>) -> Next {
        match sent {
            Ok(()) if !(self.closing && self.out.is_empty()) => Next::Keep,
            _ => Next::Close,
        }
    }
}
