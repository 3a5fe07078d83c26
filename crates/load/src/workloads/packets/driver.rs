//! The driver `packets`: UDP packets as fast as it can, towards a sink that counts.

use std::net::SocketAddr;

use machine::{Act, Fault, Missing, Placement};

use super::options::Send;
use super::{PacketsLoad, pktgen, sender};
use crate::drive::{Course, Document};
use crate::workloads::{About, Driven, LoadSpec};

/// What it is.
pub static ABOUT: About = About {
    id: "packets",
    title: "numbered UDP packets as fast as they can be sent, or at a rate, and how many arrive",
    docs: "Sends packets of `packet_bytes` (Ethernet, IPv4 and UDP headers included) from one thread to the built-in sink (`pinwise packet-sink \
           --port {port}`): a call for each (`send = \"sendto\"`), a call for `batch` of them (`sendmmsg`), one message that the kernel cuts into \
           `batch` packets (`gso`), a ring that bypasses the network stack (`xdp`, AF_XDP in copy mode: an interface and root; not over \
           loopback), or by the kernel's own generator (`pktgen`, on `device`, with `clone_skb`), of which only sent_per_s, sent and \
           send_errors are reported. A packet that comes twice or changed makes the trial fail; a lost one is counted. Gives packets_per_s (arrived), \
           sent_per_s, sent, arrived, lost, lost_share, out_of_order, send_refused, sender_busy, CPU time a packet of sender and sink \
           (sender_ns_per_packet, sink_ns_per_packet; softirqs that ran on them included), and ten intervals a second.",
    example: "driver = \"packets\"\nsend = \"sendmmsg\"\nbatch = 32\npacket_bytes = 60\nseconds = 5.0\n",
};

impl Driven for PacketsLoad {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn check(&self) -> Result<(), Fault> {
        PacketsLoad::check(self)
    }

    fn spec(&self) -> LoadSpec {
        LoadSpec::Packets(self.clone())
    }

    fn missing(&self) -> Vec<Missing> {
        if self.send == Send::Pktgen { pktgen::missing(&self.device) } else { Vec::new() }
    }

    fn acts(&self, placement: &Placement) -> Result<Vec<Act>, Fault> {
        match self.send {
            Send::Pktgen => Ok(vec![pktgen::attach(self, placement.load_cpus.as_ref())?]),
            _ => Ok(Vec::new()),
        }
    }

    fn drive(&self, server: SocketAddr, course: Course<'_>) -> Result<Document, Fault> {
        PacketsLoad::check(self)?;
        match self.send {
            Send::Pktgen => pktgen::drive(self, course.stop),
            _ => sender::drive(self, server, course.stop),
        }
    }
}
