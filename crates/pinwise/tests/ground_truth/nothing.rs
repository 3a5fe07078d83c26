//! Nothing is wrong: pinwise must say so.

use crate::pinwise::{Bench, SHORT_TRIALS, findings, slow_cpus, summary};
use crate::testbed::Testbed;

#[test]
#[ignore = "ground truth: needs root, ip netns and some 2 minutes; run by `make test`"]
fn an_even_machine_has_no_slow_cpu() {
    let Some(bed) = Testbed::new() else { return };
    let bench = Bench::new();
    // This machine is a guest on a shared host, whose other tenants may well slow one CPU by a few per cent for a minute.
    let result = bench.study(&bed, &["--margin", "0.08"]);
    assert!(slow_cpus(&result).is_empty(), "{}", summary(&result));
    assert!(findings(&result).is_empty(), "{}", summary(&result));
}

#[test]
#[ignore = "ground truth: needs some 2 minutes; run by `make test`"]
fn an_a_a_study_calls_nothing_better_or_worse() {
    let bench = Bench::new();
    let case = bench.case().display().to_string();
    let arguments = ["study", "--aa", "2", "--seed", "1", "--format", "json", "-o", &case];
    let result = bench.json(&[&arguments[..], &SHORT_TRIALS].concat());
    let contrasts = result["contrasts"]["against_baseline"].as_array().unwrap();
    assert_eq!(contrasts.len(), 2);
    assert!(contrasts.iter().all(|c| c["verdict"] != "better" && c["verdict"] != "worse"), "{contrasts:#?}");
}
