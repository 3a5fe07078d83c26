//! A server that runs already is placed in each trial, put back after, and never ended.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use machine::CpuSet;

use crate::pinwise::{Bench, SHORT_TRIALS};
use crate::processes::Killed;

/// The built-in string server, started manually.
struct Server(Killed);

impl Server {
    fn start(port: u16) -> Self {
        let mut server = Command::new(env!("CARGO_BIN_EXE_pinwise"));
        let port = port.to_string();
        server.args(["string-server", "--address", "127.0.0.1", "--port", &port, "--rounds", "2000"]);
        Self(Killed(server.stdout(Stdio::null()).spawn().unwrap()))
    }

    fn cpus(&self) -> String {
        let status = std::fs::File::open(format!("/proc/{}/status", self.0.id())).unwrap();
        let lines = BufReader::new(status).lines().map(Result::unwrap);
        lines
            .filter_map(|line| Some(line.strip_prefix("Cpus_allowed_list:")?.trim().to_string()))
            .next()
            .unwrap()
    }
}

#[test]
#[ignore = "ground truth: needs two CPUs and a minute; run by `make test`"]
fn a_server_that_runs_already_is_placed_and_put_back_and_goes_on() {
    let port = crate::needs::free_port();
    let mut server = Server::start(port);
    let before = server.cpus();
    let all: Vec<String> = CpuSet::from_list(&before).unwrap().iter().map(|cpu| cpu.to_string()).collect();
    let (bench, pid, port) = (Bench::new(), server.0.id().to_string(), port.to_string());
    let case = bench.case().display().to_string();
    let arguments = [
        "study",
        "--running",
        &pid,
        "--port",
        &port,
        "-o",
        &case,
        "--format",
        "json",
        "--blocks",
        "3",
        "--attempts",
        "1",
    ];
    let result = bench.json(&[&arguments[..], &SHORT_TRIALS].concat());
    let arms: Vec<&str> =
        result["arms"].as_array().unwrap().iter().map(|arm| arm["arm"].as_str().unwrap()).collect();
    for arm in ["unpinned A", "unpinned B", "cpu 0", "cpu 1", "both on cpu 1", "dose on cpu 0"] {
        assert!(arms.contains(&arm), "{arm} of {arms:?}");
    }
    let trials = std::fs::read_to_string(bench.case().join("trials.jsonl")).unwrap();
    let placed: Vec<(String, String)> = trials
        .lines()
        .map(|line| {
            let trial: serde_json::Value = serde_json::from_str(line).unwrap();
            let cpus: Vec<String> = trial["as_run"]["server_allowed"]
                .as_array()
                .unwrap()
                .iter()
                .map(|cpu| cpu.to_string())
                .collect();
            (trial["arm"].as_str().unwrap().to_string(), cpus.join(","))
        })
        .collect();
    assert!(placed.iter().any(|(arm, cpus)| (arm.as_str(), cpus.as_str()) == ("cpu 1", "1")), "{placed:?}");
    assert!(
        placed.iter().all(|(arm, cpus)| !arm.starts_with("unpinned") || *cpus == all.join(",")),
        "{placed:?}"
    );
    assert_eq!(server.0.try_wait().unwrap(), None, "it goes on");
    assert_eq!(server.cpus(), before, "where it was");
}
