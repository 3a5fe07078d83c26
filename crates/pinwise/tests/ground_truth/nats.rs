//! NATS by the recipe that we ship: one block of it, in which the server is killed in the middle of a trial.

use std::net::TcpListener;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::needs::are_installed;
use crate::pinwise::{Bench, wait_at_most};
use crate::processes::{file, is_driven, number, of_folder};

/// A server of this folder whose load runs, and the port that it listens on.
fn under_load(folder: &str) -> Option<(i32, u16)> {
    let server = of_folder(folder).into_iter().find(|dir| file(dir, "comm").starts_with("nats-server"))?;
    let line = file(&server, "cmdline");
    let port = line.split(' ').skip_while(|word| *word != "--port").nth(1)?;
    is_driven(port).then_some((number(&server)?, port.parse().ok()?))
}

#[test]
#[ignore = "ground truth: needs nats-server, and a quarter of a minute; run by `make test`"]
fn nats_is_studied_killed_once_and_nothing_of_it_stays() {
    if !are_installed(&["nats-server"]) {
        return;
    }
    let recipe = concat!(env!("CARGO_MANIFEST_DIR"), "/../../recipes/nats.toml");
    let bench = Bench::new();
    let case = bench.case().display().to_string();
    // Its state folder is in the environment of all that it starts.
    let folder = bench.case().parent().unwrap().display().to_string();
    let arguments = ["study", recipe, "--blocks", "1", "--attempts", "2", "--format", "json", "-o", &case];
    let study = bench.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut found = None;
    // A study whose very first trial fails ends.
    wait_at_most(Duration::from_secs(60), "a server under load in the second trial", || {
        let finished = std::fs::metadata(bench.case().join("trials.jsonl")).is_ok_and(|file| file.len() > 0);
        found = finished.then(|| under_load(&folder)).flatten();
        found.is_some()
    });
    let (server, port) = found.unwrap();
    std::thread::sleep(Duration::from_millis(300));
    kill_process(Pid::from_raw(server).unwrap(), Signal::KILL).unwrap();
    let out = study.wait_with_output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));

    let trials = std::fs::read_to_string(bench.case().join("trials.jsonl")).unwrap();
    let trials: Vec<Value> = trials.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let failed: Vec<&str> = trials.iter().filter_map(|trial| trial["failed"].as_str()).collect();
    assert!(
        matches!(&failed[..], [cause] if cause.contains("nats-server") && cause.contains("SIGKILL")),
        "{failed:?}"
    );
    let result: Value = serde_json::from_slice(&out.stdout).unwrap();
    let arms = result["arms"].as_array().unwrap();
    assert_eq!(arms.len(), 9, "{arms:#?}");
    let rate = |arm: &Value| arm["figure"]["mean"].as_f64();
    assert!(arms.iter().all(|arm| rate(arm).is_some_and(|rate| rate > 100.0)), "{arms:#?}");

    let left = of_folder(&folder);
    assert!(left.is_empty(), "{:?}", left.iter().map(|dir| file(dir, "cmdline")).collect::<Vec<_>>());
    TcpListener::bind(("127.0.0.1", port)).expect("the port is free again");
    bench.nothing_is_changed();
}
