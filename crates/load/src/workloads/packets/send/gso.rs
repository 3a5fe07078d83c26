//! One message that the kernel, or the card, cuts into packets: UDP_SEGMENT, udp(7).

use std::net::UdpSocket;
use std::os::fd::AsRawFd;

use machine::{Class, Fault};
use rustix::io::Errno;
use rustix::net::{SendFlags, send};

use super::Transmitter;
use crate::errno::last_error;
use crate::workloads::packets::packet::Form;

pub(super) struct Gso {
    socket: UdpSocket,
    message: Vec<u8>,
    packet_bytes: usize,
}

impl Gso {
    /// Fails before Linux 4.18.
    pub(super) fn new(socket: UdpSocket, form: &Form, segments: usize) -> Result<Self, Fault> {
        set_segment_bytes(&socket, form.payload_bytes()).map_err(|error| {
            let remedy = "take send = \"sendmmsg\": the kernel has it from 4.18 on";
            Fault::new(Class::MachineLacks, "UDP_SEGMENT", error, remedy)
        })?;
        Ok(Self { socket, message: form.first().repeat(segments), packet_bytes: form.payload_bytes() })
    }
}

impl Transmitter for Gso {
    fn send(&mut self, first: u64, count: usize) -> Result<usize, Errno> {
        let bytes = self.message.len().min(count * self.packet_bytes);
        let message = &mut self.message[..bytes];
        for (number, packet) in (first..).zip(message.chunks_exact_mut(self.packet_bytes)) {
            Form::number(packet, number);
        }
        send(&self.socket, message, SendFlags::empty()).map(|sent| sent / self.packet_bytes)
    }
}

fn set_segment_bytes(socket: &UdpSocket, bytes: usize) -> Result<(), Errno> {
    let bytes = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
    // SAFETY: the value is a live int of the length that is reported.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_UDP,
            libc::UDP_SEGMENT,
            (&raw const bytes).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if done == 0 { Ok(()) } else { Err(last_error()) }
}
