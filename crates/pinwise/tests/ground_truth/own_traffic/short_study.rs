//! Studies of production under its own traffic, in short trials, and what they claim.

use serde_json::Value;

use super::production::Production;
use crate::pinwise::Bench;

/// As many blocks as a claim about two CPUs takes, and one more; a figure that is exact (a mean, no quantile), and a guard that only a
/// server that has come to a stop breaches.
const SHORT: [&str; 12] = [
    "--blocks",
    "8",
    "--window",
    "0.5",
    "--warm-up",
    "0.2",
    "--attempts",
    "2",
    "--metric",
    "latency_mean_us",
    "--guard",
    "latency_p99_us <= 1000000",
];

/// Arguments of a study of this server, whose traffic is its own.
pub fn arguments(bench: &Bench, production: &Production, more: &[&str]) -> Vec<String> {
    let (pid, port) = (production.pid(), production.port.to_string());
    let case = bench.case().display().to_string();
    let of_all = ["study", "--running", &pid, "--port", &port, "--traffic", "own", "--seed", "1"];
    let words = [&of_all[..], &["--format", "json", "-o", &case], more].concat();
    words.into_iter().map(str::to_string).collect()
}

/// A whole study in short trials, none of which a guard ended.
pub fn study(bench: &Bench, production: &Production, more: &[&str]) -> Value {
    let arguments = arguments(bench, production, &[&SHORT[..], more].concat());
    let result = bench.json(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    // On a host that is held up, putting an arm in force may leave too little of its short window: that trial is not measured.
    let blocks = result["progress"]["complete_blocks"].as_u64().unwrap();
    assert!((6..=8).contains(&blocks), "{}", summary(&result));
    let harm = &result["harm"];
    assert!(harm["breached"].as_array().unwrap().is_empty() && harm["ended"].is_null(), "{harm:#}");
    bench.nothing_is_changed();
    result
}

/// CPUs that a study calls worse than the others, and those that it calls better.
pub fn claims(result: &Value) -> [Vec<u64>; 2] {
    let contrasts = result["contrasts"]["against_other_cpus"].as_array().unwrap();
    assert_eq!(contrasts.len(), 2, "{contrasts:#?}");
    ["worse", "better"].map(|verdict| {
        let of_verdict = contrasts.iter().filter(|contrast| contrast["verdict"] == verdict);
        of_verdict.filter_map(|contrast| contrast["cpu"].as_u64()).collect()
    })
}

/// What a failing assertion prints.
pub fn summary(result: &Value) -> String {
    format!(
        "trust {}, jumps {}\n{:#}\n{:#?}",
        result["trust"],
        result["traffic_jumps"],
        result["contrasts"],
        result["notes"].as_array()
    )
}
