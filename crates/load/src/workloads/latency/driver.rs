//! The driver `latency`: messages that come back, at a fixed rate.

use std::net::SocketAddr;

use machine::{Fault, OwnFolder};

use super::dialogue::EchoDialogue;
use super::frames::{self, FrameDialogue};
use super::over_http::HttpEchoDialogue;
use super::{LatencyLoad, per_second};
use crate::drive::{self, Course, Document, Endpoint, Keys, Transport};
use crate::process::trial_folder;
use crate::workloads::{About, Afterwards, Driven, LoadSpec, payload};

/// What it is.
pub static ABOUT: About = About {
    id: "latency",
    title: "ping-pong: messages of one length at a fixed rate, and how long each took to come back",
    docs: "Sends messages of `message_bytes` to the built-in echo server (`pinwise echo-server --port {port}`) at `rate_per_s`, at \
           most `prefetch` of them under way on a connection, over `transport` tcp, unix, udp or packet (frames below IP; the server wants \
           `--packets true`); with `nodelay` or Nagle's delay, with `busy_poll_us` or without, with `http` as bodies of HTTP/1.1 (the \
           server wants `--http true`). Latency counts from when a message was due. Each must come back once and unchanged. Gives the \
           figures of the string load, and in the trial's folder latency.csv: for each second the rate that was achieved, and min, max, mean, \
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
        let (bytes, lanes, endpoint) = (self.message_bytes as usize, self.prefetch, self.endpoint(server));
        match self.transport {
            Transport::Packet => {
                let link = frames::link_to(server)?;
                let endpoint = Endpoint { interface: link.index, ..endpoint };
                let run = payload::of_this_run();
                let dialogue = |index: u32| {
                    FrameDialogue::new(bytes, lanes, &link, server.port(), run.wrapping_add(u64::from(index)))
                };
                drive::drive(&self.pace(), endpoint, dialogue, course)
            }
            _ if self.http => {
                let dialogue = |_| HttpEchoDialogue::new(bytes, lanes, server);
                drive::drive(&self.pace(), endpoint, dialogue, course)
            }
            _ => drive::drive(&self.pace(), endpoint, |_| EchoDialogue::new(bytes, lanes), course),
        }
    }
}
