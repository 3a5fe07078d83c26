//! The driver `nats`: a message out, the same message back.

use std::net::SocketAddr;

use machine::Fault;

use super::{Nats, NatsLoad};
use crate::drive::{self, Course, Document, Keys};
use crate::workloads::{About, Driven, LoadSpec, payload};

/// What it is.
pub static ABOUT: About = About {
    id: "nats",
    title: "NATS: a message out through a subject, the same message back",
    docs: "Each of `connections` subscribes to `subjects` of its own, publishes a message of `message_bytes` on each, waits until it is \
          back, compares it byte by byte, and publishes the next one; or, at `rate_per_s`, when it is due. A message that is lost, \
          changed, late by a number or there twice is a failure; what the server refuses is reported in its words. Connections and \
          subscriptions are made before the clock starts. `user` and `password` where the server asks for them; no TLS, no JetStream. \
          Gives requests_per_s (messages that made the round), latency_p50_us, latency_p90_us, latency_p99_us, latency_p999_us, \
          latency_max_us, latency_jitter_us, completed, failed (and failed_... by kind), unfinished, client_busy, client_cpu_s, \
          and ten intervals a second.",
    example: "driver = \"nats\"\nconnections = 16\nsubjects = 4\nmessage_bytes = 128\nseconds = 5.0\n",
};

impl Driven for NatsLoad {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn check(&self) -> Result<(), Fault> {
        NatsLoad::check(self)
    }

    fn spec(&self) -> LoadSpec {
        LoadSpec::Nats(self.clone())
    }

    fn drive(&self, server: SocketAddr, course: Course<'_>) -> Result<Document, Fault> {
        NatsLoad::check(self)?;
        // Nobody else's messages, nor those of an earlier run, may come on our subjects.
        let run = payload::of_this_run();
        drive::drive(&self.pace(), server, |index| Nats::new(self, run.wrapping_add(index.into())), course)
    }
}
