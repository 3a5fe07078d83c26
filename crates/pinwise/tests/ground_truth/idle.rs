//! Ping-pong with and without idle states, in network namespaces of the trial's own: what a trial sets and makes is gone after it, also
//! after kill -9.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::pinwise::{Bench, wait_at_most};

const RECIPE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../recipes/latency-idle.toml");

/// The limit on the exit latency of idle CPUs that holds now, us.
fn limit_us() -> Option<i32> {
    let bytes = std::fs::read("/dev/cpu_dma_latency").ok()?;
    Some(i32::from_ne_bytes(bytes.get(..4)?.try_into().ok()?))
}

fn namespaces() -> usize {
    ["pinwise-server", "pinwise-load"]
        .iter()
        .filter(|name| Path::new("/run/netns").join(name).exists())
        .count()
}

/// Why it cannot be tried here.
fn missing() -> Option<&'static str> {
    match () {
        () if !rustix::process::geteuid().is_root() => Some("network namespaces need root"),
        () if Command::new("ip").arg("-V").output().is_err() => Some("iproute2 is not installed"),
        () if limit_us().is_none() => Some("this kernel has no /dev/cpu_dma_latency"),
        () => None,
    }
}

#[test]
#[ignore = "ground truth: needs root, iproute2 and half a minute; run by `make test`"]
fn limit_and_namespaces_last_for_their_trials_also_when_pinwise_is_killed() {
    if let Some(why) = missing() {
        return eprintln!("skipped: {why}");
    }
    let before_us = limit_us();
    assert_eq!(namespaces(), 0, "left by another study: run 'pinwise undo'");
    let bench = Bench::new();
    let case = bench.case().display().to_string();
    let arguments = [
        "study",
        RECIPE,
        "--blocks",
        "1",
        "--window",
        "0.5",
        "--warm-up",
        "0.2",
        "--format",
        "json",
        "-o",
        &case,
    ];
    let mut killed = bench.command(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_at_most(Duration::from_secs(60), "a trial between namespaces with the limit held", || {
        namespaces() == 2 && limit_us() == Some(0)
    });
    killed.kill().unwrap();
    killed.wait().unwrap();
    let status = bench.json(&["status", "--format", "json"]).to_string();
    assert!(status.contains("pinwise-server and pinwise-load"), "{status}");
    let undone = bench.run(&["undo"]);
    assert!(undone.status.success(), "{}", String::from_utf8_lossy(&undone.stdout));
    assert_eq!((namespaces(), limit_us()), (0, before_us));

    let result = bench.json(&["resume", &case, "--format", "json"]);
    assert_eq!((namespaces(), limit_us()), (0, before_us));
    bench.nothing_is_changed();
    let arms = result["arms"].as_array().unwrap();
    assert_eq!(arms.len(), 8, "{arms:#?}");
    assert!(
        arms.iter().all(|arm| arm["figure"]["mean"].as_f64().is_some_and(|mean| mean > 1.0)),
        "{arms:#?}"
    );
}

#[test]
#[ignore = "ground truth: needs root and iproute2; run by `make test`"]
fn namespaces_that_are_there_already_are_left_alone() {
    if let Some(why) = missing() {
        return eprintln!("skipped: {why}");
    }
    let ip = |words: &str| Command::new("ip").args(words.split(' ')).status().unwrap().success();
    assert!(ip("netns add pinwise-load"));
    let bench = Bench::new();
    let case = bench.case().display().to_string();
    let out = bench.run(&["study", RECIPE, "--key", "server.pair=true", "--blocks", "1", "-o", &case]);
    let there = namespaces();
    assert!(ip("netns del pinwise-load"));
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(!out.status.success() && said.contains("already exists"), "{said}");
    assert_eq!(there, 1, "it stays, and its fellow was not made");
    bench.nothing_is_changed();
}
