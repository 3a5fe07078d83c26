//! `pinwise map` and `pinwise capture` as their user runs them: every form and every part.
#![allow(clippy::unwrap_used)] // clippy sees only #[test] functions as tests, not what they share

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn pinwise(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pinwise")).args(arguments).output().unwrap()
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_str(&text(output)).unwrap()
}

fn fixture(name: &str) -> String {
    let machines = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/machines");
    machines.join(name).display().to_string()
}

fn fails(arguments: &[&str], code: i32, words: &[&str]) {
    let output = pinwise(arguments);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    for word in words {
        assert!(stderr.contains(word), "{word} in {stderr}");
    }
}

#[test]
fn every_form_of_a_captured_machine() {
    let corsair = fixture("corsair");
    assert!(text(&pinwise(&["map", "--from", &corsair])).contains("16 CPUs online, 8 cores"));
    assert_eq!(
        json(&pinwise(&["map", "--from", &corsair, "--format", "json"]))["cpus"].as_array().unwrap().len(),
        16
    );
    assert!(text(&pinwise(&["map", "--from", &corsair, "--format", "svg"])).starts_with("<svg"));
    let page = text(&pinwise(&["map", "--from", &corsair, "--format", "html"]));
    assert!(page.starts_with("<!doctype html>") && page.contains("p7p1-rx-0"));
}

#[test]
fn every_part_of_a_captured_machine() {
    let corsair = fixture("corsair");
    let part = |flags: &[&str]| text(&pinwise(&[&["map", "--from", &corsair], flags].concat()));
    assert!(part(&["--irqs"]).contains("424,461"), "{}", part(&["--irqs"]));
    assert!(part(&["--device", "p7p1"]).contains("rx-0     85"), "{}", part(&["--device", "p7p1"]));
    assert!(!part(&["--topology"]).contains("p7p1-rx-0"));
    let managed = fixture("managed-irqs");
    let chain = json(&pinwise(&["map", "--from", &managed, "--device", "nvme0n1", "--format", "json"]));
    assert_eq!(chain["chain"][4]["queues"][0], "3");
    fails(&["map", "--from", &corsair, "--device", "eth9"], 2, &["eth9", "p7p1"]);
    fails(&["map", "--from", &corsair, "--irqs", "--power"], 2, &["cannot be used with"]);
    fails(&["map", "--from", &corsair, "--irqs", "--format", "svg"], 2, &["text or json"]);
}

#[test]
fn differences_are_named_and_decide_the_exit_code() {
    let (corsair, managed) = (fixture("corsair"), fixture("managed-irqs"));
    assert!(text(&pinwise(&["map", "--diff", &corsair, &corsair])).contains("No difference"));
    let output = pinwise(&["map", "--diff", &corsair, &managed, "--format", "json"]);
    assert_eq!(output.status.code(), Some(1));
    let parsed: Value = serde_json::from_slice(&output.stdout).unwrap();
    let facts: Vec<&str> =
        parsed["differences"].as_array().unwrap().iter().map(|d| d["fact"].as_str().unwrap()).collect();
    assert!(
        facts.contains(&"cpus[9].online") && facts.contains(&"devices[block nvme0n1].bytes"),
        "{facts:?}"
    );
}

#[test]
fn a_capture_of_this_machine_reads_as_the_machine_and_takes_a_server_along() {
    let dir = tempfile::tempdir().unwrap();
    let path: PathBuf = dir.path().join("here.tar.zst");
    let path = path.display().to_string();
    let mut sleeper = Command::new("sleep").arg("60").spawn().unwrap();
    let pid = sleeper.id().to_string();
    let captured = pinwise(&["capture", "--process", &pid, "-o", &path]);
    let live = json(&pinwise(&["map", "--topology", "--format", "json"]));
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
    text(&captured);
    let read = json(&pinwise(&["map", "--from", &path, "--format", "json"]));
    for key in ["cpus", "caches", "packages", "possible", "present"] {
        assert_eq!(read[key], live[key], "{key}");
    }
    // The process is gone, and its capture stays.
    let server = json(&pinwise(&["map", "--from", &path, "--process", &pid, "--format", "json"]));
    assert_eq!(server["processes"][0]["comm"], "sleep", "{server}");
    fails(&["map", "--process", &pid], 4, &[&pid]);
}

#[test]
fn host_names_do_not_leave_unless_asked() {
    let dir = tempfile::tempdir().unwrap();
    let (masked, plain) = (dir.path().join("masked"), dir.path().join("plain"));
    text(&pinwise(&["capture", "-o", masked.to_str().unwrap()]));
    text(&pinwise(&["capture", "--unmasked", "-o", plain.to_str().unwrap()]));
    let hostname = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let index = |dir: &Path| std::fs::read_to_string(dir.join("pinwise-capture.json")).unwrap();
    let named = format!("\"nodename\": \"{}\"", hostname.trim());
    assert!(index(&plain).contains(&named), "{named}");
    assert!(index(&masked).contains("\"nodename\": \"host\""));
    for folder in [&masked, &plain] {
        assert!(!folder.join("proc/self/environ").exists());
    }
}
