//! What the queue-fill load is given, in recipes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use machine::{Class, Fault};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::protocol::LONGEST_BYTES;
use super::sequence::{Sequence, Shape};
use crate::drive::{Keys, Pace, Spacing};
use crate::workloads::amqp::options::Argument;
use crate::workloads::payload::MARK_BYTES;

/// Operations that are reported one by one: some 80 bytes each, of the 64 MiB that are read of a load.
const MOST_OPERATIONS: u64 = 500_000;

/// What the server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// As the built-in queue server does.
    #[default]
    Queue,
    /// AMQP 0-9-1.
    Amqp,
}

/// The queue-fill load of a recipe: a queue that is filled and drained, one operation after the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct QueueFillLoad {
    /// What the server speaks.
    pub protocol: Protocol,
    /// What follows what.
    pub shape: Shape,
    /// N: how many messages fill the queue.
    pub messages: u64,
    /// Size of a message, bytes.
    pub message_bytes: u32,
    /// AMQP: user to log in as (PLAIN).
    pub user: String,
    /// AMQP: the user's password. No list of processes, ledger or report shows it; a case keeps it in its `secrets.toml`.
    pub password: String,
    /// AMQP: virtual host.
    pub vhost: String,
    /// AMQP: further arguments of the queue, such as `x-queue-version`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub queue_arguments: BTreeMap<String, Argument>,
    /// Network namespace (/run/netns/NAME) that the load runs in; none for our own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub netns: Option<String>,
    /// The pinwise binary that is the load; none for the one that runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exe: Option<PathBuf>,
    /// The longest that the sequence may take, s. It ends when it ends: a study's window does not cut it.
    pub seconds: f64,
    /// An operation that has no answer after this time has failed, s; and with it the sequence.
    pub timeout_s: f64,
}

impl Default for QueueFillLoad {
    fn default() -> Self {
        Self {
            protocol: Protocol::Queue,
            shape: Shape::FillDrain,
            messages: 64,
            message_bytes: 10_000_000,
            user: "guest".into(),
            password: "guest".into(),
            vhost: "/".into(),
            queue_arguments: BTreeMap::new(),
            netns: None,
            exe: None,
            seconds: 600.0,
            timeout_s: 60.0,
        }
    }
}

impl Keys for QueueFillLoad {
    fn id(&self) -> &'static str {
        "queue-fill"
    }

    /// One connection, one operation at a time, so many as the sequence has.
    fn pace(&self) -> Pace {
        Pace {
            connections: 1,
            threads: 1,
            keep_alive: true,
            rate_per_s: None,
            spacing: Spacing::default(),
            seed: 1,
            seconds: self.seconds,
            max_requests: Some(self.sequence().operations()),
            timeout_s: self.timeout_s,
        }
    }

    fn netns(&self) -> Option<&String> {
        self.netns.as_ref()
    }

    fn exe(&self) -> Option<&Path> {
        self.exe.as_deref()
    }

    fn set_pace(&mut self, pace: Pace) {
        (self.seconds, self.timeout_s) = (pace.seconds, pace.timeout_s);
    }

    /// The sequence takes as long as it takes.
    fn set_seconds(&mut self, _: f64) {}

    fn set_netns(&mut self, netns: Option<String>) {
        self.netns = netns;
    }
}

impl QueueFillLoad {
    /// Its operations.
    pub fn sequence(&self) -> Sequence {
        Sequence { shape: self.shape, messages: self.messages }
    }

    /// Fails, naming the key, when a value makes no sense.
    pub fn check(&self) -> Result<(), Fault> {
        let wrong = |key: &str, cause: String, remedy: &str| {
            Err(Fault::new(Class::Usage, format!("queue-fill load: {key}"), cause, remedy))
        };
        let most_bytes = match self.protocol {
            Protocol::Queue => LONGEST_BYTES,
            // RabbitMQ takes no larger ones by any setting.
            Protocol::Amqp => 512 << 20,
        };
        for (key, value, least, most) in [
            ("messages", self.messages, 1, 1_000_000),
            ("message_bytes", self.message_bytes.into(), MARK_BYTES as u64, most_bytes),
        ] {
            if !(least..=most).contains(&value) {
                return wrong(key, format!("{value} is out of range"), &format!("choose {least} to {most}"));
            }
        }
        let operations = self.sequence().operations();
        if operations > MOST_OPERATIONS {
            let remedy = format!("choose fewer: {MOST_OPERATIONS} operations at most");
            return wrong(
                "messages",
                format!("{operations} operations are too many to report one by one"),
                &remedy,
            );
        }
        if self.protocol == Protocol::Queue && !self.queue_arguments.is_empty() {
            return wrong(
                "queue_arguments",
                "the queue server knows none".into(),
                "leave it out, or choose amqp",
            );
        }
        self.pace().check(self.id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn senseless_values_are_named() {
        let default = QueueFillLoad::default;
        default().check().unwrap();
        for (load, key) in [
            (QueueFillLoad { messages: 0, ..default() }, "messages"),
            (QueueFillLoad { message_bytes: 11, ..default() }, "message_bytes"),
            (QueueFillLoad { timeout_s: 0.0, ..default() }, "timeout_s"),
            (QueueFillLoad { seconds: -1.0, ..default() }, "seconds"),
            (
                QueueFillLoad {
                    queue_arguments: BTreeMap::from([("x-queue-version".into(), Argument::Whole(2))]),
                    ..default()
                },
                "queue_arguments",
            ),
        ] {
            let fault = load.check().unwrap_err().to_string();
            assert!(fault.contains(&format!("queue-fill load: {key}")), "{fault}");
        }
    }

    #[test]
    fn a_run_is_its_sequence() {
        let load = QueueFillLoad { shape: Shape::FillExchangeDrain, messages: 5, ..QueueFillLoad::default() };
        assert_eq!((load.pace().max_requests, load.pace().connections), (Some(30), 1));
    }
}
