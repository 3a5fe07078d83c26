//! `pinwise map --watch` as a program: frames for a pipe, a terminal that is given back, signals.

// clippy knows only functions marked #[test] as tests; these helpers serve them.
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// The sequences by which a terminal enters the alternate screen, and leaves it.
const ENTER: &str = "\x1b[?1049h";
const LEAVE: &str = "\x1b[?1049l";

const PATIENCE: Duration = Duration::from_secs(30);

fn watch(words: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pinwise"));
    command.args(["map", "--watch"]).args(words).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn signal(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(pid as i32).unwrap(), signal).unwrap();
}

/// Waits until something is so.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "{what} did not happen in {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn each_interval_is_one_json_object_on_one_line() {
    let output =
        watch(&["--interval-ms", "200", "--for", "1", "--format", "json"]).wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let frames: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(!frames.is_empty());
    for frame in &frames {
        assert!(frame["window_s"].as_f64().unwrap() > 0.0 && frame["at_unix_s"].as_f64().unwrap() > 1e9);
        assert!(!frame["groups"][0]["cpus"].as_array().unwrap().is_empty());
        assert!(frame["lines"].is_array() && frame["missing"].is_array());
    }
}

#[test]
fn a_reader_that_goes_away_ends_it() {
    let mut child = watch(&["--interval-ms", "100"]);
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("Linux"), "{line}");
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_signal_ends_it_with_the_code_that_is_documented() {
    for asked in [Signal::INT, Signal::TERM] {
        let mut child = watch(&["--interval-ms", "100"]);
        let mut first = [0];
        child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
        signal(child.id(), asked);
        let status = child.wait_with_output().unwrap().status;
        assert_eq!((status.code(), status.signal()), (Some(130), None), "{asked:?}");
    }
}

#[test]
fn a_capture_stands_still() {
    let output = watch(&["--from", "/nowhere"]).wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}

/// Starts it on a terminal of its own that is written to a file; answers with script(1) and the watching process.
fn on_terminal(log: &Path, words: &str) -> Option<(Child, u32)> {
    // A terminal of script(1) that has no terminal itself has no size.
    let command = format!("stty rows 24 cols 80; exec {} map --watch {words}", env!("CARGO_BIN_EXE_pinwise"));
    let mut script = Command::new("script");
    script.args(["--quiet", "--flush", "--return", "--command", &command]).arg(log);
    script.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).env("TERM", "xterm");
    let child = script.spawn().ok()?;
    let children = format!("/proc/{0}/task/{0}/children", child.id());
    let mut pid = None;
    until("the start on a terminal", || {
        let shown = std::fs::read_to_string(log).is_ok_and(|text| text.contains("q quit"));
        pid = std::fs::read_to_string(&children)
            .ok()
            .and_then(|list| list.split_whitespace().next()?.parse().ok());
        shown && pid.is_some()
    });
    Some((child, pid?))
}

#[test]
fn the_terminal_is_given_back_at_the_end_of_time_and_after_a_signal() {
    let dir = tempfile::tempdir().unwrap();
    for (name, words, asked) in
        [("time", "--for 3", None), ("term", "", Some(Signal::TERM)), ("int", "", Some(Signal::INT))]
    {
        let log = dir.path().join(name);
        let Some((mut script, pid)) = on_terminal(&log, words) else {
            return eprintln!("skipped: script(1) of util-linux is not there");
        };
        if let Some(asked) = asked {
            signal(pid, asked);
        }
        let code = script.wait().unwrap().code();
        assert_eq!(code, Some(if asked.is_some() { 130 } else { 0 }), "{name}");
        let text = String::from_utf8_lossy(&std::fs::read(&log).unwrap()).into_owned();
        let (entered, left) = (text.find(ENTER).unwrap(), text.rfind(LEAVE).unwrap());
        assert!(entered < left, "{name}");
        // The cursor is shown again.
        assert!(text.rfind("\x1b[?25h") > text.rfind("\x1b[?25l"), "{name}");
    }
}
