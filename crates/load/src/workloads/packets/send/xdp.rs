//! Frames in a ring that the kernel shares, past its network stack: AF_XDP in copy mode
//! (Documentation/networking/af_xdp.rst), which works on every interface without help of its driver.

use std::net::{IpAddr, SocketAddr, SocketAddrV4};

use machine::{Class, Fault};
use rustix::io::Errno;

use self::frame::Frame;
use self::rings::Rings;
use super::Transmitter;
use crate::clock::monotonic_ns;
use crate::link::Link;
use crate::workloads::packets::packet::{Form, HEADER_BYTES};

mod frame;
mod rings;

/// How long frames that the kernel took may take to leave, ns.
const LEAVES_WITHIN_NS: u64 = 1_000_000_000;

pub(super) struct Xdp {
    rings: Rings,
    frame_bytes: usize,
    batch: usize,
}

impl Xdp {
    /// Frames on the interface that has the address `from`, to the machine that has `sink` on the same link.
    ///
    /// Fails without CAP_NET_RAW, without AF_XDP in the kernel, over loopback, and to a sink that is not on the link.
    pub(super) fn new(form: &Form, from: SocketAddr, sink: SocketAddr, batch: usize) -> Result<Self, Fault> {
        let (IpAddr::V4(from), SocketAddr::V4(sink)) = (from.ip(), sink) else {
            return Err(unsupported(sink, "frames are made for IPv4 alone", "take another way to send"));
        };
        let link = Link::between(from, *sink.ip())?;
        let source = SocketAddrV4::new(from, sink.port());
        let head =
            Frame { from_mac: link.own_mac, to_mac: link.peer_mac, source, sink }.head(form.payload_bytes());
        let mut rings = Rings::new(link.index).map_err(refused)?;
        let frame = [&head[..], &form.first()].concat();
        rings.fill(&frame);
        Ok(Self { rings, frame_bytes: frame.len(), batch })
    }
}

impl Transmitter for Xdp {
    fn send(&mut self, first: u64, count: usize) -> Result<usize, Errno> {
        self.rings.reclaim();
        let mut put = 0;
        while put < count.min(self.batch) {
            let Some(place) = self.rings.free_frame() else { break };
            Form::number(&mut self.rings.frame(place)[HEADER_BYTES..], first + put as u64);
            self.rings.submit(place, self.frame_bytes);
            put += 1;
        }
        match (self.rings.kick(), put) {
            // It sends as many frames a call as its budget allows; what is in the ring goes with a later one.
            (Ok(()) | Err(Errno::AGAIN | Errno::BUSY | Errno::NOBUFS), 1..) => Ok(put),
            (Ok(()), 0) => Err(Errno::AGAIN),
            (Err(error), _) => Err(error),
        }
    }

    fn finish(&mut self) -> Result<(), Errno> {
        let until_ns = monotonic_ns() + LEAVES_WITHIN_NS;
        while self.rings.reclaim() > 0 {
            match self.rings.kick() {
                Ok(()) | Err(Errno::AGAIN | Errno::BUSY | Errno::NOBUFS) => {}
                Err(error) => return Err(error),
            }
            if monotonic_ns() > until_ns {
                return Err(Errno::TIMEDOUT);
            }
        }
        Ok(())
    }
}

fn unsupported(object: impl std::fmt::Display, cause: &str, remedy: &str) -> Fault {
    Fault::new(Class::MachineLacks, format!("xdp to {object}"), cause, remedy)
}

fn refused(error: Errno) -> Fault {
    let (class, remedy) = match error {
        Errno::PERM | Errno::ACCESS => (Class::NotPermitted, "run as root (CAP_NET_RAW)"),
        Errno::AFNOSUPPORT => (Class::MachineLacks, "the kernel has no AF_XDP (CONFIG_XDP_SOCKETS)"),
        Errno::NOBUFS | Errno::NOMEM => (Class::MachineLacks, "raise the limit of locked memory (ulimit -l)"),
        _ => (Class::MachineLacks, "take another interface, or another way to send"),
    };
    Fault::new(class, "AF_XDP", error, remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_has_no_link() {
        let localhost = SocketAddr::from(([127, 0, 0, 1], 9));
        let why = Xdp::new(&Form::new(1, 18), localhost, localhost, 8).err().unwrap().to_string();
        assert!(why.contains("other end of a link"), "{why}");
    }
}
