//! Real servers and real load tools, from Debian's packages, by the recipes that we ship: one block each.

use std::path::Path;
use std::process::Command;

use crate::pinwise::Bench;

fn runs_by_its_recipe(recipe: &str, programs: &[&str]) {
    let installed =
        |program: &&&str| Command::new("which").arg(program).output().is_ok_and(|o| o.status.success());
    if let Some(absent) = programs.iter().find(|p| !installed(p)) {
        return eprintln!("skipped: {absent} is not installed (scripts/setup test installs it)");
    }
    let recipe =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recipes").join(recipe).display().to_string();
    let bench = Bench::new();
    let case = bench.case().display().to_string();
    let result = bench.json(&["study", &recipe, "--blocks", "1", "--format", "json", "-o", &case]);
    let arms = result["arms"].as_array().unwrap();
    assert!(arms.len() >= 4, "{arms:#?}");
    assert!(
        arms.iter().all(|arm| arm["figure"]["mean"].as_f64().is_some_and(|mean| mean > 100.0)),
        "{arms:#?}"
    );
    let left = bench.json(&["status", "--format", "json"]);
    assert!(left["sessions"].as_array().is_none_or(Vec::is_empty), "{left:#}");
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
