//! The packet load against the sink on loopback, in this process, in each way that loopback has.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to fail there")]

use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::thread::JoinHandle;

use pinwise_load::drive::{Course, Document};
use pinwise_load::workloads::packets::options::Send;
use pinwise_load::workloads::packets::sink::{Sink, SinkOptions};
use pinwise_load::{Driven, PacketsLoad};
use rustix::event::{EventfdFlags, eventfd};

/// The sink on a thread; it ends when dropped.
struct Counting {
    at: SocketAddr,
    stop: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Counting {
    fn start() -> Self {
        let options =
            SinkOptions { address: "127.0.0.1".parse().unwrap(), port: 0, receive_buffer_bytes: None };
        let sink = Sink::bind(&options).unwrap();
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).unwrap());
        let (at, seen) = (sink.local_address(), stop.clone());
        let thread = std::thread::spawn(move || sink.run(seen.as_fd()).unwrap());
        Self { at, stop, thread: Some(thread) }
    }
}

impl Drop for Counting {
    fn drop(&mut self) {
        rustix::io::write(&*self.stop, &1u64.to_ne_bytes()).unwrap();
        self.thread.take().unwrap().join().unwrap();
    }
}

fn figure(document: &Document, name: &str) -> f64 {
    document.outcome.figures[name]
}

const WAYS: [Send; 3] = [Send::Sendto, Send::Sendmmsg, Send::Gso];

#[test]
fn at_a_rate_that_the_sink_keeps_every_packet_arrives_once() {
    for send in WAYS {
        for packet_bytes in [60, 1514] {
            // The host may hold the sink up for longer than its socket can keep packets.
            let arrived_once = (0..3).any(|_| every_packet_arrives_once(send, packet_bytes));
            assert!(arrived_once, "{send:?} {packet_bytes}");
        }
    }
}

fn every_packet_arrives_once(send: Send, packet_bytes: u32) -> bool {
    let sink = Counting::start();
    let load = PacketsLoad {
        send,
        packet_bytes,
        batch: 16,
        rate_per_s: Some(2000.0),
        seconds: 0.5,
        ..PacketsLoad::default()
    };
    let document = load.drive(sink.at, Course::default()).unwrap();
    assert_eq!(document.broken, None, "{load:?}");
    let [sent, arrived, lost] = ["sent", "arrived", "lost"].map(|name| figure(&document, name));
    assert!((900.0..=1001.0).contains(&sent), "{send:?}: {sent} sent");
    assert_eq!(arrived + lost, sent, "{send:?} {packet_bytes}");
    let in_intervals: u64 = document.outcome.intervals.iter().map(|i| i.completed).sum();
    assert!(in_intervals as f64 <= arrived && document.outcome.intervals.len() == 5);
    lost == 0.0
}

#[test]
fn as_fast_as_it_can_what_arrives_is_never_more_than_what_was_sent() {
    let sink = Counting::start();
    for send in WAYS {
        let load = PacketsLoad { send, seconds: 0.3, ..PacketsLoad::default() };
        let document = load.drive(sink.at, Course::default()).unwrap();
        assert_eq!(document.broken, None, "{send:?}");
        let [sent, arrived, lost] = ["sent", "arrived", "lost"].map(|name| figure(&document, name));
        assert!(arrived > 0.0 && arrived + lost == sent, "{send:?}: {sent} {arrived} {lost}");
        assert!(figure(&document, "sender_ns_per_packet") > 0.0);
    }
}

#[test]
fn packets_of_others_are_none_of_the_runs() {
    let sink = Counting::start();
    let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
    for length in [0, 1, 8, 18, 100, 4000] {
        stranger.send_to(&vec![7; length], sink.at).unwrap();
    }
    let load = PacketsLoad { rate_per_s: Some(100.0), seconds: 0.2, ..PacketsLoad::default() };
    let document = load.drive(sink.at, Course::default()).unwrap();
    assert_eq!((document.broken.clone(), figure(&document, "lost")), (None, 0.0), "{document:?}");
}

#[test]
fn without_a_sink_it_does_not_begin_and_says_what_to_start() {
    let nobody = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let why = PacketsLoad::default().drive(nobody, Course::default()).unwrap_err().to_string();
    assert!(why.contains("pinwise packet-sink"), "{why}");
}

#[test]
fn a_stop_is_reported() {
    let sink = Counting::start();
    let stop = eventfd(1, EventfdFlags::CLOEXEC).unwrap();
    let document = PacketsLoad { seconds: 20.0, ..PacketsLoad::default() }
        .drive(sink.at, Course::until(stop.as_fd()))
        .unwrap();
    assert!(document.broken.unwrap().cause.contains("stopped"));
}
