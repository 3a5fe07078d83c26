//! Loads, one file each. Adding one: its file here, its line in [`ALL`], its variant in [`LoadSpec`] and in `of_each`.

use change::Hand;
use machine::{Fault, Missing, OwnFolder, Placement};

pub use crate::amqp::options::AmqpLoad;
use crate::drive::{self, Driven, Keys, Pace};
pub use crate::echo::options::LatencyLoad;
pub use crate::http::options::HttpLoad;
pub use crate::ldap::options::LdapLoad;
pub use crate::nats::options::NatsLoad;
use crate::netns;
pub use crate::packets::options::PacketsLoad;
pub use crate::queue::options::QueueFillLoad;
use crate::running::Running;
use crate::server::Server;
pub use crate::spinner::options::SpinLoad;
pub use crate::string::options::StringLoad;
pub use about::About;
pub use command::CommandLoad;
pub use spec::LoadSpec;
pub use workload::Workload;

mod about;
pub mod amqp;
pub mod command;
pub mod http;
pub mod latency;
pub mod ldap;
pub mod nats;
pub mod packets;
pub mod queue_fill;
mod spec;
pub mod spin;
pub mod string;
mod workload;

/// Every load that there is.
pub static ALL: [&About; 10] = [
    &string::ABOUT,
    &latency::ABOUT,
    &http::ABOUT,
    &ldap::ABOUT,
    &amqp::ABOUT,
    &spin::ABOUT,
    &packets::ABOUT,
    &nats::ABOUT,
    &queue_fill::ABOUT,
    &command::ABOUT,
];

/// What pinwise drives itself is started in a process of its own, whatever it speaks.
impl<L: Driven> Workload for L {
    fn about(&self) -> &'static About {
        Driven::about(self)
    }

    fn check(&self) -> Result<(), Fault> {
        Driven::check(self)
    }

    fn needs(&self) -> Vec<Missing> {
        netns::missing(self.netns().map(String::as_str)).into_iter().chain(self.lacks()).collect()
    }

    fn start(
        &self,
        server: &Server,
        placement: &Placement,
        hand: &mut Hand,
        dir: &OwnFolder,
    ) -> Result<Running, Fault> {
        drive::start(self, server, placement, hand, dir)
    }
}

/// One thing for every load that pinwise drives itself, another for a command.
macro_rules! of_each {
    ($spec:expr, $load:ident => $driven:expr, $command:ident => $other:expr) => {
        match $spec {
            LoadSpec::String($load) => $driven,
            LoadSpec::Latency($load) => $driven,
            LoadSpec::Http($load) => $driven,
            LoadSpec::Ldap($load) => $driven,
            LoadSpec::Amqp($load) => $driven,
            LoadSpec::Spin($load) => $driven,
            LoadSpec::Packets($load) => $driven,
            LoadSpec::Nats($load) => $driven,
            LoadSpec::QueueFill($load) => $driven,
            LoadSpec::Command($command) => $other,
        }
    };
}

impl LoadSpec {
    /// The load that these options are for.
    pub fn workload(&self) -> &dyn Workload {
        of_each!(self, load => load, load => load)
    }

    /// The load, if pinwise drives it itself; none for a command.
    pub fn driven(&self) -> Option<&dyn Driven> {
        of_each!(self, load => Some(load), _command => None)
    }

    /// The same, to be changed.
    pub fn driven_mut(&mut self) -> Option<&mut dyn Driven> {
        of_each!(self, load => Some(load), _command => None)
    }

    /// Sets how long the load is to run, s: a load of our own for exactly so long; a command sees it as `{seconds}`, rounded up. A
    /// sequence takes as long as it takes.
    pub fn set_seconds(&mut self, seconds: f64) {
        match self {
            Self::QueueFill(_) => {}
            Self::Command(load) => load.seconds = seconds,
            _ => {
                if let Some(load) = self.driven_mut() {
                    load.set_pace(Pace { seconds, ..load.pace() });
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
    fn the_folder_and_the_list_are_the_same() {
        // What all of them are made of stands beside them.
        let beside = ["about", "mod", "spec", "workload"];
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/workloads");
        let files: BTreeSet<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().replace('_', "-"))
            .filter(|name| !beside.contains(&name.as_str()))
            .collect();
        assert_eq!(files, ALL.iter().map(|about| about.id.to_string()).collect());
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
