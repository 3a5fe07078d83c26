//! What is known of the sockets on which a server listens beside their ports: the room in their accept queues, and Unix sockets.

use std::collections::{BTreeMap, BTreeSet};

use crate::procfs::net_unix;
use crate::root::ACCEPT_QUEUES;
use crate::{Missing, Root};

/// How long the accept queue of each listening socket may get, by inode; nothing where no socket listens. Of another network namespace
/// than that of pinwise it is not known.
pub(super) fn limits(
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
    fn unix_sockets_on_which_it_listens_are_named() {
        let line = |inode: u64, name: &str| format!("0: 00000002 00000000 00010000 0001 01 {inode} {name}\n");
        let table =
            ["head\n".into(), line(15, "/run/a.sock"), line(99, "/run/other"), line(10, "@b")].concat();
        let root = Root::from_tree(host(OWN).file("/proc/7/net/unix", table));
        assert_eq!(connections(&root, &[7]).unix_listeners, ["/run/a.sock", "@b"]);
    }
}
