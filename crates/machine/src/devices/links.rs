//! Interfaces upon interfaces: bonds, VLANs, bridges and pairs, and the hardware below them
//! (Documentation/ABI/testing/sysfs-class-net: `lower_*`, `master`, `iflink`, `uevent`).

use std::collections::{BTreeMap, BTreeSet};

use super::{Device, DeviceKind};
use crate::Root;

const NET: &str = "/sys/class/net";

/// What an interface is, and what stands directly below it.
pub(super) struct Link {
    pub(super) kind: Option<String>,
    pub(super) lower: Vec<String>,
    pub(super) index: Option<u32>,
    pub(super) peer_index: Option<u32>,
}

/// Reads one interface; `names` are the entries of its folder.
pub(super) fn read(root: &Root, name: &str, names: &[String]) -> Link {
    let dir = format!("{NET}/{name}");
    let has = |entry: &str| names.iter().any(|n| n == entry);
    let number = |file: &str| root.number::<u32>(format!("{dir}/{file}")).ok();
    let (index, peer_index) = (number("ifindex"), number("iflink"));
    let mut lower: Vec<String> =
        names.iter().filter_map(|entry| entry.strip_prefix("lower_")).map(String::from).collect();
    if lower.is_empty() && has("brif") {
        // Kernels before 3.9 have no lower links; a bridge names its ports here.
        lower = root.list(format!("{dir}/brif")).unwrap_or_default();
    }
    // Tunnels have an iflink of 0.
    let other_end = index.is_some() && peer_index.is_some_and(|peer| peer != 0) && index != peer_index;
    let kind = kind(root, &dir, &has, lower.is_empty() && other_end);
    Link { kind, lower, index, peer_index: peer_index.filter(|peer| Some(*peer) != index) }
}

/// `bond`, `bridge`, `vlan`, `veth`, `loopback`; else the `DEVTYPE` of its uevent (`wlan`, `vxlan`).
fn kind(root: &Root, dir: &str, has: &impl Fn(&str) -> bool, alone_with_peer: bool) -> Option<String> {
    /// `ARPHRD_LOOPBACK` and `ARPHRD_ETHER` of include/uapi/linux/if_arp.h.
    const LOOPBACK: u32 = 772;
    const ETHER: u32 = 1;
    let by_folder = [("bonding", "bond"), ("bridge", "bridge"), ("tun_flags", "tun")];
    if let Some((_, kind)) = by_folder.iter().find(|(folder, _)| has(folder)) {
        return Some(kind.to_string());
    }
    let hardware_type = root.number::<u32>(format!("{dir}/type")).ok();
    if hardware_type == Some(LOOPBACK) {
        return Some("loopback".into());
    }
    let uevent = root.read(format!("{dir}/uevent")).unwrap_or_default();
    let told = uevent.lines().find_map(|line| line.strip_prefix("DEVTYPE=")).map(str::to_string);
    // A veth reports no type: it is known by an iflink that is another interface, often of another namespace.
    told.or_else(|| {
        (alone_with_peer && hardware_type == Some(ETHER) && !has("device")).then(|| "veth".into())
    })
}

/// Gives every interface the names of the hardware below it; pairs lead to each other only by name.
pub(super) fn resolve(devices: &mut [Device], links: &BTreeMap<String, Link>) {
    let by_index: BTreeMap<u32, &String> =
        links.iter().filter_map(|(name, link)| Some((link.index?, name))).collect();
    let physical: BTreeSet<String> = devices
        .iter()
        .filter(|d| d.kind == DeviceKind::Net && !d.is_virtual)
        .map(|d| d.name.clone())
        .collect();
    for device in devices.iter_mut().filter(|device| device.is_virtual) {
        let Some(link) = links.get(&device.name) else { continue };
        device.peer = (link.lower.is_empty() && device.link.as_deref() == Some("veth"))
            .then(|| peer(link, links, &by_index))
            .flatten();
        device.hardware = below(&device.name, links, &physical);
    }
}

/// The other end, if it is here: `iflink` is a number of the namespace of the *other* end, and only when that end
/// names this one in turn are both in this namespace.
fn peer(link: &Link, links: &BTreeMap<String, Link>, by_index: &BTreeMap<u32, &String>) -> Option<String> {
    let name = *by_index.get(&link.peer_index?)?;
    let other = links.get(name)?;
    let mutual = other.kind.as_deref() == Some("veth") && other.peer_index == link.index;
    mutual.then(|| name.clone())
}

/// The physical interfaces that a walk down from `name` meets, each once. A ring of links ends the walk.
fn below(name: &str, links: &BTreeMap<String, Link>, physical: &BTreeSet<String>) -> Vec<String> {
    let mut seen = BTreeSet::from([name]);
    let mut todo = vec![name];
    let mut found = BTreeSet::new();
    while let Some(here) = todo.pop() {
        for lower in links.get(here).iter().flat_map(|link| &link.lower) {
            if physical.contains(lower) {
                found.insert(lower.clone());
            } else if seen.insert(lower) {
                todo.push(lower);
            }
        }
    }
    found.into_iter().collect()
}

/// Functions of a card that were split off (SR-IOV): the address of the physical function.
pub(super) fn physical_function(root: &Root, device_dir: &str) -> Option<String> {
    let target = root.link(format!("{device_dir}/device/physfn")).ok()?;
    Some(target.file_name()?.to_str()?.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(lower: &[&str], index: u32, peer: Option<u32>) -> Link {
        Link {
            kind: peer.map(|_| "veth".to_string()),
            lower: lower.iter().map(|name| name.to_string()).collect(),
            index: Some(index),
            peer_index: peer,
        }
    }

    fn device(name: &str, is_virtual: bool, kind: &str) -> Device {
        Device { name: name.into(), is_virtual, link: Some(kind.into()), ..Device::default() }
    }

    #[test]
    fn a_vlan_on_a_bond_in_a_bridge_leads_to_both_cards() {
        let mut devices = vec![
            device("eth0", false, ""),
            device("eth1", false, ""),
            device("bond0", true, "bond"),
            device("bond0.7", true, "vlan"),
            device("br0", true, "bridge"),
            device("veth0", true, "veth"),
            device("veth1", true, "veth"),
        ];
        let links = BTreeMap::from([
            ("eth0".to_string(), link(&[], 2, None)),
            ("bond0".to_string(), link(&["eth0", "eth1"], 4, None)),
            ("bond0.7".to_string(), link(&["bond0"], 5, None)),
            ("br0".to_string(), link(&["bond0.7", "veth0", "br0"], 6, None)),
            ("veth0".to_string(), link(&[], 7, Some(8))),
            ("veth1".to_string(), link(&[], 8, Some(7))),
        ]);
        resolve(&mut devices, &links);
        let of = |name: &str| devices.iter().find(|d| d.name == name).unwrap();
        assert_eq!(of("br0").hardware, ["eth0", "eth1"]);
        assert_eq!(of("bond0.7").hardware, ["eth0", "eth1"]);
        assert_eq!((of("veth0").peer.as_deref(), of("veth0").hardware.len()), (Some("veth1"), 0));
        assert!(of("eth0").hardware.is_empty());
        // An end whose other end is in a container: the number is one of over there, here it is the card's.
        let mut one = vec![device("eth0", false, ""), device("cali0", true, "veth")];
        let links = BTreeMap::from([
            ("eth0".to_string(), link(&[], 2, None)),
            ("cali0".to_string(), link(&[], 9, Some(2))),
        ]);
        resolve(&mut one, &links);
        assert_eq!(one[1].peer, None);
    }

    #[test]
    fn kinds_by_folder_by_type_and_by_event() {
        let dir = "/sys/class/net/x";
        let tree =
            |file: &str, text: &str| Root::from_tree(crate::Tree::new().file(&format!("{dir}/{file}"), text));
        let of = |root: &Root, names: &[&str]| {
            let names: Vec<String> = names.iter().map(|n| n.to_string()).collect();
            read(root, "x", &names).kind
        };
        assert_eq!(of(&tree("bonding/mode", "x"), &["bonding"]).as_deref(), Some("bond"));
        assert_eq!(of(&tree("type", "772\n"), &[]).as_deref(), Some("loopback"));
        assert_eq!(
            of(&tree("uevent", "DEVTYPE=vlan\nINTERFACE=x\n"), &["lower_eth0"]).as_deref(),
            Some("vlan")
        );
        let pair = Root::from_tree(
            crate::Tree::new()
                .file(&format!("{dir}/ifindex"), "3\n")
                .file(&format!("{dir}/iflink"), "9\n")
                .file(&format!("{dir}/type"), "1\n"),
        );
        assert_eq!(of(&pair, &[]).as_deref(), Some("veth"));
        assert_eq!(of(&tree("iflink", "many\n"), &["device"]), None);
    }
}
