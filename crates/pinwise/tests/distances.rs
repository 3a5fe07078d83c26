//! Measured distances as people get them: measured, kept in a file, shown in a map, taken along in a capture, refused elsewhere.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test that cannot go on must fail")]

use std::path::Path;
use std::process::{Command, Output, Stdio};

use machine::{Machine, Root};
use serde_json::Value;

fn pinwise(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pinwise"));
    command.args(words).current_dir(folder).stdin(Stdio::null()).output().unwrap()
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_str(&text(output)).unwrap()
}

#[test]
fn they_are_measured_kept_shown_and_taken_along() {
    let folder = tempfile::tempdir().unwrap();
    let run = |words: &[&str]| pinwise(folder.path(), words);
    // Two CPUs are enough to see how it goes, and a machine of many would take long.
    let usable: Vec<u32> = Machine::read(&Root::live()).usable().iter().collect();
    let cpus: Vec<String> = usable.iter().take(2).map(u32::to_string).collect();
    let cpus = cpus.join(",");
    let measured = run(&[
        "noise", "--cores", "--memory", "--cpu", &cpus, "--for", "1s", "--save", "d.json", "--format", "json",
    ]);
    let measured_json = json(&measured);
    let kept: Value = serde_json::from_slice(&std::fs::read(folder.path().join("d.json")).unwrap()).unwrap();
    assert_eq!(measured_json, kept);
    for cell in measured_json["memory"]["cells"].as_array().unwrap() {
        let latency = &cell["latency_ns"];
        // On a machine that is busy with others it ends with fewer rounds, and fewer than six allow no interval.
        let rounds = latency["rounds"].as_u64().unwrap();
        assert!(latency["median"].as_f64().unwrap() > 0.0 && rounds >= 1, "{cell}");
        assert_eq!(latency["interval"].is_array(), rounds >= 6, "{cell}");
        assert!(cell["read_mb_per_s"]["median"].as_f64().unwrap() > 0.0);
        let buffer = &cell["latency_buffer"];
        assert_eq!(buffer["pages_checked"], buffer["pages_there"], "{buffer}");
    }
    match usable.len() {
        1 => assert!(
            measured_json["missing"].to_string().contains("it takes two CPUs"),
            "{}",
            measured_json["missing"]
        ),
        _ => assert_eq!(measured_json["cores"]["pairs"].as_array().unwrap().len(), 2),
    }

    let map = json(&run(&["map", "--distances", "d.json", "--format", "json"]));
    assert_eq!(map["measured_distances"], measured_json);
    let sheet = text(&run(&["map", "--topology", "--distances", "d.json"]));
    assert!(sheet.contains("Measured distances") && sheet.contains("latency, ns"), "{sheet}");
    assert!(!text(&run(&["map", "--topology"])).contains("Measured distances"));

    assert!(run(&["capture", "--distances", "d.json", "-o", "m.tar.zst"]).status.success());
    let taken = json(&run(&["map", "--from", "m.tar.zst", "--format", "json"]));
    assert_eq!(taken["measured_distances"], measured_json);
}

#[test]
fn those_of_another_machine_are_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let measured_json = r#"{"format":1,"pinwise":"x","measured_unix_s":1,"cores":null,"memory":null,"missing":[],
        "made_on":{"model":null,"present":null,"places":[{"cpu":70000,"package":0,"node":0,"core":0}]}}"#;
    std::fs::write(folder.path().join("d.json"), measured_json).unwrap();
    for verb in
        [&["map", "--distances", "d.json"][..], &["capture", "-o", "m.tar.zst", "--distances", "d.json"]]
    {
        let output = pinwise(folder.path(), verb);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(
            stderr.contains("d.json") && stderr.contains("CPU 70000") && stderr.contains("noise"),
            "{stderr}"
        );
    }
}

#[test]
fn what_makes_no_sense_is_a_usage_fault() {
    let folder = tempfile::tempdir().unwrap();
    for words in [
        &["--cores", "--fifo"][..],
        &["--memory", "--threshold", "1us"],
        &["--save", "d.json"],
        &["--memory", "--for", "1ms"],
        &["--cores", "--cpu", "70000"],
    ] {
        let output = pinwise(folder.path(), &[&["noise"], words].concat());
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {stderr}");
    }
    let nowhere = pinwise(folder.path(), &["noise", "--cores", "--save", "none/d.json"]);
    assert_eq!(nowhere.status.code(), Some(6), "{}", String::from_utf8_lossy(&nowhere.stderr));
}
