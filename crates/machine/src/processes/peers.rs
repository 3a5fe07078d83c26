//! Who is at the other end of a server's connections on the same host, and how many connections wait to be accepted.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::listening::{Listener, tcp_listeners, unix_listeners};
use super::numbers;
use super::sockets::sockets;
use crate::procfs::net_tcp::{self, State};
use crate::{Missing, Root};

/// A process of this host with connections to the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Peer {
    /// Its number.
    pub pid: u32,
    /// Its name.
    pub comm: String,
    /// TCP connections between the two.
    pub connections: u64,
}

/// The TCP connections of a server at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Connections {
    /// Where it listens, by port.
    pub listeners: Vec<Listener>,
    /// Unix stream sockets on which it listens, by name: a path, or `@` and the rest of an abstract name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unix_listeners: Vec<String>,
    /// Connections to other processes of this host, those with most first.
    pub peers: Vec<Peer>,
    /// Connections that come in from elsewhere: other hosts, other network namespaces, processes that cannot be seen.
    pub from_elsewhere: u64,
    /// Connections that the server itself made: to a backend, a database, another node.
    pub made: u64,
    /// Whether the server is in the network namespace of pinwise, whose interfaces are those of the map: else an interface of the same
    /// name is another one. `None` where it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub same_namespace: Option<bool>,
    /// What is not known, and why.
    pub missing: Vec<Missing>,
}

/// Reads the connections of these processes, which share a network namespace.
///
/// Source: /proc/PID/net/tcp, tcp6, unix, /proc/PID/ns/net and /proc/PID/fd; root is needed to see processes of other users. How long
/// accept queues may get comes from sock_diag(7), in the network namespace of pinwise alone. Who is connected to a Unix socket, and UDP,
/// are not looked at.
pub fn connections(root: &Root, pids: &[u32]) -> Connections {
    let mut found = Connections::default();
    let Some(first) = pids.first() else { return found };
    let namespace = |of: &str| root.link(format!("/proc/{of}/ns/net")).ok();
    found.same_namespace = namespace(&first.to_string()).zip(namespace("self")).map(|(its, own)| its == own);
    let mut tables = Vec::new();
    for file in ["tcp", "tcp6"] {
        let path = format!("/proc/{first}/net/{file}");
        match root.read(&path) {
            Ok(table) => tables.push((path, table)),
            Err(e) if e.is_absent() => {}
            Err(e) => found.missing.push(Missing::new("connections of the server", e)),
        }
    }
    let mut sockets = Vec::new();
    for (path, table) in &tables {
        let (read, odd) = net_tcp::parse(table);
        sockets.extend(read);
        found.missing.extend(Missing::of_odd(path, &odd));
    }
    let own = open_sockets(root, pids, &mut found.missing);
    let listeners = tcp_listeners(root, found.same_namespace, &sockets, &own, &mut found.missing);
    let mut other_ends: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for socket in sockets.iter().filter(|socket| socket.state == State::Established) {
        other_ends.insert((socket.local, socket.remote), socket.inode);
    }
    let mut by_inode: BTreeMap<u64, u64> = BTreeMap::new();
    for socket in sockets.iter().filter(|s| s.state == State::Established && own.contains(&s.inode)) {
        match other_ends.get(&(socket.remote, socket.local)) {
            // Its own threads or processes among each other are no load.
            Some(inode) if own.contains(inode) => {}
            _ if !listeners.contains_key(&socket.port) => found.made += 1,
            Some(inode) if *inode != 0 => *by_inode.entry(*inode).or_default() += 1,
            _ => found.from_elsewhere += 1,
        }
    }
    found.listeners = listeners.into_values().collect();
    found.unix_listeners = unix_listeners(root, *first, &own, &mut found.missing);
    found.name(root, pids, by_inode);
    found
}

impl Connections {
    /// The ports on which the server listens.
    pub fn ports(&self) -> Vec<u16> {
        self.listeners.iter().map(|listener| listener.port).collect()
    }

    /// Finds whose sockets these are.
    fn name(&mut self, root: &Root, own: &[u32], mut by_inode: BTreeMap<u64, u64>) {
        if by_inode.is_empty() {
            return;
        }
        let own: BTreeSet<u32> = own.iter().copied().collect();
        for pid in numbers(&root.list("/proc").unwrap_or_default()) {
            if own.contains(&pid) || by_inode.is_empty() {
                continue;
            }
            let held = sockets(root, pid).unwrap_or_default();
            let connections: u64 = held.iter().filter_map(|inode| by_inode.remove(inode)).sum();
            if connections > 0 {
                let comm = root.read(format!("/proc/{pid}/comm")).unwrap_or_default();
                self.peers.push(Peer { pid, comm: comm.trim_end().to_string(), connections });
            }
        }
        self.from_elsewhere += by_inode.values().sum::<u64>();
        self.peers.sort_by_key(|peer| std::cmp::Reverse(peer.connections));
    }
}

/// Sockets that these processes have open.
fn open_sockets(root: &Root, pids: &[u32], missing: &mut Vec<Missing>) -> BTreeSet<u64> {
    let mut open = BTreeSet::new();
    for pid in pids {
        match sockets(root, *pid) {
            Ok(inodes) => open.extend(inodes),
            Err(why) => {
                let fact = "connections of the server";
                if !missing.iter().any(|known: &Missing| known.fact == fact) {
                    missing.push(Missing::new(fact, why));
                }
            }
        }
    }
    open
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;
    use crate::Tree;

    const HEAD: &str =
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";

    fn line(local: &str, remote: &str, state: &str, queue: &str, inode: u64) -> String {
        format!(
            " 0: {local} {remote} {state} 00000000:{queue} 00:00000000 00000000 0 0 {inode} 1 0 20 4 30 10 -1\n"
        )
    }

    fn host() -> Tree {
        const SERVER: &str = "0100007F:1F90";
        let table = [
            line(SERVER, "00000000:0000", "0A", "00000002", 10),
            // Two connections of a client on this host, both ends.
            line(SERVER, "0100007F:9001", "01", "00000000", 11),
            line("0100007F:9001", SERVER, "01", "00000000", 21),
            line(SERVER, "0100007F:9002", "01", "00000000", 12),
            line("0100007F:9002", SERVER, "01", "00000000", 22),
            // One from another host, one to a database.
            line("0A00000A:1F90", "0B00000A:8888", "01", "00000000", 13),
            line("0A00000A:9999", "0C00000A:1538", "01", "00000000", 14),
        ];
        let mut tree = Tree::new()
            .file("/proc/7/net/tcp", format!("{HEAD}{}", table.concat()))
            .file("/proc/9/comm", "wrk\n");
        for (pid, inodes) in [(7, vec![10, 11, 12, 13, 14]), (9, vec![21, 22])] {
            for (fd, inode) in inodes.iter().enumerate() {
                tree = tree.link(&format!("/proc/{pid}/fd/{fd}"), &format!("socket:[{inode}]"));
            }
        }
        tree
    }

    /// That of the server of [`host`].
    fn listener() -> Listener {
        let addresses = vec![IpAddr::from([127, 0, 0, 1])];
        Listener { port: 8080, waiting: 2, limit: None, addresses, others: Vec::new() }
    }

    #[test]
    fn clients_of_this_host_are_named_and_others_are_counted() {
        let found = connections(&Root::from_tree(host()), &[7]);
        assert_eq!(found.listeners, [listener()]);
        assert_eq!(found.peers, [Peer { pid: 9, comm: "wrk".into(), connections: 2 }]);
        assert_eq!((found.from_elsewhere, found.made), (1, 1));
        let [missing] = &found.missing[..] else { panic!("{:?}", found.missing) };
        assert_eq!(missing.fact, "room in accept queues");
    }

    #[test]
    fn a_client_that_speaks_ipv4_to_a_server_of_both_is_its_peer() {
        // The server's end is in tcp6, that of the client in tcp.
        let (server, client) = ("0100007F:1F90", "0100007F:9001");
        let mapped = |end: &str| format!("0000000000000000FFFF0000{end}");
        let six = [
            line(
                "00000000000000000000000000000000:1F90",
                "00000000000000000000000000000000:0000",
                "0A",
                "0",
                10,
            ),
            line(&mapped(server), &mapped(client), "01", "0", 11),
        ];
        let tree = host()
            .file("/proc/7/net/tcp", format!("{HEAD}{}", line(client, server, "01", "0", 21)))
            .file("/proc/7/net/tcp6", format!("{HEAD}{}", six.concat()));
        let found = connections(&Root::from_tree(tree), &[7]);
        assert_eq!(found.peers, [Peer { pid: 9, comm: "wrk".into(), connections: 1 }]);
        assert_eq!((found.from_elsewhere, found.made), (0, 0));
    }

    #[test]
    fn an_odd_line_leaves_the_other_connections_and_is_named() {
        let mut text = format!("{HEAD}{}", line("0100007F:1F90", "00000000:0000", "0A", "00000002", 10));
        text += &line("0100007F:1F90", "0100007F:9001", "01", "0000000x", 11);
        let found = connections(&Root::from_tree(host().file("/proc/7/net/tcp", text)), &[7]);
        assert_eq!(found.listeners, [listener()]);
        assert_eq!(found.missing.len(), 2);
        let said = &found.missing[0];
        assert!(said.fact.starts_with("/proc/7/net/tcp ") && said.why.contains("in line 3"), "{said:?}");
    }

    #[test]
    fn a_namespace_of_its_own_is_distinguished_from_that_of_the_map() {
        let in_namespace = |its: &str| {
            let tree = host().link("/proc/7/ns/net", its).link("/proc/self/ns/net", "net:[4026531840]");
            connections(&Root::from_tree(tree), &[7]).same_namespace
        };
        assert_eq!(in_namespace("net:[4026531840]"), Some(true));
        assert_eq!(in_namespace("net:[4026532201]"), Some(false));
        assert_eq!(connections(&Root::from_tree(host()), &[7]).same_namespace, None);
    }

    #[test]
    fn workers_that_talk_to_each_other_are_no_clients() {
        let found = connections(&Root::from_tree(host()), &[7, 9]);
        assert_eq!((found.peers.len(), found.from_elsewhere, found.made), (0, 1, 1));
    }

    #[test]
    fn a_record_without_addresses_is_an_older_one() {
        let older: Listener = serde_json::from_str(r#"{"port":80,"waiting":3}"#).unwrap();
        assert_eq!(older, Listener { port: 80, waiting: 3, ..Listener::default() });
        let text = serde_json::to_string(&listener()).unwrap();
        assert_eq!(serde_json::from_str::<Listener>(&text).unwrap(), listener(), "{text}");
    }

    #[test]
    fn without_the_files_nothing_is_made_up() {
        let found = connections(&Root::from_tree(Tree::new()), &[7]);
        assert_eq!(found, Connections::default());
    }
}
