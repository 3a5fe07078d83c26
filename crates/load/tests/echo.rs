//! The latency load against the echo server on loopback, in this process, over each transport.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to fail there")]

use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::thread::JoinHandle;

use pinwise_load::LatencyLoad;
use pinwise_load::drive::{Document, Driven, Spacing, Transport};
use pinwise_load::echo::server::{EchoOptions, EchoServer};
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
        let address = "127.0.0.1".parse().unwrap();
        let options = EchoOptions { address, port: 0, nodelay: true, busy_poll_us: 0 };
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

#[test]
fn every_message_comes_back_over_each_transport() {
    let server = Echo::start();
    for transport in TRANSPORTS {
        for message_bytes in [16, 1024, 40_000] {
            // More of the large datagrams at a time than fit into a socket's buffer would be lost.
            let load = LatencyLoad { message_bytes, prefetch: 1, connections: 2, ..short(transport) };
            let load = LatencyLoad { max_requests: Some(500), seconds: 20.0, ..load };
            let document = load.drive(server.at, None).unwrap();
            assert_eq!(document.broken, None, "{transport:?} {message_bytes}");
            let (completed, failed) = (figure(&document, "completed"), figure(&document, "failed"));
            assert_eq!((completed, failed), (500.0, 0.0), "{transport:?} {message_bytes}");
        }
    }
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
        let document = load.drive(server.at, None).unwrap();
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
    let document = load.drive(at, None).unwrap();
    assert!(figure(&document, "failed_timed_out") >= 1.0, "{:?}", document.outcome.figures);
    assert!(figure(&document, "completed") >= 3.0, "{:?}", document.outcome.figures);
}

#[test]
fn nobody_there_is_told_over_each_transport() {
    let at = { Echo::start().at };
    for transport in TRANSPORTS {
        let document = LatencyLoad { seconds: 30.0, ..short(transport) }.drive(at, None).unwrap();
        let cause = document.broken.unwrap().cause;
        assert!(cause.contains("refused"), "{transport:?}: {cause}");
    }
}
