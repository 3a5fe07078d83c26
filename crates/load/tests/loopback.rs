//! The string load against real servers on loopback, in this process: the built-in one, and ones that misbehave in a
//! known way.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to fail there")]

use std::io::{BufRead, BufReader, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use pinwise_load::drive::{Course, Document, Spacing};
use pinwise_load::string::protocol;
use pinwise_load::string::server::{ServerOptions, StringServer};
use pinwise_load::{Driven, HttpLoad, StringLoad};
use rustix::event::{EventfdFlags, eventfd};

const ROUNDS: u64 = 50;

/// The built-in server on a thread; it ends when dropped.
struct BuiltIn {
    at: SocketAddr,
    stop: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl BuiltIn {
    fn start(address: &str) -> Self {
        let address: IpAddr = address.parse().unwrap();
        let server = StringServer::bind(&ServerOptions { address, port: 0, rounds: ROUNDS }).unwrap();
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).unwrap());
        let (at, seen) = (server.local_address(), stop.clone());
        let thread = std::thread::spawn(move || server.run(seen.as_fd()).unwrap());
        Self { at, stop, thread: Some(thread) }
    }
}

impl Drop for BuiltIn {
    fn drop(&mut self) {
        rustix::io::write(&*self.stop, &1u64.to_ne_bytes()).unwrap();
        self.thread.take().unwrap().join().unwrap();
    }
}

/// A server that takes one connection at a time and does with each line what the test says.
fn scripted(mut script: impl FnMut(u64, &[u8], &mut TcpStream) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    // It ends with the test's process.
    std::thread::spawn(move || {
        let mut count = 0;
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let Ok(reader) = stream.try_clone() else { continue };
            for line in BufReader::new(reader).split(b'\n') {
                let Ok(line) = line else { break };
                script(count, &line, &mut stream);
                count += 1;
            }
        }
    });
    at
}

fn right_answer(line: &[u8], stream: &mut TcpStream) {
    let mut answer = Vec::new();
    protocol::answer(line, ROUNDS, &mut answer);
    // The client may be gone.
    let _ = stream.write_all(&answer);
}

fn run(at: SocketAddr, load: StringLoad) -> Document {
    load.drive(at, Course::default()).unwrap()
}

fn short() -> StringLoad {
    StringLoad { seconds: 0.4, connections: 4, rounds: Some(ROUNDS), ..StringLoad::default() }
}

/// What must hold of every run: the intervals cover it without gaps and hold every request.
fn is_consistent(document: &Document) {
    let outcome = &document.outcome;
    let sum = |of: fn(&pinwise_load::Interval) -> u64| outcome.intervals.iter().map(of).sum::<u64>() as f64;
    assert_eq!(sum(|i| i.completed), outcome.figures["completed"]);
    assert_eq!(sum(|i| i.failed), outcome.figures["failed"]);
    assert_eq!(outcome.intervals.first().unwrap().from_ns, outcome.from_ns);
    assert_eq!(outcome.intervals.last().unwrap().to_ns, outcome.to_ns);
    assert!(outcome.intervals.windows(2).all(|pair| pair[0].to_ns == pair[1].from_ns));
    let whole = outcome.window(outcome.from_ns, outcome.to_ns).unwrap();
    for (name, figure) in &whole {
        let stated = outcome.figures[name];
        assert!((figure - stated).abs() <= 1e-9 * stated.abs(), "{name}: {figure} against {stated}");
    }
    let json = serde_json::to_string(document).unwrap();
    let read: Document = serde_json::from_str(&json).unwrap();
    assert_eq!((&read.outcome.intervals, &read.broken), (&outcome.intervals, &document.broken));
    assert!(read.outcome.figures.keys().eq(outcome.figures.keys()));
}

#[test]
fn a_closed_loop_gets_right_answers_in_both_modes() {
    let server = BuiltIn::start("127.0.0.1");
    for keep_alive in [false, true] {
        let document = run(server.at, StringLoad { keep_alive, ..short() });
        is_consistent(&document);
        assert_eq!(document.broken, None);
        assert_eq!(document.outcome.figures["failed"], 0.0);
        assert!(document.outcome.figures["completed"] > 4.0);
        assert!(document.outcome.figures["unfinished"] <= 4.0);
        assert!(document.outcome.figures["latency_p50_us"] <= document.outcome.figures["latency_max_us"]);
    }
}

#[test]
fn two_threads_share_connections_rate_and_requests() {
    let server = BuiltIn::start("127.0.0.1");
    let closed =
        StringLoad { threads: 2, keep_alive: true, connections: 5, max_requests: Some(301), ..short() };
    let document = run(server.at, StringLoad { seconds: 20.0, ..closed });
    is_consistent(&document);
    assert_eq!((document.broken, document.outcome.figures["completed"]), (None, 301.0));
    let open = StringLoad {
        threads: 2,
        rate_per_s: Some(400.0),
        spacing: Spacing::Uniform,
        seconds: 1.0,
        ..short()
    };
    let document = run(server.at, open);
    is_consistent(&document);
    let figures = &document.outcome.figures;
    let asked = figures["completed"] + figures["unfinished"];
    assert!((398.0..=401.0).contains(&asked), "{figures:?}");
    assert!(
        figures["client_cpu_s"] > 0.0 && figures["client_busy"] <= figures["client_cpu_s"] / 0.9,
        "{figures:?}"
    );
}

#[test]
fn ipv6_works_as_well() {
    if TcpListener::bind("[::1]:0").is_err() {
        eprintln!("skipped: this machine has no IPv6 loopback");
        return;
    }
    let server = BuiltIn::start("::1");
    assert_eq!(run(server.at, short()).broken, None);
}

#[test]
fn more_connections_than_local_ports_are_no_obstacle() {
    // 40,000 would need more local ports than there are if each left a TIME_WAIT; what the cap says is what is done.
    let server = BuiltIn::start("127.0.0.1");
    let load = StringLoad { seconds: 60.0, max_requests: Some(40_000), ..short() };
    let document = run(server.at, load);
    assert_eq!((document.outcome.figures["completed"], document.outcome.figures["failed"]), (40_000.0, 0.0));
    assert_eq!(document.outcome.figures["unfinished"], 0.0);
}

#[test]
fn an_open_loop_sends_what_is_due_and_no_more() {
    let server = BuiltIn::start("127.0.0.1");
    for keep_alive in [false, true] {
        let load = StringLoad {
            keep_alive,
            rate_per_s: Some(500.0),
            spacing: Spacing::Uniform,
            seconds: 0.501,
            ..short()
        };
        let document = run(server.at, load);
        is_consistent(&document);
        let figures = &document.outcome.figures;
        assert_eq!(figures["completed"] + figures["unfinished"], 250.0);
        assert_eq!(figures["failed"], 0.0);
    }
}

#[test]
fn a_stall_shows_in_the_latencies_of_every_request_that_was_due() {
    const STALL: Duration = Duration::from_millis(50);
    for keep_alive in [false, true] {
        let at = scripted(|n, line, stream| {
            if n == 300 {
                std::thread::sleep(STALL);
            }
            right_answer(line, stream);
        });
        // One connection: while the server stalls, nothing can be sent.
        let load = StringLoad {
            keep_alive,
            connections: 1,
            rate_per_s: Some(1000.0),
            spacing: Spacing::Uniform,
            seconds: 1.0,
            ..short()
        };
        let document = run(at, load);
        let figures = &document.outcome.figures;
        // About 50 requests were due in the stall and late by 50, 49, 48 ... ms: of 1000, one in a hundred was late by
        // more than 40. Counted from when they were sent, only one would have been late.
        assert!(figures["latency_max_us"] >= 49_000.0, "{figures:?}");
        assert!(figures["latency_p99_us"] >= 35_000.0, "{figures:?}");
        assert_eq!(document.broken, None);
    }
}

#[test]
fn a_rate_that_is_too_much_is_said_to_be() {
    let at = scripted(|_, line, stream| {
        std::thread::sleep(Duration::from_millis(5));
        right_answer(line, stream);
    });
    let load = StringLoad { connections: 1, rate_per_s: Some(2000.0), spacing: Spacing::Uniform, ..short() };
    let document = run(at, load);
    let figures = &document.outcome.figures;
    assert_eq!(figures["completed"] + figures["unfinished"], 800.0);
    assert!(document.outcome.missing[0].why.contains("too many"), "{:?}", document.outcome.missing);
    assert!(figures["latency_max_us"] > 100_000.0, "{figures:?}");
}

#[test]
fn wrong_answers_are_counted_and_shown() {
    let server = BuiltIn::start("127.0.0.1");
    let document = run(server.at, StringLoad { seconds: 10.0, rounds: Some(ROUNDS + 1), ..short() });
    is_consistent(&document);
    let figures = &document.outcome.figures;
    assert_eq!(figures["completed"], 0.0);
    assert_eq!(figures["failed"], figures["failed_wrong_answer"]);
    let cause = document.broken.unwrap().cause;
    assert!(cause.contains("wrong answer") && cause.contains("in place of"), "{cause}");
}

#[test]
fn one_wrong_answer_among_good_ones_fails_alone() {
    let at = scripted(|n, line, stream| match n {
        20 => drop(stream.write_all(b"something else\n")),
        _ => right_answer(line, stream),
    });
    let load = StringLoad { keep_alive: true, connections: 1, max_requests: Some(50), ..short() };
    let document = run(at, StringLoad { seconds: 20.0, ..load });
    let figures = &document.outcome.figures;
    assert_eq!((figures["failed_wrong_answer"], figures["completed"]), (1.0, 49.0));
    assert_eq!(document.broken, None);
}

#[test]
fn other_servers_may_be_driven_by_their_own_lines() {
    let at = scripted(|_, line, stream| {
        let answer = if line == b"PING" { "+PONG\r\n" } else { "-ERR\r\n" };
        let _ = stream.write_all(answer.as_bytes());
    });
    let load = StringLoad { rounds: None, request: Some("PING".into()), max_requests: Some(20), ..short() };
    let expecting = |expect: Option<&str>| StringLoad { expect: expect.map(String::from), ..load.clone() };
    for expect in [None, Some("+PONG\r")] {
        assert_eq!(run(at, expecting(expect)).outcome.figures["completed"], 20.0);
    }
    assert_eq!(run(at, expecting(Some("+PONK\r"))).outcome.figures["failed_wrong_answer"], 20.0);
}

#[test]
fn a_server_that_answers_with_errors_is_no_success() {
    let at = scripted(|_, _, stream| drop(stream.write_all(b"-ERR unknown command\r\n")));
    for (keep_alive, threads) in [(false, 1), (true, 2)] {
        let load = StringLoad { rounds: None, seconds: 60.0, keep_alive, threads, connections: 2, ..short() };
        let document = run(at, load);
        is_consistent(&document);
        assert_eq!(document.outcome.figures["completed"], 0.0);
        assert!(document.outcome.figures["failed_wrong_answer"] >= 1.0, "{:?}", document.outcome.figures);
        assert_eq!(document.outcome.first_answer.as_deref(), Some(r"-ERR unknown command\r\n"));
        let broken = document.broken.unwrap();
        assert!(broken.cause.contains("-ERR unknown command"), "{broken:?}");
        assert!(broken.remedy.contains("expect_prefix"), "{broken:?}");
        assert!(
            document.outcome.to_ns - document.outcome.from_ns < 30_000_000_000,
            "it did not wait for its end"
        );
    }
    let declared =
        StringLoad { rounds: None, expect_prefix: Some("-ERR".into()), max_requests: Some(20), ..short() };
    let document = run(at, declared);
    assert_eq!((document.broken, document.outcome.figures["completed"]), (None, 20.0));
}

#[test]
fn an_error_page_is_no_success() {
    // The answer to the line that ends the request's head.
    let at = scripted(|_, line, stream| {
        if line == b"\r" {
            let _ = stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
        }
    });
    let load = |status| HttpLoad {
        status,
        connections: 1,
        max_requests: Some(20),
        seconds: 20.0,
        ..HttpLoad::default()
    };
    let document = load(200).drive(at, Course::default()).unwrap();
    is_consistent(&document);
    assert_eq!(document.outcome.figures["completed"], 0.0);
    assert_eq!(document.outcome.first_answer.as_deref(), Some("HTTP/1.1 404 Not Found"));
    let broken = document.broken.unwrap();
    assert!(broken.cause.contains("404 Not Found") && broken.remedy.contains("status"), "{broken:?}");
    let document = load(404).drive(at, Course::default()).unwrap();
    assert_eq!((document.broken, document.outcome.figures["completed"]), (None, 20.0));
}

#[test]
fn a_server_that_closes_without_an_answer_is_distinguished() {
    let at = scripted(|_, _, stream| drop(stream.shutdown(std::net::Shutdown::Both)));
    let document = run(at, StringLoad { seconds: 0.3, ..short() });
    let figures = &document.outcome.figures;
    let closed =
        figures.get("failed_closed_early").unwrap_or(&0.0) + figures.get("failed_reset").unwrap_or(&0.0);
    assert!(closed > 0.0 && closed == figures["failed"], "{figures:?}");
    assert!(document.broken.unwrap().cause.contains("before the answer"));
}

#[test]
fn a_silent_server_times_out() {
    let at = scripted(|_, _, _| {});
    let document = run(at, StringLoad { seconds: 0.9, timeout_s: 0.2, connections: 2, ..short() });
    assert!(document.outcome.figures["failed_timed_out"] >= 2.0, "{:?}", document.outcome.figures);
    assert!(document.broken.unwrap().cause.contains("no answer in time"));
    let document = run(at, StringLoad { seconds: 0.2, ..short() });
    assert!(document.broken.unwrap().cause.contains("silent"));
}

#[test]
fn a_server_that_is_gone_in_the_middle_ends_the_run_with_the_reason() {
    for keep_alive in [false, true] {
        let server = BuiltIn::start("127.0.0.1");
        let at = server.at;
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            drop(server);
        });
        let document = run(at, StringLoad { keep_alive, seconds: 60.0, ..short() });
        is_consistent(&document);
        assert!(document.outcome.figures["completed"] > 0.0);
        assert!(document.outcome.figures["failed_refused"] > 0.0);
        let broken = document.broken.unwrap();
        assert!(broken.object == at.to_string() && broken.cause.contains("refused"), "{broken:?}");
        assert!(broken.cause.contains("good requests"), "{broken:?}");
        assert!(
            document.outcome.to_ns - document.outcome.from_ns < 30_000_000_000,
            "it did not wait for its end"
        );
    }
}

#[test]
fn nobody_there_at_all() {
    let at = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let document = run(at, StringLoad { seconds: 60.0, ..short() });
    assert!(document.broken.unwrap().cause.contains("none of"));
}

#[test]
fn a_load_that_is_stopped_says_so() {
    let server = BuiltIn::start("127.0.0.1");
    let stop = Arc::new(AtomicBool::new(false));
    let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).unwrap();
    let load = StringLoad { seconds: 60.0, ..short() };
    let document = std::thread::scope(|scope| {
        let (event, stop) = (&event, &stop);
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(200));
            stop.store(true, Ordering::SeqCst);
            rustix::io::write(event, &1u64.to_ne_bytes()).unwrap();
        });
        load.drive(server.at, Course::until(event.as_fd())).unwrap()
    });
    assert!(stop.load(Ordering::SeqCst));
    assert!(document.broken.unwrap().cause.contains("stopped"));
    assert!(document.outcome.figures["completed"] > 0.0);
}

#[test]
fn the_server_takes_lines_in_pieces_and_several_at_once() {
    let server = BuiltIn::start("127.0.0.1");
    let mut stream = TcpStream::connect(server.at).unwrap();
    stream.write_all(b"fir").unwrap();
    std::thread::sleep(Duration::from_millis(30));
    stream.write_all(b"st\nsecond\n\nthi").unwrap();
    std::thread::sleep(Duration::from_millis(30));
    stream.write_all(b"rd\n").unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    for line in ["first", "second", "", "third"] {
        let (mut got, mut expected) = (Vec::new(), Vec::new());
        reader.read_until(b'\n', &mut got).unwrap();
        protocol::answer(line.as_bytes(), ROUNDS, &mut expected);
        assert_eq!(got, expected, "{line}");
    }
}

#[test]
fn the_server_refuses_endless_lines_and_goes_on() {
    let server = BuiltIn::start("127.0.0.1");
    let mut stream = TcpStream::connect(server.at).unwrap();
    // It may close before all is sent.
    let _ = stream.write_all(&vec![b'x'; 3 * protocol::LONGEST_LINE_BYTES]);
    let mut answer = Vec::new();
    let _ = BufReader::new(stream).read_until(b'\n', &mut answer);
    assert!(answer.is_empty() || answer == protocol::too_long());
    assert_eq!(run(server.at, short()).broken, None);
}

#[test]
fn the_server_serves_a_client_that_reads_late() {
    let server = BuiltIn::start("127.0.0.1");
    let stream = TcpStream::connect(server.at).unwrap();
    let (mut writer, lines) = (stream.try_clone().unwrap(), 40_000usize);
    let writing = std::thread::spawn(move || {
        let line = protocol::request(0);
        (0..lines).for_each(|_| writer.write_all(&line).unwrap());
    });
    // By now the answers fill every buffer between here and there.
    std::thread::sleep(Duration::from_millis(200));
    let mut expected = Vec::new();
    let request = protocol::request(0);
    protocol::answer(&request[..request.len() - 1], ROUNDS, &mut expected);
    let answers = BufReader::new(stream).split(b'\n').take(lines);
    let right =
        answers.filter(|answer| answer.as_ref().unwrap()[..] == expected[..expected.len() - 1]).count();
    writing.join().unwrap();
    assert_eq!(right, lines);
}

#[test]
fn a_taken_port_and_a_foreign_address_are_said_to_be() {
    let server = BuiltIn::start("127.0.0.1");
    let options = ServerOptions { address: server.at.ip(), port: server.at.port(), rounds: 0 };
    let taken = StringServer::bind(&options).err().unwrap().to_string();
    assert!(taken.contains(&server.at.to_string()) && taken.contains("another port"), "{taken}");
    let foreign = ServerOptions { address: "192.0.2.1".parse().unwrap(), ..options };
    assert!(StringServer::bind(&foreign).err().unwrap().to_string().contains("192.0.2.1"));
}
