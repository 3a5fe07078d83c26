//! What the AMQP load is given, in recipes.

use std::collections::BTreeMap;

use machine::{Class, Fault};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::field::Value;
use crate::drive::{Keys, driven_load};
use crate::workloads::payload::MARK_BYTES;

/// The type of queue that the messages go through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A classic queue.
    #[default]
    Classic,
    /// A quorum queue: replicated, always durable.
    Quorum,
    /// A stream: a log, always durable.
    Stream,
}

impl Kind {
    /// Its name in `x-queue-type`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Classic => "classic",
            Self::Quorum => "quorum",
            Self::Stream => "stream",
        }
    }
}

/// The value of a queue's argument.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Argument {
    /// true or false
    Yes(bool),
    /// A whole number.
    Whole(i64),
    /// Text.
    Text(String),
}

driven_load! {
    /// The AMQP load of a recipe: a message out, the same message back.
    pub struct AmqpLoad {
        id: "amqp",
        connections: 1,
        keep_alive: true,
        /// Channels of each connection, each with a queue and a consumer of its own and one message on its way.
        pub channels: u32 = 1,
        /// Size of a message's body, bytes.
        pub message_bytes: u32 = MARK_BYTES as u32,
        /// User to log in as (PLAIN).
        pub user: String = "guest".into(),
        /// The user's password. No list of processes, ledger or report shows it; a case keeps it in its `secrets.toml`.
        pub password: String = "guest".into(),
        /// Virtual host.
        pub vhost: String = "/".into(),
        /// Type of the queues. Transient classic ones are exclusive and auto-delete: newer brokers take no other transient queues.
        pub queue: Kind = Kind::Classic,
        /// Further arguments of the queues, such as `x-queue-version`.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        pub queue_arguments: BTreeMap<String, Argument> = BTreeMap::new(),
        /// Whether messages outlive the broker: durable queues, delivery mode 2.
        pub persistent: bool = false,
        /// Publisher confirms: a message counts once it is back *and* the broker has confirmed it.
        pub confirms: bool = false,
        /// Whether deliveries are acknowledged; otherwise the broker forgets them as it sends them.
        pub acks: bool = false,
        /// Messages that a consumer may have without having acknowledged them (basic.qos); none to leave it unsaid.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub prefetch: Option<u16> = None,
    }
}

/// The longest text of the protocol's short kind, bytes.
const SHORT_TEXT_BYTES: usize = 255;
/// The most channels that a connection can have.
const MOST_CHANNELS: u32 = 65_535;
/// RabbitMQ takes no larger ones by any setting.
const MOST_MESSAGE_BYTES: u32 = 512 << 20;

impl AmqpLoad {
    /// Fails, naming the key, when a value makes no sense.
    pub fn check(&self) -> Result<(), Fault> {
        self.pace().check(self.id())?;
        self.check_sizes()?;
        self.check_texts()?;
        let fault = |key: &str, cause: &str, remedy: &str| {
            Err(Fault::new(Class::Usage, format!("amqp load: {key}"), cause, remedy))
        };
        match (self.queue, self.acks, self.prefetch) {
            (Kind::Stream, false, _) => {
                fault("acks", "a stream's messages have to be acknowledged", "set it")
            }
            (Kind::Stream, true, None) => {
                fault("prefetch", "a stream cannot be read without", "set it, to 1")
            }
            _ if !self.keep_alive => fault("keep_alive", "a queue is of its connection", "leave it out"),
            (_, _, Some(0)) => fault("prefetch", "0 means no limit", "leave it out"),
            (_, false, Some(_)) => fault(
                "prefetch",
                "it holds nothing back where nothing is acknowledged",
                "set acks, or leave it out",
            ),
            (Kind::Quorum | Kind::Stream, ..) if !self.persistent => {
                fault("persistent", "queues of this type are always durable", "set it")
            }
            _ => Ok(()),
        }
    }

    fn check_sizes(&self) -> Result<(), Fault> {
        let ranges = [
            ("channels", self.channels, 1, MOST_CHANNELS),
            ("message_bytes", self.message_bytes, MARK_BYTES as u32, MOST_MESSAGE_BYTES),
        ];
        for (key, value, least, most) in ranges {
            if !(least..=most).contains(&value) {
                let (cause, remedy) =
                    (format!("{value} is out of range"), format!("choose {least} to {most}"));
                return Err(Fault::new(Class::Usage, format!("amqp load: {key}"), cause, remedy));
            }
        }
        Ok(())
    }

    fn check_texts(&self) -> Result<(), Fault> {
        let texts = [("user", &self.user), ("password", &self.password), ("vhost", &self.vhost)];
        let names = self.queue_arguments.keys().map(|name| ("queue_arguments", name));
        for (key, text) in texts.into_iter().chain(names) {
            if text.len() > SHORT_TEXT_BYTES || text.contains('\0') {
                let cause = "it is longer than 255 bytes, or has a zero byte in it";
                return Err(Fault::new(
                    Class::Usage,
                    format!("amqp load: {key}"),
                    cause,
                    "the protocol cannot say that",
                ));
            }
        }
        let ours = ["x-queue-type", "x-expires"];
        match self.queue_arguments.keys().find(|name| ours.contains(&name.as_str())) {
            Some(name) => Err(Fault::new(
                Class::Usage,
                "amqp load: queue_arguments",
                format!("{name} is set already"),
                "leave it out; `queue` says the type",
            )),
            None => Ok(()),
        }
    }

    /// Whether the queues are of one connection alone, and gone with it.
    pub(super) fn exclusive(&self) -> bool {
        !self.persistent
    }

    /// The queues' further arguments, as the protocol says them.
    pub(super) fn arguments(&self) -> Vec<(&str, Value<'_>)> {
        self.queue_arguments.iter().map(|(name, value)| (name.as_str(), argument(value))).collect()
    }
}

/// An argument as the protocol says it.
pub(super) fn argument(argument: &Argument) -> Value<'_> {
    match argument {
        &Argument::Yes(yes) => Value::Yes(yes),
        &Argument::Whole(whole) => Value::Whole(whole),
        Argument::Text(text) => Value::Text(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn senseless_values_are_named() {
        let default = AmqpLoad::default();
        default.check().unwrap();
        let long = "x".repeat(256);
        let bad = [
            (AmqpLoad { channels: 0, ..default.clone() }, "channels"),
            (AmqpLoad { connections: 0, ..default.clone() }, "connections"),
            (AmqpLoad { keep_alive: false, ..default.clone() }, "keep_alive"),
            (AmqpLoad { channels: 65_536, ..default.clone() }, "channels"),
            (AmqpLoad { message_bytes: 11, ..default.clone() }, "message_bytes"),
            (AmqpLoad { vhost: long, ..default.clone() }, "vhost"),
            (AmqpLoad { user: "a\0b".into(), ..default.clone() }, "user"),
            (AmqpLoad { prefetch: Some(1), ..default.clone() }, "prefetch"),
            (AmqpLoad { prefetch: Some(0), acks: true, ..default.clone() }, "prefetch"),
            (AmqpLoad { queue: Kind::Quorum, ..default.clone() }, "persistent"),
            (AmqpLoad { queue: Kind::Stream, persistent: true, ..default.clone() }, "acks"),
            (AmqpLoad { queue: Kind::Stream, persistent: true, acks: true, ..default.clone() }, "prefetch"),
            (
                AmqpLoad {
                    queue_arguments: BTreeMap::from([("x-queue-type".into(), Argument::Yes(true))]),
                    ..default
                },
                "queue_arguments",
            ),
        ];
        for (load, key) in bad {
            let fault = load.check().unwrap_err();
            assert!(fault.to_string().contains(&format!("amqp load: {key}")), "{fault}");
        }
    }

    #[test]
    fn a_recipe_says_a_variant() {
        let text = "channels = 500\nqueue = 'stream'\npersistent = true\nconfirms = true\nacks = true\nprefetch = 1\n\
                    [queue_arguments]\nx-queue-version = 2\nx-queue-mode = 'lazy'";
        let load: AmqpLoad = toml::from_str(text).unwrap();
        load.check().unwrap();
        assert_eq!(
            load.arguments(),
            [("x-queue-mode", Value::Text("lazy")), ("x-queue-version", Value::Whole(2))]
        );
        assert!(toml::from_str::<AmqpLoad>("chanels = 3").unwrap_err().to_string().contains("channels"));
    }
}
