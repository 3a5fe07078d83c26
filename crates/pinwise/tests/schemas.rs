//! What `--format json` prints, held against the schemas below docs/schema: each document follows its schema, and each key that is
//! printed is described there. Nothing here needs root. A crate of its own, as crates/study/tests/schema.rs.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test that cannot go on must fail")]

mod described;
mod folder_copy;
mod place;
mod recorded_ring;

use std::path::{Path, PathBuf};

use described::{Described, without_description};
use folder_copy::copy;
use machine::{Machine, Root};
use place::Place;
use recorded_ring::recorded;
use serde_json::Value;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

/// A folder with the recorded case in it, twice.
fn with_cases() -> Place {
    let place = Place::new();
    for name in ["one", "other"] {
        copy(&fixtures().join("cases/receive-work-on-cpu-1"), &place.path(name));
    }
    place
}

/// What a command prints on stdout.
fn printed(place: &Place, arguments: &[&str], codes: &[i32]) -> String {
    let output = place.pinwise(arguments);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(codes.iter().any(|code| output.status.code() == Some(*code)), "{arguments:?}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

/// The document of a command that answers with yes or no.
fn document(place: &Place, arguments: &[&str]) -> Value {
    let text = printed(place, &[arguments, &["--format", "json"]].concat(), &[0, 1]);
    serde_json::from_str(&text).unwrap_or_else(|why| panic!("{arguments:?}: {why}: {text}"))
}

fn schema(place: &Place, id: &str) -> Value {
    serde_json::from_str(&printed(place, &["list", "schemas", id], &[0])).unwrap()
}

/// Holds a document against the schema of this id.
fn follows(place: &Place, id: &str, document: &Value) {
    let schema = schema(place, id);
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let errors = validator.iter_errors(document);
    let said = |text: String| text.chars().take(300).collect::<String>();
    let errors: Vec<String> =
        errors.map(|error| format!("{}: {}", error.instance_path(), said(error.to_string()))).collect();
    assert!(errors.is_empty(), "{id}:\n{}", errors.join("\n"));
    let Described { undescribed, .. } = Described::of(&schema, document);
    assert!(undescribed.is_empty(), "docs/schema/{id}.json does not describe {undescribed:#?}");
}

#[test]
fn each_schema_is_one_and_says_what_every_key_means() {
    let place = Place::new();
    let listed = document(&place, &["list", "schemas"]);
    let listed = listed.as_array().unwrap();
    assert!(listed.len() > 30, "{}", listed.len());
    for row in listed {
        let id = row["id"].as_str().unwrap();
        let schema = schema(&place, id);
        let file = fixtures().join("../docs/schema").join(format!("{id}.json"));
        assert_eq!(schema, serde_json::from_slice::<Value>(&std::fs::read(file).unwrap()).unwrap(), "{id}");
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema", "{id}");
        assert!(jsonschema::meta::is_valid(&schema), "{id}");
        let mut found = Vec::new();
        without_description(&schema, "", &mut found);
        assert!(found.is_empty(), "{id}: {found:#?}");
    }
}

#[test]
fn a_key_that_is_new_or_of_another_kind_is_seen() {
    let place = Place::new();
    let schema = schema(&place, "map/diff");
    let known = serde_json::json!({ "differences": [{ "fact": "a", "before": null, "after": "b" }] });
    follows(&place, "map/diff", &known);
    let new = serde_json::json!({ "differences": [{ "fact": "a", "before": null, "after": "b", "new": 1 }] });
    let undescribed: Vec<String> = Described::of(&schema, &new).undescribed.into_iter().collect();
    assert_eq!(undescribed, ["/differences/0/new"]);
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    assert!(!validator.is_valid(&serde_json::json!({ "differences": [{ "fact": 1 }] })));
}

#[test]
fn a_schema_that_is_not_there_is_refused() {
    let place = Place::new();
    for arguments in [["list", "schemas", "nosuch"], ["list", "knobs", "map"]] {
        let output = place.pinwise(&arguments);
        assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn lists_follow_theirs() {
    let place = Place::new();
    for list in ["knobs", "probes", "workloads", "rules", "pages", "shapes", "schemas"] {
        follows(&place, "list", &document(&place, &["list", list]));
    }
}

#[test]
fn maps_follow_theirs() {
    let place = Place::new();
    follows(&place, "map", &document(&place, &["map"]));
    follows(&place, "map", &document(&place, &["map", "--topology"]));
    let pid = std::process::id().to_string();
    follows(&place, "map/process", &document(&place, &["map", "--process", &pid]));
    let frames = printed(&place, &["map", "--watch", "1", "--interval-ms", "300", "--format", "json"], &[0]);
    follows(&place, "map/watch", &serde_json::from_str(frames.lines().next().unwrap()).unwrap());
}

#[test]
fn maps_of_captures_follow_theirs() {
    let place = Place::new();
    let folders = std::fs::read_dir(fixtures().join("machines")).unwrap().map(|entry| entry.unwrap().path());
    let captures: Vec<String> = folders
        .map(|folder| folder.join("capture.tar.zst"))
        .filter(|capture| capture.is_file())
        .map(|capture| capture.to_str().unwrap().to_string())
        .collect();
    assert!(captures.len() > 3, "{captures:?}");
    for capture in &captures {
        let map = document(&place, &["map", "--from", capture]);
        follows(&place, "map", &map);
        for (part, id) in [("--irqs", "map/irqs"), ("--kernel", "map/kernel"), ("--power", "map/power")] {
            follows(&place, id, &document(&place, &["map", "--from", capture, part]));
        }
        for device in map["devices"].as_array().unwrap().iter().take(3) {
            let name = device["name"].as_str().unwrap();
            follows(&place, "map/device", &document(&place, &["map", "--from", capture, "--device", name]));
        }
    }
    follows(&place, "map/diff", &document(&place, &["map", "--diff", &captures[0], &captures[1]]));
    // All of them are named capture.tar.zst, and the name of a capture is that of its host.
    for (number, capture) in captures.iter().enumerate() {
        std::fs::copy(capture, place.path(&format!("host{number}.tar.zst"))).unwrap();
    }
    let hosts: Vec<String> = (0..captures.len()).map(|number| format!("host{number}.tar.zst")).collect();
    let hosts: Vec<&str> = hosts.iter().map(String::as_str).collect();
    let from = [&["fleet", "map", "--from"][..], &hosts[..]].concat();
    follows(&place, "fleet/map", &document(&place, &from));
}

#[test]
fn cases_follow_theirs() {
    let place = with_cases();
    for verb in ["report", "explain"] {
        follows(&place, "study", &document(&place, &[verb, "one"]));
    }
    follows(&place, "compare", &document(&place, &["compare", "one", "other"]));
    let plan = "purpose = \"quiet\"\n[[setting]]\nknob = \"swappiness\"\nvalue = \"10\"\n";
    std::fs::write(place.path("plan.toml"), plan).unwrap();
    follows(&place, "plan", &document(&place, &["plan", "--from", "plan.toml"]));
    follows(&place, "apply/dry-run", &document(&place, &["apply", "plan.toml", "--dry-run"]));
}

#[test]
fn a_short_study_follows_its_own() {
    let place = Place::new();
    let short =
        ["study", "--cpus", "0", "--blocks", "1", "--window", "0.2", "--warm-up", "0", "--attempts", "1"];
    let study = [&short[..], &["--key", "dose.share=0", "-o", "case"]].concat();
    follows(&place, "study", &document(&place, &study));
    let again = document(&place, &["report", "case"]);
    assert!(!again["arms"].as_array().unwrap().is_empty(), "{again:#}");
    follows(&place, "study", &again);
}

#[test]
fn what_is_watched_follows_its_own() {
    let place = recorded();
    for full in [&["--full"][..], &[]] {
        let arguments = [&["watch", "--replay", "RING"][..], full].concat();
        follows(&place, "watch", &document(&place, &arguments));
    }
    follows(&place, "diagnose", &document(&place, &["diagnose", "--replay", "RING"]));
    // With BPF or without.
    let watched = document(&place, &["watch", "--for", "300ms"]);
    let id = if watched["how"] == "counters" { "watch/counters" } else { "watch" };
    follows(&place, id, &watched);
    let pid = std::process::id().to_string();
    follows(&place, "diagnose", &document(&place, &["diagnose", "--process", &pid, "--for", "300ms"]));
}

#[test]
fn what_is_measured_of_cpus_follows_its_own() {
    let place = Place::new();
    let usable: Vec<u32> = Machine::read(&Root::live()).usable().iter().take(2).collect();
    let cpus = usable.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let noise = document(&place, &["noise", "--cpu", &usable[0].to_string(), "--for", "300ms"]);
    follows(&place, "noise", &noise);
    let distances = ["noise", "--cores", "--memory", "--cpu", cpus.as_str(), "--for", "1s"];
    follows(&place, "noise/distances", &document(&place, &distances));
    let ticks = document(&place, &["ticks", "--cpu", &usable[0].to_string(), "--for", "0.3"]);
    follows(&place, "ticks", &ticks);
}

#[test]
fn changes_follow_theirs() {
    let place = Place::new();
    follows(&place, "status", &document(&place, &["status"]));
    let cpu = Machine::read(&Root::live()).usable().iter().next().unwrap();
    let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let setting = format!("process-affinity:{}={cpu}", child.id());
    let documents = [
        ("apply/dry-run", document(&place, &["apply", "--set", &setting, "--dry-run"])),
        ("apply", document(&place, &["apply", "--set", &setting])),
        ("status", document(&place, &["status"])),
        ("undo", document(&place, &["undo"])),
    ];
    child.kill().unwrap();
    child.wait().unwrap();
    for (id, document) in &documents {
        follows(&place, id, document);
    }
}
