//! What becomes of a verb whose output nobody takes: the reader of a pipe has gone, the disk is full, stdout or stderr was closed before
//! it began. Nothing panics, and what is done is done.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test that cannot go on must fail")]

use std::fs::{self, File, OpenOptions};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Storage failed, as documented in `pinwise --help`.
const STORAGE: i32 = 6;

/// Where a stream goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum To {
    /// A pipe whose reader has gone.
    GonePipe,
    /// A file system that is full.
    Full,
    /// Nowhere: the descriptor is closed.
    Closed,
    /// A file, for us to read.
    File,
}

impl To {
    fn open(self, file: &Path) -> Stdio {
        match self {
            Self::GonePipe => std::io::pipe().unwrap().1.into(),
            Self::Full => OpenOptions::new().write(true).open("/dev/full").unwrap().into(),
            Self::Closed => Stdio::null(),
            Self::File => File::create(file).unwrap().into(),
        }
    }
}

/// A folder of its own in which a user runs pinwise.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Runs with stdout and stderr so; the exit code, and what both said where that can be read.
    fn runs_into(&self, arguments: &[&str], stdout: To, stderr: To) -> (Option<i32>, String) {
        let files = ["stdout", "stderr"].map(|name| self.path(name));
        files.iter().for_each(|file| fs::write(file, "").unwrap());
        let mut command = Command::new(env!("CARGO_BIN_EXE_pinwise"));
        command.args(arguments).env("PINWISE_STATE_DIR", self.path("state")).current_dir(self.0.path());
        command.stdin(Stdio::null()).stdout(stdout.open(&files[0])).stderr(stderr.open(&files[1]));
        let closed: Vec<i32> = [(1, stdout), (2, stderr)]
            .iter()
            .filter(|(_, to)| *to == To::Closed)
            .map(|(fd, _)| *fd)
            .collect();
        // SAFETY: close(2) is all that the child calls between fork and exec.
        unsafe {
            command.pre_exec(move || {
                closed.iter().for_each(|fd| _ = libc::close(*fd));
                Ok(())
            });
        }
        let status = command.status().unwrap();
        let said: String = files.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
        assert!(
            status.code().is_some_and(|code| code != 101),
            "{arguments:?} {stdout:?} {stderr:?}: {status} {said}"
        );
        assert!(!said.contains("panicked"), "{arguments:?} {stdout:?} {stderr:?}: {said}");
        (status.code(), said)
    }
}

const SHORT: [&str; 10] =
    ["--cpus", "0", "--blocks", "1", "--window", "0.3", "--warm-up", "0.1", "--attempts", "1"];

/// Trials that a study of [`SHORT`] runs; each is a line of its list.
fn trials(case: &Path) -> usize {
    fs::read_to_string(case.join("trials.jsonl")).unwrap().lines().count()
}

#[test]
fn a_study_comes_to_its_end_whoever_reads_it() {
    let place = Place::new();
    place.runs_into(&[&["study", "-o", "read"], &SHORT[..]].concat(), To::File, To::File);
    let whole = trials(&place.path("read"));
    for (stdout, stderr, code) in [
        (To::GonePipe, To::GonePipe, 0),
        (To::Closed, To::Closed, 0),
        (To::File, To::Full, 0),
        (To::Full, To::Full, STORAGE),
        (To::Full, To::File, STORAGE),
    ] {
        let name = format!("{stdout:?}-{stderr:?}");
        let arguments = [&["study", "-o", &name], &SHORT[..]].concat();
        let (ended, said) = place.runs_into(&arguments, stdout, stderr);
        assert_eq!(ended, Some(code), "{name}: {said}");
        let case = place.path(&name);
        assert_eq!(trials(&case), whole, "{name}");
        for file in ["report.html", "evidence.json", "findings.json", "machine.json"] {
            assert!(case.join(file).exists(), "{name}: {file}");
        }
        // What pinwise says has not gone into a file that got the number of a closed stream.
        for file in ["study.toml", "trials.jsonl", "report.html"] {
            assert!(!fs::read_to_string(case.join(file)).unwrap().contains("trial 1/"), "{name}: {file}");
        }
        assert!(stderr != To::File || said.contains(&format!("case    {name}")), "{said}");
        let (status, said) = place.runs_into(&["status"], To::File, To::File);
        assert!(status == Some(0) && said.contains("Nothing is changed"), "{said}");
    }
}

#[test]
fn what_only_prints_says_by_its_exit_code_whether_it_could() {
    let place = Place::new();
    let plan = "[[setting]]\nknob = \"swappiness\"\ntarget = \"machine\"\nvalue = \"60\"\n";
    fs::write(place.path("plan.toml"), plan).unwrap();
    for arguments in [
        &["map"][..],
        &["map", "--format", "json"],
        &["status"],
        &["status", "--format", "json"],
        &["list", "knobs"],
        &["list", "knobs", "--format", "json"],
        &["apply", "plan.toml", "--dry-run"],
        &["map", "--watch", "--for", "1", "--interval-ms", "200"],
        &["watch", "--for", "200ms"],
        &["watch", "--for", "200ms", "--format", "csv"],
        &["noise", "--for", "100ms"],
        &["man"],
        &["completions", "bash"],
        &["--help"],
        &["--version"],
    ] {
        let (usual, _) = place.runs_into(arguments, To::File, To::File);
        for gone in [To::GonePipe, To::Closed] {
            let (code, said) = place.runs_into(arguments, gone, To::File);
            assert_eq!(code, usual, "{arguments:?} {gone:?}: {said}");
            let (code, _) = place.runs_into(arguments, gone, gone);
            assert_eq!(code, usual, "{arguments:?} {gone:?}");
        }
        // One that fails otherwise may find no word to print.
        let full = if usual == Some(0) { Some(STORAGE) } else { usual };
        let (code, said) = place.runs_into(arguments, To::Full, To::File);
        assert!(code == full || code == Some(STORAGE), "{arguments:?}: {code:?} {said}");
        assert!(code != Some(STORAGE) || said.contains("stdout"), "{said}");
        place.runs_into(arguments, To::Full, To::Full);
    }
}

#[test]
fn an_error_that_nobody_reads_keeps_its_code() {
    let place = Place::new();
    for (arguments, code) in
        [(&["report", "nosuch"][..], 2), (&["map", "--nosuch"], 2), (&["list", "nosuch"], 2)]
    {
        let (usual, said) = place.runs_into(arguments, To::File, To::File);
        assert_eq!(usual, Some(code), "{said}");
        for gone in [To::GonePipe, To::Full, To::Closed] {
            assert_eq!(place.runs_into(arguments, To::File, gone).0, usual, "{arguments:?} {gone:?}");
        }
    }
}

#[test]
fn a_file_does_not_get_the_number_of_a_closed_stream() {
    let place = Place::new();
    for to in [To::Closed, To::Full] {
        let (code, _) = place.runs_into(&["map", "--format", "json", "-o", "map.json"], To::Closed, to);
        assert_eq!(code, Some(0));
        let text = fs::read_to_string(place.path("map.json")).unwrap();
        assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{text}");
    }
}

/// Puts a setting in force and takes it back: on a machine of the test's own alone (root, a knob that may be set to what it is not).
#[test]
#[ignore = "sets a knob of this machine: part of the ground truth"]
fn what_was_applied_stays_in_force_where_nobody_reads_it() {
    const KNOB: &str = "/proc/sys/vm/swappiness";
    if !rustix::process::geteuid().is_root() || OpenOptions::new().write(true).open(KNOB).is_err() {
        return eprintln!("skipped: {KNOB} cannot be set");
    }
    let before = fs::read_to_string(KNOB).unwrap();
    let new = if before.trim() == "59" { "58" } else { "59" };
    let place = Place::new();
    let plan = format!("[[setting]]\nknob = \"swappiness\"\ntarget = \"machine\"\nvalue = \"{new}\"\n");
    fs::write(place.path("plan.toml"), plan).unwrap();
    for (stdout, stderr, code) in [
        (To::Full, To::File, STORAGE),
        (To::Full, To::Full, STORAGE),
        (To::GonePipe, To::GonePipe, 0),
        (To::Closed, To::Closed, 0),
    ] {
        let (ended, said) = place.runs_into(&["apply", "plan.toml"], stdout, stderr);
        assert_eq!(ended, Some(code), "{stdout:?}: {said}");
        assert_eq!(fs::read_to_string(KNOB).unwrap().trim(), new, "{stdout:?}: {said}");
        assert!(stderr != To::File || said.contains("in force nevertheless"), "{said}");
        let (undone, said) = place.runs_into(&["undo"], stdout, stderr);
        assert_eq!(undone, Some(code), "{said}");
        assert_eq!(fs::read_to_string(KNOB).unwrap(), before, "{said}");
    }
}
