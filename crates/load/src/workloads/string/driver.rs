//! The driver `string`: a line out, a line back.

use std::net::SocketAddr;

use machine::Fault;

use super::StringLoad;
use super::dialogue::{Exchanges, StringDialogue};
use crate::drive::{self, Course, Document, Keys};
use crate::workloads::{About, Driven, LoadSpec};

/// What it is.
pub static ABOUT: About = About {
    id: "string",
    title: "the built-in load generator: one short line out, one line back",
    docs: "Drives the built-in string server, or any TCP server that answers a line with a line (`request`; `expect` or \
          `expect_prefix` say which answers are right). \
          A connection for each request, or kept ones (`keep_alive`); a closed loop over `connections`, or an open loop \
          at `rate_per_s` with Poisson or uniform spacing, whose latencies count from the intended send time. Every \
          answer is checked; without those keys a first answer that is an error of a known protocol (-ERR ..., HTTP/1.1 404 ...) ends \
          the run. Gives requests_per_s, latency_p50_us, latency_p90_us, latency_p99_us, latency_p999_us, \
          latency_max_us, latency_jitter_us (p99.9 less p50), completed, failed (and failed_... by kind), unfinished, \
          client_busy, client_cpu_s, and ten intervals a second.",
    example: "driver = \"string\"\nconnections = 16\nkeep_alive = false\nseconds = 5.0\n",
};

impl Driven for StringLoad {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn check(&self) -> Result<(), Fault> {
        StringLoad::check(self)
    }

    fn spec(&self) -> LoadSpec {
        LoadSpec::String(self.clone())
    }

    fn drive(&self, server: SocketAddr, course: Course<'_>) -> Result<Document, Fault> {
        StringLoad::check(self)?;
        // Before the clock starts: precomputing the answers costs what the server's work costs.
        let exchanges = Exchanges::of(self);
        drive::drive(&self.pace(), server, |_| StringDialogue::new(exchanges.clone()), course)
    }
}
