//! The driver `latency`: messages that come back, at a fixed rate.

use std::net::SocketAddr;

use machine::{Fault, OwnFolder};

use super::dialogue::EchoDialogue;
use super::{LatencyLoad, per_second};
use crate::drive::{self, Course, Document, Keys};
use crate::process::trial_folder;
use crate::workloads::{About, Afterwards, Driven, LoadSpec};

/// What it is.
pub static ABOUT: About = About {
    id: "latency",
    title: "ping-pong: messages of one length at a fixed rate, and how long each took to come back",
    docs: "Sends messages of `message_bytes` to the built-in echo server (`pinwise echo-server --port {port}`) at `rate_per_s`, at \
           most `prefetch` of them under way on a connection, over `transport` tcp, unix or udp; with `nodelay` or Nagle's delay, with \
           `busy_poll_us` or without. Latency counts from when a message was due. Each must come back once and unchanged. Gives the figures of \
           the string load, and in the trial's folder latency.csv: for each second the rate that was achieved, and min, max, mean, \
           p50, p99 and p99.9 of that second alone. Without `rate_per_s` it is a closed loop over `prefetch` messages.",
    example: "driver = \"latency\"\nrate_per_s = 10000.0\nspacing = \"uniform\"\nmessage_bytes = 1024\ntransport = \"tcp\"\nseconds = 5.0\n",
};

/// The file in the trial's folder.
const CSV: &str = "latency.csv";

impl Driven for LatencyLoad {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn check(&self) -> Result<(), Fault> {
        LatencyLoad::check(self)
    }

    fn spec(&self) -> LoadSpec {
        LoadSpec::Latency(self.clone())
    }

    fn afterwards(&self, dir: OwnFolder) -> Afterwards {
        Box::new(move |outcome| {
            trial_folder::write(&dir, CSV, per_second::csv(&outcome.intervals).as_bytes())?;
            Ok(outcome)
        })
    }

    fn drive(&self, server: SocketAddr, course: Course<'_>) -> Result<Document, Fault> {
        LatencyLoad::check(self)?;
        let dialogue = |_| EchoDialogue::new(self.message_bytes as usize, self.prefetch);
        drive::drive(&self.pace(), self.endpoint(server), dialogue, course)
    }
}
