//! What the built-in servers have in common: sockets that listen, and answers that wait until a client reads.

use std::fmt::Display;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use machine::{Class, Fault};
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SendFlags, SocketFlags, SocketType, sockopt};

/// A socket of this kind at this address that does not wait.
pub(crate) fn bound(at: SocketAddr, kind: SocketType) -> Result<OwnedFd, Errno> {
    let family = match at {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let socket = net::socket_with(family, kind, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC, None)?;
    if kind == SocketType::STREAM {
        // A restart for each trial must not wait for connections of the last one in TIME_WAIT.
        sockopt::set_socket_reuseaddr(&socket, true)?;
    }
    net::bind(&socket, &at)?;
    Ok(socket)
}

/// Where a socket is bound that was asked to be at `asked`.
pub(crate) fn local_address(socket: &OwnedFd, asked: SocketAddr) -> Result<SocketAddr, Fault> {
    let local = net::getsockname(socket).ok().and_then(|address| SocketAddr::try_from(address).ok());
    local.ok_or_else(|| Fault::new(Class::WorkloadFailed, asked, "getsockname failed", "try again"))
}

/// Why nobody can listen there, and what to do.
pub(crate) fn cannot_listen(at: impl Display, error: Errno) -> Fault {
    let (class, remedy) = match error {
        Errno::ADDRINUSE => {
            (Class::MachineLacks, "another process listens there: stop it or choose another port")
        }
        Errno::ADDRNOTAVAIL => {
            (Class::Usage, "choose an address of this machine, or of its network namespace")
        }
        Errno::ACCESS => (Class::NotPermitted, "ports below 1024 need root: choose a higher port"),
        _ => (Class::WorkloadFailed, "check address and port"),
    };
    Fault::new(class, at.to_string(), format!("cannot listen: {error}"), remedy)
}

/// A client's socket, and what it did not take yet. One that sends faster than it reads is not read from while too much waits for it.
pub(crate) struct Outbox {
    pub(crate) fd: OwnedFd,
    pending: Vec<u8>,
    most_bytes: usize,
}

impl Outbox {
    /// Of this client, from which no more is read once `most_bytes` wait for it.
    pub(crate) fn new(fd: OwnedFd, most_bytes: usize) -> Self {
        Self { fd, pending: Vec::new(), most_bytes }
    }

    /// Whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Whether too much waits.
    pub(crate) fn is_full(&self) -> bool {
        self.pending.len() >= self.most_bytes
    }

    /// Sends what the socket takes; the rest waits behind what waits already. Fails when the client has gone.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> Result<(), Errno> {
        if !self.pending.is_empty() {
            self.pending.extend_from_slice(bytes);
            return self.flush();
        }
        let sent = send_some(&self.fd, bytes)?;
        self.pending.extend_from_slice(&bytes[sent..]);
        Ok(())
    }

    /// Sends what waits, as far as the socket takes it. Fails when the client has gone.
    pub(crate) fn flush(&mut self) -> Result<(), Errno> {
        let sent = send_some(&self.fd, &self.pending)?;
        self.pending.drain(..sent);
        Ok(())
    }

    /// What to wait for of this client; `reads`: whether it is read from as long as not too much waits.
    pub(crate) fn wanted(&self, reads: bool) -> EventFlags {
        match (self.is_empty(), reads && !self.is_full()) {
            (true, _) => EventFlags::IN,
            (false, true) => EventFlags::IN | EventFlags::OUT,
            (false, false) => EventFlags::OUT,
        }
    }
}

/// Sends what the socket takes now; 0 when it is full.
fn send_some(fd: &OwnedFd, bytes: &[u8]) -> Result<usize, Errno> {
    if bytes.is_empty() {
        return Ok(0);
    }
    match net::send(fd, bytes, SendFlags::NOSIGNAL) {
        Err(Errno::AGAIN | Errno::INTR) => Ok(0),
        other => other,
    }
}
