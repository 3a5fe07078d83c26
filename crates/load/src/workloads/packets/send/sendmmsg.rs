//! A call for many packets: sendmmsg(2).

use std::net::UdpSocket;
use std::os::fd::AsRawFd;

use rustix::io::Errno;

use super::Transmitter;
use crate::errno::last_error;
use crate::workloads::packets::packet::Form;
use crate::workloads::packets::recvmmsg::header_of;

pub(super) struct Sendmmsg {
    socket: UdpSocket,
    /// Never resized: the parts point into them.
    packets: Vec<Vec<u8>>,
    /// Never resized: the headers point to them.
    _parts: Vec<libc::iovec>,
    headers: Vec<libc::mmsghdr>,
}

impl Sendmmsg {
    pub(super) fn new(socket: UdpSocket, form: &Form, batch: usize) -> Self {
        let mut packets = vec![form.first(); batch];
        let part = |packet: &mut Vec<u8>| libc::iovec {
            iov_base: packet.as_mut_ptr().cast(),
            iov_len: packet.len(),
        };
        let mut parts: Vec<libc::iovec> = packets.iter_mut().map(part).collect();
        let headers = parts.iter_mut().map(header_of).collect();
        Self { socket, packets, _parts: parts, headers }
    }
}

impl Transmitter for Sendmmsg {
    fn send(&mut self, first: u64, count: usize) -> Result<usize, Errno> {
        let count = count.min(self.packets.len());
        for (number, packet) in (first..).zip(&mut self.packets[..count]) {
            Form::number(packet, number);
        }
        // SAFETY: every header points to one part, every part to a packet of the length that it says; all are ours, live as long as we
        // do, and are never moved or resized.
        let sent = unsafe {
            libc::sendmmsg(self.socket.as_raw_fd(), self.headers.as_mut_ptr(), count as libc::c_uint, 0)
        };
        usize::try_from(sent).map_err(|_| last_error())
    }
}
