//! The latency load against the echo server on loopback, in this process, over each transport.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to fail there")]

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use pinwise_load::drive::{Course, Document, Spacing, Transport};
use pinwise_load::workloads::latency::server::{EchoOptions, EchoServer};
use pinwise_load::{Driven, LatencyLoad, monotonic_ns};
use rustix::event::{EventfdFlags, eventfd};

const TRANSPORTS: [Transport; 3] = [Transport::Tcp, Transport::Unix, Transport::Udp];

/// The echo server on a thread; it ends when dropped.
struct Echo {
    at: SocketAddr,
    stop: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Echo {
    fn start() -> Self {
        Self::speaking(false)
    }

    fn speaking(http: bool) -> Self {
        let address = "127.0.0.1".parse().unwrap();
        let options = EchoOptions { address, port: 0, nodelay: true, busy_poll_us: 0, packets: false, http };
        let server = EchoServer::bind(&options).unwrap();
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).unwrap());
        let (at, seen) = (server.local_address(), stop.clone());
        let thread = std::thread::spawn(move || server.run(seen.as_fd()).unwrap());
        Self { at, stop, thread: Some(thread) }
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        rustix::io::write(&*self.stop, &1u64.to_ne_bytes()).unwrap();
        self.thread.take().unwrap().join().unwrap();
    }
}

fn short(transport: Transport) -> LatencyLoad {
    LatencyLoad { transport, seconds: 0.5, prefetch: 8, ..LatencyLoad::default() }
}

fn figure(document: &Document, name: &str) -> f64 {
    document.outcome.figures[name]
}

/// Drives 500 messages of this load over two connections.
fn every_message_comes_back(server: &Echo, load: LatencyLoad) {
    let what = format!("{:?} {}", load.transport, load.message_bytes);
    let load = LatencyLoad { connections: 2, max_requests: Some(500), seconds: 20.0, ..load };
    let document = load.drive(server.at, Course::default()).unwrap();
    assert_eq!(document.broken, None, "{what}");
    let (completed, failed) = (figure(&document, "completed"), figure(&document, "failed"));
    assert_eq!((completed, failed), (500.0, 0.0), "{what}");
}

#[test]
fn every_message_comes_back_over_each_transport() {
    let server = Echo::start();
    for transport in TRANSPORTS {
        for message_bytes in [16, 1024, 40_000] {
            // More of the large datagrams at a time than fit into a socket's buffer would be lost.
            every_message_comes_back(&server, LatencyLoad { message_bytes, prefetch: 1, ..short(transport) });
        }
    }
}

#[test]
fn every_message_comes_back_as_the_body_of_an_answer() {
    let server = Echo::speaking(true);
    for transport in [Transport::Tcp, Transport::Unix] {
        for (message_bytes, prefetch) in [(16, 8), (1024, 64), (400_000, 2)] {
            let load = LatencyLoad { message_bytes, prefetch, http: true, ..short(transport) };
            every_message_comes_back(&server, load);
        }
    }
}

#[test]
fn frames_over_loopback_are_refused_with_the_reason() {
    let server = Echo::start();
    let why = short(Transport::Packet).drive(server.at, Course::default()).err().unwrap().to_string();
    // Without the permission it comes no further.
    assert!(why.contains("other end of a link") || why.contains("CAP_NET_RAW"), "{why}");
}

#[test]
fn a_fixed_rate_is_kept_and_what_is_due_is_sent() {
    let server = Echo::start();
    for transport in TRANSPORTS {
        let load = LatencyLoad {
            rate_per_s: Some(1000.0),
            spacing: Spacing::Uniform,
            seconds: 1.0,
            ..short(transport)
        };
        let document = load.drive(server.at, Course::default()).unwrap();
        let sent = figure(&document, "completed") + figure(&document, "unfinished");
        assert!((998.0..=1001.0).contains(&sent), "{transport:?}: {sent}");
        assert_eq!(figure(&document, "failed"), 0.0);
    }
}

#[test]
fn a_lost_datagram_is_a_failed_message() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let at = socket.local_addr().unwrap();
    // Answers three of four; it ends with the test's process.
    std::thread::spawn(move || {
        let mut buffer = [0; 2048];
        for count in 0_u64.. {
            let Ok((n, from)) = socket.recv_from(&mut buffer) else { return };
            if count % 4 != 3 {
                let _ = socket.send_to(&buffer[..n], from);
            }
        }
    });
    let load = LatencyLoad { timeout_s: 0.15, prefetch: 4, seconds: 1.0, ..short(Transport::Udp) };
    let document = load.drive(at, Course::default()).unwrap();
    assert!(figure(&document, "failed_timed_out") >= 1.0, "{:?}", document.outcome.figures);
    assert!(figure(&document, "completed") >= 3.0, "{:?}", document.outcome.figures);
}

#[test]
fn nobody_there_is_reported_over_each_transport() {
    // A port that a server has left may be another test's by now; nobody is at this one.
    let at = SocketAddr::from(([127, 213, 7, 1], 9));
    for transport in TRANSPORTS {
        let document =
            LatencyLoad { seconds: 30.0, ..short(transport) }.drive(at, Course::default()).unwrap();
        let cause = document.broken.unwrap().cause;
        assert!(cause.contains("refused"), "{transport:?}: {cause}");
    }
}

/// A server on one thread that sends back what it gets, and does nothing at all for 100 ms in each second. It gives each pause as it
/// really was, CLOCK_MONOTONIC ns.
fn pausing(pauses: usize) -> (SocketAddr, JoinHandle<Vec<(u64, u64)>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
        let mut buffer = vec![0; 1 << 20];
        let mut seen = Vec::new();
        let mut next_ns = monotonic_ns() + 450_000_000;
        loop {
            if seen.len() < pauses && monotonic_ns() >= next_ns {
                let from_ns = monotonic_ns();
                std::thread::sleep(Duration::from_millis(100));
                seen.push((from_ns, monotonic_ns()));
                next_ns += 1_000_000_000;
            }
            match stream.read(&mut buffer) {
                Ok(0) => return seen,
                Ok(n) => stream.write_all(&buffer[..n]).unwrap(),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(_) => return seen,
            }
        }
    });
    (at, thread)
}

#[test]
fn a_pause_of_the_server_is_seen_by_all_that_were_due_in_it() {
    let (at, server) = pausing(4);
    let load = LatencyLoad {
        rate_per_s: Some(2000.0),
        spacing: Spacing::Uniform,
        message_bytes: 64,
        ..short(Transport::Tcp)
    };
    let document = LatencyLoad { prefetch: 2000, seconds: 4.2, ..load }.drive(at, Course::default()).unwrap();
    let pauses = server.join().unwrap();
    let outcome = &document.outcome;
    assert_eq!((pauses.len(), figure(&document, "failed")), (4, 0.0));
    // What each message that was due in a pause had to wait until its end; outside of pauses nothing worth mention.
    let gap_ns = 500_000;
    let due =
        (1..).map(|count| outcome.from_ns + count * gap_ns).take_while(|due_ns| *due_ns < outcome.to_ns);
    let waited = |due_ns: u64| {
        let pause = pauses.iter().find(|(from_ns, to_ns)| (*from_ns..*to_ns).contains(&due_ns));
        pause.map_or(0, |(_, to_ns)| to_ns - due_ns)
    };
    let mut waits: Vec<u64> = due.map(waited).collect();
    waits.sort_unstable();
    for (name, share) in [("latency_p99_us", 0.99), ("latency_p999_us", 0.999)] {
        let truth_us = waits[(waits.len() as f64 * share) as usize] as f64 / 1e3;
        let reported_us = figure(&document, name);
        // A machine that others use adds to it; nothing takes away from it.
        assert!(
            reported_us >= truth_us * 0.95,
            "{name}: {reported_us} us reported, {truth_us} us by the pauses"
        );
    }
    assert!(figure(&document, "latency_p50_us") < 50_000.0);
}

#[test]
fn a_message_that_comes_back_twice_fails_and_no_other_is_lost_by_it() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    // The first four twice, then nothing for a while: more falls due than there are lanes for.
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut message = [0; 64];
        for count in 0.. {
            if stream.read_exact(&mut message).is_err() {
                return;
            }
            if count == 4 {
                std::thread::sleep(Duration::from_millis(300));
            }
            // The client may be gone.
            let _ = stream.write_all(&message.repeat(if count < 4 { 2 } else { 1 }));
        }
    });
    let load = LatencyLoad {
        rate_per_s: Some(100.0),
        spacing: Spacing::Uniform,
        message_bytes: 64,
        ..short(Transport::Tcp)
    };
    let document = LatencyLoad { prefetch: 2, seconds: 1.0, ..load }.drive(at, Course::default()).unwrap();
    assert_eq!(figure(&document, "failed_wrong_answer"), 4.0, "{:?}", document.outcome.figures);
    let due = figure(&document, "completed") + figure(&document, "unfinished");
    assert!((98.0..=101.0).contains(&due), "{:?}", document.outcome.figures);
}
