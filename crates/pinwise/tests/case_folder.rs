//! The folder of a case as a user meets it: left behind by a study that could not start, torn, on a read-only file system, with blocks
//! added. No test here measures anything; root is only needed to mount, and a mode does for other users.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test that cannot go on must fail")]

mod folder_copy;
mod place;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use folder_copy::copy;
use place::Place;

impl Place {
    /// Runs what has to succeed; its stdout and stderr.
    fn good(&self, arguments: &[&str]) -> (String, String) {
        let out = self.pinwise(arguments);
        let [stdout, stderr] =
            [&out.stdout, &out.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        assert!(out.status.success(), "pinwise {arguments:?}: {:?}\n{stdout}\n{stderr}", out.status);
        (stdout, stderr)
    }

    /// Runs what has to fail with `code`; its stderr.
    fn bad(&self, arguments: &[&str], code: i32) -> String {
        let out = self.pinwise(arguments);
        let stderr = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(code), "pinwise {arguments:?}: {stderr}");
        stderr
    }
}

fn recorded() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/cases/receive-work-on-cpu-1")
}

fn files(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// A short study: one block, one attempt.
fn study<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let short = ["--cpus", "0", "--blocks", "1", "--window", "0.3", "--warm-up", "0.1", "--attempts", "1"];
    ["study"].iter().chain(more).chain(&short).copied().collect()
}

#[test]
fn a_server_that_ends_at_once_leaves_no_folder_and_its_log_in_the_error() {
    let place = Place::new();
    let arguments = study(&["--server", "sh -c 'echo out of luck; exit 3'", "-o", "a/case"]);
    for _ in 0..2 {
        let stderr = place.bad(&arguments, 5);
        assert_eq!(
            stderr.matches("out of luck").count(),
            2,
            "once in the command, once as its output: {stderr}"
        );
        assert!(!place.path("a").exists(), "{stderr}");
    }
    // The same command, put right.
    place.good(&study(&["-o", "a/case"]));
    assert!(place.path("a/case/study.toml").exists());
}

#[test]
fn a_program_that_is_missing_leaves_a_folder_of_the_user_as_it_was() {
    let place = Place::new();
    fs::create_dir(place.path("case")).unwrap();
    fs::write(place.path("case/notes.txt"), "mine").unwrap();
    for more in [
        &["--server", "./no-such {port}"][..],
        &["--load", "command", "--command", "./no-such {port}", "--figure", "requests_per_s=(.*)"],
    ] {
        let arguments = study(&[more, &["-o", "case"]].concat());
        let out = place.pinwise(&arguments);
        let stderr = String::from_utf8_lossy(&out.stderr);
        assert!(!out.status.success() && stderr.contains("no-such"), "{stderr}");
        assert_eq!(files(&place.path("case")), ["notes.txt"], "{stderr}");
    }
}

#[test]
fn a_log_that_the_error_only_names_is_quoted_before_it_goes() {
    let place = Place::new();
    let recipe = "[server]\ncommand = \"sleep 9\"\nprepare = \"sh -c 'echo no such table; exit 1'\"\n";
    fs::write(place.path("r.toml"), recipe).unwrap();
    let stderr = place.bad(&study(&["r.toml", "-o", "case"]), 2);
    assert!(stderr.contains("its last lines:\n  | no such table"), "{stderr}");
    assert!(!place.path("case").exists());
}

#[test]
fn ctrl_c_before_the_first_trial_is_finished_leaves_no_folder() {
    let place = Place::new();
    let mut child = Command::new(env!("CARGO_BIN_EXE_pinwise"))
        .args(["study", "--cpus", "0", "--blocks", "1", "--window", "60", "-o", "case"])
        .env("PINWISE_STATE_DIR", place.path("state"))
        .current_dir(place.dir.path())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    while !place.path("case/trials/0000/server.log").exists() {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let interrupted = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(interrupted.success());
    let out = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(130), "{stderr}");
    assert!(stderr.contains("nothing was kept") && !stderr.contains("resume"), "{stderr}");
    assert!(!place.path("case").exists(), "{stderr}");
}

/// Starts a study and waits until it has come so far that `there` exists.
fn started(place: &Place, arguments: &[&str], there: &str) -> Child {
    let mut child = Command::new(env!("CARGO_BIN_EXE_pinwise"))
        .args(arguments)
        .env("PINWISE_STATE_DIR", place.path("state"))
        .current_dir(place.dir.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while !place.path(there).exists() {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself before {there}");
        std::thread::sleep(Duration::from_millis(5));
    }
    child
}

fn killed(place: &Place, arguments: &[&str], there: &str) {
    let mut child = started(place, arguments, there);
    child.kill().unwrap();
    child.wait().unwrap();
    // A process that it was about to start shares its lock of the folder until the program is there.
    while holds_a_lock(child.id()) {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether a lock stands that a process took: `1: FLOCK  ADVISORY  WRITE 4711 fe:00:123 0 EOF`.
fn holds_a_lock(pid: u32) -> bool {
    let locks = fs::read_to_string("/proc/locks").unwrap();
    locks.lines().any(|line| line.split_ascii_whitespace().nth(4) == Some(&pid.to_string()))
}

/// Long enough to have a pilot.
const LONG: [&str; 6] = ["study", "--cpus", "0", "--blocks", "30", "--anyway"];
/// Too short to have one, and with a first trial that is long enough to be killed in.
const SLOW: [&str; 8] = ["study", "--cpus", "0", "--blocks", "1", "--window", "3", "--warm-up=0"];

#[test]
fn what_a_killed_start_left_goes_with_the_next_one_and_nothing_else_does() {
    let place = Place::new();
    // One was killed in its pilot, one in its first trial; the user has folders of like names.
    killed(&place, &LONG, "cases/string-server-1/pilot-1/trials/0000/server.log");
    killed(&place, &[&SLOW[..], &["-o", "elsewhere/a"]].concat(), "elsewhere/a/trials/0000/server.log");
    fs::rename(place.path("elsewhere/a"), place.path("cases/string-server-2")).unwrap();
    for folder in ["pilot-1", "string-server-9", "string-server-1/pilot-2"] {
        fs::create_dir_all(place.path("cases").join(folder)).unwrap();
        fs::write(place.path("cases").join(folder).join("machine.json"), "mine").unwrap();
    }
    let (_, stderr) = place.good(&study(&[]));
    for gone in ["cases/string-server-1/pilot-1", "cases/string-server-2"] {
        assert!(stderr.contains(&format!("had left: {gone}\n")), "{stderr}");
    }
    assert_eq!(stderr.matches("had left").count(), 2, "{stderr}");
    // What holds a folder of the user's stays, and its number is taken.
    assert_eq!(
        files(&place.path("cases")),
        ["pilot-1", "string-server-1", "string-server-2", "string-server-9"]
    );
    assert_eq!(files(&place.path("cases/string-server-1")), ["pilot-2"]);
    let case = files(&place.path("cases/string-server-2"));
    assert!(
        case.iter().all(|name| !name.starts_with('.')) && case.contains(&"report.html".into()),
        "{case:?}"
    );
    for kept in ["pilot-1", "string-server-9", "string-server-1/pilot-2"] {
        assert_eq!(fs::read_to_string(place.path("cases").join(kept).join("machine.json")).unwrap(), "mine");
    }
    // It holds results now.
    let (_, stderr) = place.good(&study(&["-o", "cases/next"]));
    assert!(
        !stderr.contains("had left") && place.path("cases/string-server-2/trials.jsonl").exists(),
        "{stderr}"
    );
}

#[test]
fn a_killed_start_does_not_block_its_folder_and_one_that_runs_keeps_its_draft() {
    let place = Place::new();
    killed(&place, &[&LONG[..], &["-o", "case"]].concat(), "case/pilot-1/trials/0000/server.log");
    killed(&place, &[&SLOW[..], &["-o", "case"]].concat(), "case/trials/0000/server.log");
    assert!(!place.path("case/pilot-1").exists(), "the second start has removed what the first left");
    place.good(&study(&["-o", "case"]));

    let mut runs =
        started(&place, &[&LONG[..], &["-o", "runs"]].concat(), "runs/pilot-1/trials/0000/server.log");
    let stderr = place.bad(&study(&["-o", "other"]), 1);
    assert!(!stderr.contains("had left"), "{stderr}");
    assert!(place.path("runs/pilot-1/study.toml").exists(), "{stderr}");
    assert!(Command::new("kill").args(["-INT", &runs.id().to_string()]).status().unwrap().success());
    assert_eq!(runs.wait().unwrap().code(), Some(130));
    assert!(!place.path("runs").exists());
}

#[test]
fn a_killed_case_with_a_result_stays_and_is_gone_on_with() {
    let place = Place::new();
    let short = ["--window", "0.3", "--warm-up", "0", "--attempts", "1", "--observed", "0", "-o", "cases/a"];
    let long = [&LONG[..4], &["2"], &short].concat();
    let trials = |case: &str| fs::read_to_string(place.path(case).join("trials.jsonl")).unwrap_or_default();
    let mut child = started(&place, &long, "cases/a/trials.jsonl");
    while !trials("cases/a").contains('\n') {
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let kept = trials("cases/a");
    place.good(&["undo"]);
    let (_, stderr) = place.good(&study(&["-o", "cases/b"]));
    assert!(!stderr.contains("had left"), "{stderr}");
    assert_eq!(trials("cases/a"), kept);
    place.good(&["resume", "cases/a"]);
    assert!(trials("cases/a").starts_with(&kept));
}

#[test]
fn a_torn_observation_is_named_and_the_case_is_read() {
    let place = Place::new();
    copy(&recorded(), &place.path("case"));
    let (whole, _) = place.good(&["explain", "case"]);
    fs::write(place.path("case/trials/0003/observation.json"), "").unwrap();
    let (text, _) = place.good(&["explain", "case"]);
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("trials/0003/observation.json: the file is empty [1 of"), "{text}");
    assert_eq!(whole.lines().next(), text.lines().next(), "the answer is the same");
    let (json, _) = place.good(&["report", "case", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let named = |m: &serde_json::Value| m["fact"] == "trials/0003/observation.json";
    assert_eq!(json["missing"].as_array().unwrap().iter().filter(|m| named(m)).count(), 1);
    fs::write(place.path("case/trials/0004/outcome.json"), "{\"figures").unwrap();
    let (_, stderr) = place.good(&["report", "case"]);
    assert!(stderr.contains("trials/0004/outcome.json: the file is cut off"), "{stderr}");
}

/// A copy of a recorded case that may only be read, for root too.
struct ReadOnly<'a> {
    place: &'a Place,
    is_mounted: bool,
}

impl<'a> ReadOnly<'a> {
    /// `None` where root may not mount.
    fn new(place: &'a Place) -> Option<Self> {
        let case = place.path("case");
        copy(&recorded(), &case);
        if !rustix::process::geteuid().is_root() {
            fs::set_permissions(&case, fs::Permissions::from_mode(0o555)).unwrap();
            return Some(Self { place, is_mounted: false });
        }
        let mount = |arguments: &[&str]| {
            let status = Command::new("mount").args(arguments).arg(&case).status();
            status.is_ok_and(|status| status.success())
        };
        let bound = mount(&["--bind", &case.display().to_string()]);
        bound.then(|| assert!(mount(&["-o", "remount,ro,bind"])));
        bound.then_some(Self { place, is_mounted: true })
    }
}

impl Drop for ReadOnly<'_> {
    fn drop(&mut self) {
        let case = self.place.path("case");
        if self.is_mounted {
            let _ = Command::new("umount").arg(&case).status();
        } else {
            let _ = fs::set_permissions(&case, fs::Permissions::from_mode(0o755));
        }
    }
}

#[test]
fn a_case_that_may_only_be_read_is_explained_reported_planned_and_compared() {
    let place = Place::new();
    let Some(_case) = ReadOnly::new(&place) else { return eprintln!("skipped: root may not mount here") };
    let before = files(&place.path("case"));
    let (text, stderr) = place.good(&["explain", "case"]);
    assert!(text.contains("Next\n") && !stderr.contains("written"), "{text}{stderr}");
    let (text, stderr) = place.good(&["report", "case"]);
    assert!(text.contains("Next\n"), "{text}");
    let notes: Vec<&str> = stderr.lines().filter(|line| line.contains("not written")).collect();
    let [note] = notes[..] else { panic!("{stderr}") };
    assert!(note.contains("pinwise report case -o report.html"), "{note}");
    assert!(!stderr.contains("case/report.html"), "it is not there: {stderr}");

    let (_, stderr) = place.good(&["report", "case", "-o", "report.html"]);
    assert!(stderr.contains("report  report.html"), "{stderr}");
    assert!(fs::read_to_string(place.path("report.html")).unwrap().contains("</html>"));
    let planned = place.pinwise(&["plan", "case"]);
    assert!([Some(0), Some(1)].contains(&planned.status.code()), "{planned:?}");
    copy(&recorded(), &place.path("other"));
    place.good(&["compare", "case", "other"]);
    let stderr = place.bad(&["explain", "case", "--prove"], if _case.is_mounted { 6 } else { 3 });
    assert!(stderr.contains("copy the case"), "{stderr}");
    assert_eq!(files(&place.path("case")), before);
}

#[test]
fn answers_lead_on_with_the_path_of_the_case() {
    let place = Place::new();
    copy(&recorded(), &place.path("my cases/it's"));
    fs::remove_file(place.path("my cases/it's/proofs.json")).unwrap();
    let (text, _) = place.good(&["explain", "my cases/it's"]);
    assert!(!text.contains(" CASE") && !text.contains("echo "), "{text}");
    let next = text.split("\nNext\n").nth(1).unwrap();
    let command = next.lines().find_map(|line| line.trim().strip_prefix("$ ")).unwrap();
    assert_eq!(command, "pinwise explain 'my cases/it'\\''s' --prove", "{next}");
    place.good(&["report", "my cases/it's"]);
    let html = fs::read_to_string(place.path("my cases/it's/report.html")).unwrap();
    assert!(!html.contains(" CASE ") && !html.contains("echo "), "the page");
    let (json, _) = place.good(&["report", "my cases/it's", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["next"][0]["step"], "prove");
    assert_eq!(json["next"][0]["command"], command);
    assert_eq!(json["case"]["dir"], "my cases/it's");
}

#[test]
fn blocks_are_added_and_run_and_the_first_ones_stay() {
    let place = Place::new();
    place.good(&study(&["-o", "case"]));
    let first = fs::read_to_string(place.path("case/trials.jsonl")).unwrap();
    let trials = first.lines().count();
    let study_toml = fs::read(place.path("case/study.toml")).unwrap();
    let (_, stderr) = place.good(&["resume", "case", "--blocks", "+2"]);
    assert!(stderr.contains("2 blocks added") && stderr.contains("1 planned and 2 added"), "{stderr}");
    let all = fs::read_to_string(place.path("case/trials.jsonl")).unwrap();
    assert!(all.starts_with(&first));
    assert_eq!(all.lines().count(), 3 * trials);
    assert_eq!(fs::read(place.path("case/study.toml")).unwrap(), study_toml);
    // Finished again: nothing more is run.
    place.good(&["resume", "case"]);
    assert_eq!(fs::read_to_string(place.path("case/trials.jsonl")).unwrap(), all);
}

#[test]
fn blocks_that_cannot_be_added_are_refused() {
    let place = Place::new();
    copy(&recorded(), &place.path("case"));
    assert!(place.bad(&["resume", "case", "--blocks", "6"], 2).contains("--blocks +6"));
    assert!(place.bad(&["resume", "case", "--blocks", "+0"], 2).contains("at least one"));
    let stderr = place.bad(&["resume", "case", "--blocks", "+999"], 2);
    assert!(stderr.contains("400 is the most"), "{stderr}");
    assert!(!place.path("case/added.jsonl").exists());
}
