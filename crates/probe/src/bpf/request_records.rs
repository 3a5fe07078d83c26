//! The records of `bpf/request_records.h` in Rust. What each field means is said there; all times are ns of CLOCK_MONOTONIC.

use super::records::BUCKETS;

/// Ports that are distinguished.
pub(crate) const PORTS: usize = 64;

records! {
    Connection = "connection" { arrived_ns: u64, read_ns: u64, }

    PortSeen = "port_requests" {
        read: u64,
        waited_ns: u64,
        answered: u64,
        served_ns: u64,
        waited_steps: [u32; BUCKETS],
        served_steps: [u32; BUCKETS],
    }

    RequestControl = "request_control" { began_ns: u64, ended_ns: u64, lost: u64, }
}

/// The number above by its name in C, for the test of the layout.
#[cfg(test)]
pub(crate) const NUMBERS: &[(&str, usize)] = &[("PORTS", PORTS)];
