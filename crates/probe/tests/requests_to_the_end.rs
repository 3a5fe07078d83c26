//! Where requests and connections end, as the kernel shows it: reads of no bytes, connections whose one half is closed, sockets in the place of
//! others. Root is needed; without it, and on kernels without these trace points, the tests say so and pass.

// clippy knows only functions marked #[test] as tests; these helpers serve them.
#![allow(clippy::unwrap_used)]

mod counting;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

use counting::started;
use pinwise_probe::requests::{CountingRequests, Listening};
use rustix::net::{AddressFamily, RecvFlags, SocketType, ipproto};

/// Both ends of a connection by TCP: the client's, the server's.
fn connected(listener: &TcpListener) -> (TcpStream, TcpStream) {
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (server, _) = listener.accept().unwrap();
    (client, server)
}

fn port(listener: &TcpListener) -> Listening {
    Listening::on_ports(&[listener.local_addr().unwrap().port()])
}

/// A Unix socket in this folder that listens.
fn unix_socket(folder: &Path) -> (UnixListener, Listening) {
    let path = folder.join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    (listener, Listening { unix: vec![path.display().to_string()], ..Listening::default() })
}

/// Both ends of a connection by it: the client's, the server's.
fn connected_by_unix(listener: &UnixListener) -> (UnixStream, UnixStream) {
    let client = UnixStream::connect_addr(&listener.local_addr().unwrap()).unwrap();
    let (server, _) = listener.accept().unwrap();
    (client, server)
}

/// Waits until so many connections have something unread: a packet may be worked off later than it is sent, on a busy machine.
fn wait_for_unread(counting: &mut CountingRequests, connections: u64) {
    let found = (0..10_000).any(|_| {
        std::thread::sleep(Duration::from_millis(1));
        counting.unread().connections == connections
    });
    assert!(found, "{:?}", counting.unread());
}

/// A read whose buffer has no room.
fn read_without_room(server: impl AsFd) {
    let (_, bytes) = rustix::net::recv(server, &mut [0u8; 0], RecvFlags::DONTWAIT).unwrap();
    assert_eq!(bytes, 0);
}

/// A request of four bytes: it is read, and answered by as many.
fn serve(server: &mut (impl Read + Write)) {
    server.read_exact(&mut [0; 4]).unwrap();
    server.write_all(b"pong").unwrap();
}

#[test]
fn a_read_without_room_leaves_a_request_unread_and_the_clients_end_is_none() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let Some(mut counting) = started(&port(&listener)) else { return };
    let (mut client, mut server) = connected(&listener);
    client.write_all(b"ping").unwrap();
    wait_for_unread(&mut counting, 1);
    read_without_room(&server);
    assert_eq!(counting.unread().connections, 1);
    // Nor is it read when nothing comes after it.
    client.shutdown(Shutdown::Write).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    read_without_room(&server);
    assert_eq!(counting.unread().connections, 1);
    server.read_exact(&mut [0; 4]).unwrap();
    assert_eq!(server.peek(&mut [0; 4]).unwrap(), 0);
    assert_eq!(counting.unread().connections, 0);
    server.write_all(b"pong").unwrap();
    counting.stop();
    let seen = counting.end();
    assert_eq!((seen.ports[0].read, seen.ports[0].answered), (1, 1), "{seen:?}");
}

#[test]
fn a_client_by_unix_socket_that_has_sent_all_still_has_its_answer() {
    let folder = tempfile::tempdir().unwrap();
    let (listener, listening) = unix_socket(folder.path());
    let Some(mut counting) = started(&listening) else { return };
    let (mut client, mut server) = connected_by_unix(&listener);
    client.write_all(b"ping").unwrap();
    read_without_room(&server);
    client.shutdown(Shutdown::Write).unwrap();
    server.read_to_end(&mut Vec::new()).unwrap();
    server.write_all(b"pong").unwrap();
    counting.stop();
    let seen = counting.end();
    assert_eq!((seen.ports[0].read, seen.ports[0].answered), (1, 1), "{seen:?}");
}

#[test]
fn a_greeting_is_no_answer_to_the_last_words_on_an_earlier_unix_socket() {
    const PAUSE: Duration = Duration::from_millis(20);
    let folder = tempfile::tempdir().unwrap();
    let (listener, listening) = unix_socket(folder.path());
    let Some(mut counting) = started(&listening) else { return };
    // As with MySQL: the server greets, and does not answer what a client says last. Each is at the address of the one before it, mostly.
    for _ in 0..10 {
        let (mut client, mut server) = connected_by_unix(&listener);
        server.write_all(b"hello").unwrap();
        client.write_all(b"ping").unwrap();
        serve(&mut server);
        client.write_all(b"quit").unwrap();
        server.read_exact(&mut [0; 4]).unwrap();
        drop((server, client));
        std::thread::sleep(PAUSE);
    }
    counting.stop();
    let seen = counting.end();
    assert_eq!((seen.ports[0].read, seen.ports[0].answered), (20, 10), "{seen:?}");
}

#[test]
fn what_a_server_has_closed_without_an_answer_waits_no_more_though_its_client_does_not_close() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let Some(mut counting) = started(&port(&listener)) else { return };
    let (mut client, mut server) = connected(&listener);
    client.write_all(b"ping").unwrap();
    server.read_exact(&mut [0; 4]).unwrap();
    assert_eq!(counting.check().now.count(), 1);
    server.shutdown(Shutdown::Write).unwrap();
    assert_eq!((counting.check().now.count(), counting.open_connections()), (0, Some(0)));
    drop((client, server));
}

/// A socket of MPTCP, where there are any.
fn of_mptcp() -> Option<OwnedFd> {
    rustix::net::socket(AddressFamily::INET, SocketType::STREAM, Some(ipproto::MPTCP)).ok()
}

#[test]
fn what_is_read_from_a_connection_of_mptcp_is_not_unread_in_its_parts() {
    let (Some(listener), Some(client)) = (of_mptcp(), of_mptcp()) else {
        return eprintln!("skipped: there is no MPTCP");
    };
    rustix::net::bind(&listener, &SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
    rustix::net::listen(&listener, 8).unwrap();
    let listener = TcpListener::from(listener);
    let Some(mut counting) = started(&port(&listener)) else { return };
    rustix::net::connect(&client, &listener.local_addr().unwrap()).unwrap();
    let (mut client, (mut server, _)) = (TcpStream::from(client), listener.accept().unwrap());
    for _ in 0..3 {
        client.write_all(b"ping").unwrap();
        serve(&mut server);
        client.read_exact(&mut [0; 4]).unwrap();
    }
    assert_eq!((counting.unread().connections, counting.check().now.count()), (0, 0));
    counting.stop();
    let seen = counting.end();
    assert_eq!(seen.ports[0].answered, 3, "{seen:?}");
}
