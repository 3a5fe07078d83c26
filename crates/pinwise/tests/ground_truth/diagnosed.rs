//! `pinwise diagnose` beside a cause that the test makes, and beside its look-alike. The other causes are in `scenarios/` (docs/score.md).

mod requests;

use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::needs::{first_and_last_cpu, free_port};
use crate::pinwise::Bench;
use crate::processes::Killed;

/// A server on the last CPU, a client with one connection on the first.
struct Pair {
    bench: Bench,
    server: Killed,
    _load: Killed,
    first: String,
    last: String,
}

impl Pair {
    fn start() -> Option<Self> {
        let (first, last) = first_and_last_cpu("who had the CPU is known to root only")?;
        let port = free_port().to_string();
        let pinwise = env!("CARGO_BIN_EXE_pinwise");
        let server = on(&last, &[pinwise, "string-server", "--port", &port, "--rounds", "500"]);
        std::thread::sleep(Duration::from_millis(500));
        let load = [pinwise, "drive", "--driver", "string", "--address", "127.0.0.1", "--port", &port];
        let more = ["--keep-alive", "--connections", "1", "--seconds", "60", "--rounds", "500"];
        let load = on(&first, &[&load[..], &more].concat());
        Some(Self { bench: Bench::new(), server, _load: load, first, last })
    }

    fn diagnose(&self) -> Value {
        std::thread::sleep(Duration::from_secs(1));
        let pid = self.server.id().to_string();
        self.bench.json(&["diagnose", "--process", &pid, "--for", "3s", "--format", "json"])
    }
}

/// A process of the test that stays on one CPU.
fn on(cpu: &str, command: &[&str]) -> Killed {
    let mut taskset = Command::new("taskset");
    taskset.args(["-c", cpu]).args(command).stdin(Stdio::null()).stdout(Stdio::null());
    Killed(taskset.spawn().unwrap())
}

const HOG: [&str; 3] = ["sh", "-c", "ulimit -t 30; while :; do :; done"];

fn rules(diagnosis: &Value) -> Vec<&str> {
    diagnosis["causes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cause| cause["id"]["rule"].as_str().unwrap())
        .collect()
}

#[test]
#[ignore = "ground truth: needs root, BPF and two CPUs; run by `make test`"]
fn a_hog_is_named_on_the_servers_cpu_and_on_the_clients_cpu_it_is_the_clients_trouble() {
    let Some(pair) = Pair::start() else { return };
    let undisturbed = pair.diagnose();
    assert!(!rules(&undisturbed).contains(&"busy-task"), "{undisturbed:#}");

    let hog = on(&pair.last, &HOG);
    let diagnosis = pair.diagnose();
    assert_eq!(diagnosis["limit"], "cpu", "{diagnosis:#}");
    let first = &diagnosis["causes"][0];
    assert_eq!(
        first["id"],
        json!({ "rule": "busy-task", "subject": { "kind": "process", "pid": hog.id() } }),
        "{diagnosis:#}"
    );
    // The scheduler shares the CPU equally between two tasks of nice 0.
    let share = first["share"].as_f64().unwrap();
    assert!((0.35..=0.65).contains(&share), "{share}");
    let setting = &first["remedies"][0]["setting"];
    assert_eq!(
        (&setting["knob"], &setting["value"]),
        (&json!("process-affinity"), &json!(pair.first)),
        "{first:#}"
    );
    drop(hog);

    let hog = on(&pair.first, &HOG);
    let diagnosis = pair.diagnose();
    assert_eq!(diagnosis["limit"], "load", "{diagnosis:#}");
    let first = &diagnosis["causes"][0];
    assert_eq!(first["id"]["rule"], "slow-client", "{diagnosis:#}");
    let figures = first["figures"].as_array().unwrap();
    let named =
        figures.iter().find(|figure| figure["name"] == "hog_pid").map(|figure| figure["value"].as_f64());
    assert_eq!(named, Some(Some(f64::from(hog.id()))), "{first:#}");
    assert!(!rules(&diagnosis).contains(&"busy-task"), "{diagnosis:#}");
}

#[test]
#[ignore = "ground truth: needs root, BPF and two CPUs; run by `make test`"]
fn a_server_is_found_by_its_name_and_what_was_kept_is_judged_alike() {
    let Some(pair) = Pair::start() else { return };
    let renamed = pair.bench.case().with_extension("dir");
    std::fs::create_dir(&renamed).unwrap();
    let program = renamed.join("pwdiagnosed");
    std::fs::copy(env!("CARGO_BIN_EXE_pinwise"), &program).unwrap();
    let port = free_port().to_string();
    let server =
        on(&pair.last, &[program.to_str().unwrap(), "string-server", "--port", &port, "--rounds", "1"]);
    std::thread::sleep(Duration::from_millis(500));
    let kept = renamed.join("kept.json").display().to_string();
    let seen = pair.bench.json(&[
        "diagnose",
        "--process",
        "pwdiagnosed",
        "--for",
        "1s",
        "--format",
        "json",
        "--keep",
        &kept,
    ]);
    assert_eq!(seen["pids"], json!([server.id()]), "{seen:#}");
    let again = pair.bench.json(&["diagnose", "--from", &kept, "--format", "json"]);
    assert_eq!(again, seen);
}
