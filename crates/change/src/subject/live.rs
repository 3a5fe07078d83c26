//! Identities read from the running kernel.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::OnceLock;

use machine::Act;
use rustix::net::{AddressFamily, SocketType};

use super::{Interface, Line, Scope, Subject};
use crate::acts::operation;
use crate::live_kernel::is_kernel_file_system;
use crate::namespace::{Namespace, search};
use crate::netns;

const INTERFACES: &str = "/sys/class/net";

/// The identity of what an act means here and now, as far as the kernel tells it.
pub fn of(act: &Act) -> Subject {
    let nothing = Subject::default();
    match operation(act).scope() {
        Scope::Network(interface) => Subject {
            network: network_of(act).ok(),
            interface: interface.and_then(|name| within(act, || found(act, name)).ok()),
            ..nothing
        },
        Scope::Cgroup(directory) => Subject { cgroup: cgroup(directory), ..nothing },
        Scope::Line(number) => Subject { line: line(number), ..nothing },
        Scope::Disk(name) => Subject { disk: number(&format!("/sys/block/{name}/diskseq")).ok(), ..nothing },
        Scope::Files => Subject { made: made(act), ..nothing },
        Scope::Machine | Scope::Processes => nothing,
    }
}

/// Runs `work` in the network namespace that an act names.
fn within<T: Send>(act: &Act, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    match operation(act).netns() {
        None => work(),
        Some(name) => netns::within(name, work),
    }
}

/// The network namespace in which an act finds its object.
///
/// # Errors
/// There is none of that name; the interfaces in /sys are those of a namespace that nothing leads to.
pub fn network_of(act: &Act) -> io::Result<Namespace> {
    match (operation(act).netns(), act) {
        (Some(name), _) => search::of_file_whole(&netns::open(name)?),
        // A mount of sysfs shows the interfaces of the namespace that it was made in, whoever looks.
        (None, Act::WriteFile { path, .. }) if path.starts_with("/sys") => shown_in_sys(),
        (None, _) => Namespace::of_network(),
    }
}

/// The network namespace whose interfaces /sys shows. It does not change while this process runs.
fn shown_in_sys() -> io::Result<Namespace> {
    static SHOWN: OnceLock<Option<Namespace>> = OnceLock::new();
    let shown = SHOWN.get_or_init(|| {
        let seen = loopback().ok()?;
        let own = File::open("/proc/thread-self/ns/net").ok()?;
        let shows_the_same =
            |file: &File| netns::within_file(file, loopback).is_ok_and(|there| there == seen);
        if shows_the_same(&own) {
            return Namespace::of_network().ok();
        }
        let file = search::all().into_iter().find(shows_the_same)?;
        search::of_file_whole(&file).ok()
    });
    shown.ok_or_else(|| io::Error::other("whose interfaces /sys shows cannot be determined"))
}

/// The loopback interface, which lives as long as its network namespace: its directory in sysfs has an inode number of its own,
/// whichever mount shows it.
fn loopback() -> io::Result<u64> {
    Ok(fs::metadata(Path::new(INTERFACES).join("lo"))?.ino())
}

fn found(act: &Act, name: &str) -> io::Result<Interface> {
    // pktgen takes a queue beside the name: eth0@2.
    let name = name.split('@').next().unwrap_or(name);
    match act {
        Act::WriteFile { path, .. } if path.starts_with("/sys") => in_sys(name),
        // By the network namespace that we are in, of which /sys may know nothing.
        _ => {
            let index = index_of(name)?;
            let described = in_sys(name).ok().filter(|shown| shown.index == index);
            let nameless = || Interface { name: name.into(), index, device: None, address: None };
            Ok(described.unwrap_or_else(nameless))
        }
    }
}

/// The index of the interface that an act names.
pub fn index(act: &Act) -> io::Result<u32> {
    match operation(act).scope() {
        Scope::Network(Some(name)) => within(act, || Ok(found(act, name)?.index)),
        _ => Err(io::Error::from(io::ErrorKind::NotFound)),
    }
}

/// The index of an interface of this thread's network namespace.
fn index_of(name: &str) -> io::Result<u32> {
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    Ok(rustix::net::netdevice::name_to_index(&socket, name)?)
}

/// An interface as /sys shows it.
fn in_sys(name: &str) -> io::Result<Interface> {
    let of = |file: &str| format!("{INTERFACES}/{name}/{file}");
    let device = fs::read_link(of("device")).ok();
    let device = device.and_then(|link| Some(link.file_name()?.to_str()?.to_string()));
    let address = fs::read_to_string(of("address")).ok().map(|text| text.trim().to_string());
    let address =
        address.filter(|address| !address.is_empty() && address.bytes().any(|byte| !b"0:".contains(&byte)));
    let index = u32::try_from(number(&of("ifindex"))?).map_err(io::Error::other)?;
    Ok(Interface { name: name.into(), index, device, address })
}

/// Every interface that /sys shows.
pub fn all_in_sys() -> io::Result<Vec<Interface>> {
    let names = fs::read_dir(INTERFACES)?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    // One that goes while we look is not there.
    Ok(names.filter_map(|name| in_sys(&name).ok()).collect())
}

/// An interface of another network namespace that may be this one.
pub fn elsewhere(wanted: &Interface) -> Option<(Namespace, String)> {
    search::all().into_iter().find_map(|file| {
        let there = netns::within_file(&file, all_in_sys).ok()?;
        let found = there.into_iter().find(|found| found.may_be(wanted))?;
        Some((search::of_file_whole(&file).ok()?, found.name))
    })
}

/// The network namespaces that an act has made.
fn made(act: &Act) -> Vec<Namespace> {
    match act {
        Act::MakeNetnsPair { pair } => {
            let open = |name: &String| Namespace::of_file(&netns::open(name).ok()?).ok();
            pair.names.iter().filter_map(open).collect()
        }
        _ => Vec::new(),
    }
}

fn cgroup(directory: &Path) -> Option<u64> {
    let file = File::open(directory).ok()?;
    is_kernel_file_system(&file).ok()?.then_some(file.metadata().ok()?.ino())
}

fn line(number: u32) -> Option<Line> {
    let read = |file: &str| fs::read_to_string(format!("/sys/kernel/irq/{number}/{file}")).ok();
    let (chip, hardware_number) = (read("chip_name")?, read("hwirq")?);
    Some(Line { chip: chip.trim().into(), hardware_number: hardware_number.trim().into() })
}

fn number(path: &str) -> io::Result<u64> {
    fs::read_to_string(path)?.trim().parse().map_err(|_| io::Error::other(format!("{path} holds no number")))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn loopback_is_an_interface_of_our_own_namespace() {
        let act = Act::SetEthtool {
            device: "lo".into(),
            netns: None,
            setting: machine::EthtoolSetting::Channels { counts: BTreeMap::new() },
        };
        let subject = of(&act);
        assert!(subject.network.unwrap().is(&Namespace::of_network().unwrap()));
        assert_eq!(subject.interface.unwrap().index, 1);
    }

    #[test]
    fn a_line_and_a_disk_have_an_identity_where_the_kernel_tells_one() {
        let lines = fs::read_dir("/proc/irq").unwrap().flatten();
        let number = lines
            .filter_map(|line| line.file_name().to_str()?.parse::<u32>().ok())
            .find(|n| line(*n).is_some());
        let Some(number) = number else {
            eprintln!("skipped: this kernel describes no interrupt line (/sys/kernel/irq)");
            return;
        };
        let path = format!("/proc/irq/{number}/smp_affinity_list").into();
        let act = Act::WriteFile { path, value: "0".into(), netns: None };
        assert_eq!(of(&act).line, line(number));
    }
}
