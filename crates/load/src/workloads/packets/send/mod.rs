//! Ways to hand packets to the kernel, one in each file.

use std::net::{SocketAddr, UdpSocket};

use machine::{Class, Fault};

use super::options::{PacketsLoad, Send};
use super::packet::Form;

mod gso;
mod sendmmsg;
mod sendto;
mod transmitter;
mod xdp;

pub(super) use transmitter::Transmitter;

/// Opens the way that the options say, towards `sink`, from the address that the sink knows us by.
///
/// Fails when the kernel has no such way, naming what it does not have.
pub(super) fn open(
    load: &PacketsLoad,
    form: &Form,
    from: SocketAddr,
    sink: SocketAddr,
) -> Result<Box<dyn Transmitter>, Fault> {
    let a_call = load.a_call() as usize;
    match load.send {
        Send::Sendto => Ok(Box::new(sendto::Sendto::new(connected(from, sink)?, form))),
        Send::Sendmmsg => Ok(Box::new(sendmmsg::Sendmmsg::new(connected(from, sink)?, form, a_call))),
        Send::Gso => Ok(Box::new(gso::Gso::new(connected(from, sink)?, form, a_call)?)),
        // It is the kernel that sends.
        Send::Pktgen => Err(Fault::new(Class::Usage, "send", "pktgen needs no sink", "take another way")),
        Send::Xdp => Ok(Box::new(xdp::Xdp::new(form, from, sink, a_call)?)),
    }
}

/// A UDP socket towards the sink. It waits while its buffer is full, so that nothing is lost before it leaves.
fn connected(from: SocketAddr, sink: SocketAddr) -> Result<UdpSocket, Fault> {
    UdpSocket::bind(SocketAddr::new(from.ip(), 0))
        .and_then(|socket| {
            socket.connect(sink)?;
            Ok(socket)
        })
        .map_err(|why| Fault::new(Class::WorkloadFailed, sink, why, "check address and port of the sink"))
}
