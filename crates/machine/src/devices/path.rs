//! How a host reaches another one: the interface that the route leaves by, and what is known of it.
//!
//! Nothing is sent. The path MTU is what the kernel knows of the route, which may be more than gets through; how many hops there are
//! is not known.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::{Device, network};
use crate::ethtool::{Offload, Report};
use crate::root::{ETHTOOL, ROUTE, Route};
use crate::{Missing, Notes, Root};

/// What stands behind an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InterfaceKind {
    /// The host itself.
    Loopback,
    /// The other end of a pair on the same host.
    Veth,
    /// A network card, that of a guest included.
    Card,
    /// Something else without hardware of its own: a bridge, a bond, a VLAN, a tunnel.
    Virtual,
}

/// One end of the path between two hosts: how this one reaches the other. What is not known has its reason in `missing`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PathEnd {
    /// The address at the other end.
    pub peer: Option<IpAddr>,
    /// The address here.
    pub local: Option<IpAddr>,
    /// The interface that the route to the other address leaves by.
    pub interface: Option<String>,
    /// What stands behind it.
    pub kind: Option<InterfaceKind>,
    /// Its driver: `ixgbe`, `virtio_net`.
    pub driver: Option<String>,
    /// Its link speed as the driver reports it, Mbit/s.
    pub speed_mbit: Option<u64>,
    /// The largest packet that it sends, bytes.
    pub mtu_bytes: Option<u32>,
    /// What the kernel knows of the largest packet that gets to the other end whole, bytes.
    pub path_mtu_bytes: Option<u32>,
    /// Queues that receive.
    pub rx_queues: Option<usize>,
    /// Queues that send.
    pub tx_queues: Option<usize>,
    /// Whether each offload is in force; those that are not known are not in it.
    pub offloads: BTreeMap<Offload, bool>,
    /// What is not known, and why.
    pub missing: Vec<Missing>,
}

impl PathEnd {
    /// An end of which nothing is known.
    pub fn unknown(why: impl std::fmt::Display) -> Self {
        Self { missing: vec![Missing::new("route", why)], ..Self::default() }
    }
}

/// How the server's host and one that drives load reach each other.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct NetworkPath {
    /// The host that drives load, by its name in the study.
    pub host: String,
    /// How the server's host reaches it.
    pub server: PathEnd,
    /// How it reaches the server.
    pub load: PathEnd,
}

/// How the host of `root` reaches `peer`.
pub fn read(root: &Root, peer: IpAddr) -> PathEnd {
    let (mut end, mut notes) = (PathEnd { peer: Some(peer), ..PathEnd::default() }, Notes::new());
    if let Some(route) = notes.keep("route", root.json_fact::<Route>(&format!("{ROUTE}{peer}"))) {
        route.missing.into_iter().for_each(|missing| notes.add(missing));
        (end.local, end.path_mtu_bytes) = (route.local, route.path_mtu_bytes);
        if let Some(name) = &route.interface {
            match is_shown(root, name, route.index) {
                true => interface(root, name, &mut end, &mut notes),
                false => notes.missing(format!("interface {name}"), "/sys/class/net does not show it"),
            }
        }
        end.interface = route.interface;
    }
    notes.missing("number of hops", "nothing is sent to count them");
    end.missing = notes.into_vec();
    end
}

/// Whether /sys shows this very interface: that of another network namespace may show one with the same name.
fn is_shown(root: &Root, name: &str, index: Option<u32>) -> bool {
    let shown = root.number::<u32>(format!("/sys/class/net/{name}/ifindex")).ok();
    shown.is_some() && shown == index
}

fn interface(root: &Root, name: &str, end: &mut PathEnd, notes: &mut Notes) {
    match network::alone(root, name, &mut Notes::new()) {
        Some(device) => {
            let count = |way: &str| device.queues.iter().filter(|queue| queue.name.starts_with(way)).count();
            if !device.queues.is_empty() {
                (end.rx_queues, end.tx_queues) = (Some(count("rx-")), Some(count("tx-")));
            }
            if device.speed_mbit.is_none() {
                notes.missing(format!("speed of {name}"), "its driver reports none");
            }
            end.kind = Some(kind(&device));
            (end.speed_mbit, end.driver) = (device.speed_mbit, device.driver);
        }
        None => notes.missing(format!("interface {name}"), "/sys/class/net does not show it"),
    }
    end.mtu_bytes = notes.keep(format!("MTU of {name}"), root.number(format!("/sys/class/net/{name}/mtu")));
    let report = root.json_fact::<Report>(&format!("{ETHTOOL}{name}"));
    if let Some(report) = notes.keep(format!("offloads of {name}"), report) {
        let known = |offload: Offload| Some((offload, report.offload(offload)?));
        end.offloads = Offload::ALL.into_iter().filter_map(known).collect();
        for offload in Offload::ALL.iter().filter(|offload| !end.offloads.contains_key(*offload)) {
            notes.missing(format!("{offload} of {name}"), "ethtool's netlink family does not report it");
        }
    }
}

fn kind(device: &Device) -> InterfaceKind {
    match device.link.as_deref() {
        Some("loopback") => InterfaceKind::Loopback,
        Some("veth") => InterfaceKind::Veth,
        _ if device.is_virtual => InterfaceKind::Virtual,
        _ => InterfaceKind::Card,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tree;

    const ROUTE_TO_B: &str = r#"{"local":"10.0.0.1","interface":"veth0","index":7,"path_mtu_bytes":1500}"#;

    fn peer() -> IpAddr {
        "10.0.0.2".parse().unwrap()
    }

    fn tree() -> Tree {
        let veth = "/sys/devices/virtual/net/veth0";
        Tree::new()
            .link("/sys/class/net/veth0", "../../devices/virtual/net/veth0")
            .file(&format!("{veth}/ifindex"), "7\n")
            .file(&format!("{veth}/iflink"), "8\n")
            .file(&format!("{veth}/type"), "1\n")
            .file(&format!("{veth}/mtu"), "9000\n")
            .file(&format!("{veth}/speed"), "10000\n")
            .dir(&format!("{veth}/queues/rx-0"))
            .dir(&format!("{veth}/queues/tx-0"))
            .dir(&format!("{veth}/queues/tx-1"))
    }

    #[test]
    fn the_interface_of_the_route_is_read_with_what_is_set_of_it() {
        let ethtool = r#"{"offloads":{"gro":0,"tso":1}}"#;
        let root = Root::from_tree(tree())
            .with_fact("route 10.0.0.2", ROUTE_TO_B)
            .with_fact("ethtool veth0", ethtool);
        let end = read(&root, peer());
        assert_eq!((end.interface.as_deref(), end.kind), (Some("veth0"), Some(InterfaceKind::Veth)));
        assert_eq!((end.local, end.peer), ("10.0.0.1".parse().ok(), Some(peer())));
        assert_eq!(
            (end.mtu_bytes, end.path_mtu_bytes, end.speed_mbit),
            (Some(9000), Some(1500), Some(10_000))
        );
        assert_eq!((end.rx_queues, end.tx_queues), (Some(1), Some(2)));
        assert_eq!(end.offloads, BTreeMap::from([(Offload::Tso, true), (Offload::Gro, false)]));
        let missing: Vec<&str> = end.missing.iter().map(|missing| missing.fact.as_str()).collect();
        assert!(missing.contains(&"lro of veth0") && missing.contains(&"number of hops"), "{missing:?}");
        let json = serde_json::to_string(&end).unwrap();
        assert_eq!(serde_json::from_str::<PathEnd>(&json).unwrap(), end);
    }

    #[test]
    fn what_is_not_known_is_missing_and_not_zero() {
        let nothing = read(&Root::from_tree(Tree::new()), peer());
        assert_eq!((nothing.local, nothing.interface.clone(), nothing.mtu_bytes), (None, None, None));
        assert!(nothing.missing.iter().any(|missing| missing.fact == "route"), "{nothing:?}");
        let alone = Root::from_tree(Tree::new()).with_fact("route 10.0.0.2", ROUTE_TO_B);
        let alone = read(&alone, peer());
        assert_eq!((alone.interface.as_deref(), alone.kind, alone.rx_queues), (Some("veth0"), None, None));
        assert!(alone.offloads.is_empty(), "{alone:?}");
        assert!(alone.missing.iter().any(|missing| missing.fact == "interface veth0"), "{alone:?}");
    }

    #[test]
    fn an_interface_of_the_same_name_in_another_namespace_is_not_taken_for_it() {
        let other = ROUTE_TO_B.replace(":7,", ":70,");
        let end = read(&Root::from_tree(tree()).with_fact("route 10.0.0.2", other), peer());
        assert_eq!((end.interface.as_deref(), end.mtu_bytes, end.kind), (Some("veth0"), None, None));
        assert!(end.missing.iter().any(|missing| missing.fact == "interface veth0"), "{end:?}");
    }

    #[test]
    fn an_interface_with_hardware_is_a_card_and_one_without_is_not() {
        let device = |link: Option<&str>, is_virtual| Device {
            link: link.map(String::from),
            is_virtual,
            ..Device::default()
        };
        assert_eq!(kind(&device(None, false)), InterfaceKind::Card);
        assert_eq!(kind(&device(Some("bridge"), true)), InterfaceKind::Virtual);
        assert_eq!(kind(&device(Some("loopback"), true)), InterfaceKind::Loopback);
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(route in "(?s).{0,60}", ethtool in "(?s).{0,60}") {
            let root = Root::from_tree(tree())
                .with_fact("route 10.0.0.2", route)
                .with_fact("ethtool veth0", ethtool);
            let _ = read(&root, peer());
        }
    }
}
