//! A netlink socket on which the kernel answers questions, one at a time.

use std::io;
use std::time::Duration;

use rustix::fd::OwnedFd;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with,
    sockopt,
};

/// A socket to the kernel, in the network namespace of the thread that opened it.
pub(super) struct NetlinkChannel(OwnedFd);

impl NetlinkChannel {
    /// Opens one; no protocol is that of routes (rtnetlink(7)).
    pub(super) fn open(protocol: Option<Protocol>) -> io::Result<Self> {
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, protocol)?;
        // The kernel answers at once; this bounds the wait should it ever not.
        sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, Some(Duration::from_secs(1)))?;
        Ok(Self(socket))
    }

    /// Sends one question; the answer with its header.
    pub(super) fn ask(&self, question: &[u8]) -> io::Result<Vec<u8>> {
        sendto(&self.0, question, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
        let mut answer = vec![0; 32 << 10];
        let (received, _) = recv(&self.0, &mut answer[..], RecvFlags::empty())?;
        answer.truncate(received);
        Ok(answer)
    }
}
