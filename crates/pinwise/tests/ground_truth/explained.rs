//! `pinwise explain` of a study beside a cause that the test makes, and of one beside none: the waterfall, the claim, its proof.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::needs::first_and_last_cpu;
use crate::pinwise::Bench;
use crate::processes::Killed;

/// The server on the first CPU and on the last, the load on the first both times: what is on the last is near one of the two alone. With the
/// load beside it in the other, both would be slow, one by the server's waiting and one by its sleep.
const RECIPE: &str = r#"
work_us = 50
[budget]
blocks = 6
window_s = 0.3
warm_up_cap_s = 0.1
attempts = 1
[dose]
share = 0
[load]
driver = "string"
connections = 4
keep_alive = true
[[factors]]
kind = "places"
levels = [
  { name = "first", server = "FIRST", load = "FIRST" },
  { name = "last", server = "LAST", load = "FIRST" },
]
"#;

/// A study with observed blocks.
fn study(bench: &Bench, first: &str, last: &str) -> Value {
    let recipe = bench.case().with_file_name("r.toml");
    std::fs::write(&recipe, RECIPE.replace("FIRST", first).replace("LAST", last)).unwrap();
    let (recipe, case) = (recipe.display().to_string(), bench.case().display().to_string());
    let _ = std::fs::remove_dir_all(&case);
    bench.json(&["study", &recipe, "--observed", "6", "--anyway", "--format", "json", "-o", &case])
}

fn explained(bench: &Bench, more: &[&str]) -> Value {
    let case = bench.case().display().to_string();
    let arms = ["--arm", "last", "--against", "first", "--format", "json"];
    bench.json(&[&["explain", &case], &arms[..], more].concat())
}

fn difference(change: &Value) -> f64 {
    change["to"].as_f64().unwrap() - change["from"].as_f64().unwrap()
}

/// Every step adds up, also on a real kernel.
fn adds_up(explanation: &Value) {
    let server = &explanation["server"];
    let steps: f64 = server["steps"].as_array().unwrap().iter().map(difference).sum();
    assert!((steps - difference(&server["total"])).abs() < 1e-6, "{server:#}");
    // The time of a request is the window by the requests: the thread that worked was there all the time.
    assert_eq!(explanation["basis"], "request");
}

fn claim<'a>(explanation: &'a Value, rule: &str) -> Option<&'a Value> {
    explanation["claims"].as_array().unwrap().iter().find(|claim| claim["id"]["rule"] == rule)
}

#[test]
#[ignore = "ground truth: needs root, BPF and two CPUs; run by `make test`"]
fn a_hog_beside_one_placement_makes_the_difference_and_is_proved_in_both_directions() {
    let Some((first, last)) = first_and_last_cpu("only root may load BPF programs") else { return };
    let bench = Bench::new();
    let mut taskset = Command::new("taskset");
    taskset.args(["-c", &last, "sh", "-c", "ulimit -t 120; while :; do :; done"]).stdin(Stdio::null());
    let hog = Killed(taskset.spawn().unwrap());
    study(&bench, &first, &last);
    let explanation = explained(&bench, &[]);
    adds_up(&explanation);
    let claim_of = |explanation: &Value| claim(explanation, "busy-task").cloned();
    let named = claim_of(&explanation).unwrap_or_else(|| panic!("the hog is not named: {explanation:#}"));
    assert_eq!(named["id"]["subject"], json!({ "kind": "program", "name": "sh" }));
    assert_eq!(named["support"], "supported");
    // It has most of what the server waits for a CPU there, whoever else is busy on this host, and a request takes longer by it. In the other
    // placement the server waits for its load, which the hog keeps from the last CPU: the difference of the two is less than the hog takes.
    let waiting = &explanation["server"]["steps"][0];
    assert_eq!((&waiting["term"], &waiting["parts"][0]["part"]["name"]), (&json!("waiting"), &json!("sh")));
    let (hogs, waits) = (difference(&named["evidence"]), waiting["to"].as_f64().unwrap());
    assert!((0.2..=1.1).contains(&(hogs / waits)), "{hogs} of {waits} us: {explanation:#}");
    assert!(difference(&explanation["server"]["total"]) > 0.5 * hogs, "{explanation:#}");
    assert!(explanation["unexplained_share"].as_f64().unwrap() < 0.25, "{explanation:#}");

    let proved = explained(&bench, &["--prove"]);
    let proved = claim_of(&proved).unwrap();
    assert_eq!(
        (&proved["support"], proved["proof"]["outcomes"].as_array().unwrap().len()),
        (&json!("proved"), 2)
    );
    bench.nothing_is_changed();
    let status = std::fs::read_to_string(format!("/proc/{}/status", hog.id())).unwrap();
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    assert_eq!(allowed.trim(), last, "the hog is where it was");
}

#[test]
#[ignore = "ground truth: needs root, BPF and two CPUs; run by `make test`"]
fn without_a_cause_no_program_is_accused_and_observing_is_a_contrast_of_its_own() {
    let Some((first, last)) = first_and_last_cpu("only root may load BPF programs") else { return };
    let bench = Bench::new();
    let result = study(&bench, &first, &last);
    let explanation = explained(&bench, &[]);
    adds_up(&explanation);
    assert!(claim(&explanation, "busy-task").is_none(), "{explanation:#}");
    // One for each arm that is compared, and none of them decided anything.
    let observing = result["observing"].as_array().unwrap();
    assert_eq!(observing.len(), 3, "{observing:#?}");
    assert!(
        observing.iter().all(|cost| cost["blocks"] == 6 && cost["interval"].is_array()),
        "{observing:#?}"
    );
    assert_eq!(result["progress"]["trials_run"], 24);
}
