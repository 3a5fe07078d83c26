//! Two network namespaces joined by a pair of virtual Ethernet devices (veth), in the words of ip(8). Only `change` runs ip.

use std::net::{IpAddr, Ipv4Addr};

use serde::{Deserialize, Serialize};

/// The device of each end; the two are in namespaces of their own, so that one name does.
const DEVICE: &str = "veth0";

/// Addresses of the two ends. Nothing of this network is seen outside of the pair.
const ADDRESSES: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 213, 7, 1), Ipv4Addr::new(10, 213, 7, 2)];

/// A pair of network namespaces: where a server and its load talk over network devices of their own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetnsPair {
    /// Names of the two namespaces, in /run/netns.
    pub names: [String; 2],
}

impl NetnsPair {
    /// The pair of a study, under the names that a setting can say: `pinwise-server:veth0/rx-0`.
    pub fn of_study() -> Self {
        Self { names: ["pinwise-server".into(), "pinwise-load".into()] }
    }

    /// Address of the first end.
    pub fn server_address() -> IpAddr {
        ADDRESSES[0].into()
    }

    /// The orders to ip(8) that make it, in turn.
    pub fn orders(&self) -> Vec<Vec<String>> {
        let [first, second] = &self.names;
        let mut lines = vec![
            format!("netns add {first}"),
            format!("netns add {second}"),
            format!("-n {first} link add {DEVICE} type veth peer name {DEVICE} netns {second}"),
        ];
        for (name, address) in self.names.iter().zip(ADDRESSES) {
            lines.push(format!("-n {name} addr add {address}/24 dev {DEVICE}"));
            lines.push(format!("-n {name} link set lo up"));
            lines.push(format!("-n {name} link set {DEVICE} up"));
        }
        lines.iter().map(|line| line.split(' ').map(String::from).collect()).collect()
    }

    /// The order that removes one of its namespaces; what is in it goes too.
    pub fn removal(name: &str) -> Vec<String> {
        ["netns", "del", name].map(String::from).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_are_made_and_set_up() {
        let orders: Vec<String> =
            NetnsPair::of_study().orders().iter().map(|words| words.join(" ")).collect();
        assert_eq!(orders[0], "netns add pinwise-server");
        assert_eq!(
            orders[2],
            "-n pinwise-server link add veth0 type veth peer name veth0 netns pinwise-load"
        );
        for (name, address) in [("server", NetnsPair::server_address()), ("load", ADDRESSES[1].into())] {
            assert!(orders.contains(&format!("-n pinwise-{name} addr add {address}/24 dev veth0")));
            assert!(orders.contains(&format!("-n pinwise-{name} link set veth0 up")));
        }
    }
}
