//! Packets onto a file. It knows which clock each kind of packet is in.

use std::io::{self, Write};

use prost::Message as _;
use prost::encoding::{WireType, encode_key, encode_varint};

use super::proto::{Data, FtraceEventBundle, Packet, STATE_CLEARED, TrackEvent, clock};

/// `Trace.packet`: a file is nothing but packets.
const PACKET: u32 = 1;

/// All packets come from one writer.
const SEQUENCE: u32 = 1;

/// A file that grows.
pub(super) struct File<'a> {
    out: &'a mut dyn Write,
    suspended_ns: u64,
    buffer: Vec<u8>,
    begun: bool,
}

impl<'a> File<'a> {
    /// Nothing is written yet. `suspended_ns`: how far CLOCK_BOOTTIME is ahead of CLOCK_MONOTONIC.
    pub(super) fn new(out: &'a mut dyn Write, suspended_ns: u64) -> Self {
        Self { out, suspended_ns, buffer: Vec::new(), begun: false }
    }

    /// The same moment by the clock in which events of the kernel's tracer are: Perfetto takes those for CLOCK_BOOTTIME.
    pub(super) fn boottime(&self, monotonic_ns: u64) -> u64 {
        monotonic_ns + self.suspended_ns
    }

    /// Writes what belongs to a moment of CLOCK_MONOTONIC, ns.
    pub(super) fn put(&mut self, at_ns: u64, data: Data) -> io::Result<()> {
        let packet = Packet {
            timestamp: Some(at_ns),
            timestamp_clock_id: Some(clock::MONOTONIC),
            ..Packet::default()
        };
        self.write(Packet { data: Some(data), ..packet })
    }

    /// Writes an event on a track of its own.
    pub(super) fn track_event(&mut self, at_ns: u64, event: TrackEvent) -> io::Result<()> {
        self.put(at_ns, Data::TrackEvent(event))
    }

    /// Writes events of the kernel's tracer; each has its own time.
    pub(super) fn bundle(&mut self, bundle: FtraceEventBundle) -> io::Result<()> {
        self.write(Packet { data: Some(Data::FtraceEvents(bundle)), ..Packet::default() })
    }

    fn write(&mut self, packet: Packet) -> io::Result<()> {
        let sequence_flags = (!self.begun).then_some(STATE_CLEARED);
        self.begun = true;
        let packet = Packet { trusted_packet_sequence_id: Some(SEQUENCE), sequence_flags, ..packet };
        self.buffer.clear();
        encode_key(PACKET, WireType::LengthDelimited, &mut self.buffer);
        encode_varint(packet.encoded_len() as u64, &mut self.buffer);
        packet.encode_raw(&mut self.buffer);
        self.out.write_all(&self.buffer)
    }
}
