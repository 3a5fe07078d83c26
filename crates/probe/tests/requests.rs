//! Requests as the kernel sees them, held against the clock of a server that runs in this thread. Root is needed; without it, and on kernels
//! without these trace points, the tests say so and pass.

// clippy knows only functions marked #[test] as tests; these helpers serve them.
#![allow(clippy::unwrap_used)]

mod counting;

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::{Duration, Instant};

use counting::started;
use pinwise_probe::requests::{Counted, Endpoint, Listening, PortRequests, Requests, Unread};

/// Both ends of a connection, and the listening socket.
struct Pair {
    listener: TcpListener,
    client: TcpStream,
    server: TcpStream,
}

impl Pair {
    fn new() -> Self {
        Self::over(TcpListener::bind("127.0.0.1:0").unwrap())
    }

    fn over(listener: TcpListener) -> Self {
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        server.set_nodelay(true).unwrap();
        client.set_nodelay(true).unwrap();
        Self { listener, client, server }
    }

    fn port(&self) -> u16 {
        self.listener.local_addr().unwrap().port()
    }

    fn ask(&mut self) {
        self.client.write_all(b"ping").unwrap();
    }

    fn read(&mut self, bytes: usize) {
        self.server.read_exact(&mut vec![0; bytes]).unwrap();
    }

    fn answer(&mut self) {
        self.server.write_all(b"pong").unwrap();
    }
}

/// What is counted on these ports meanwhile; `None` where nothing can be.
fn counted(ports: &[u16], meanwhile: impl FnOnce()) -> Option<Requests> {
    counted_on(&Listening::on_ports(ports), meanwhile)
}

/// The same of ports and Unix sockets.
fn counted_on(listening: &Listening, meanwhile: impl FnOnce()) -> Option<Requests> {
    let mut counting = started(listening)?;
    meanwhile();
    counting.stop();
    Some(counting.end())
}

#[test]
fn waits_and_services_are_those_of_the_servers_own_clock() {
    const REQUESTS: u64 = 50;
    let mut pair = Pair::new();
    let (mut least_served, mut most_served) = (Duration::ZERO, Duration::ZERO);
    let (mut least_waited, mut most_waited) = (Duration::ZERO, Duration::ZERO);
    // The connection is older than the counting, which makes no difference.
    let seen = counted(&[pair.port()], || {
        for _ in 0..REQUESTS {
            let asked = Instant::now();
            pair.ask();
            let is_there = Instant::now();
            std::thread::sleep(Duration::from_millis(2));
            let before_read = Instant::now();
            pair.read(4);
            let read = Instant::now();
            while read.elapsed() < Duration::from_micros(200) {}
            let before_answer = Instant::now();
            pair.answer();
            let answered = Instant::now();
            least_served += before_answer - read;
            most_served += answered - before_read;
            least_waited += before_read - is_there;
            most_waited += read - asked;
        }
    });
    let Some(seen) = seen else { return };
    let [port] = &seen.ports[..] else { panic!("one port: {seen:?}") };
    assert_eq!(port.at, Endpoint::Port(pair.port()));
    assert_eq!((port.read, port.answered), (REQUESTS, REQUESTS));
    assert_eq!(
        (port.overlapping, port.continued, port.counted()),
        (Some(0), Some(0), Some(Counted::Requests))
    );
    let served = Duration::from_nanos(port.served_ns);
    assert!(served >= least_served && served <= most_served, "{least_served:?} {served:?} {most_served:?}");
    let waited = Duration::from_nanos(port.waited_ns);
    // A packet may be worked off later than it is sent, on a busy machine.
    assert!(
        waited >= least_waited / 2 && waited <= most_waited,
        "{least_waited:?} {waited:?} {most_waited:?}"
    );
    assert_eq!((port.waited.count(), port.served.count()), (REQUESTS, REQUESTS));
    // Each waited for 2 ms. Nobody checked.
    assert_eq!((port.took.count(), port.checked.count()), (REQUESTS, 0));
    assert!(port.took.quantile_ns(0.01).unwrap() >= 2_000_000, "{seen:?}");
    assert!(port.served.quantile_ns(0.5).unwrap() >= 200_000);
}

/// CLOCK_MONOTONIC, ns.
fn counting_clock_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[test]
fn parts_that_are_taken_meanwhile_are_the_whole() {
    let mut pair = Pair::new();
    let ports = [pair.port()];
    let listening = Listening::on_ports(&ports);
    let Some(mut counting) = started(&listening) else { return };
    let mut parts = Vec::new();
    for requests in [3, 0, 4] {
        for _ in 0..requests {
            pair.ask();
            pair.read(4);
            pair.answer();
        }
        parts.push(counting.take());
    }
    let nothing = Unread { is_whole: true, ..Unread::default() };
    assert_eq!((counting.open_connections(), counting.unread()), (Some(1), nothing));
    let asked_ns = counting_clock_ns();
    pair.ask();
    // A packet may be worked off later than it is sent, on a busy machine.
    let unread = (0..10_000).find_map(|_| {
        std::thread::sleep(Duration::from_millis(1));
        Some(counting.unread()).filter(|unread| *unread != nothing)
    });
    let unread = unread.unwrap();
    assert!(unread.connections == 1 && unread.since_ns.unwrap() >= asked_ns, "{unread:?} {asked_ns}");
    assert_eq!(counting.check().unread, unread);
    counting.stop();
    let whole = counting.end();
    let of = |requests: &Requests, of: fn(&PortRequests) -> u64| requests.ports.iter().map(of).sum::<u64>();
    let answered: Vec<u64> = parts.iter().map(|part| of(part, |port| port.answered)).collect();
    assert_eq!(answered, [3, 0, 4], "{parts:?}");
    let sums: [fn(&PortRequests) -> u64; 6] = [
        |port| port.read,
        |port| port.waited_ns,
        |port| port.served_ns,
        |port| port.waited.count(),
        |port| port.served.count(),
        |port| port.took.count(),
    ];
    for sum in sums {
        assert_eq!(
            parts.iter().map(|part| of(part, sum)).sum::<u64>(),
            of(&whole, sum),
            "{parts:?} {whole:?}"
        );
    }
    assert!(parts.iter().map(|part| part.window_s).sum::<f64>() <= whole.window_s, "{parts:?}");
}

#[test]
fn a_request_that_is_not_answered_waits_and_its_answer_says_that_it_was_seen() {
    let (mut unread, mut read, mut idle) = (Pair::new(), Pair::new(), Pair::new());
    let ports = [unread.port(), read.port(), idle.port()];
    let listening = Listening::on_ports(&ports);
    let Some(mut counting) = started(&listening) else { return };
    // Looks alike: it is answered, and its connection stays open.
    idle.ask();
    idle.read(4);
    idle.answer();
    read.ask();
    read.read(4);
    unread.ask();
    // A packet may be worked off later than it is sent, on a busy machine.
    let first = (0..10_000).find_map(|_| {
        std::thread::sleep(Duration::from_millis(1));
        Some(counting.check()).filter(|waiting| waiting.now.count() == 2)
    });
    let first = first.unwrap();
    let second = counting.check();
    assert_eq!((second.now.count(), second.before.count()), (2, 2), "{first:?} {second:?}");
    assert_eq!(second.before, first.now, "what it saw, it sees again");
    read.answer();
    unread.read(4);
    unread.answer();
    let answered = counting.take();
    let of = |of: fn(&PortRequests) -> u64| answered.ports.iter().map(of).sum::<u64>();
    assert_eq!((of(|port| port.took.count()), of(|port| port.checked.count())), (3, 2), "{answered:?}");
    assert_eq!(counting.check().now.count(), 0);
}

#[test]
fn a_new_connection_is_known_from_its_first_request_on() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let seen = counted(&[port], || {
        let mut pair = Pair::over(listener.try_clone().unwrap());
        pair.ask();
        pair.read(4);
        pair.answer();
    });
    let Some(seen) = seen else { return };
    assert_eq!((seen.ports[0].read, seen.ports[0].answered), (1, 1), "{seen:?}");
}

#[test]
fn requests_are_told_apart_by_client_whether_its_connections_have_ended_or_not() {
    let Ok(listener) = TcpListener::bind("[::]:0") else { return eprintln!("skipped: there is no IPv6") };
    let port = listener.local_addr().unwrap().port();
    let ask = |address: IpAddr, times: u32| {
        let client = TcpStream::connect((address, port)).unwrap();
        let (server, _) = listener.accept().unwrap();
        let mut pair = Pair { listener: listener.try_clone().unwrap(), client, server };
        for _ in 0..times {
            pair.ask();
            pair.read(4);
            pair.answer();
            pair.client.read_exact(&mut [0; 4]).unwrap();
        }
        pair
    };
    // A socket for both has the first as an address of IPv6.
    let (one, other) = (IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv6Addr::LOCALHOST));
    let mut open = Vec::new();
    let seen = counted(&[port], || {
        for address in [one, one, other] {
            drop(ask(address, 5));
        }
        open.push(ask(one, 7));
    });
    let Some(seen) = seen else { return };
    let peers: Vec<_> = seen.ports[0].peers.iter().map(|peer| (peer.address, peer.answered)).collect();
    assert_eq!(peers, [(Some(one), 17), (Some(other), 5)], "{seen:?}");
    let served_ns: u64 = seen.ports[0].peers.iter().map(|peer| peer.served_ns).sum();
    assert_eq!(served_ns, seen.ports[0].served_ns);
}

#[test]
fn an_answer_before_which_another_request_came_overlaps_and_the_next_request_after_it_does_not() {
    let mut pair = Pair::new();
    let mut answered_first = Pair::new();
    let ports = [pair.port(), answered_first.port()];
    let seen = counted(&ports, || {
        for _ in 0..10 {
            pair.ask();
            pair.ask();
            std::thread::sleep(Duration::from_millis(2));
            pair.read(4);
            pair.answer();
            pair.read(4);
            pair.answer();
            // The next one comes while this is answered or later.
            answered_first.ask();
            answered_first.read(4);
            answered_first.answer();
        }
    });
    let Some(seen) = seen else { return };
    let of = |port: u16| seen.ports.iter().find(|seen| seen.at == Endpoint::Port(port)).unwrap();
    let both = of(ports[0]);
    assert_eq!((both.answered, both.overlapping), (20, Some(10)), "{seen:?}");
    assert_eq!(both.counted(), Some(Counted::ReadsOfSeveral));
    assert_eq!(of(ports[1]).overlapping, Some(0), "{seen:?}");
}

#[test]
fn a_request_that_comes_in_two_packets_goes_on_before_its_answer() {
    let mut pair = Pair::new();
    let seen = counted(&[pair.port()], || {
        for _ in 0..10 {
            pair.ask();
            pair.read(4);
            pair.ask();
            std::thread::sleep(Duration::from_millis(2));
            pair.read(4);
            pair.answer();
        }
    });
    let Some(seen) = seen else { return };
    let port = &seen.ports[0];
    assert_eq!((port.answered, port.overlapping, port.continued), (10, Some(0), Some(10)), "{seen:?}");
    assert_eq!(port.counted(), Some(Counted::ReadsOfPieces));
}

#[test]
fn requests_by_unix_socket_are_counted_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["asked", "other"].map(|name| folder.path().join(name));
    let [listener, other] = paths.each_ref().map(|path| UnixListener::bind(path).unwrap());
    let unix = vec![paths[0].display().to_string()];
    let ask = |path: &Path, listener: &UnixListener, times: u32| {
        let mut client = UnixStream::connect(path).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        for _ in 0..times {
            client.write_all(b"ping").unwrap();
            std::thread::sleep(Duration::from_millis(1));
            server.read_exact(&mut [0; 4]).unwrap();
            server.write_all(b"pong").unwrap();
            client.read_exact(&mut [0; 4]).unwrap();
        }
    };
    let listening = Listening { unix, ..Listening::default() };
    let seen = counted_on(&listening, || {
        // The second is at the address of the first in the kernel, mostly.
        ask(&paths[0], &listener, 20);
        ask(&paths[0], &listener, 1);
        ask(&paths[1], &other, 5);
    });
    let Some(seen) = seen else { return };
    let [socket] = &seen.ports[..] else { panic!("one socket: {seen:?}") };
    assert_eq!(socket.at, Endpoint::Unix(listening.unix[0].clone()));
    assert_eq!((socket.read, socket.answered, socket.counted()), (21, 21, None));
    assert!(socket.waited.quantile_ns(0.1).unwrap() >= 1_000_000, "{seen:?}");
}

#[test]
fn a_request_in_pieces_and_an_answer_in_pieces_are_one_and_what_is_read_together_is_too() {
    let mut pair = Pair::new();
    let seen = counted(&[pair.port()], || {
        pair.ask();
        pair.read(1);
        pair.read(3);
        pair.answer();
        pair.answer();
        // Two that are read at once.
        pair.ask();
        pair.ask();
        std::thread::sleep(Duration::from_millis(5));
        pair.read(8);
        pair.answer();
        pair.answer();
    });
    let Some(seen) = seen else { return };
    assert_eq!((seen.ports[0].answered, seen.ports[0].rewritten), (2, Some(2)), "{seen:?}");
}

#[test]
fn a_batch_whose_requests_are_answered_one_by_one_may_be_several_and_a_whole_answer_may_not() {
    let mut pairs = [Pair::new(), Pair::new()];
    let ports = pairs.each_ref().map(Pair::port);
    let seen = counted(&ports, || {
        let [batches, single] = &mut pairs;
        for _ in 0..10 {
            batches.client.write_all(b"pingping").unwrap();
            batches.read(8);
            batches.answer();
            batches.answer();
            batches.answer();
            single.client.write_all(b"pingping").unwrap();
            single.read(8);
            single.server.write_all(b"pongpongpong").unwrap();
        }
    });
    let Some(seen) = seen else { return };
    let of = |port: u16| seen.ports.iter().find(|seen| seen.at == Endpoint::Port(port)).unwrap();
    assert_eq!((of(ports[0]).answered, of(ports[0]).rewritten), (10, Some(10)), "{seen:?}");
    assert_eq!(of(ports[0]).counted(), Some(Counted::RequestsOrBatches));
    assert_eq!((of(ports[1]).answered, of(ports[1]).rewritten), (10, Some(0)), "{seen:?}");
    assert_eq!(of(ports[1]).counted(), Some(Counted::Requests));
}

#[test]
fn what_needs_no_answer_does_not_lengthen_the_next_service() {
    let mut pair = Pair::new();
    let seen = counted(&[pair.port()], || {
        pair.ask();
        pair.read(4);
        std::thread::sleep(Duration::from_millis(50));
        pair.ask();
        pair.read(4);
        pair.answer();
    });
    let Some(seen) = seen else { return };
    let port = &seen.ports[0];
    assert!(port.answered == 1 && port.served_ns < 50_000_000, "{seen:?}");
}

#[test]
fn datagrams_to_the_same_port_are_not_counted() {
    let pair = Pair::new();
    let port = pair.port();
    let Ok(server) = UdpSocket::bind(("127.0.0.1", port)) else {
        return eprintln!("skipped: the port is taken");
    };
    let seen = counted(&[port], || {
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        client.send_to(b"ping", ("127.0.0.1", port)).unwrap();
        let (_, from) = server.recv_from(&mut [0; 4]).unwrap();
        server.send_to(b"pong", from).unwrap();
    });
    let Some(seen) = seen else { return };
    assert!(seen.ports.is_empty(), "{seen:?}");
}

#[test]
fn other_ports_and_what_a_server_asks_of_others_are_not_counted() {
    let (mut backend, mut other, server) = (Pair::new(), Pair::new(), Pair::new());
    let seen = counted(&[server.port()], || {
        for pair in [&mut backend, &mut other] {
            pair.ask();
            pair.read(4);
            pair.answer();
        }
    });
    let Some(seen) = seen else { return };
    assert!(seen.ports.is_empty() && seen.window_s > 0.0, "{seen:?}");
}
