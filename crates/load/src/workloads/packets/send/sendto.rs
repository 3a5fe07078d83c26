//! A call for each packet.

use std::net::UdpSocket;

use rustix::io::Errno;
use rustix::net::{SendFlags, send};

use super::Transmitter;
use crate::workloads::packets::packet::Form;

pub(super) struct Sendto {
    socket: UdpSocket,
    packet: Vec<u8>,
}

impl Sendto {
    pub(super) fn new(socket: UdpSocket, form: &Form) -> Self {
        Self { socket, packet: form.first() }
    }
}

impl Transmitter for Sendto {
    fn send(&mut self, first: u64, _: usize) -> Result<usize, Errno> {
        Form::number(&mut self.packet, first);
        send(&self.socket, &self.packet, SendFlags::empty()).map(|_| 1)
    }
}
