//! The records of `bpf/request_records.h` in Rust. What each field means is said there; all times are ns of CLOCK_MONOTONIC.

use super::records::BUCKETS;

/// Ports that are distinguished, and Unix sockets among them.
pub(crate) const PORTS: usize = 64;
/// Bytes of an address; those of IPv4 are written as IPv6 has them.
pub(crate) const ADDRESS_BYTES: usize = 16;
/// Bytes of the name of a Unix socket.
pub(crate) const UNIX_NAME_BYTES: usize = 108;
/// The place of what is another server's.
pub(crate) const NOWHERE: u32 = u32::MAX;

records! {
    UnixName = "unix_name" { bytes: u32, name: [u8; UNIX_NAME_BYTES], }

    ListeningAddress = "listening_address" { address: [u8; ADDRESS_BYTES], port: u64, }

    RequestSums = "request_sums" { read: u64, waited_ns: u64, answered: u64, served_ns: u64, }

    PeerKey = "peer" { address: [u8; ADDRESS_BYTES], port: u64, }

    Connection = "connection" {
        arrived_ns: u64,
        read_ns: u64,
        asked_ns: u64,
        written: u32,
        received: u32,
        early: u32,
        answered: u32,
        cookie: u64,
        peer: PeerKey,
        sums: RequestSums,
    }

    PortSeen = "port_requests" {
        read: u64,
        waited_ns: u64,
        answered: u64,
        served_ns: u64,
        overlapping: u64,
        continued: u64,
        rewritten: u64,
        waited_steps: [u32; BUCKETS],
        served_steps: [u32; BUCKETS],
        took_steps: [u32; BUCKETS],
        checked_steps: [u32; BUCKETS],
    }

    RequestControl = "request_control" { began_ns: u64, ended_ns: u64, lost: u64, checked_ns: u64, }
}

/// The numbers above by their names in C, for the test of the layout.
#[cfg(test)]
pub(crate) const NUMBERS: &[(&str, usize)] = &[
    ("PORTS", PORTS),
    ("ADDRESS_BYTES", ADDRESS_BYTES),
    ("UNIX_NAME_BYTES", UNIX_NAME_BYTES),
    ("NOWHERE", NOWHERE as usize),
];
