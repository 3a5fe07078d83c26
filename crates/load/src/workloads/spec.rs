//! The load of a recipe: its driver and its options.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::CommandLoad;
use crate::amqp::options::AmqpLoad;
use crate::echo::options::LatencyLoad;
use crate::http::options::HttpLoad;
use crate::ldap::options::LdapLoad;
use crate::nats::options::NatsLoad;
use crate::packets::options::PacketsLoad;
use crate::queue::options::QueueFillLoad;
use crate::spinner::options::SpinLoad;
use crate::string::options::StringLoad;

/// The load of a recipe.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "driver", rename_all = "kebab-case")]
pub enum LoadSpec {
    /// The built-in load generator: a line out, a line back.
    String(StringLoad),
    /// Messages that come back, at a fixed rate.
    Latency(LatencyLoad),
    /// One request of HTTP/1.1 again and again.
    Http(HttpLoad),
    /// Authentications and searches at a directory.
    Ldap(LdapLoad),
    /// AMQP 0-9-1: a message out, the same message back.
    Amqp(AmqpLoad),
    /// No load: what is taken from a task that only spins.
    Spin(SpinLoad),
    /// UDP packets to a sink that counts them.
    Packets(PacketsLoad),
    /// NATS: a message out through a subject, the same message back.
    Nats(NatsLoad),
    /// A queue that is filled and drained, each operation told by itself.
    QueueFill(QueueFillLoad),
    /// Any load tool, by its command line.
    Command(CommandLoad),
}

impl Default for LoadSpec {
    fn default() -> Self {
        Self::String(StringLoad::default())
    }
}

impl LoadSpec {
    /// The load of this name with its defaults; none where there is no such load, or where it means nothing without a command.
    pub fn named(id: &str) -> Option<Self> {
        let alone = toml::Table::from_iter([("driver".to_string(), toml::Value::from(id))]);
        Self::deserialize(alone).ok()
    }
}
