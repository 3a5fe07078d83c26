//! Where the server is, and over what it is reached.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType, sockopt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::errno::last_error;
use crate::link;

/// EtherType of the frames that a load sends: that for local experiments (IEEE 802a), which nobody else on the link takes.
pub(crate) const ASK_FRAME: u16 = 0x88b5;

/// EtherType of the frames that come back, the other one for local experiments: neither end hears its own kind.
pub(crate) const ANSWER_FRAME: u16 = 0x88b6;

/// What carries the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// TCP.
    #[default]
    Tcp,
    /// A stream socket of this machine, in the abstract namespace under [`abstract_name`] of the port.
    Unix,
    /// UDP: every message a datagram, and a lost one a failed request.
    Udp,
    /// Ethernet frames below IP, on a link that load and server share: every message a frame, and a lost one a failed request. Needs
    /// CAP_NET_RAW at both ends, and an IPv4 address of the server.
    Packet,
}

impl Transport {
    /// Whether each message travels by itself, as a datagram or a frame, and not in a stream.
    pub(crate) fn keeps_messages_apart(self) -> bool {
        matches!(self, Self::Udp | Self::Packet)
    }
}

/// A server as connections reach it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Endpoint {
    /// Address and port.
    pub at: SocketAddr,
    /// What carries the bytes.
    pub transport: Transport,
    /// TCP_NODELAY: each message goes out at once rather than with the next one (Nagle), tcp(7).
    pub nodelay: bool,
    /// SO_BUSY_POLL: how long a reading may poll the device queue, us; 0: not at all, socket(7).
    pub busy_poll_us: u32,
    /// Of datagrams and frames: the bytes of each.
    pub datagram_bytes: usize,
    /// Of frames: the number of the interface that they leave and come by.
    pub interface: u32,
}

impl From<SocketAddr> for Endpoint {
    /// TCP as a load has it that does not ask: without Nagle's delay, and without busy polling.
    fn from(at: SocketAddr) -> Self {
        Self {
            at,
            transport: Transport::Tcp,
            nodelay: true,
            busy_poll_us: 0,
            datagram_bytes: 0,
            interface: 0,
        }
    }
}

/// The name in the abstract namespace of a server that listens on this port: both sides know the port.
pub fn abstract_name(port: u16) -> String {
    format!("pinwise-{port}")
}

impl Endpoint {
    /// A fresh socket that does not wait.
    pub(super) fn socket(&self) -> Result<OwnedFd, Errno> {
        let inet = match self.at {
            SocketAddr::V4(_) => AddressFamily::INET,
            SocketAddr::V6(_) => AddressFamily::INET6,
        };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = match self.transport {
            Transport::Tcp => net::socket_with(inet, SocketType::STREAM, flags, None)?,
            Transport::Unix => net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?,
            Transport::Udp => net::socket_with(inet, SocketType::DGRAM, flags, None)?,
            Transport::Packet => link::frame_socket()?,
        };
        if self.transport == Transport::Tcp && self.nodelay {
            sockopt::set_tcp_nodelay(&socket, true)?;
        }
        if self.busy_poll_us > 0 {
            set_busy_poll(&socket, self.busy_poll_us)?;
        }
        Ok(socket)
    }

    /// connect(2); of a socket for frames bind(2), which is all that it takes.
    pub(super) fn connect(&self, socket: &OwnedFd) -> Result<(), Errno> {
        match self.transport {
            Transport::Tcp | Transport::Udp => net::connect(socket, &self.at),
            Transport::Unix => net::connect(socket, &unix_address(self.at.port())?),
            Transport::Packet => link::bind_to_frames(socket, self.interface, ANSWER_FRAME),
        }
    }

    /// Where what is sent first ends: everything of a stream, one datagram or frame else.
    pub(super) fn first_part(&self, waiting: usize) -> usize {
        match self.transport.keeps_messages_apart() && self.datagram_bytes > 0 {
            true => waiting.min(self.datagram_bytes),
            false => waiting,
        }
    }
}

/// The address of [`abstract_name`].
pub(crate) fn unix_address(port: u16) -> Result<SocketAddrUnix, Errno> {
    SocketAddrUnix::new_abstract_name(abstract_name(port).as_bytes())
}

/// Sets SO_BUSY_POLL, socket(7). Fails where the kernel does not have it (CONFIG_NET_RX_BUSY_POLL), or without CAP_NET_ADMIN above the value that is
/// set for all (net.core.busy_read).
pub(crate) fn set_busy_poll(socket: &OwnedFd, us: u32) -> Result<(), Errno> {
    use std::os::fd::AsRawFd;
    let us = libc::c_int::try_from(us).unwrap_or(libc::c_int::MAX);
    // SAFETY: the value is a live int of the length that is reported.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_BUSY_POLL,
            (&raw const us).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    match done {
        0 => Ok(()),
        _ => Err(last_error()),
    }
}
