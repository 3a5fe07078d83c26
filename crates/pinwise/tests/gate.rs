//! `pinwise study --expect` as a CI job meets it: exit codes, junit.xml, and two builds in one study. What is expected here is far from
//! any doubt, or has too few blocks for an answer.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test that cannot go on must fail")]

mod place;

use std::fs;

use place::Place;
use serde_json::Value;

/// A study of CPU 0 alone, without observed blocks and controls that take time; the wide margin is for the A/A control, beside other tests.
const SHORT: [&str; 17] = [
    "study",
    "--cpus",
    "0",
    "--margin",
    "0.5",
    "--window",
    "0.2",
    "--warm-up",
    "0",
    "--attempts",
    "1",
    "--key",
    "dose.share=0",
    "--key",
    "budget.observed_blocks=0",
    "--format",
    "json",
];

/// Runs a short study; its exit code, document and junit.xml.
fn study(place: &Place, more: &[&str]) -> (i32, Value, String) {
    ran(place, &[&SHORT[..], &["-o", "case"], more].concat())
}

fn ran(place: &Place, arguments: &[&str]) -> (i32, Value, String) {
    let out = place.pinwise(arguments);
    let stderr = String::from_utf8_lossy(&out.stderr);
    let document = serde_json::from_slice(&out.stdout).unwrap_or_else(|e| panic!("{e}: {stderr}"));
    let junit = fs::read_to_string(place.path("case/junit.xml")).unwrap_or_default();
    (out.status.code().unwrap(), document, junit)
}

#[test]
fn what_holds_passes_and_what_does_not_fails() {
    let expects = |blocks: &'static str, bound: &'static str| {
        ["--blocks", blocks, "--expect", "requests_per_s of baseline >= 1", "--expect", bound]
    };
    let place = Place::new();
    let (code, document, junit) = study(&place, &expects("6", "latency_p50_us of \"cpu 0\" <= 1e9"));
    // Six blocks are too few for two expectations at 4 %: nothing is passed that was not shown.
    assert_eq!(
        (code, &document["expectations"][0]["outcome"]["is"]),
        (8, &"cannot-tell".into()),
        "{document:#}"
    );
    assert!(junit.contains("errors=\"2\"") && junit.contains("takes 7"), "{junit}");

    let place = Place::new();
    let (code, document, junit) = study(&place, &expects("7", "latency_p50_us of \"cpu 0\" <= 1e9"));
    assert_eq!(code, 0, "{document:#}");
    assert!(junit.contains("tests=\"2\" skipped=\"0\" failures=\"0\" errors=\"0\""), "{junit}");

    let place = Place::new();
    let (code, document, junit) = study(&place, &expects("7", "requests_per_s of \"cpu 0\" >= 1e12"));
    assert_eq!((code, &document["expectations"][1]["outcome"]["is"]), (1, &"failed".into()), "{document:#}");
    assert!(junit.contains("<failure message=") && junit.contains("failures=\"1\""), "{junit}");
    let table = place.pinwise(&["report", "case"]);
    assert_eq!(table.status.code(), Some(0), "what was shown again was done");
    let table = String::from_utf8_lossy(&table.stdout).into_owned();
    assert!(table.contains("\nExpected\n") && table.contains("1 passed, 1 failed"), "{table}");
}

#[test]
fn an_arm_that_is_not_there_is_named_before_anything_runs() {
    let place = Place::new();
    for (expectation, why) in [
        ("requests_per_s of \"cpu 9\" >= 1", "there is no arm 'cpu 9'"),
        ("requests_per_s > 1", "neither >= nor <="),
    ] {
        let out = place.pinwise(&[&SHORT[..], &["-o", "case", "--expect", expectation]].concat());
        let stderr = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(why), "{stderr}");
        assert!(!place.path("case").exists());
    }
}

/// The second build does twenty times the work of the first.
#[test]
fn two_builds_are_interleaved_and_the_slower_one_fails_the_gate() {
    let place = Place::new();
    let build = |rounds: u32| {
        format!(
            "{} string-server --address {{address}} --port {{port}} --rounds {rounds}",
            env!("CARGO_BIN_EXE_pinwise")
        )
    };
    let (first, second) = (build(1_000), build(20_000));
    let arguments = [
        "study",
        "--server",
        &first,
        "--server-b",
        &second,
        "--load",
        "string",
        "--window",
        "0.2",
        "--warm-up",
        "0",
        "--attempts",
        "1",
        "--margin",
        "0.5",
        "--key",
        "dose.share=0",
        "--key",
        "budget.observed_blocks=0",
        "--blocks",
        "7",
        "--format",
        "json",
        "-o",
        "case",
        "--expect",
        "requests_per_s of server-b >= 0.97 x server-a",
    ];
    let (code, document, _) = ran(&place, &arguments);
    assert_eq!(code, 1, "{document:#}");
    let arms: Vec<&str> =
        document["arms"].as_array().unwrap().iter().map(|arm| arm["arm"].as_str().unwrap()).collect();
    assert_eq!(arms, ["server-a A", "server-a B", "server-b"]);
    let trials = fs::read_to_string(place.path("case/trials.jsonl")).unwrap();
    let blocks: Vec<u64> = trials
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["block"].as_u64().unwrap())
        .collect();
    assert!(blocks.is_sorted() && blocks.len() >= 21, "all arms run in each block: {blocks:?}");
    assert!(document["expectations"][0]["value"].as_f64().unwrap() < 0.9, "{document:#}");
}
