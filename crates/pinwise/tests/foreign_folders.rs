//! Cases of somebody else, and links that somebody else has put into a case: read as any other, written to and run as none. What only root
//! can set up (files of another user) is skipped for others, and says so.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test that cannot go on must fail")]

mod folder_copy;
mod place;

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, lchown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use folder_copy::copy;
use place::Place;

/// The user `nobody`, who owns what is foreign here.
const NOBODY: u32 = 65_534;

/// Not permitted, as documented in `pinwise --help`.
const NOT_PERMITTED: i32 = 3;

impl Place {
    /// Runs; the exit code, and both outputs.
    fn runs(&self, arguments: &[&str]) -> (Option<i32>, String) {
        said(self.pinwise(arguments))
    }

    /// The same as a user calls it by sudo(8).
    fn runs_by_sudo(&self, arguments: &[&str], uid: u32) -> (Option<i32>, String) {
        let out = Command::new(env!("CARGO_BIN_EXE_pinwise"))
            .args(arguments)
            .env("PINWISE_STATE_DIR", self.path("state"))
            .env("SUDO_UID", uid.to_string())
            .env("SUDO_GID", uid.to_string())
            .current_dir(self.dir.path())
            .output();
        said(out.unwrap())
    }

    /// Checks that this is refused for the reason in `words`.
    fn refuses(&self, arguments: &[&str], words: &[&str]) {
        let (code, said) = self.runs(arguments);
        assert_eq!(code, Some(NOT_PERMITTED), "pinwise {arguments:?}: {said}");
        for word in words {
            assert!(said.contains(word), "pinwise {arguments:?} does not say '{word}': {said}");
        }
    }

    fn good(&self, arguments: &[&str]) -> String {
        let (code, said) = self.runs(arguments);
        assert_eq!(code, Some(0), "pinwise {arguments:?}: {said}");
        said
    }

    /// A copy of a recorded case.
    fn case(&self, name: &str) -> PathBuf {
        let recorded = "../../fixtures/cases/receive-work-on-cpu-1";
        let case = self.path(name);
        copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join(recorded), &case);
        case
    }

    /// A copy of a recorded case with a trial left to run, whose server only makes the file `marker`.
    fn with_command(&self, name: &str) -> PathBuf {
        let case = self.case(name);
        let command =
            format!("command = \"touch {}\"\naddress = \"127.0.0.1\"", self.path("marker").display());
        let study = fs::read_to_string(case.join("study.toml")).unwrap();
        let study = study
            .replace("netns = \"tbs\"\naddress = \"10.213.7.1\"", &command)
            .replace("netns = \"tbl\"\n", "")
            .replace("load_cpus = [1]", "load_cpus = [0]");
        fs::write(case.join("study.toml"), study).unwrap();
        let trials = fs::read_to_string(case.join("trials.jsonl")).unwrap();
        let last = trials.trim_end().rfind('\n').unwrap();
        fs::write(case.join("trials.jsonl"), &trials[..=last]).unwrap();
        fs::remove_file(case.join("proofs.json")).unwrap();
        case
    }

    /// A file of ours that nobody may change, with its content.
    fn precious(&self) -> PathBuf {
        let path = self.path("precious");
        fs::write(&path, "precious").unwrap();
        path
    }
}

fn said(out: Output) -> (Option<i32>, String) {
    let both = [out.stdout, out.stderr].concat();
    (out.status.code(), String::from_utf8_lossy(&both).into_owned())
}

/// Gives all that is in a folder to `nobody`. Whether that could be done.
fn give_away(dir: &Path) -> bool {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root may give files away");
        return false;
    }
    lchown(dir, Some(NOBODY), Some(NOBODY)).unwrap();
    if dir.is_dir() && !dir.is_symlink() {
        fs::read_dir(dir).unwrap().all(|entry| give_away(&entry.unwrap().path()));
    }
    true
}

/// All files below a folder, with what they hold and when that was changed.
fn everything(dir: &Path) -> Vec<(PathBuf, Vec<u8>, i64)> {
    let mut all = Vec::new();
    for path in fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
        let about = path.symlink_metadata().unwrap();
        match about.is_dir() {
            true => all.extend(everything(&path)),
            false => all.push((path.clone(), fs::read(&path).unwrap_or_default(), about.mtime_nsec())),
        }
    }
    all.sort();
    all
}

#[test]
fn a_report_into_a_foreign_case_is_refused_and_elsewhere_it_is_written() {
    let place = Place::new();
    let (evil, precious) = (place.case("evil"), place.precious());
    symlink(&precious, evil.join("report.html")).unwrap();
    if !give_away(&evil) {
        return;
    }
    let before = everything(&evil);
    place.refuses(
        &["report", "evil"],
        &["evil: belongs to user 65534", "dubious ownership", "-o report.html"],
    );
    assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
    place.good(&["report", "evil", "-o", "elsewhere.html"]);
    assert!(fs::read_to_string(place.path("elsewhere.html")).unwrap().contains("</html>"));
    assert_eq!(everything(&evil), before);
}

#[test]
fn a_foreign_case_is_explained_planned_and_compared_and_stays_as_it_is() {
    let place = Place::new();
    let evil = place.case("evil");
    place.case("ours");
    if !give_away(&evil) {
        return;
    }
    let before = everything(&evil);
    let said = place.good(&["explain", "evil"]);
    assert!(said.contains("CPU 1 is slow") && !said.contains("written"), "{said}");
    place.good(&["compare", "evil", "ours"]);
    let (code, said) = place.runs(&["plan", "evil", "-o", "plan.toml"]);
    assert!([Some(0), Some(1)].contains(&code), "{said}");
    assert_eq!(everything(&evil), before);
}

#[test]
fn no_command_of_a_foreign_case_is_run() {
    let place = Place::new();
    let (ours, evil) = (place.with_command("ours"), place.with_command("evil"));
    if !give_away(&evil) {
        return;
    }
    let plan = "[[setting]]\nknob = \"swappiness\"\ntarget = \"machine\"\nvalue = \"60\"\nbefore = \"60\"\n";
    fs::write(place.path("plan.toml"), plan).unwrap();
    let before = everything(&evil);
    for arguments in [
        &["resume", "evil"][..],
        &["resume", "evil", "--blocks", "+1"],
        &["explain", "evil", "--prove"],
        &["verify", "evil", "--plan", "plan.toml"],
    ] {
        place.refuses(arguments, &["belongs to user 65534", "check the commands in study.toml"]);
        assert!(!place.path("marker").exists(), "{arguments:?} ran its command");
    }
    assert_eq!(everything(&evil), before);
    // That it would have been run.
    let (code, said) = place.runs(&["resume", "ours"]);
    assert!(place.path("marker").exists(), "{code:?}: {said}");
    assert!(ours.join("trials").is_dir());
}

#[test]
fn a_case_is_not_gone_on_with_by_links_or_files_of_others() {
    let place = Place::new();
    let theirs = place.with_command("theirs");
    for (name, words) in [
        ("study.toml", "symbolic link"),
        ("trials.jsonl", "symbolic link"),
        ("trials", "symbolic link"),
        ("data", "symbolic link"),
    ] {
        let case = place.with_command(&format!("links-{name}"));
        fs::create_dir_all(theirs.join("data")).unwrap();
        let (link, to) = (case.join(name), theirs.join(name));
        let _ = fs::remove_file(&link).or_else(|_| fs::remove_dir_all(&link));
        symlink(to, &link).unwrap();
        place.refuses(&["resume", &format!("links-{name}")], &[name, words]);
    }
    let hard = place.with_command("hard");
    fs::hard_link(hard.join("trials.jsonl"), place.path("second-name")).unwrap();
    place.refuses(&["resume", "hard"], &["trials.jsonl", "2 names"]);
    let open = place.with_command("open");
    fs::set_permissions(&open, fs::Permissions::from_mode(0o1777)).unwrap();
    place.refuses(&["resume", "open"], &["everybody may write to it"]);
    if give_away(&theirs.join("study.toml")) {
        place.refuses(&["resume", "theirs"], &["study.toml", "belongs to user 65534"]);
        place.refuses(&["explain", "theirs", "--prove"], &["study.toml", "belongs to user 65534"]);
    }
    assert!(!place.path("marker").exists());
}

#[test]
fn links_in_a_case_of_ours_are_replaced_and_not_followed() {
    let place = Place::new();
    let (case, precious) = (place.case("case"), place.precious());
    let names = ["report.html", "evidence.json", "findings.json"];
    let parts = names.map(|name| format!("{name}.part"));
    for name in names.iter().copied().chain(parts.iter().map(String::as_str)) {
        symlink(&precious, case.join(name)).unwrap();
    }
    place.good(&["report", "case"]);
    assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
    assert!(names.iter().all(|name| !case.join(name).is_symlink()));
    assert!(parts.iter().all(|name| case.join(name).is_symlink()), "no such name is used");
    let all = fs::read_dir(&case).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(
        all.filter(|name| name.to_string_lossy().starts_with('.')).count(),
        0,
        "nothing is left behind"
    );
}

#[test]
fn a_proof_or_verification_does_not_leave_the_case_through_a_link() {
    let place = Place::new();
    let elsewhere = place.path("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let case = place.with_command("case");
    for name in ["proofs", "verify"] {
        let _ = fs::remove_dir_all(case.join(name));
        symlink(&elsewhere, case.join(name)).unwrap();
    }
    let plan = "[[setting]]\nknob = \"swappiness\"\ntarget = \"machine\"\nvalue = \"60\"\nbefore = \"60\"\n";
    fs::write(place.path("plan.toml"), plan).unwrap();
    if Path::new("/proc/sys/vm/swappiness").exists() {
        place.refuses(&["verify", "case", "--plan", "plan.toml"], &["symbolic link"]);
    }
    place.refuses(&["explain", "case", "--prove"], &["symbolic link"]);
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    assert!(!place.path("marker").exists());
}

#[test]
fn who_calls_by_sudo_may_use_a_case_of_his_own_and_reads_the_report() {
    let place = Place::new();
    let case = place.case("case");
    if !give_away(&case) {
        return;
    }
    let (code, said) = place.runs_by_sudo(&["report", "case"], NOBODY - 1);
    assert_eq!(code, Some(NOT_PERMITTED), "{said}");
    let (code, said) = place.runs_by_sudo(&["report", "case"], NOBODY);
    assert_eq!(code, Some(0), "{said}");
    let about = fs::metadata(case.join("report.html")).unwrap();
    assert_eq!((about.uid(), about.mode() & 0o777), (NOBODY, 0o600));
    assert_eq!(fs::metadata(case.join("evidence.json")).unwrap().uid(), 0, "what pinwise reads stays root's");
}

#[test]
fn a_pipe_in_a_case_does_not_hang() {
    let place = Place::new();
    for (name, verbs) in [
        ("study.toml", &["report", "explain", "resume"][..]),
        ("trials.jsonl", &["report", "explain", "resume"]),
    ] {
        let case = place.case(&format!("pipe-{name}"));
        fs::remove_file(case.join(name)).unwrap();
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mkfifoat(rustix::fs::CWD, case.join(name), mode).unwrap();
        for verb in verbs {
            let (code, said) = place.runs(&[verb, &format!("pipe-{name}")]);
            assert!(
                code != Some(0) && said.contains(name) && said.contains("not a regular file"),
                "{verb}: {said}"
            );
        }
    }
    let case = place.case("case");
    let observation = case.join("trials/0003/observation.json");
    fs::remove_file(&observation).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, &observation, rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
    place.good(&["report", "case"]);
}

#[test]
fn output_does_not_go_through_a_link_of_somebody_else() {
    let place = Place::new();
    let precious = place.precious();
    place.case("case");
    symlink("new.html", place.path("ours")).unwrap();
    place.good(&["report", "case", "-o", "ours"]);
    assert!(fs::read_to_string(place.path("new.html")).unwrap().contains("</html>"));
    let html = place.good(&["report", "case", "--format", "json", "-o", "/dev/stdout"]);
    assert!(html.contains("</html>"));
    symlink(&precious, place.path("link")).unwrap();
    if !give_away(&place.path("link")) {
        return;
    }
    for arguments in [&["report", "case", "-o", "link"][..], &["map", "--format", "json", "-o", "link"]] {
        place.refuses(arguments, &["link: it is a symbolic link of user 65534"]);
    }
    assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
}

#[test]
fn no_study_begins_in_a_foreign_folder() {
    let place = Place::new();
    fs::create_dir(place.path("evil")).unwrap();
    if !give_away(&place.path("evil")) {
        return;
    }
    let server = format!("touch {}", place.path("marker").display());
    let short = ["--cpus", "0", "--blocks", "1", "--window", "0.3", "--warm-up", "0.1", "--attempts", "1"];
    place.refuses(
        &[&["study", "--server", &server, "-o", "evil"], &short[..]].concat(),
        &["evil: belongs to user 65534"],
    );
    assert!(!place.path("marker").exists());
    assert_eq!(fs::read_dir(place.path("evil")).unwrap().count(), 0);
}

#[test]
fn what_a_study_makes_is_nobody_elses_to_read() {
    let place = Place::new();
    place.good(&[
        "study",
        "--cpus",
        "0",
        "--blocks",
        "1",
        "--window",
        "0.3",
        "--warm-up",
        "0.1",
        "--attempts",
        "1",
        "-o",
        "case",
    ]);
    let mode = |name: &str| fs::symlink_metadata(place.path("case").join(name)).unwrap().mode() & 0o777;
    for folder in ["", "trials", "trials/0000"] {
        assert_eq!(mode(folder) & 0o766, 0o700, "{folder}: others may pass through at most");
    }
    assert_eq!(mode("machine"), 0o700);
    for file in ["study.toml", "trials.jsonl", "machine.json", "report.html", "trials/0000/observation.json"]
    {
        assert_eq!(mode(file), 0o600, "{file}");
    }
}
