//! A study on a terminal: the figures so far by arm, without a verdict, and `q` as Ctrl-C. The terminal is that of script(1).

#![allow(clippy::unwrap_used, missing_docs, reason = "a test that cannot go on must fail")]

use std::process::{Command, Stdio};

#[test]
fn figures_by_arm_are_shown_and_q_stops_it() {
    if Command::new("script").arg("--version").stdout(Stdio::null()).status().is_err() {
        return eprintln!("skipped: no script(1) (apt-get install bsdutils)");
    }
    let place = tempfile::tempdir().unwrap();
    let study = format!(
        "{} study --cpus 0 --blocks 30 --window 0.2 --warm-up 0 --attempts 1 --anyway -o case",
        env!("CARGO_BIN_EXE_pinwise")
    );
    let study = format!("{study}; code=$?; touch ended; exit $code");
    // The pilot, and then a trial of each arm at least, also on a busy host. The terminal stays until the study has ended.
    let waits = "waits() { for i in $(seq 600); do if eval \"$1\"; then return; fi; sleep 0.2; done; }";
    let keys = "waits '[ $(cat case/trials.jsonl 2> /dev/null | wc -l) -ge 8 ]'; sleep 1; printf q; waits '[ -e ended ]'";
    let out = Command::new("sh")
        .args(["-c", &format!("{waits}; ({keys}) | script -qec \"$1\" /dev/null"), "sh", &study])
        .env("PINWISE_STATE_DIR", place.path().join("state"))
        .current_dir(place.path())
        .output()
        .unwrap();
    let screen = String::from_utf8_lossy(&out.stdout).into_owned();
    assert_eq!(out.status.code(), Some(130), "{screen}");
    assert!(screen.contains("q: stop") && screen.contains("continue with: pinwise resume"), "{screen}");
    for arm in ["unpinned A", "cpu 0", "dose on cpu 0"] {
        let shown =
            screen.lines().any(|line| line.contains(arm) && line.contains(" in ") && line.contains(" trial"));
        assert!(shown, "{arm}: {screen}");
    }
    for word in ["better", "worse", "slow:"] {
        assert!(!screen.contains(word), "{word}: {screen}");
    }
    let trials = std::fs::read_to_string(place.path().join("case/trials.jsonl")).unwrap().lines().count();
    assert!((1..150).contains(&trials), "{trials} trials");
}
