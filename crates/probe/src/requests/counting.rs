//! Requests while they are counted.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::mem::offset_of;

use machine::{FactId, Missing, Root};

use super::addresses::{Owners, owners};
use super::peers::Peers;
use super::unix_name::unix_name;
use super::waiting::{Waiting, waiting};
use super::walk::{MOST_READ, walk};
use super::{Endpoint, Listening, PortRequests, Requests, Unread, since};
use crate::bpf::{
    Connection, ListeningAddress, Loaded, NOWHERE, PORTS, PortSeen, RequestControl, RequestPlaces,
    RequestTables, load_requests, missed_events,
};
use crate::clock;

/// The fact that is missing where requests cannot be seen.
const FACT: &str = "requests in the kernel";

/// Connections that are open and were asked for.
struct Open {
    /// By the address of the socket, for a table that changes while it is gone through shows some of it twice.
    connections: BTreeMap<u64, Connection>,
    /// Whether all that are open were looked at.
    is_whole: bool,
}

/// Requests while they are counted.
pub struct CountingRequests {
    tables: RequestTables,
    /// Each has its number as its place.
    places: Vec<Endpoint>,
    began_ns: u64,
    ended_ns: u64,
    /// When [`CountingRequests::take`] was called last; 0: not yet.
    taken_ns: u64,
    /// What the tables held then, by place and CPU.
    taken: Vec<Vec<PortSeen>>,
    /// When [`CountingRequests::check`] was called last; 0: not yet.
    checked_ns: u64,
    missing: Vec<Missing>,
    /// Taken off when it is dropped.
    loaded: Loaded,
}

impl CountingRequests {
    /// Gets ready to count what comes to these ports and Unix sockets in the network namespace of a process; beyond 64 of them the first,
    /// ports before Unix sockets. What comes to another server on these ports is left out by its address.
    ///
    /// # Errors
    /// There is none of them; the kernel is older than 6.3, or does not permit programs: what, why and the remedy.
    pub fn prepare(root: &Root, pid: u32, listening: &Listening) -> Result<Self, Missing> {
        let mut missing = Vec::new();
        let places = places(listening, &mut missing);
        if places.is_empty() {
            let first = missing.pop().map(|missing| missing.why);
            let none = "the server listens on no TCP port and on no Unix stream socket";
            return Err(not_seen(first.unwrap_or_else(|| none.into())));
        }
        // Ports are the first of the places: each has the same number there.
        let owners = owners(&listening.ports[..listening.ports.len().min(PORTS)], &mut missing);
        let sizes = RequestPlaces {
            places: places.len(),
            addresses: owners.len(),
            has_unix: places.iter().any(|place| matches!(place, Endpoint::Unix(_))),
        };
        let loaded = load_requests(network_inum(root, pid)?, &sizes);
        let mut loaded = loaded.map_err(|missing| not_seen(missing.why))?;
        let mut tables = RequestTables::open(&mut loaded).map_err(|missing| not_seen(missing.why))?;
        fill_in(&mut tables, &places, &owners)?;
        let taken = vec![Vec::new(); places.len()];
        Ok(Self {
            tables,
            places,
            began_ns: 0,
            ended_ns: 0,
            taken_ns: 0,
            taken,
            checked_ns: 0,
            missing,
            loaded,
        })
    }

    /// Counts from now on.
    pub fn start(&mut self) {
        self.began_ns = clock::monotonic_ns();
        self.tables.control.set_word(0, offset_of!(RequestControl, began_ns), self.began_ns);
    }

    /// Counts no longer.
    pub fn stop(&mut self) {
        self.ended_ns = clock::monotonic_ns();
        self.tables.control.set_word(0, offset_of!(RequestControl, ended_ns), self.ended_ns);
    }

    /// What was counted since the last call, or since the start; counting goes on. The tables are sums by CPU, so that these parts and what
    /// is counted after the last of them are exactly what [`CountingRequests::end`] gives. Clients are not in it: to go through all
    /// connections takes too long for short slices. What was missing before is missing in each of them from then on.
    pub fn take(&mut self) -> Requests {
        let now_ns = clock::monotonic_ns();
        let from_ns = std::mem::replace(&mut self.taken_ns, now_ns).max(self.began_ns);
        let (mut ports, mut missing) = (Vec::new(), self.missing.clone());
        for ((number, place), taken) in (0u32..).zip(&self.places).zip(&mut self.taken) {
            let by_cpu = match self.tables.sums.get(&number, 0) {
                Ok(by_cpu) => by_cpu,
                Err(e) => {
                    missing.push(Missing::new(format_args!("requests to {}", named(place)), e));
                    continue;
                }
            };
            let mut requests = PortRequests::at(place.clone());
            for (cpu, seen) in by_cpu.iter().enumerate() {
                match taken.get(cpu) {
                    Some(before) => requests.add(&since(before, seen)),
                    None => requests.add(seen),
                }
            }
            *taken = by_cpu.iter().copied().collect();
            if requests.read > 0 || requests.answered > 0 {
                ports.push(requests);
            }
        }
        Requests { window_s: now_ns.saturating_sub(from_ns) as f64 / 1e9, ports, missing }
    }

    /// Requests to TCP ports that wait now: they have arrived, and are not read or not answered. It goes through all connections, which takes
    /// some 1 us for each. Call [`CountingRequests::take`] just before it: what is answered from then on is taken next time, as one that was
    /// seen waiting ([`PortRequests::checked`]). Unix sockets are left out, of which the kernel does not report the end, and so are requests
    /// whose arrival was not seen.
    pub fn check(&mut self) -> Waiting {
        let now_ns = clock::monotonic_ns();
        let before_ns = std::mem::replace(&mut self.checked_ns, now_ns);
        // First: one that is answered while connections are gone through rather counts as seen already than twice.
        self.tables.control.set_word(0, offset_of!(RequestControl, checked_ns), now_ns);
        let open = self.open("some of the requests that wait", |of| of.peer.port > 0);
        waiting(open.connections.values(), open.is_whole, before_ns, now_ns)
    }

    /// Connections that are open now and had a request since the start; `None` where that cannot be read, which is then missing. It goes
    /// through all of them: not for short slices.
    pub fn open_connections(&mut self) -> Option<u64> {
        let open = self.open("connections that are open", |of| of.sums.read > 0 || of.sums.answered > 0);
        open.is_whole.then_some(open.connections.len() as u64)
    }

    /// TCP connections with bytes that have arrived and that the server has not read. It goes through all connections, as
    /// [`CountingRequests::check`] does, which reports the same: not for short slices. Unix sockets are left out, of which the kernel does
    /// not report the end.
    pub fn unread(&mut self) -> Unread {
        let open = self.open("some of the unread requests", |of| of.peer.port > 0 && of.arrived_ns > 0);
        Unread::of(open.connections.values(), open.is_whole)
    }

    /// What was seen between the two.
    pub fn end(mut self) -> Requests {
        let lost = self.tables.control.get(0).map_or(0, |control| control.lost);
        if lost > 0 {
            let why = format_args!(
                "{lost} times there was no room for the connection: more than 65,536 of them are open"
            );
            self.missing.push(Missing::new("requests of some connections", why));
        }
        // Of all sockets of the machine: how many of them were the server's is not known.
        self.missing.extend(missed_events(&self.loaded.misses()));
        let peers = self.peers();
        let mut ports = Vec::new();
        for (number, place) in (0u32..).zip(&self.places) {
            let mut requests = PortRequests::at(place.clone());
            match self.tables.sums.get(&number, 0) {
                Ok(by_cpu) => by_cpu.iter().for_each(|seen| requests.add(seen)),
                Err(e) => self.missing.push(Missing::new(format_args!("requests to {}", named(place)), e)),
            }
            if let Endpoint::Port(port) = place {
                requests.peers = peers.of(*port, &requests);
            }
            if requests.read > 0 || requests.answered > 0 {
                ports.push(requests);
            }
        }
        let window_s = self.ended_ns.saturating_sub(self.began_ns) as f64 / 1e9;
        Requests { window_s, ports, missing: self.missing }
    }

    /// Clients, by what their ended connections had and what those that are open have. What cannot be read is with the others, and missing.
    fn peers(&mut self) -> Peers {
        const WHAT: &str = "requests of some clients";
        let mut peers = Peers::default();
        let why = walk(self.tables.peers.iter(), MOST_READ, |peer, sums| peers.add(&peer, &sums));
        self.note(WHAT, why);
        let open = self.open(WHAT, |_| true);
        open.connections.values().for_each(|of| peers.add(&of.peer, &of.sums));
        peers
    }

    /// Connections that are open and wanted. Where not all could be looked at, `what` is missing.
    fn open(&mut self, what: &str, is_wanted: fn(&Connection) -> bool) -> Open {
        let mut connections = BTreeMap::new();
        let why = walk(self.tables.connections.iter(), MOST_READ, |address, connection| {
            if is_wanted(&connection) {
                connections.insert(address, connection);
            }
        });
        let is_whole = why.is_none();
        self.note(what, why);
        Open { connections, is_whole }
    }

    /// Notes that `what` is missing because connections could not be read, once.
    fn note(&mut self, what: &str, why: Option<String>) {
        let missing = why.map(|why| Missing::new(what, format_args!("connections in the kernel: {why}")));
        Missing::add_new(&mut self.missing, &missing);
    }
}

/// Says in the tables which ports, addresses and Unix sockets are the server's.
///
/// # Errors
/// The kernel refuses one: which, and its word.
fn fill_in(tables: &mut RequestTables, places: &[Endpoint], owners: &Owners) -> Result<(), Missing> {
    for (number, place) in (0u32..).zip(places) {
        let inserted = match place {
            Endpoint::Port(port) => tables.ports.insert(u32::from(*port), number, 0),
            Endpoint::Unix(name) => match unix_name(name) {
                Some(name) => tables.unix_names.insert(name, number, 0),
                None => continue,
            },
        };
        inserted.map_err(|e| not_seen(format_args!("{}: {e}", named(place))))?;
    }
    for ((port, address), owner) in owners {
        let at = ListeningAddress { address: address.octets(), port: u64::from(*port) };
        let inserted = tables.addresses.insert(at, owner.unwrap_or(NOWHERE), 0);
        inserted.map_err(|e| not_seen(format_args!("port {port} at {address}: {e}")))?;
    }
    Ok(())
}

/// Why nothing can be seen.
fn not_seen(why: impl Display) -> Missing {
    Missing::new(FACT, why).identified(FactId::Requests)
}

/// What is distinguished; of a name that cannot be found again it is said.
fn places(listening: &Listening, missing: &mut Vec<Missing>) -> Vec<Endpoint> {
    let mut places: Vec<Endpoint> = listening.ports.iter().map(|of| Endpoint::Port(of.port)).collect();
    for name in &listening.unix {
        match unix_name(name) {
            Some(_) => places.push(Endpoint::Unix(name.clone())),
            None => {
                let why = format_args!("Unix socket {name}: its name is too long, or no text");
                missing.push(Missing::new(FACT, why));
            }
        }
    }
    if places.len() > PORTS {
        let why =
            format_args!("only the first {PORTS} of its {} ports and Unix sockets are counted", places.len());
        missing.push(Missing::new(FACT, why));
        places.truncate(PORTS);
    }
    places
}

/// `port 80`, `Unix socket /run/a.sock`.
fn named(place: &Endpoint) -> String {
    match place {
        Endpoint::Port(port) => format!("port {port}"),
        Endpoint::Unix(name) => format!("Unix socket {name}"),
    }
}

/// The inode of a process's network namespace, by which the kernel distinguishes them: `net:[4026531840]`.
fn network_inum(root: &Root, pid: u32) -> Result<u32, Missing> {
    let link = root.link(format!("/proc/{pid}/ns/net"));
    let link = link.map_err(|e| not_seen(format_args!("network namespace of process {pid}: {e}")))?;
    let text = link.to_string_lossy();
    let inum = text.strip_prefix("net:[").and_then(|rest| rest.strip_suffix(']')?.parse().ok());
    inum.ok_or_else(|| not_seen(format_args!("network namespace of process {pid}: it is {text:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_is_known_by_its_inode() {
        let root = Root::live();
        assert!(network_inum(&root, std::process::id()).unwrap() > 0);
        assert!(network_inum(&root, u32::MAX).unwrap_err().why.contains("4294967295"));
    }

    #[test]
    fn a_server_that_does_not_listen_has_none() {
        let root = Root::live();
        let refused =
            CountingRequests::prepare(&root, std::process::id(), &Listening::default()).err().unwrap();
        assert!(refused.why.contains("no TCP port"), "{refused:?}");
    }

    #[test]
    fn a_name_that_cannot_be_found_again_and_more_than_can_be_counted_are_missing() {
        let (unix, mut missing) = (vec!["/run/a".to_string(), "x".repeat(200)], Vec::new());
        let ports: Vec<u16> = (1..=70).collect();
        let found = places(&Listening { unix, ..Listening::on_ports(&ports) }, &mut missing);
        assert_eq!((found.len(), &found[0], missing.len()), (PORTS, &Endpoint::Port(1), 2));
        missing.clear();
        let one = Listening { unix: vec!["/run/a".into()], ..Listening::default() };
        let found = places(&one, &mut missing);
        assert_eq!((found, missing.len()), (vec![Endpoint::Unix("/run/a".into())], 0));
    }
}
