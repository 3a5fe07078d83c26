//! Whose requests are counted where others listen on the server's port at other addresses. One socket of this process takes all connections;
//! what differs is who is said to listen where. Root is needed; without it, and on kernels without these trace points, the tests say so and
//! pass.

// clippy knows only functions marked #[test] as tests; these helpers serve them.
#![allow(clippy::unwrap_used)]

mod counting;

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, TcpListener, TcpStream};

use counting::started;
use machine::processes::Listener;
use pinwise_probe::requests::{Listening, Requests};

/// Where clients connect to, with the requests that they send: sums say which of them were counted.
const ASKED: [(&str, u64); 3] = [("127.0.0.1", 1), ("127.0.0.2", 2), ("::1", 4)];

fn addresses(words: &str) -> Vec<IpAddr> {
    words.split_whitespace().map(|word| word.parse().unwrap()).collect()
}

/// What is counted on the port of `listener` when it is asked at each address; `None` where nothing can be.
fn counted(listener: &TcpListener, own: &str, others: &str) -> Option<Requests> {
    let port = listener.local_addr().unwrap().port();
    let port = Listener { port, addresses: addresses(own), others: addresses(others), ..Listener::default() };
    let listening = Listening { ports: vec![port], ..Listening::default() };
    let mut counting = started(&listening)?;
    for (address, times) in ASKED {
        ask(listener, address.parse().unwrap(), times);
    }
    counting.stop();
    Some(counting.end())
}

/// Requests on a connection to this address, one at a time.
fn ask(listener: &TcpListener, address: IpAddr, times: u64) {
    let mut client = TcpStream::connect((address, listener.local_addr().unwrap().port())).unwrap();
    let (mut server, _) = listener.accept().unwrap();
    for _ in 0..times {
        client.write_all(b"ping").unwrap();
        server.read_exact(&mut [0; 4]).unwrap();
        server.write_all(b"pong").unwrap();
        client.read_exact(&mut [0; 4]).unwrap();
    }
}

#[test]
fn a_connection_belongs_to_who_listens_nearest_to_its_address() {
    // For both families: connections by IPv4 are those of a socket of IPv6.
    let Ok(listener) = TcpListener::bind("[::]:0") else { return eprintln!("skipped: there is no IPv6") };
    for (own, others, answered) in [
        ("", "127.0.0.1", 7),
        ("::", "", 7),
        ("127.0.0.1", "", 1),
        ("::1", "127.0.0.1", 4),
        ("0.0.0.0", "::", 3),
        ("::", "0.0.0.0", 4),
        ("::", "127.0.0.2", 5),
        ("::", "::1", 3),
        (":: 127.0.0.2", "0.0.0.0", 6),
        ("0.0.0.0 ::", "127.0.0.1 ::1", 2),
    ] {
        let Some(seen) = counted(&listener, own, others) else { return };
        let found: u64 = seen.ports.iter().map(|port| port.answered).sum();
        assert_eq!(found, answered, "at {own}, others at {others}: {seen:?}");
        let of_clients: u64 =
            seen.ports.iter().flat_map(|port| &port.peers).map(|client| client.answered).sum();
        assert_eq!((of_clients, seen.missing.len()), (answered, 0), "{seen:?}");
    }
}

#[test]
fn connections_by_a_socket_of_ipv4_are_distinguished_by_address() {
    let listener = TcpListener::bind("127.0.0.2:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    // The other server, on the same port.
    let Ok(other) = TcpListener::bind(("127.0.0.1", port)) else {
        return eprintln!("skipped: the port is taken");
    };
    let port = Listener {
        port,
        addresses: addresses("127.0.0.2"),
        others: addresses("127.0.0.1"),
        ..Listener::default()
    };
    let listening = Listening { ports: vec![port], ..Listening::default() };
    let Some(mut counting) = started(&listening) else { return };
    ask(&listener, IpAddr::from([127, 0, 0, 2]), 3);
    ask(&other, IpAddr::from([127, 0, 0, 1]), 5);
    let unread = TcpStream::connect(other.local_addr().unwrap()).unwrap();
    (&unread).write_all(b"ping").unwrap();
    assert_eq!(counting.unread().connections, 0, "what the other server leaves unread is not the server's");
    counting.stop();
    let seen = counting.end();
    let [port] = &seen.ports[..] else { panic!("one port: {seen:?}") };
    assert_eq!((port.read, port.answered, port.peers.len()), (3, 3, 1), "{seen:?}");
}

#[test]
fn an_address_that_two_processes_share_is_said_to_be() {
    let Ok(listener) = TcpListener::bind("[::]:0") else { return eprintln!("skipped: there is no IPv6") };
    let Some(seen) = counted(&listener, "::", ":: ::1") else { return };
    let found: u64 = seen.ports.iter().map(|port| port.answered).sum();
    assert_eq!((found, seen.missing.len()), (3, 1), "{seen:?}");
    assert!(seen.missing[0].why.contains("SO_REUSEPORT"), "{seen:?}");
}
