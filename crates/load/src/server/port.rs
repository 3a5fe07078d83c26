//! TCP ports: a free one, whether a certain one is taken, and by which process.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};

use machine::processes::sockets;
use machine::procfs::net_tcp::{self, State};
use machine::{Class, Fault, Root};
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketFlags, SocketType, sockopt};

use crate::clock::monotonic_ns;
use crate::process::netns::within;

/// Ports that are offered: below those that the kernel gives to outgoing connections (ip_local_port_range, from 32768),
/// so that none of them takes the port before the server does.
const FIRST: u16 = 10_000;
const COUNT: u16 = 20_000;

static CALLS: AtomicU64 = AtomicU64::new(0);

/// A port that nobody listens on in the namespace, at any address. Fails when none of many is free.
pub(crate) fn free(address: IpAddr, netns: Option<&str>) -> Result<u16, Fault> {
    // Another start for each process, time and call: studies side by side rarely try the same ports.
    let call = CALLS.fetch_add(1, Ordering::Relaxed) * 1009;
    let start = (monotonic_ns() / 1000 + u64::from(std::process::id()) * 7919 + call) % u64::from(COUNT);
    let anywhere: IpAddr = match address {
        IpAddr::V4(_) => IpAddr::from([0; 4]),
        IpAddr::V6(_) => IpAddr::from([0; 16]),
    };
    let found = within(netns, || {
        (0..200u64)
            .map(|i| FIRST + ((start + i * 37) % u64::from(COUNT)) as u16)
            .find(|port| try_bind(SocketAddr::new(anywhere, *port), false).is_ok())
    })?;
    found.ok_or_else(|| {
        let cause = format!("none of 200 ports tried in {FIRST}-{} is free", FIRST + COUNT - 1);
        Fault::new(Class::MachineLacks, "TCP port for the server", cause, "give a port (port = ...)")
    })
}

/// Fails when nobody could listen at `at` now; names the process that does, where that can be seen.
pub(crate) fn must_be_free(at: SocketAddr, netns: Option<&str>) -> Result<(), Fault> {
    let (bound, holders) = within(netns, || {
        let bound = try_bind(at, true);
        let holders = match bound {
            Err(Errno::ADDRINUSE) => holders(&Root::live(), at.port()),
            _ => Vec::new(),
        };
        (bound, holders)
    })?;
    let object = format!("TCP port {} ({at})", at.port());
    match bound {
        Ok(()) => Ok(()),
        Err(Errno::ADDRINUSE) => {
            let who = match holders.is_empty() {
                true => "a process that cannot be seen from here (run as root to see it)".to_string(),
                false => holders.join(", "),
            };
            let remedy = "stop it, choose another port, or leave the port out so that a free one is chosen";
            Err(Fault::new(Class::MachineLacks, object, format!("already in use by {who}"), remedy))
        }
        Err(Errno::ADDRNOTAVAIL) => {
            let remedy = "choose an address of this machine, or of the server's network namespace";
            Err(Fault::new(Class::Usage, object, "the address is not here", remedy))
        }
        Err(Errno::ACCESS) => {
            let remedy = "ports below 1024 need root: choose a higher port";
            Err(Fault::new(Class::NotPermitted, object, "not permitted", remedy))
        }
        Err(error) => Err(Fault::new(Class::WorkloadFailed, object, error, "check address and port")),
    }
}

/// Binds and lets go again. With `reuse`, what remains of ended connections (TIME_WAIT) is no obstacle.
fn try_bind(at: SocketAddr, reuse: bool) -> Result<(), Errno> {
    let family = match at {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let socket = net::socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    sockopt::set_socket_reuseaddr(&socket, reuse)?;
    net::bind(&socket, &at)
}

/// Who listens on `port` in the calling thread's network namespace: `NAME (PID)`, as far as it can be seen.
fn holders(root: &Root, port: u16) -> Vec<String> {
    let inodes: Vec<u64> = ["/proc/thread-self/net/tcp", "/proc/thread-self/net/tcp6"]
        .iter()
        .filter_map(|table| root.read(table).ok())
        .flat_map(|table| listeners(&table, port))
        .collect();
    let pids = root.list("/proc").unwrap_or_default();
    pids.iter()
        .filter_map(|name| name.parse().ok())
        // Folders of other users' processes are closed to us without root.
        .filter(|pid| sockets(root, *pid).is_ok_and(|open| inodes.iter().any(|inode| open.contains(inode))))
        .map(|pid| {
            let name = root.read(format!("/proc/{pid}/comm")).unwrap_or_default();
            format!("{} (process {pid})", name.trim())
        })
        .collect()
}

/// Inodes of the sockets that listen on `port`, from /proc/net/tcp or tcp6. Lines of another form are passed over: they only make the
/// message poorer.
fn listeners(table: &str, port: u16) -> Vec<u64> {
    let (sockets, _) = net_tcp::parse(table);
    let here = sockets.iter().filter(|socket| socket.state == State::Listen && socket.port == port);
    here.map(|socket| socket.inode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 24680 1 0000000000000000 100 0 0 10 0
   1: 0100007F:1F90 0100007F:D431 01 00000000:00000000 00:00000000 00000000     0        0 13579 1 0000000000000000 20 4 30 10 -1
";

    #[test]
    fn listeners_are_found_by_port_and_state() {
        assert_eq!(listeners(TABLE, 8080), [24680]);
        assert!(listeners(TABLE, 8081).is_empty());
    }

    #[test]
    fn malformed_tables_give_nothing() {
        for table in ["", "x", "header\n 0: 1F90 0 0A", "header\n 0: A:1F90 B:0 0A 0 0 0 0 0 inode"] {
            assert!(listeners(table, 8080).is_empty(), "{table:?}");
        }
    }

    #[test]
    fn a_taken_port_names_its_holder() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let fault = must_be_free(at, None).unwrap_err();
        assert_eq!(fault.class, Class::MachineLacks);
        let text = fault.to_string();
        assert!(text.contains(&at.port().to_string()), "{text}");
        assert!(text.contains(&format!("process {}", std::process::id())), "{text}");
        drop(listener);
        must_be_free(at, None).unwrap();
    }

    #[test]
    fn a_free_port_can_be_bound_and_a_foreign_address_cannot() {
        let port = free(IpAddr::from([127, 0, 0, 1]), None).unwrap();
        std::net::TcpListener::bind(("127.0.0.1", port)).unwrap();
        let foreign = must_be_free("192.0.2.1:9".parse().unwrap(), None).unwrap_err();
        assert_eq!(
            foreign.class,
            if rustix::process::geteuid().is_root() { Class::Usage } else { foreign.class }
        );
    }

    proptest::proptest! {
        #[test]
        fn no_table_makes_it_panic(table in "(?s).{0,200}", port in 0u16..) {
            let _ = listeners(&table, port);
        }
    }
}
