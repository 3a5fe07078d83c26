//! The requests of a server in `pinwise diagnose`, beside a driver that counts and times them itself. In the files beside it: the same in
//! `pinwise watch`, two servers on one port, and servers that are not ours.

mod real_servers;
mod same_port;
mod watched;

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::ops::RangeInclusive;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::on;
use crate::needs::{self, free_port};
use crate::pinwise::Bench;
use crate::processes::Killed;

/// Some 100 us for each request, so that the service is most of the latency.
const ROUNDS: &str = "20000";
/// A window has begun so long after the start at the latest, and goes on for longer than any load here.
const BEGUN: Duration = Duration::from_secs(5);
const WINDOW: &str = "12s";

/// The first and the last CPU, where requests can be seen and there are two; says why where not.
fn first_and_last_cpu() -> Option<(String, String)> {
    needs::first_and_last_cpu("the kernel shows requests to root only")
}

/// A server that nobody asks yet, on the last CPU.
struct Served {
    bench: Bench,
    server: Killed,
    port: u16,
    first: String,
}

impl Served {
    fn start() -> Option<Self> {
        let (first, last) = first_and_last_cpu()?;
        let port = free_port();
        let server = string_server(&last, "127.0.0.1", port);
        std::thread::sleep(Duration::from_millis(500));
        Some(Self { bench: Bench::new(), server, port, first })
    }

    fn kept(&self) -> String {
        self.bench.case().with_extension("json").display().to_string()
    }

    /// What is diagnosed while `load` runs, and what that returns; `None` where requests cannot be seen.
    fn diagnose<T>(&self, window: &str, load: impl FnOnce() -> T) -> Option<(Value, T)> {
        let (pid, kept) = (self.server.id().to_string(), self.kept());
        let arguments = ["diagnose", "--process", &pid, "--for", window, "--format", "json", "--keep", &kept];
        let looking = self.bench.command(&arguments).stdout(Stdio::piped()).spawn().unwrap();
        let loaded = load();
        let out = looking.wait_with_output().unwrap();
        assert!(out.status.success(), "{}", out.status);
        let diagnosis: Value = serde_json::from_slice(&out.stdout).unwrap();
        if diagnosis["requests"].is_null() {
            eprintln!("skipped: {}", diagnosis["requests_missing"]["why"]);
            return None;
        }
        Some((diagnosis, loaded))
    }

    /// The same in words.
    fn text(&self) -> String {
        String::from_utf8(self.bench.run(&["diagnose", "--from", &self.kept(), "--full"]).stdout).unwrap()
    }
}

fn string_server(cpu: &str, address: &str, port: u16) -> Killed {
    let (pinwise, port) = (env!("CARGO_BIN_EXE_pinwise"), port.to_string());
    on(cpu, &[pinwise, "string-server", "--address", address, "--port", &port, "--rounds", ROUNDS])
}

/// What a driver of ours reports that runs on this CPU.
fn driven(cpu: &str, driver: &str, address: &str, port: u16, more: &[&str]) -> Value {
    let mut drive = Command::new("taskset");
    drive.args(["-c", cpu, env!("CARGO_BIN_EXE_pinwise"), "drive", "--driver", driver]);
    let out = drive.args(["--address", address, "--port", &port.to_string()]).args(more).output().unwrap();
    let (said, why) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    serde_json::from_str(&said).unwrap_or_else(|e| panic!("{e}: {said}{why}"))
}

/// One connection to a string server for a second, one request at a time.
const ONE_CONNECTION: [&str; 7] =
    ["--keep-alive", "--connections", "1", "--seconds", "1", "--rounds", ROUNDS];

/// How many requests the server may have answered: one that the driver did not wait for may be among them.
fn possible(document: &Value) -> RangeInclusive<f64> {
    let figure = |name: &str| number(&document["outcome"]["figures"][name]);
    figure("completed")..=figure("completed") + figure("unfinished")
}

/// One figure of a document, which has it.
fn number(of: &Value) -> f64 {
    of.as_f64().unwrap_or_else(|| panic!("{of} is not a number"))
}

#[test]
#[ignore = "ground truth: needs root, BPF and two CPUs; run by `make test`"]
fn requests_are_those_of_the_driver_and_their_times_lie_within_its_latency() {
    let Some(served) = Served::start() else { return };
    let seen = served.diagnose(WINDOW, || {
        std::thread::sleep(BEGUN);
        driven(&served.first, "string", "127.0.0.1", served.port, &ONE_CONNECTION)
    });
    let Some((diagnosis, document)) = seen else { return };
    let requests = &diagnosis["requests"];
    let figures = &document["outcome"]["figures"];
    let port = &requests["ports"][0];
    assert_eq!((&port["port"], &port["counted"]), (&json!(served.port), &json!("requests")), "{requests:#}");
    let (possible, answered) = (possible(&document), number(&port["answered"]));
    assert!(possible.contains(&answered), "{possible:?}: {requests:#}");
    let peers = port["peers"].as_array().unwrap();
    assert_eq!((peers.len(), &peers[0]["address"]), (1, &json!("127.0.0.1")), "{requests:#}");
    assert_eq!(number(&peers[0]["answered"]), answered);

    // With one connection a request begins when the one before has ended.
    let cycle_us = 1e6 / number(&figures["requests_per_s"]);
    let at_server_us = number(&port["waited"]["mean_us"]) + number(&port["served"]["mean_us"]);
    // The end of a write may be later than the client has what was written.
    assert!((0.3 * cycle_us..1.1 * cycle_us).contains(&at_server_us), "{cycle_us}: {requests:#}");
    for (quantile, latency) in [("median_us", "latency_p50_us"), ("p99_us", "latency_p99_us")] {
        // Quantiles in the kernel are at most a quarter too high, those of the driver are whole us.
        let most_us = 1.3 * number(&figures[latency]) + 2.0;
        for part in ["waited", "served"] {
            assert!(number(&port[part][quantile]) <= most_us, "{part} {quantile}, {most_us}: {requests:#}");
        }
    }
    let line = format!("/s on port {}; wait in the socket ", served.port);
    let text = served.text();
    assert!(text.contains("  requests: ") && text.contains(&line), "{text}");
    assert!(text.contains("from 127.0.0.1: ") && !text.contains("counted by reads"), "{text}");
}

/// Keeps eight requests out on one connection for a second.
fn pipelined(port: u16) -> u64 {
    let mut connection = TcpStream::connect(("127.0.0.1", port)).unwrap();
    connection.set_nodelay(true).unwrap();
    let mut answers = BufReader::new(connection.try_clone().unwrap());
    let (began, mut answered, mut line) = (Instant::now(), 0, String::new());
    for _ in 0..8 {
        connection.write_all(b"a line\n").unwrap();
    }
    while began.elapsed() < Duration::from_secs(1) {
        line.clear();
        answers.read_line(&mut line).unwrap();
        answered += 1;
        connection.write_all(b"a line\n").unwrap();
    }
    answered
}

#[test]
#[ignore = "ground truth: needs root, BPF and two CPUs; run by `make test`"]
fn requests_that_are_pipelined_are_said_to_be_counted_by_reads() {
    let Some(served) = Served::start() else { return };
    let seen = served.diagnose(WINDOW, || {
        std::thread::sleep(BEGUN);
        pipelined(served.port)
    });
    let Some((diagnosis, answered)) = seen else { return };
    let port = &diagnosis["requests"]["ports"][0];
    assert_eq!(port["counted"], "reads_of_several", "{answered}: {port:#}");
    assert!(number(&port["overlapping_share"]) > 0.05, "{port:#}");
    // What is read together counts as one, and no request counts twice.
    assert!(number(&port["answered"]) <= answered as f64 + 8.0, "{answered}: {port:#}");
    let text = served.text();
    assert!(text.contains("counted by reads: "), "{text}");
}

#[test]
#[ignore = "ground truth: needs root, BPF and two CPUs; run by `make test`"]
fn a_server_that_nobody_asks_has_no_line_of_requests() {
    let Some(served) = Served::start() else { return };
    // It is asked before the window, and the connection is there in it.
    let mut connection = TcpStream::connect(("127.0.0.1", served.port)).unwrap();
    connection.write_all(b"a line\n").unwrap();
    BufReader::new(connection.try_clone().unwrap()).read_line(&mut String::new()).unwrap();
    let Some((diagnosis, ())) = served.diagnose("1s", || ()) else { return };
    assert_eq!(diagnosis["requests"]["ports"], json!([]), "{:#}", diagnosis["requests"]);
    let text = served.text();
    assert!(!text.lines().any(|line| line.starts_with("  requests: ")), "{text}");
}
