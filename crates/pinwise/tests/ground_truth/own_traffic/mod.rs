//! A server's own traffic. Here: the load that drives nothing, beside a driver that is production and counts and times its requests
//! itself. In the files beside it: studies of real servers under load tools that pinwise knows nothing of.

mod guarded;
mod production;
mod put_back;
mod short_study;
mod slow_cpu;

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::needs::{first_and_last_cpu, free_port};
use crate::processes::Killed;

const PINWISE: &str = env!("CARGO_BIN_EXE_pinwise");
/// Some 100 us for each request, so that the service is most of the latency.
const ROUNDS: &str = "20000";
/// A watch is over this long after its beginning at the latest, when production has ended long ago.
const WATCHED: &str = "6";

/// A server on the last CPU, which nobody asks yet.
struct Served {
    server: Killed,
    port: String,
    first: String,
}

impl Served {
    fn start(verb: &[&str]) -> Option<Self> {
        let (first, last) = first_and_last_cpu("the kernel shows requests to root only")?;
        let port = free_port().to_string();
        let mut server = Command::new("taskset");
        server.args(["-c", &last, PINWISE]).args(verb).args(["--port", &port]);
        let server = server.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(500));
        Some(Self { server: Killed(server), port, first })
    }

    /// `pinwise drive` against it on the first CPU.
    fn drive(&self, driver: &str, more: &[&str]) -> Command {
        let mut drive = Command::new("taskset");
        drive.args(["-c", &self.first, PINWISE, "drive", "--driver", driver]);
        drive.args(["--address", "127.0.0.1", "--port", &self.port]).args(more);
        drive.stdin(Stdio::null()).stdout(Stdio::piped());
        drive
    }

    /// Production: what a driver reports of itself.
    fn production(&self, driver: &str, more: &[&str]) -> Value {
        let out = self.drive(driver, more).output().unwrap();
        serde_json::from_slice(&out.stdout).unwrap()
    }

    /// Begins to watch; `None` where requests cannot be seen.
    fn watch(&self, more: &[&str]) -> Option<Watch> {
        let pid = self.server.id().to_string();
        let mut watch =
            self.drive("own-traffic", &["--server", &pid, "--seconds", WATCHED, "--announce-start"]);
        let mut child = Killed(watch.args(more).spawn().unwrap());
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        if !line.starts_with("began ") {
            eprintln!("skipped: the load has said why on standard error");
            return None;
        }
        Some(Watch { child, stdout })
    }
}

/// A watch that has begun.
struct Watch {
    child: Killed,
    stdout: BufReader<std::process::ChildStdout>,
}

impl Watch {
    /// Its document.
    fn end(mut self) -> Value {
        let mut text = String::new();
        self.stdout.read_to_string(&mut text).unwrap();
        let child: &mut Child = &mut self.child;
        assert!(child.wait().unwrap().success(), "{text}");
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }
}

/// One figure of a document, which has it.
fn number(of: &Value) -> f64 {
    of.as_f64().unwrap_or_else(|| panic!("{of} is not a number"))
}

#[test]
#[ignore = "ground truth: needs root, BPF and two CPUs; run by `make test`"]
fn requests_and_their_quantiles_are_those_of_the_driver() {
    let Some(served) = Served::start(&["string-server", "--rounds", ROUNDS]) else { return };
    let Some(watch) = served.watch(&["--guards", "[]"]) else { return };
    let options = ["--keep-alive", "--connections", "1", "--seconds", "2", "--rounds", ROUNDS];
    let driven = served.production("string", &options)["outcome"]["figures"].clone();
    let document = watch.end();
    let seen = &document["outcome"]["figures"];
    // One that the driver did not wait for may have been answered.
    let (completed, unfinished) = (number(&driven["completed"]), number(&driven["unfinished"]));
    let answered = number(&seen["completed"]);
    assert!((completed..=completed + unfinished).contains(&answered), "{completed} {unfinished}: {seen:#}");
    // Less the way there and back, which on a busy machine may be all of a tail. Steps are a quarter wide, and the driver's figures whole us.
    for (quantile, least, most) in
        [("latency_p50_us", 0.3, 1.3), ("latency_p90_us", 0.0, 1.3), ("latency_p99_us", 0.0, 1.3)]
    {
        let (client_us, server_us) = (number(&driven[quantile]), number(&seen[quantile]));
        let likely = least * client_us..=most * client_us + 2.0;
        assert!(likely.contains(&server_us), "{quantile}: {server_us} beside {client_us}: {seen:#}");
    }
    let parts = number(&seen["latency_wait_us"]) + number(&seen["latency_service_us"]);
    assert!((parts - number(&seen["latency_mean_us"])).abs() < 1e-6, "{seen:#}");
    // One thread serves: its CPU time is about the service, with the calls around it.
    let (cpu_us, service_us) = (number(&seen["cpu_us_per_request"]), number(&seen["latency_service_us"]));
    assert!((0.5 * service_us..2.0 * service_us).contains(&cpu_us), "{cpu_us} {service_us}");
    assert!(seen.get("failed").is_none(), "{seen:#}");
}

#[test]
#[ignore = "ground truth: needs root, BPF and two CPUs; run by `make test`"]
fn the_traffic_is_reported_by_slices_ports_clients_and_connections() {
    let Some(served) = Served::start(&["echo-server"]) else { return };
    let Some(watch) = served.watch(&["--guards", "[]"]) else { return };
    let options = ["--connections", "4", "--rate-per-s", "1000", "--seconds", "2", "--message-bytes", "64"];
    let driven = served.production("latency", &options)["outcome"]["figures"].clone();
    let document = watch.end();
    let (outcome, traffic) = (&document["outcome"], &document["outcome"]["traffic"]);
    let sum =
        |of: &Value, key: &str| of.as_array().unwrap().iter().map(|each| number(&each[key])).sum::<f64>();
    let answered = number(&outcome["figures"]["completed"]);
    for all in [
        sum(&outcome["intervals"], "completed"),
        sum(&traffic["slices"], "answered"),
        sum(&traffic["ports"], "requests"),
    ] {
        assert_eq!(all, answered, "{traffic:#}");
    }
    let (completed, unfinished) = (number(&driven["completed"]), number(&driven["unfinished"]));
    // A driver that is held up sends what is due then at once, and requests that are read together count as one.
    assert!(
        (0.5 * completed..=completed + unfinished).contains(&answered),
        "{completed} {unfinished}: {traffic:#}"
    );
    let port = &traffic["ports"][0];
    let expected = (json!(served.port.parse::<u16>().unwrap()), json!(1), json!("requests"), json!(false));
    let found = (&port["port"], &port["clients"], &port["counted"], &traffic["by_reads"]);
    assert_eq!(found, (&expected.0, &expected.1, &expected.2, &expected.3), "{traffic:#}");
    // Production has ended, and its connections with it.
    assert_eq!(traffic["connections"], json!(0), "{traffic:#}");
    assert_eq!(number(&traffic["rate"]["least_per_s"]), 0.0, "nobody asked in the end: {traffic:#}");
    assert!(number(&traffic["rate"]["most_per_s"]) > 500.0, "{traffic:#}");
}

#[test]
#[ignore = "ground truth: needs root, BPF and two CPUs; run by `make test`"]
fn a_guard_ends_the_watch_while_production_goes_on() {
    let Some(served) = Served::start(&["string-server", "--rounds", ROUNDS]) else { return };
    let guard = "latency_p50_us <= 10";
    let Some(watch) = served.watch(&["--guards", &format!("[\"{guard}\"]")]) else { return };
    let began = Instant::now();
    let options = ["--keep-alive", "--connections", "1", "--seconds", "5", "--rounds", ROUNDS];
    let mut production = Killed(served.drive("string", &options).spawn().unwrap());
    let document = watch.end();
    assert!(
        production.try_wait().unwrap().is_none(),
        "it was ended {:?} after the beginning",
        began.elapsed()
    );
    let (breach, outcome) = (&document["outcome"]["breach"], &document["outcome"]);
    assert_eq!(breach["guard"], json!(guard), "{document:#}");
    assert!(number(&breach["value"]) > 10.0 && number(&breach["requests"]) > 0.0, "{breach:#}");
    // It is that of the last slice, at whose end the watch ended.
    let last = outcome["intervals"].as_array().unwrap().last().unwrap();
    assert_eq!(
        (&breach["slice_began_ns"], &breach["seen_ns"]),
        (&last["from_ns"], &last["to_ns"]),
        "{breach:#}"
    );
    assert!(
        document.get("broken").is_none() && number(&outcome["traffic"]["slow_requests"]) > 0.0,
        "{document:#}"
    );
}

#[test]
#[ignore = "ground truth: needs root, BPF and two CPUs; run by `make test`"]
fn figures_of_the_server_itself_are_read_beside_its_requests() {
    let Some(served) = Served::start(&["string-server", "--rounds", ROUNDS]) else { return };
    let metric = r#"[{ name = "queue_len", source = "command:echo waiting 7", take = "gauge", figure = { regex = 'waiting (\d+)' } }]"#;
    let Some(watch) = served.watch(&["--guards", "[]", "--metrics", metric]) else { return };
    let document = watch.end();
    let outcome = &document["outcome"];
    // A mean that is weighted by time is rounded.
    assert!((number(&outcome["figures"]["queue_len"]) - 7.0).abs() < 1e-9, "{document:#}");
    // Nobody asked: a rate of none, and no latency.
    assert_eq!(number(&outcome["figures"]["requests_per_s"]), 0.0, "{document:#}");
    assert!(outcome["figures"].get("latency_p99_us").is_none(), "{document:#}");
}
