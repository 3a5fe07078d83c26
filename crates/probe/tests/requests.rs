//! Requests as the kernel sees them, held against the clock of a server that runs in this thread. Root is needed; without it, and on kernels
//! without these trace points, the tests say so and pass.

// clippy knows only functions marked #[test] as tests; these helpers serve them.
#![allow(clippy::unwrap_used)]

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use machine::Root;
use pinwise_probe::requests::{CountingRequests, Requests};

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
    let mut counting = match CountingRequests::prepare(&Root::live(), std::process::id(), ports) {
        Ok(counting) => counting,
        Err(missing) => {
            eprintln!("skipped: {}: {}", missing.fact, missing.why);
            return None;
        }
    };
    counting.start();
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
    // The connection is older than the counting: what arrives first on it is not known.
    let seen = counted(&[pair.port()], || {
        for number in 0..=REQUESTS {
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
            if number > 0 {
                least_waited += before_read - is_there;
                most_waited += read - asked;
            }
        }
    });
    let Some(seen) = seen else { return };
    let [port] = &seen.ports[..] else { panic!("one port: {seen:?}") };
    assert_eq!((port.port, port.read, port.answered), (pair.port(), REQUESTS, REQUESTS + 1));
    let served = Duration::from_nanos(port.served_ns);
    assert!(served >= least_served && served <= most_served, "{least_served:?} {served:?} {most_served:?}");
    let waited = Duration::from_nanos(port.waited_ns);
    // A packet may be worked off later than it is sent, on a busy machine.
    assert!(
        waited >= least_waited / 2 && waited <= most_waited,
        "{least_waited:?} {waited:?} {most_waited:?}"
    );
    assert_eq!((port.waited.count(), port.served.count()), (REQUESTS, REQUESTS + 1));
    assert!(port.served.quantile_ns(0.5).unwrap() >= 200_000);
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
    assert_eq!(seen.ports[0].answered, 2, "{seen:?}");
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
