//! Real servers and real load tools, from Debian's packages, by the recipes that we ship: one block each.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::needs::are_installed;
use crate::pinwise::Bench;

/// Runs a recipe with one block; gives where its case is, unless a program is not installed.
fn runs_by_its_recipe(recipe: &str, programs: &[&str]) -> Option<Bench> {
    if !are_installed(programs) {
        return None;
    }
    let recipe =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recipes").join(recipe).display().to_string();
    let bench = Bench::new();
    // A server that becomes another user must be able to reach its data.
    std::fs::set_permissions(bench.case().parent().unwrap(), Permissions::from_mode(0o755)).unwrap();
    let case = bench.case().display().to_string();
    let result = bench.json(&["study", &recipe, "--blocks", "1", "--format", "json", "-o", &case]);
    let arms = result["arms"].as_array().unwrap();
    assert!(arms.len() >= 4, "{arms:#?}");
    assert!(
        arms.iter().all(|arm| arm["figure"]["mean"].as_f64().is_some_and(|mean| mean > 1.0)),
        "{arms:#?}"
    );
    assert!(!bench.case().join("data").exists(), "what was prepared goes with the end of the study");
    bench.nothing_is_changed();
    Some(bench)
}

#[test]
#[ignore = "ground truth: needs redis-server and redis-benchmark; run by `make test`"]
fn redis_is_studied_with_its_own_benchmark() {
    runs_by_its_recipe("redis.toml", &["redis-server", "redis-benchmark"]);
}

#[test]
#[ignore = "ground truth: needs nginx and wrk; run by `make test`"]
fn nginx_is_studied_with_wrk() {
    runs_by_its_recipe("nginx.toml", &["nginx", "wrk"]);
}

#[test]
#[ignore = "ground truth: needs memcached; run by `make test`"]
fn memcached_is_studied_with_our_own_load() {
    runs_by_its_recipe("memcached.toml", &["memcached"]);
}

#[test]
#[ignore = "ground truth: needs postgresql; run by `make test`"]
fn postgres_is_studied_with_pgbench_on_a_database_that_is_made_once() {
    runs_by_its_recipe("postgres.toml", &["pgbench", "setpriv"]);
}

#[test]
#[ignore = "ground truth: a study of some seconds; run by `make test`"]
fn each_trial_of_a_ping_pong_leaves_its_seconds() {
    let Some(bench) = runs_by_its_recipe("latency-transports.toml", &[]) else { return };
    let trials = std::fs::read_dir(bench.case().join("trials")).unwrap();
    let mut csvs =
        trials.filter_map(|trial| std::fs::read_to_string(trial.unwrap().path().join("latency.csv")).ok());
    let csv = csvs.next().unwrap();
    let (first, rest) = csv.split_once('\n').unwrap();
    assert!(first.starts_with("second,rate_per_s,failed,min_us") && rest.starts_with("0,"), "{csv}");
    assert!(csvs.count() >= 5);
}

#[test]
#[ignore = "ground truth: needs root and iproute2; run by `make test`"]
fn a_message_comes_back_in_every_layer_down_to_the_frame() {
    if !rustix::process::geteuid().is_root() {
        return eprintln!("skipped: network namespaces need root");
    }
    let Some(bench) = runs_by_its_recipe("latency-layers.toml", &["ip"]) else { return };
    let text = std::fs::read_to_string(bench.case().join("trials.jsonl")).unwrap();
    let trials: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for layer in ["UDP A", "frames", "TCP", "HTTP over TCP"] {
        let mut of_layer = trials.iter().filter(|trial| trial["arm"] == layer && trial["failed"].is_null());
        let trial = of_layer.next().unwrap_or_else(|| panic!("{layer}: {trials:#?}"));
        let figure = |name: &str| trial["figures"][name].as_f64().unwrap();
        let spread_us = figure("latency_p999_us") - figure("latency_p50_us");
        assert_eq!((figure("latency_jitter_us"), figure("failed")), (spread_us, 0.0), "{layer}: {trial:#}");
    }
}

#[test]
#[ignore = "ground truth: needs nginx; run by `make test`"]
fn nginx_is_studied_with_our_own_load() {
    runs_by_its_recipe("nginx-http.toml", &["nginx"]);
}

#[test]
#[ignore = "ground truth: needs root, nginx and iproute2; run by `make test`"]
fn receive_work_is_steered_between_namespaces_of_the_trials_own() {
    if !rustix::process::geteuid().is_root() {
        return eprintln!("skipped: network namespaces need root");
    }
    runs_by_its_recipe("nginx-rps.toml", &["nginx", "ip"]);
    assert!(!Path::new("/run/netns/pinwise-server").exists());
}
