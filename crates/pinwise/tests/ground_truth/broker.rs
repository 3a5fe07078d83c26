//! RabbitMQ by the recipe that we ship: one block of it, in which the broker is killed in the middle of a trial.

use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::pinwise::{Bench, wait_at_most};
use crate::processes::{file, is_driven, number, of_folder};

/// The Erlang machine of a broker of this folder whose load runs, and the port that it listens on.
fn under_load(folder: &str) -> Option<(i32, u16)> {
    let beam = of_folder(folder).into_iter().find(|dir| file(dir, "comm").starts_with("beam"))?;
    let environment = file(&beam, "environ");
    let port = environment.split(' ').find_map(|word| word.strip_prefix("RABBITMQ_NODE_PORT="))?;
    is_driven(port).then_some((number(&beam)?, port.parse().ok()?))
}

/// `make soak`: they take long, and shorter tests cover their parts.
mod soak {
    use super::*;

    #[test]
    #[ignore = "ground truth: needs rabbitmq-server, and a minute; run by `make soak`"]
    fn a_broker_is_studied_killed_once_and_nothing_of_it_stays() {
        if !Path::new("/usr/lib/rabbitmq/bin/rabbitmq-server").exists() {
            return eprintln!("skipped: rabbitmq-server is not installed (scripts/setup test installs it)");
        }
        let recipe = concat!(env!("CARGO_MANIFEST_DIR"), "/../../recipes/rabbitmq-nodes.toml");
        let bench = Bench::new();
        let case = bench.case().display().to_string();
        let arguments =
            ["study", recipe, "--blocks", "1", "--attempts", "2", "--format", "json", "-o", &case];
        let lengths = ["--window", "1.5", "--warm-up", "0.2"];
        let mut command = bench.command(&[&arguments[..], &lengths].concat());
        let study = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let began = Instant::now();
        let mut found = None;
        // A study whose very first trial fails ends.
        wait_at_most(Duration::from_secs(90), "a broker under load in the second trial", || {
            let finished =
                std::fs::metadata(bench.case().join("trials.jsonl")).is_ok_and(|file| file.len() > 0);
            found = finished.then(|| under_load(&case)).flatten();
            found.is_some()
        });
        let (broker, port) = found.unwrap();
        // Its channels are made first.
        std::thread::sleep(Duration::from_millis(900));
        rustix::process::kill_process(
            rustix::process::Pid::from_raw(broker).unwrap(),
            rustix::process::Signal::KILL,
        )
        .unwrap();
        let out = study.wait_with_output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        eprintln!("studied in {:.1} s", began.elapsed().as_secs_f64());

        let trials = std::fs::read_to_string(bench.case().join("trials.jsonl")).unwrap();
        let trials: Vec<Value> = trials.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let failed: Vec<&str> = trials.iter().filter_map(|trial| trial["failed"].as_str()).collect();
        assert!(matches!(&failed[..], [cause] if cause.contains("137")), "{failed:?}");
        let result: Value = serde_json::from_slice(&out.stdout).unwrap();
        let arms = result["arms"].as_array().unwrap();
        assert_eq!(arms.len(), 5, "{arms:#?}");
        let rate = |arm: &Value| arm["figure"]["mean"].as_f64();
        assert!(arms.iter().all(|arm| rate(arm).is_some_and(|rate| rate > 100.0)), "{arms:#?}");

        let left = of_folder(&case);
        assert!(left.is_empty(), "{:?}", left.iter().map(|dir| file(dir, "cmdline")).collect::<Vec<_>>());
        TcpListener::bind(("127.0.0.1", port)).expect("the port is free again");
        bench.nothing_is_changed();
    }
}
