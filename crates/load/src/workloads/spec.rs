//! The load of a recipe: its driver and its options.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::string::StringLoad;

/// The list of loads, for a macro: those that pinwise drives itself, and those that are a program of their own. Each has what the schema
/// of recipes says of it, its variant of [`LoadSpec`], its folder and its options.
macro_rules! every_load {
    ($listed:ident) => {
        $listed! {
            driven {
                /// The built-in load generator: a line out, a line back.
                String(super::string::StringLoad),
                /// Messages that come back, at a fixed rate.
                Latency(super::latency::LatencyLoad),
                /// One request of HTTP/1.1 again and again.
                Http(super::http::HttpLoad),
                /// Authentications and searches at a directory.
                Ldap(super::ldap::LdapLoad),
                /// AMQP 0-9-1: a message out, the same message back.
                Amqp(super::amqp::AmqpLoad),
                /// No load: what is taken from a task that only spins.
                Spin(super::spin::SpinLoad),
                /// UDP packets to a sink that counts them.
                Packets(super::packets::PacketsLoad),
                /// NATS: a message out through a subject, the same message back.
                Nats(super::nats::NatsLoad),
                /// A queue that is filled and drained, each operation reported by itself.
                QueueFill(super::queue_fill::QueueFillLoad),
                /// No load: the traffic that the server has of its own.
                OwnTraffic(super::own_traffic::OwnTrafficLoad),
            }
            program {
                /// Any load tool, by its command line.
                Command(super::command::CommandLoad),
            }
        }
    };
}
pub(super) use every_load;

/// Declares [`LoadSpec`].
macro_rules! load_spec {
    ($($kind:ident { $($(#[$about:meta])* $Variant:ident(super::$folder:ident::$Options:ident),)+ })+) => {
        /// The load of a recipe.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "driver", rename_all = "kebab-case")]
        pub enum LoadSpec {
            $($($(#[$about])* $Variant(super::$folder::$Options),)+)+
        }
    };
}
every_load!(load_spec);

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
