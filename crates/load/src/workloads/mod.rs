//! Loads, one folder each: its options, its protocol, its driver. To add one: its folder and its `mod` here, and its line in the list of
//! `spec.rs`, from which all else follows.

use crate::drive::Keys;
pub use about::About;
pub use amqp::AmqpLoad;
pub use command::CommandLoad;
pub use driven::{Afterwards, Driven};
pub use http::HttpLoad;
pub use latency::LatencyLoad;
pub use ldap::LdapLoad;
pub use nats::NatsLoad;
pub use own_traffic::OwnTrafficLoad;
pub use packets::PacketsLoad;
pub use queue_fill::QueueFillLoad;
pub use spec::LoadSpec;
use spec::every_load;
pub use spin::SpinLoad;
pub use string::StringLoad;
pub use workload::Workload;

mod about;
pub mod amqp;
pub mod command;
mod driven;
pub mod http;
pub mod latency;
pub mod ldap;
pub mod nats;
pub mod own_traffic;
pub mod packets;
pub(crate) mod payload;
pub mod queue_fill;
mod spec;
pub mod spin;
pub mod string;
mod workload;

/// What follows from the list of loads: [`ALL`], and the load behind a [`LoadSpec`].
macro_rules! dispatch {
    (
        driven { $($(#[$about:meta])* $Driven:ident(super::$folder:ident::$Options:ident),)+ }
        program { $($(#[$program_about:meta])* $Program:ident(super::$program:ident::$ProgramOptions:ident),)+ }
    ) => {
        /// Every load that there is.
        pub static ALL: &[&About] = &[$(&$folder::ABOUT,)+ $(&$program::ABOUT,)+];

        impl LoadSpec {
            /// The load that these options are for.
            pub fn workload(&self) -> &dyn Workload {
                match self {
                    $(Self::$Driven(load) => load,)+
                    $(Self::$Program(load) => load,)+
                }
            }

            /// The load, if pinwise drives it itself; none for a program.
            pub fn driven(&self) -> Option<&dyn Driven> {
                match self {
                    $(Self::$Driven(load) => Some(load),)+
                    $(Self::$Program(_) => None,)+
                }
            }

            /// Whether pinwise drives it at a fixed rate. A program may have a rate of its own, which is not known.
            pub fn has_rate(&self) -> bool {
                self.driven().is_some_and(|load| load.pace().rate_per_s.is_some())
            }

            /// The load, if pinwise drives it itself, to be changed; none for a program.
            pub fn driven_mut(&mut self) -> Option<&mut dyn Driven> {
                match self {
                    $(Self::$Driven(load) => Some(load),)+
                    $(Self::$Program(_) => None,)+
                }
            }
        }
    };
}
every_load!(dispatch);

impl LoadSpec {
    /// Sets how long the load is to run, s: see [`Keys::set_seconds`]; a command sees it as `{seconds}`, rounded up.
    pub fn set_seconds(&mut self, seconds: f64) {
        match self {
            Self::Command(load) => load.seconds = seconds,
            _ => {
                if let Some(load) = self.driven_mut() {
                    load.set_seconds(seconds);
                }
            }
        }
    }

    /// Network namespace (/run/netns/NAME) that the load runs in; none for ours.
    pub fn netns(&self) -> Option<&String> {
        match self {
            Self::Command(load) => load.netns.as_ref(),
            _ => self.driven().and_then(Keys::netns),
        }
    }

    /// Sets where it runs.
    pub fn set_netns(&mut self, netns: Option<String>) {
        match self {
            Self::Command(load) => load.netns = netns,
            _ => {
                if let Some(load) = self.driven_mut() {
                    load.set_netns(netns);
                }
            }
        }
    }

    /// Whether the engine drives it: then its process makes its connections first, starts at a moment that it is given, and says when it
    /// sent its first request.
    pub fn is_of_engine(&self) -> bool {
        !matches!(self, Self::Command(_) | Self::Spin(_) | Self::Packets(_) | Self::OwnTraffic(_))
    }

    /// Whether its process announces when it began: where the engine drives it, and where it gets ready for a while before it watches.
    pub fn announces_its_start(&self) -> bool {
        self.is_of_engine() || matches!(self, Self::OwnTraffic(_))
    }

    /// How long the load is to run, s.
    pub fn seconds(&self) -> f64 {
        match self {
            Self::Command(load) => load.seconds,
            _ => self.driven().map_or(0.0, |load| load.pace().seconds),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_load_keeps_the_lists_promises() {
        let ids: BTreeSet<&str> = ALL.iter().map(|about| about.id).collect();
        assert_eq!(ids.len(), ALL.len(), "ids are unique");
        for about in ALL {
            assert!(!about.title.is_empty() && about.docs.len() > 80, "{} is documented", about.id);
            let spec: LoadSpec =
                toml::from_str(about.example).unwrap_or_else(|e| panic!("{}: {e}", about.id));
            assert_eq!(spec.workload().about().id, about.id, "the example is of this load");
            let named = LoadSpec::named(about.id).map(|named| named.workload().about().id);
            assert_eq!(named, spec.driven().map(|_| about.id), "{} has defaults", about.id);
            spec.workload().check().unwrap();
        }
    }

    #[test]
    fn the_folders_and_the_list_are_the_same() {
        // Files beside the folders hold what all loads share.
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/workloads");
        let folders: BTreeSet<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_dir())
            .map(|path| path.file_name().unwrap().to_string_lossy().replace('_', "-"))
            .collect();
        assert_eq!(folders, ALL.iter().map(|about| about.id.to_string()).collect());
    }

    #[test]
    fn unknown_keys_and_drivers_are_named() {
        let error = |text: &str| toml::from_str::<LoadSpec>(text).unwrap_err().to_string();
        assert!(error("driver = 'string'\nconection = 3").contains("conection"));
        assert!(error("driver = 'mqtt'").contains("mqtt"));
        assert!(error("connections = 3").contains("driver"));
    }

    #[test]
    fn a_spec_survives_being_written_down() {
        for about in ALL {
            let spec: LoadSpec = toml::from_str(about.example).unwrap();
            assert_eq!(toml::from_str::<LoadSpec>(&toml::to_string(&spec).unwrap()).unwrap(), spec);
        }
    }
}
