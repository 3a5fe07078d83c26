//! The sockets on which a server listens: TCP ports with their addresses and accept queues, and Unix sockets.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::procfs::net_tcp::{State, TcpSocket};
use crate::procfs::net_unix;
use crate::root::ACCEPT_QUEUES;
use crate::{Missing, Root};

/// A port on which the server waits for connections.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Listener {
    /// TCP port.
    pub port: u16,
    /// Connections that it has not accepted yet: the length of its accept queue, all sockets of the port together.
    pub waiting: u64,
    /// Connections that the queue has room for; the kernel drops those that come when it is full. `None` where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Addresses at which it listens, in order; 0.0.0.0 and `::` are any of their family, and `::` mostly those of IPv4, too. Empty: not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<IpAddr>,
    /// The same of sockets on this port that are not the server's: at another address another server's, at the same address by SO_REUSEPORT.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<IpAddr>,
}

/// The ports on which sockets among `own` listen: how full their accept queues are, and the addresses at which these sockets, and those of
/// others, listen there.
pub(super) fn tcp_listeners(
    root: &Root,
    same_namespace: Option<bool>,
    sockets: &[TcpSocket<'_>],
    own: &BTreeSet<u64>,
    missing: &mut Vec<Missing>,
) -> BTreeMap<u16, Listener> {
    let listening = sockets.iter().filter(|socket| socket.state == State::Listen);
    let (its, others): (Vec<&TcpSocket>, Vec<&TcpSocket>) =
        listening.partition(|socket| own.contains(&socket.inode));
    let limits = limits(root, same_namespace, !its.is_empty(), missing);
    let mut listeners: BTreeMap<u16, Listener> = BTreeMap::new();
    for socket in its {
        let none = Listener { port: socket.port, limit: Some(0), ..Listener::default() };
        let listener = listeners.entry(socket.port).or_insert(none);
        listener.waiting = listener.waiting.saturating_add(socket.receive_queue);
        let limit = limits.get(&socket.inode);
        listener.limit = listener.limit.zip(limit).map(|(all, limit)| all.saturating_add(*limit));
        listener.addresses.push(socket.address);
    }
    for socket in others {
        if let Some(listener) = listeners.get_mut(&socket.port) {
            listener.others.push(socket.address);
        }
    }
    for listener in listeners.values_mut() {
        for addresses in [&mut listener.addresses, &mut listener.others] {
            addresses.sort_unstable();
            addresses.dedup();
        }
    }
    listeners
}

/// How long the accept queue of each listening socket may get, by inode; nothing where no socket listens. Of another network namespace
/// than that of pinwise it is not known.
fn limits(
    root: &Root,
    same_namespace: Option<bool>,
    any: bool,
    missing: &mut Vec<Missing>,
) -> BTreeMap<u64, u64> {
    let mut without = |why: &dyn std::fmt::Display| {
        missing.push(Missing::new("room in accept queues", why));
        BTreeMap::new()
    };
    match same_namespace {
        _ if !any => BTreeMap::new(),
        Some(true) => match root.fact(ACCEPT_QUEUES) {
            Ok(limits) => serde_json::from_str(&limits).unwrap_or_else(|why| without(&why)),
            Err(why) => without(&why),
        },
        Some(false) => without(&"the server is in another network namespace than pinwise"),
        None => without(&"its network namespace is not known"),
    }
}

/// Names of the Unix stream sockets among `own` that listen.
pub(super) fn unix_listeners(
    root: &Root,
    pid: u32,
    own: &BTreeSet<u64>,
    missing: &mut Vec<Missing>,
) -> Vec<String> {
    let path = format!("/proc/{pid}/net/unix");
    let table = match root.read(&path) {
        Ok(table) => table,
        Err(e) if e.is_absent() => return Vec::new(),
        Err(e) => {
            missing.push(Missing::new("Unix sockets of the server", e));
            return Vec::new();
        }
    };
    let (listeners, odd) = net_unix::listeners(&table);
    missing.extend(Missing::of_odd(&path, &odd));
    let names: BTreeSet<&str> =
        listeners.iter().filter(|socket| own.contains(&socket.inode)).map(|socket| socket.name).collect();
    names.into_iter().map(String::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tree;
    use crate::processes::connections;

    const OWN: &str = "net:[4026531840]";

    /// Two sockets of port 8080 with two connections each, in this network namespace.
    fn host(namespace: &str) -> Tree {
        let line = |inode: u64| {
            format!(
                " 0: 0100007F:1F90 00000000:0000 0A 00000000:00000002 00:00000000 00000000 0 0 {inode} 1 0 100 0 0 10 0\n"
            )
        };
        Tree::new()
            .file("/proc/7/net/tcp", format!("head\n{}{}", line(10), line(15)))
            .link("/proc/7/fd/1", "socket:[10]")
            .link("/proc/7/fd/2", "socket:[15]")
            .link("/proc/7/ns/net", namespace)
            .link("/proc/self/ns/net", OWN)
    }

    #[test]
    fn the_room_of_a_port_is_that_of_all_its_sockets_and_known_in_the_own_namespace_alone() {
        let listener = |namespace: &str, queues: &str| {
            let root = Root::from_tree(host(namespace)).with_fact(ACCEPT_QUEUES, queues);
            let found = connections(&root, &[7]);
            (found.listeners[0].waiting, found.listeners[0].limit, found.missing.len())
        };
        assert_eq!(listener(OWN, r#"{"10":128,"15":100,"3":7}"#), (4, Some(228), 0));
        assert_eq!(listener(OWN, r#"{"10":128}"#), (4, None, 0));
        assert_eq!(listener(OWN, "odd"), (4, None, 1));
        assert_eq!(listener("net:[4026532201]", r#"{"10":128,"15":100}"#), (4, None, 1));
    }

    #[test]
    fn a_port_has_the_addresses_of_the_server_and_those_of_others_apart() {
        let line = |local: &str, state: &str, inode: u64| {
            format!(" 0: {local} 00000000:0000 {state} 0:0 00:0 0 0 0 {inode} 1 0 100 0 0 10 0\n")
        };
        let any_of_ipv6 = "0".repeat(32);
        let (four, six) = (
            [
                line("0100007F:1F90", "0A", 10),
                // By SO_REUSEPORT, by the server and by another process.
                line("0100007F:1F90", "0A", 15),
                line("0100007F:1F90", "0A", 90),
                line("0200007F:1F90", "0A", 91),
                // Looks alike: it is connected, or listens on another port.
                line("0300007F:1F90", "01", 92),
                line("0400007F:1F91", "0A", 93),
            ],
            line(&format!("{any_of_ipv6}:1F90"), "0A", 94),
        );
        let tree = host(OWN)
            .file("/proc/7/net/tcp", format!("head\n{}", four.concat()))
            .file("/proc/7/net/tcp6", format!("head\n{six}"));
        let found = connections(&Root::from_tree(tree), &[7]);
        let [listener] = &found.listeners[..] else { panic!("one port: {found:?}") };
        let written =
            |addresses: &[IpAddr]| addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        assert_eq!(
            (listener.port, written(&listener.addresses), written(&listener.others)),
            (8080, "127.0.0.1".into(), "127.0.0.1 127.0.0.2 ::".into())
        );
    }

    #[test]
    fn unix_sockets_on_which_it_listens_are_named() {
        let line = |inode: u64, name: &str| format!("0: 00000002 00000000 00010000 0001 01 {inode} {name}\n");
        let table =
            ["head\n".into(), line(15, "/run/a.sock"), line(99, "/run/other"), line(10, "@b")].concat();
        let root = Root::from_tree(host(OWN).file("/proc/7/net/unix", table));
        assert_eq!(connections(&root, &[7]).unix_listeners, ["/run/a.sock", "@b"]);
    }
}
