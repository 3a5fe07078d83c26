//! What the latency load is given.

use std::net::SocketAddr;

use machine::{Class, Fault};

use super::frames;
use crate::drive::{Endpoint, Keys, Transport, driven_load};

/// A message holds its lane and number.
pub(super) const SMALLEST_BYTES: u32 = 16;

/// The largest message over a stream, bytes.
pub(super) const LARGEST_MESSAGE_BYTES: u32 = 16 << 20;

/// The largest datagram that IPv4 carries, bytes.
const LARGEST_DATAGRAM_BYTES: u32 = 65_507;

driven_load! {
    /// The latency load of a recipe: messages that come back.
    pub struct LatencyLoad {
        id: "latency",
        connections: 1,
        keep_alive: true,
        /// What carries the messages.
        pub transport: Transport = Transport::Tcp,
        /// Length of a message, bytes.
        pub message_bytes: u32 = 1024,
        /// Messages that may be under way on a connection: what a broker calls prefetch. One that is due while as many are waits, and its
        /// time counts from when it was due.
        pub prefetch: u32 = 64,
        /// TCP_NODELAY on the load's side: each message goes out at once.
        pub nodelay: bool = true,
        /// SO_BUSY_POLL on the load's side, us; 0: not asked for.
        #[serde(skip_serializing_if = "is_zero")]
        pub busy_poll_us: u32 = 0,
        /// Whether each message is the body of a request of HTTP/1.1, and of its answer: what an application adds to its transport.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        pub http: bool = false,
    }
}

fn is_zero(value: &u32) -> bool {
    *value == 0
}

impl LatencyLoad {
    /// Fails, naming the key, when a value makes no sense.
    pub fn check(&self) -> Result<(), Fault> {
        self.pace().check(self.id())?;
        let most_bytes = match self.transport {
            Transport::Packet => frames::LONGEST_MESSAGE_BYTES,
            Transport::Udp => LARGEST_DATAGRAM_BYTES,
            Transport::Tcp | Transport::Unix => LARGEST_MESSAGE_BYTES,
        };
        for (key, value, least, most) in [
            ("message_bytes", self.message_bytes, SMALLEST_BYTES, most_bytes),
            ("prefetch", self.prefetch, 1, 100_000),
            ("busy_poll_us", self.busy_poll_us, 0, 1_000_000),
        ] {
            if !(least..=most).contains(&value) {
                let remedy = format!("choose {least} to {most}");
                let cause = format!("{value} is out of range");
                return Err(Fault::new(Class::Usage, format!("latency load: {key}"), cause, remedy));
            }
        }
        if self.http && self.transport.keeps_messages_apart() {
            let (cause, remedy) =
                ("HTTP/1.1 wants a stream", "choose transport tcp or unix, or leave it out");
            return Err(Fault::new(Class::Usage, "latency load: http", cause, remedy));
        }
        match self.keep_alive {
            true => Ok(()),
            false => Err(Fault::new(
                Class::Usage,
                "latency load: keep_alive",
                "messages go over a connection that stands",
                "leave it out; the string load connects for each request",
            )),
        }
    }

    /// The server as this load reaches it; without the interface of frames.
    pub(crate) fn endpoint(&self, at: SocketAddr) -> Endpoint {
        Endpoint {
            at,
            transport: self.transport,
            nodelay: self.nodelay,
            busy_poll_us: self.busy_poll_us,
            datagram_bytes: match self.transport {
                Transport::Packet => frames::HEAD_BYTES + self.message_bytes as usize,
                _ => self.message_bytes as usize,
            },
            interface: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn senseless_values_are_named() {
        let default = LatencyLoad::default;
        default().check().unwrap();
        for (load, key) in [
            (LatencyLoad { message_bytes: 15, ..default() }, "message_bytes"),
            (LatencyLoad { transport: Transport::Udp, message_bytes: 70_000, ..default() }, "message_bytes"),
            (LatencyLoad { transport: Transport::Packet, message_bytes: 1491, ..default() }, "message_bytes"),
            (LatencyLoad { transport: Transport::Udp, http: true, ..default() }, "http"),
            (LatencyLoad { prefetch: 0, ..default() }, "prefetch"),
            (LatencyLoad { keep_alive: false, ..default() }, "keep_alive"),
            (LatencyLoad { rate_per_s: Some(0.0), ..default() }, "rate_per_s"),
        ] {
            let fault = load.check().unwrap_err().to_string();
            assert!(fault.contains(key), "{fault}");
        }
    }
}
