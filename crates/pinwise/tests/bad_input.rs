//! What a user can get wrong, and what a machine can: each ends with a clear error that names the object, the cause and
//! the remedy, with the documented exit code, and with finished trials kept. No root needed.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test that cannot go on must fail")]

mod place;

use std::path::Path;
use std::process::Command;

use place::Place;

impl Place {
    /// Runs, and checks the exit code and that every one of `words` is in the error.
    fn refuses(&self, arguments: &[&str], code: i32, words: &[&str]) {
        let out = self.pinwise(arguments);
        let stderr = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(code), "pinwise {arguments:?}: {stderr}");
        for word in words {
            assert!(stderr.contains(word), "pinwise {arguments:?} does not say '{word}': {stderr}");
        }
    }
}

/// A short study: one block, so no claims, but every part is run; as many trials on a busy machine as on a quiet one.
const SHORT: [&str; 10] =
    ["--blocks", "1", "--window", "0.3", "--warm-up", "0.1", "--attempts", "1", "-o", "case"];

fn short<'a>(more: &[&'a str]) -> Vec<&'a str> {
    ["study"].iter().chain(more).chain(SHORT.iter()).copied().collect()
}

fn trials(case: &Path) -> usize {
    std::fs::read_to_string(case.join("trials.jsonl")).map_or(0, |text| text.lines().count())
}

#[test]
fn a_server_that_does_not_run_is_named_with_what_to_do() {
    let place = Place::new();
    place.refuses(&["map", "--process", "4194305"], 4, &["process 4194305", "no such process", "ps -e"]);
    place.refuses(&["map", "--process", "0"], 2, &["process 0", "no such number"]);
    place.refuses(&["map", "--process", "/no/cgroup"], 4, &["/no/cgroup", "no such cgroup"]);
}

#[test]
fn an_unknown_recipe_key_is_named_with_line_and_column() {
    let place = Place::new();
    std::fs::write(place.path("r.toml"), "metric = \"requests_per_s\"\n[budget]\nblock = 3\n").unwrap();
    place.refuses(&["study", "r.toml"], 2, &["r.toml:3:1", "block", "docs/study.md"]);
}

#[test]
fn a_recipe_that_is_not_there() {
    Place::new().refuses(&["study", "none.toml"], 2, &["none.toml", "No such file"]);
}

#[test]
fn a_recipe_or_shape_without_end_is_refused() {
    let place = Place::new();
    place.refuses(&["study", "/dev/zero"], 2, &["/dev/zero", "longer than"]);
    std::os::unix::fs::symlink("/dev/zero", place.path("s.toml")).unwrap();
    place.refuses(&["rehearse", "--like", "s.toml", "--", "true"], 6, &["s.toml", "longer than"]);
}

#[test]
fn a_server_that_does_not_exist() {
    Place::new().refuses(
        &short(&["--server", "./no-such-server {port}"]),
        5,
        &["no-such-server", "No such file"],
    );
}

#[test]
fn a_server_that_never_listens() {
    let place = Place::new();
    std::fs::write(place.path("r.toml"), "[server]\ncommand = \"sleep 30\"\nready_timeout_s = 0.5\n")
        .unwrap();
    place.refuses(&short(&["r.toml"]), 5, &["sleep 30", "listen", "ready_timeout_s"]);
}

#[test]
fn a_server_that_ends_at_once() {
    Place::new().refuses(&short(&["--server", "sh -c 'echo out of luck; exit 3'"]), 5, &["out of luck", "3"]);
}

#[test]
fn a_server_that_dies_in_the_middle() {
    let place = Place::new();
    let server = format!(
        "timeout -s KILL 0.3 {} string-server --port {{port}} --rounds 100",
        env!("CARGO_BIN_EXE_pinwise")
    );
    place.refuses(
        &["study", "--server", &server, "--blocks", "1", "--window", "2", "-o", "case"],
        5,
        &["trial 0", "string-server"],
    );
}

#[test]
fn a_regular_expression_that_matches_nothing_or_is_none() {
    let place = Place::new();
    let load = ["--load", "command", "--command", "echo nothing to see", "--figure"];
    place.refuses(
        &short(&[&load[..], &["requests_per_s=Requests/sec: ([0-9.]+)"]].concat()),
        5,
        &["requests_per_s", "Requests/sec: ([0-9.]+)", "nothing to see"],
    );
    place.refuses(&short(&[&load[..], &["x=([0-9"]].concat()), 2, &["x", "([0-9"]);
}

#[test]
fn a_metric_that_the_load_does_not_give() {
    Place::new().refuses(&short(&["--metric", "qps"]), 2, &["qps", "requests_per_s"]);
}

#[test]
fn a_metric_whose_direction_is_not_known_is_asked_for() {
    let place = Place::new();
    place.refuses(&short(&["--metric", "score"]), 2, &["metric score", "--better higher", "--better lower"]);
    assert!(!place.path("case").exists(), "nothing is run");
    let better = |more: &[&str]| {
        let out = place.pinwise(&[&["study", "--print-recipe"], more].concat());
        let text = String::from_utf8(out.stdout).unwrap();
        text.lines().find_map(|line| line.strip_prefix("better = ")).map(String::from)
    };
    let lower = Some("\"lower\"".to_string());
    let higher = Some("\"higher\"".to_string());
    assert_eq!(better(&[]), higher);
    assert_eq!(better(&["--metric", "latency_p99_us"]), lower);
    assert_eq!(better(&["--metric", "latency_p99_us", "--better", "higher"]), higher);
    assert_eq!(better(&["--metric", "score", "--lower-is-better"]), lower);
    assert_eq!(better(&["--metric", "score", "--key", "better=lower"]), lower);
    let figure = ["--load", "command", "--command", "echo", "--figure", "p99_us=(x)"];
    assert_eq!(better(&figure), lower);
    // What a recipe says of its figure is not said of another one.
    std::fs::write(place.path("r.toml"), "metric = \"requests_per_s\"\nbetter = \"higher\"\n").unwrap();
    assert_eq!(better(&["r.toml", "--metric", "latency_p99_us"]), lower);
    assert_eq!(better(&["r.toml", "--key", "metric=latency_p99_us"]), lower);
}

#[test]
fn a_knob_of_a_factor_that_does_not_exist() {
    let place = Place::new();
    let recipe = "[[factors]]\nkind = \"knob\"\nknob = \"rps-cpu\"\nvalues = [\"1\"]\n";
    std::fs::write(place.path("recipe.toml"), recipe).unwrap();
    place.refuses(&short(&["recipe.toml"]), 2, &["rps-cpu", "list knobs"]);
    assert!(!place.path("case").exists(), "nothing is run");
}

#[test]
fn a_cpu_that_does_not_exist() {
    Place::new().refuses(&short(&["--cpus", "0,4000"]), 2, &["4000", "allowed"]);
    Place::new().refuses(&short(&["--cpus", "three"]), 2, &["three"]);
    Place::new().refuses(&short(&["--cpus", "0,l9:0"]), 2, &["'l9' is neither", "character 3"]);
}

#[test]
fn a_cpu_that_is_not_allowed() {
    let place = Place::new();
    let pinwise = env!("CARGO_BIN_EXE_pinwise");
    let out = Command::new("taskset")
        .args(["-c", "0", pinwise, "study", "--cpus", "1", "-o", "case"])
        .current_dir(place.dir.path())
        .output();
    let Ok(out) = out else { return eprintln!("skipped: taskset (util-linux) is not installed") };
    let stderr = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("may not run on 1") && stderr.contains("choose from 0"), "{stderr}");
}

#[test]
fn a_port_that_is_taken_names_its_holder() {
    let place = Place::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    place.refuses(&short(&["--port", &port]), 4, &[&port, "already in use by bad_input"]);
}

#[test]
fn a_folder_that_holds_a_case_already() {
    let place = Place::new();
    let out = place.pinwise(&short(&["--cpus", "0"]));
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    assert_eq!(trials(&place.path("case")), 5);
    place.refuses(&short(&[]), 2, &["case", "resume"]);
}

#[test]
fn a_torn_last_line_loses_one_trial_and_says_so() {
    let place = Place::new();
    assert!(place.pinwise(&short(&["--cpus", "0"])).status.success());
    let path = place.path("case").join("trials.jsonl");
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() - 40]).unwrap();
    let out = place.pinwise(&["resume", "case"]);
    let stderr = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{stderr}");
    assert!(stderr.contains("line 5 is torn"), "{stderr}");
    assert_eq!(trials(&place.path("case")), 5);
}

#[test]
fn a_malformed_line_in_the_middle_is_named() {
    let place = Place::new();
    assert!(place.pinwise(&short(&["--cpus", "0"])).status.success());
    let path = place.path("case").join("trials.jsonl");
    let mut text = std::fs::read_to_string(&path).unwrap();
    text.insert_str(0, "{broken\n");
    std::fs::write(&path, text).unwrap();
    place.refuses(&["report", "case"], 6, &["trials.jsonl:1", "malformed"]);
}

#[test]
fn what_is_no_case() {
    Place::new().refuses(&["report", "nowhere"], 2, &["nowhere", "no case"]);
}

/// What the files below a folder take on a tmpfs, in whole pages.
fn room(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let each = entries.map(|entry| match entry.file_type().unwrap().is_dir() {
        true => room(&entry.path()),
        false => entry.metadata().unwrap().len().next_multiple_of(4096),
    });
    each.sum()
}

/// A file system of a few MB that fills up in the middle: needs root to mount one.
#[test]
fn a_full_disk_keeps_the_finished_trials() {
    let place = Place::new();
    let small = place.path("small");
    std::fs::create_dir(&small).unwrap();
    // A case begins with the machine; what it takes differs with the processes that run here.
    assert!(place.pinwise(&["capture", "-o", "machine"]).status.success());
    let size = format!("size={}", room(&place.path("machine")) + (700 << 10));
    let mounted =
        Command::new("mount").args(["-t", "tmpfs", "-o", &size, "pinwise-test"]).arg(&small).status();
    if !mounted.is_ok_and(|s| s.success()) {
        return eprintln!("skipped: mounting a small tmpfs needs root");
    }
    let case = small.join("case").display().to_string();
    let arguments =
        ["study", "--cpus", "0", "--blocks", "40", "--window", "0.3", "--warm-up", "0.1", "-o", &case];
    let out = place.pinwise(&arguments);
    let kept = trials(Path::new(&case));
    // Room again: a larger file system, the same files.
    let grown = Command::new("mount").args(["-o", "remount,size=64m"]).arg(&small).status();
    let read = place.pinwise(&["report", &case, "--format", "json"]);
    let unmounted = Command::new("umount").arg(&small).status();
    let stderr = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(6), "{stderr}");
    assert!(stderr.contains("No space left") && stderr.contains("resume"), "{stderr}");
    assert!(kept > 0, "no trial was finished before the disk was full: {stderr}");
    assert!(grown.is_ok_and(|s| s.success()) && unmounted.is_ok_and(|s| s.success()));
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
}

#[test]
fn an_unwritable_output_of_watch_is_reported_before_the_window() {
    let place = Place::new();
    for form in ["text", "csv", "json", "parquet"] {
        // Nobody waits for the end of such a window.
        let flags = ["watch", "--for", "10m", "--format", form, "-o", "/nosuch/x"];
        place.refuses(&flags, 6, &["/nosuch/x", "No such file", "-o"]);
    }
    place.refuses(&["noise", "--cores", "--save", "/nosuch/x"], 6, &["/nosuch/x", "--save"]);
}

#[test]
fn flags_of_watch_that_mean_nothing_are_refused() {
    let place = Place::new();
    place.refuses(&["watch", "--table", "cpus", "--for", "10m"], 2, &["--table", "--format csv"]);
    place.refuses(&["watch", "--size", "1MiB", "--for", "10m"], 2, &["--size", "--record", "perfetto"]);
    place.refuses(&["watch", "--all", "--process", "1"], 2, &["--all", "--process"]);
    place.refuses(
        &["watch", "--btf", "/nosuch/types", "--for", "10m"],
        2,
        &["/nosuch/types", "No such file"],
    );
    for (more, named) in [
        (&[][..], "--process"),
        (&["--cpu", "0", "--process", "1"], "leave --cpu out"),
        (&["--replay", "RING"], "a ring has no stacks"),
        (&["--raw", "--process", "1"], "BTF"),
    ] {
        let folded = [&["watch", "--format", "folded"][..], more].concat();
        place.refuses(&folded, 2, &["--format folded", named]);
    }
    std::fs::write(place.path("types"), "no types").unwrap();
    place.refuses(&["watch", "--btf", "types", "--for", "10m"], 2, &["--btf types", "BTF"]);
    place.refuses(&["watch", "--when", "preempted > 10%"], 2, &["--record"]);
    place.refuses(
        &["watch", "--record", "RING", "--when", "latency > 5ms"],
        2,
        &["--when", "latency", "run queue", "taker NAME", "SIGUSR1"],
    );
    place.refuses(&["watch", "--record", "RING", "--most", "3"], 2, &["--when"]);
}

#[test]
fn distances_of_one_cpu_are_refused() {
    let words = ["--cores --cpu 0", "only one was named", "two or more CPUs"];
    Place::new().refuses(&["noise", "--cores", "--cpu", "0"], 2, &words);
}
