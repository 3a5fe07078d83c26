//! kill -9 of pinwise in the middle of a trial: nothing stays changed after undo, and resume completes the case.

use std::process::Stdio;
use std::time::Duration;

use crate::pinwise::{Bench, wait_at_most};
use crate::testbed::Testbed;

fn wait_until(what: &str, done: impl FnMut() -> bool) {
    wait_at_most(Duration::from_secs(60), what, done);
}

fn finished_trials(bench: &Bench) -> usize {
    std::fs::read_to_string(bench.case().join("trials.jsonl")).map_or(0, |t| t.lines().count())
}

#[test]
#[ignore = "ground truth: needs root, ip netns and some 2 minutes; run by `make test`"]
fn a_killed_study_leaves_nothing_changed_and_goes_on() {
    let Some(bed) = Testbed::new() else { return };
    let steering = bed.steering();
    let bench = Bench::new();
    // The trials set an rps mask themselves, so that there is something to restore.
    let recipe = bench.case().with_file_name("recipe.toml");
    let arguments = bench
        .study_arguments(&bed, &["--blocks", "2", "--window", "0.6", "--warm-up", "0.2", "--attempts", "1"]);
    let target = format!("{}:vs/rx-0", bed.server);
    std::fs::write(
        &recipe,
        format!("[[settings]]\nknob = \"rps-cpus\"\ntarget = \"{target}\"\nvalue = \"1\"\n"),
    )
    .unwrap();
    let mut arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let recipe = recipe.display().to_string();
    arguments.insert(1, &recipe);

    let mut killed = bench.command(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until("a trial with the mask set", || finished_trials(&bench) >= 2 && bed.steering() != steering);
    killed.kill().unwrap();
    killed.wait().unwrap();
    let kept = std::fs::read_to_string(bench.case().join("trials.jsonl")).unwrap();
    assert_ne!(
        bed.steering(),
        steering,
        "killed in the middle of a trial, the mask must still be changed here"
    );

    let status = bench.json(&["status", "--format", "json"]);
    assert!(status.to_string().contains("rps_cpus"), "{status:#}");
    let undone = bench.run(&["undo"]);
    assert!(undone.status.success(), "{}", String::from_utf8_lossy(&undone.stdout));
    assert_eq!(bed.steering(), steering);
    let again = bench.run(&["undo"]);
    assert!(again.status.success(), "undo must be idempotent");

    let case = bench.case().display().to_string();
    let result = bench.json(&["resume", &case, "--format", "json"]);
    assert_eq!(finished_trials(&bench), 14, "{result:#}");
    let all = std::fs::read_to_string(bench.case().join("trials.jsonl")).unwrap();
    assert!(all.starts_with(&kept), "finished trials must stay as they were");
    assert_eq!(bed.steering(), steering, "the resumed study must restore the mask too");
}

#[test]
#[ignore = "ground truth: needs some seconds of an idle machine; run by `make test`"]
fn ctrl_c_ends_the_study_and_its_server() {
    let bench = Bench::new();
    let case = bench.case().display().to_string();
    let mut study = bench
        .command(&["study", "--blocks", "6", "-o", &case])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("a finished trial", || finished_trials(&bench) >= 1);
    let pid = study.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let status = study.wait().unwrap();
    assert_eq!(status.code(), Some(130));
    bench.nothing_is_changed();
}
