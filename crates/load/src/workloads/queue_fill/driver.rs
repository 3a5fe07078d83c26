//! The driver `queue-fill`: a queue that is filled and drained, each operation reported by itself.

use std::net::SocketAddr;

use machine::{Fault, OwnFolder};

use super::QueueFillLoad;
use super::dialogue::QueueDialogue;
use super::options::Protocol;
use crate::drive::{self, Broken, Course, Document, Keys};
use crate::outcome::operations;
use crate::process::trial_folder;
use crate::workloads::amqp::AmqpFill;
use crate::workloads::{About, Afterwards, Driven, LoadSpec, payload};

/// What it is.
pub static ABOUT: About = About {
    id: "queue-fill",
    title: "a queue that is filled and drained: where does it outgrow the memory, and what does each operation cost then",
    docs: "One connection, one operation after the other: puts N `messages` of `message_bytes` and gets them again (`shape` fill-drain), or \
           puts N, then 2 N times puts one and gets one, then gets N (fill-exchange-drain). The server is the built-in one (`pinwise \
           queue-server --port {port}`) or a broker (`protocol` amqp: basic.publish, in the queue once it is confirmed; basic.get without \
           acknowledgement; `queue_arguments` such as x-queue-version). Each message is compared byte by byte, in order: one that is lost, \
           there twice or changed ends the run as a failure, and so does an alarm of the broker. The run ends with the sequence, whatever \
           the study's window. Gives put_p50_us, put_p99_us, put_max_us, get_..., total_s, requests_per_s (operations) and the latency \
           figures of both kinds together, and in the trial's folder operations.csv: number, kind, phase, begin and length of each, us.",
    example: "driver = \"queue-fill\"\nshape = \"fill-exchange-drain\"\nmessages = 128\nmessage_bytes = 10000000\n",
};

/// The file in the trial's folder.
const CSV: &str = "operations.csv";

impl Driven for QueueFillLoad {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn check(&self) -> Result<(), Fault> {
        QueueFillLoad::check(self)
    }

    fn spec(&self) -> LoadSpec {
        LoadSpec::QueueFill(self.clone())
    }

    fn afterwards(&self, dir: OwnFolder) -> Afterwards {
        Box::new(move |outcome| {
            trial_folder::write(&dir, CSV, operations::csv(&outcome.operations).as_bytes())?;
            Ok(outcome)
        })
    }

    fn drive(&self, server: SocketAddr, course: Course<'_>) -> Result<Document, Fault> {
        QueueFillLoad::check(self)?;
        let mut document = match self.protocol {
            Protocol::Queue => {
                let dialogue = |_| QueueDialogue::new(self.sequence(), self.message_bytes as usize);
                drive::drive(&self.pace(), server, dialogue, course)?
            }
            Protocol::Amqp => {
                let run = payload::of_this_run();
                drive::drive(&self.pace(), server, |_| AmqpFill::new(self, run), course)?
            }
        };
        let (done, all) = (document.outcome.operations.len() as u64, self.sequence().operations());
        // What was cut is the slow end of it: a good run of the rest would be a faster result.
        if document.broken.is_none() && done < all {
            document.broken = Some(Broken {
                object: server.to_string(),
                cause: format!("{done} of {all} operations were done within {} s", self.seconds),
                remedy: "raise load.seconds, or lower load.messages".into(),
            });
        }
        Ok(document)
    }
}
