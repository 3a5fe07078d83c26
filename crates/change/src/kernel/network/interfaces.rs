//! Network interfaces of the running system, and the network namespaces that they are in.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::OnceLock;

use rustix::net::{AddressFamily, SocketType};

use crate::kernel::pseudo_files::read_number;
use crate::namespace::{Namespace, netns, search};
use crate::subject::{Interface, Reference, Scope};

const INTERFACES: &str = "/sys/class/net";

/// Runs `work` in the network namespace that an object is looked for in.
pub fn within<T: Send>(object: &Reference, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    match object.netns {
        None => work(),
        Some(name) => netns::within(name, work),
    }
}

/// The network namespace in which an object is found.
///
/// # Errors
/// There is none of that name; nothing leads to the namespace whose interfaces /sys shows.
pub fn network_around(object: &Reference) -> io::Result<Namespace> {
    match (object.netns, object.in_sys) {
        (Some(name), _) => search::of_file_whole(&netns::open(name)?),
        // A mount of sysfs shows the interfaces of the namespace in which it was mounted, to every process.
        (None, true) => shown_in_sys(),
        (None, false) => Namespace::of_network(),
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
    shown.ok_or_else(|| io::Error::other("it cannot be determined whose interfaces /sys shows"))
}

/// Inode number of the directory of the loopback interface in sysfs. It distinguishes network namespaces: the interface lives
/// as long as its namespace, and its number is the same in every mount.
fn loopback() -> io::Result<u64> {
    Ok(fs::metadata(Path::new(INTERFACES).join("lo"))?.ino())
}

/// The interface of this name, in the network namespace of the calling thread.
pub fn found(object: &Reference, name: &str) -> io::Result<Interface> {
    // pktgen takes a queue with the name: eth0@2.
    let name = name.split('@').next().unwrap_or(name);
    match object.in_sys {
        true => in_sys(name),
        // By the network namespace of the thread, which need not be the one that /sys shows.
        false => {
            let index = index_of(name)?;
            let described = in_sys(name).ok().filter(|shown| shown.index == index);
            let nameless = || Interface { name: name.into(), index, device: None, address: None };
            Ok(described.unwrap_or_else(nameless))
        }
    }
}

/// Index of an interface.
///
/// # Errors
/// `NotFound` or `ENODEV` when there is none of that name.
pub fn index(object: &Reference) -> io::Result<u32> {
    match object.scope {
        Scope::Network(Some(name)) => within(object, || Ok(found(object, name)?.index)),
        _ => Err(io::Error::from(io::ErrorKind::NotFound)),
    }
}

/// Index of an interface in the network namespace of the calling thread.
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
    let index = u32::try_from(read_number(&of("ifindex"))?).map_err(io::Error::other)?;
    Ok(Interface { name: name.into(), index, device, address })
}

/// Every interface that /sys shows.
pub fn all_in_sys() -> io::Result<Vec<Interface>> {
    let names = fs::read_dir(INTERFACES)?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    // Interfaces that go while we read are left out.
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
