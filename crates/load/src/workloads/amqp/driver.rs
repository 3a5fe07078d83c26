//! The driver `amqp`: a message out, the same message back.

use std::net::SocketAddr;

use machine::Fault;

use super::{Amqp, AmqpLoad};
use crate::drive::{self, Course, Document, Keys};
use crate::workloads::{About, Driven, LoadSpec, payload};

/// What it is.
pub static ABOUT: About = About {
    id: "amqp",
    title: "AMQP 0-9-1 (RabbitMQ): a message out through a queue, the same message back",
    docs: "Each of `channels` on each of `connections` publishes to a queue of its own, waits for the message on its own consumer, \
          compares it byte by byte, and publishes the next one; or, at `rate_per_s`, when it is due. As it stands: transient classic \
          queues, exclusive and auto-delete, no confirms, no acknowledgements. `confirms`, `acks` with `prefetch`, `persistent` and \
          `queue` (classic, quorum, stream) make the variants. A message that is lost, changed, late by a number or there twice is a \
          failure; an alarm of the broker and whatever else ends a connection is reported in the broker's words. Connections, channels \
          and queues are made before the clock starts. Gives requests_per_s (messages that made the round), latency_p50_us, \
          latency_p90_us, latency_p99_us, latency_p999_us, latency_max_us, latency_jitter_us, completed, failed (and failed_... by \
          kind), unfinished, client_busy, client_cpu_s, and ten intervals a second.",
    example: "driver = \"amqp\"\nchannels = 500\nmessage_bytes = 12\nseconds = 5.0\n",
};

impl Driven for AmqpLoad {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn check(&self) -> Result<(), Fault> {
        AmqpLoad::check(self)
    }

    fn spec(&self) -> LoadSpec {
        LoadSpec::Amqp(self.clone())
    }

    fn conversations(&self) -> u64 {
        u64::from(self.pace().connections) * u64::from(self.channels)
    }

    fn drive(&self, server: SocketAddr, course: Course<'_>) -> Result<Document, Fault> {
        AmqpLoad::check(self)?;
        // Queues that outlive their connection must not meet those of another process or of an earlier run.
        let run = payload::of_this_run();
        drive::drive(&self.pace(), server, |index| Amqp::new(self, run.wrapping_add(index.into())), course)
    }
}
