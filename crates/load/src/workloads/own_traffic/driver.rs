//! The driver `own-traffic`: what it is, and how it starts.

use std::net::SocketAddr;

use machine::{Fault, Missing, Root};
use probe::requests::{CountingRequests, Listening};

use super::options::OwnTrafficLoad;
use super::watching::{INSTEAD, Watching};
use crate::drive::{Course, Document};
use crate::server::Server;
use crate::workloads::{About, Driven, LoadSpec};

/// What it is.
pub static ABOUT: About = About {
    id: "own-traffic",
    title: "none: the server's own traffic, as the kernel sees it",
    docs: "Drives nothing. Counts for `seconds` what comes to the server (`server`, of which `ports`) by programs in the kernel, in slices of \
           `slice_s`, and reads `metrics` of the server itself every `metrics_every_s`. Ends at once when one of `guards` is breached. Gives \
           requests_per_s, the quantiles of the time from arrival to answer (latency_p50_us, latency_p90_us, latency_p99_us, \
           latency_p999_us), its mean (latency_mean_us) and its parts (latency_wait_us in the socket, latency_service_us until the answer), the \
           server's CPU time by request (cpu_us_per_request), and the metrics by their names. Needs root and Linux 6.3, or metrics.",
    example: "driver = \"own-traffic\"\nseconds = 4.0\nguards = [\"latency_p99_us <= 2 x baseline\", \"cpu_us_per_request <= 1.5 x baseline\"]\n",
};

/// Any port, to find out whether requests can be seen at all.
const ANY_PORT: u16 = 1;

impl Driven for OwnTrafficLoad {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn check(&self) -> Result<(), Fault> {
        OwnTrafficLoad::check(self)
    }

    fn spec(&self) -> LoadSpec {
        LoadSpec::OwnTraffic(self.clone())
    }

    fn spec_for(&self, server: &Server) -> LoadSpec {
        let its_own = || match server.ran_before() {
            // As it was asked for: a unit has processes that come and go.
            Some(_) => server.argv().first().cloned(),
            None => Some(server.process().pid.to_string()),
        };
        let asked = self.server.clone().or_else(its_own);
        LoadSpec::OwnTraffic(Self { server: asked, ..self.clone() })
    }

    fn missing(&self) -> Vec<Missing> {
        if !self.metrics.is_empty() && self.needs_requests().is_none() {
            return Vec::new();
        }
        let listening = Listening::on_ports(&[ANY_PORT]);
        let seen = CountingRequests::prepare(&Root::live(), std::process::id(), &listening);
        let missing =
            seen.err().map(|missing| Missing { why: format!("{}; {INSTEAD}", missing.why), ..missing });
        missing.into_iter().collect()
    }

    fn drive(&self, server: SocketAddr, course: Course<'_>) -> Result<Document, Fault> {
        OwnTrafficLoad::check(self)?;
        Watching::begin(self, server)?.run(course)
    }
}
