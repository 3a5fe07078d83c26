//! What is built in: every licence is one of those that deny.toml allows, and nothing comes from elsewhere than the one registry.
//!
//! cargo-deny reads the same file and knows more (`cargo deny check`), but building it takes longer than building pinwise.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test that cannot go on must fail")]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// The lists of deny.toml: the platforms that count, and the licences that are allowed.
fn allowed() -> (Vec<String>, Vec<String>) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deny.toml");
    let parsed: toml::Table = std::fs::read_to_string(file).unwrap().parse().unwrap();
    let list = |table: &str, key: &str| -> Vec<String> {
        let list = parsed[table][key].as_array().unwrap();
        list.iter().map(|word| word.as_str().unwrap().to_string()).collect()
    };
    (list("graph", "targets"), list("licenses", "allow"))
}

/// Every package of every one of these platforms, as cargo resolved them.
fn packages(targets: &[String]) -> Vec<Value> {
    let mut command = Command::new(env!("CARGO"));
    command.args(["metadata", "--format-version", "1", "--locked"]);
    for target in targets {
        command.args(["--filter-platform", target]);
    }
    let out = command.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let parsed: Value = serde_json::from_slice(&out.stdout).unwrap();
    let used: BTreeSet<&str> = parsed["resolve"]["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|node| node["id"].as_str())
        .collect();
    let all = parsed["packages"].as_array().unwrap().iter();
    all.filter(|package| package["id"].as_str().is_some_and(|id| used.contains(id))).cloned().collect()
}

#[test]
fn every_licence_is_allowed_and_there_is_one_registry() {
    let (targets, licences) = allowed();
    let packages = packages(&targets);
    assert!(packages.len() > 100, "{} packages: cargo metadata lists too few", packages.len());
    let is_allowed = |package: &&Value| {
        let text = package["license"].as_str().unwrap_or_default();
        let terms = spdx::Expression::parse_mode(text, spdx::ParseMode::LAX);
        terms.is_ok_and(|terms| terms.evaluate(|asked| licences.contains(&asked.license.to_string())))
    };
    let refused: Vec<String> = packages
        .iter()
        .filter(|package| !is_allowed(package))
        .map(|package| format!("{} {}", package["name"], package["license"]))
        .collect();
    assert!(refused.is_empty(), "not allowed by deny.toml: {refused:#?}");
    let sources: BTreeSet<&str> = packages.iter().filter_map(|package| package["source"].as_str()).collect();
    assert!(sources.iter().all(|from| from.starts_with("registry+")) && sources.len() == 1, "{sources:?}");
}
