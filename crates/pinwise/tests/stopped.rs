//! What stops a run: signals, a terminal that is closed, a limit on the size of files. The machine is as it was afterwards, or what is left is
//! named. No test here measures anything; those that set a knob of this machine are part of the ground truth.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test that cannot go on must fail")]

mod place;
#[path = "stopped/terminal.rs"]
mod terminal;

use std::fs;
use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use place::Place;
use terminal::Terminal;

/// Stopped by a signal, and the machine is as it was.
const STOPPED: i32 = 130;
/// Something was not undone.
const NO: i32 = 1;
/// Files could not be written.
const STORAGE: i32 = 6;

/// What a further signal is answered with.
const ANSWER: &str = "undoing what was changed; kill -KILL";

/// A study of some trials of 3 s, without a pilot.
const STUDY: [&str; 10] = ["study", "--cpus", "0", "--blocks", "1", "--window", "3", "--attempts", "1", "-o"];

impl Place {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pinwise"));
        command.args(arguments).env("PINWISE_STATE_DIR", self.path("state")).current_dir(self.dir.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // SAFETY: signal(2) is all that the child calls between fork and exec. Whoever runs the tests may ignore it.
        unsafe {
            command.pre_exec(|| {
                libc::signal(libc::SIGHUP, libc::SIG_DFL);
                Ok(())
            });
        }
        command
    }

    fn nothing_is_changed(&self) {
        let out = self.pinwise(&["status"]);
        let said = String::from_utf8_lossy(&out.stdout);
        assert!(said.contains("Nothing is changed"), "{said}");
    }

    /// The lines of all ledgers.
    fn ledgers(&self) -> String {
        let files = fs::read_dir(self.path("state/ledger")).into_iter().flatten().flatten();
        files.filter_map(|file| fs::read_to_string(file.path()).ok()).collect()
    }
}

fn send(child: &Child, signal: i32) {
    // SAFETY: a signal to a child of ours that has not been waited for.
    assert_eq!(unsafe { libc::kill(child.id() as libc::pid_t, signal) }, 0);
}

/// Waits for an event, and fails if the process ends before.
fn wait_for(what: &str, child: &mut Child, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself before: {what}");
        assert!(Instant::now() < until, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// How it ended, and all that it said.
fn ended(mut child: Child) -> (ExitStatus, String) {
    let mut said = [String::new(), String::new()];
    let mut stderr = child.stderr.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        stderr.read_to_string(&mut text).map(|_| text)
    });
    child.stdout.take().unwrap().read_to_string(&mut said[0]).unwrap();
    said[1] = reader.join().unwrap().unwrap();
    (child.wait().unwrap(), said.concat())
}

/// Stops a study whose server takes its time to end, or none, and sends further signals meanwhile.
fn stopped_with_further(place: &Place, takes_its_time: bool, further: &[i32]) -> (ExitStatus, String) {
    let then = if takes_its_time { "" } else { "; exit" };
    let server = format!(
        "sh -c 'echo $$ > pid; trap \": > got{then}\" TERM; : > up; {} string-server --address {{address}} --port {{port}} \
         --rounds 1000 & while :; do wait; sleep 0.1; done'",
        env!("CARGO_BIN_EXE_pinwise")
    );
    let arguments = [&STUDY[..], &["case", "--server", &server]].concat();
    let mut study = place.command(&arguments).spawn().unwrap();
    wait_for("the server runs", &mut study, || place.path("up").exists());
    send(&study, libc::SIGINT);
    wait_for("the server is asked to end", &mut study, || place.path("got").exists());
    further.iter().for_each(|signal| send(&study, *signal));
    ended(study)
}

#[test]
fn a_further_signal_is_answered_and_everything_is_taken_back() {
    let place = Place::new();
    let further = [libc::SIGINT, libc::SIGHUP, libc::SIGTERM, libc::SIGINT];
    let (status, said) = stopped_with_further(&place, true, &further);
    assert_eq!(status.code(), Some(STOPPED), "{status} {said}");
    assert!(said.contains(ANSWER) && said.contains("pinwise undo"), "{said}");
    assert!(said.contains("nothing was kept; the machine is as it was"), "{said}");
    let pid = fs::read_to_string(place.path("pid")).unwrap();
    assert!(!Path::new("/proc").join(pid.trim()).exists(), "the server is gone");
    assert!(!place.path("case").exists());
    place.nothing_is_changed();
}

#[test]
fn a_single_signal_needs_no_answer() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        let place = Place::new();
        let mut study = place.command(&[&STUDY[..], &["case"]].concat()).spawn().unwrap();
        let log = place.path("case/trials/0000/server.log");
        wait_for("a trial begins", &mut study, || log.exists());
        send(&study, signal);
        let (status, said) = ended(study);
        assert_eq!(status.code(), Some(STOPPED), "{said}");
        assert!(!said.contains(ANSWER) && said.contains("the machine is as it was"), "{said}");
        place.nothing_is_changed();
    }
    let place = Place::new();
    let (status, said) = stopped_with_further(&place, false, &[]);
    assert_eq!((status.code(), said.contains(ANSWER)), (Some(STOPPED), false), "{said}");
}

#[test]
fn a_server_that_never_listens_does_not_keep_a_study_from_being_stopped() {
    let place = Place::new();
    fs::write(
        place.path("r.toml"),
        "[server]\ncommand = 'sh -c \"touch up; sleep 600\"'\nready_timeout_s = 600\n",
    )
    .unwrap();
    let arguments = [&["study", "r.toml"], &STUDY[1..], &["case"]].concat();
    let mut study = place.command(&arguments).spawn().unwrap();
    wait_for("the server runs", &mut study, || place.path("up").exists());
    send(&study, libc::SIGINT);
    let (status, said) = ended(study);
    assert_eq!(status.code(), Some(STOPPED), "{said}");
    place.nothing_is_changed();
}

fn trials(case: &Path) -> usize {
    fs::read_to_string(case.join("trials.jsonl")).map_or(0, |trials| trials.lines().count())
}

/// A study on a terminal that is closed once a trial is finished, with SIGHUP as said; the exit code.
fn on_a_terminal_that_closes(place: &Place, disposition: libc::sighandler_t) -> ExitStatus {
    let mut terminal = Terminal::new();
    let arguments = [
        "study",
        "--cpus",
        "0",
        "--blocks",
        "2",
        "--window",
        "0.5",
        "--warm-up",
        "0",
        "--attempts",
        "1",
        "-o",
        "case",
    ];
    let mut command = place.command(&arguments);
    terminal.controls(&mut command, disposition);
    let mut study = command.spawn().unwrap();
    drop(command);
    let case = place.path("case");
    wait_for("a trial is finished", &mut study, || {
        terminal.drain();
        trials(&case) > 0
    });
    drop(terminal);
    // As the shell, which hands on what it gets itself.
    if study.try_wait().unwrap().is_none() {
        send(&study, libc::SIGHUP);
    }
    study.wait().unwrap()
}

#[test]
fn a_closed_terminal_stops_a_study_and_everything_is_taken_back() {
    let place = Place::new();
    let status = on_a_terminal_that_closes(&place, libc::SIG_DFL);
    assert_eq!(status.code(), Some(STOPPED), "{status}");
    place.nothing_is_changed();
    assert!(trials(&place.path("case")) > 0);
    let out = place.pinwise(&["resume", "case"]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
}

#[test]
fn a_closed_terminal_does_not_stop_what_ignores_hang_ups() {
    let place = Place::new();
    let status = on_a_terminal_that_closes(&place, libc::SIG_IGN);
    // Nobody could be given the answer: it is in the case.
    assert_eq!(status.code(), Some(STORAGE), "{status}");
    for file in ["report.html", "evidence.json", "findings.json"] {
        assert!(place.path("case").join(file).exists(), "{file}");
    }
    place.nothing_is_changed();
}

/// Has what is started write no file beyond so many bytes.
fn limit(command: &mut Command, bytes: u64) {
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
    // SAFETY: setrlimit(2) and signal(2) are all that the child calls between fork and exec.
    unsafe {
        command.pre_exec(move || {
            libc::signal(libc::SIGXFSZ, libc::SIG_DFL);
            match libc::setrlimit(libc::RLIMIT_FSIZE, &limit) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        });
    }
}

#[test]
fn a_study_that_may_not_write_large_files_names_one_and_leaves_nothing() {
    let arguments =
        ["study", "--cpus", "0", "--blocks", "1", "--window", "0.3", "--warm-up", "0.1", "--attempts", "1"];
    for bytes in [0, 100, 1_000, 10_000] {
        let place = Place::new();
        let mut command = place.command(&[&arguments[..], &["-o", "case"]].concat());
        limit(&mut command, bytes);
        let (status, said) = ended(command.spawn().unwrap());
        assert_eq!(status.code(), Some(STORAGE), "{bytes} bytes: {status} {said}");
        let names_one = ["case/", "state/ledger/"].iter().any(|file| said.contains(file));
        assert!(
            names_one && said.contains("File too large") && said.contains("ulimit -f"),
            "{bytes}: {said}"
        );
        assert!(!place.path("case").exists(), "{bytes} bytes: {said}");
        place.nothing_is_changed();
    }
    let place = Place::new();
    let mut command = place.command(&[&arguments[..], &["-o", "case"]].concat());
    limit(&mut command, 100 << 20);
    let (status, said) = ended(command.spawn().unwrap());
    assert_eq!(status.code(), Some(0), "{said}");
}

#[test]
fn what_a_study_starts_has_the_usual_signals() {
    let place = Place::new();
    let server = "sh -c 'grep ^SigIgn: /proc/$$/status; exit 3'";
    let (status, said) =
        ended(place.command(&[&STUDY[..], &["case", "--server", server]].concat()).spawn().unwrap());
    assert_eq!(status.code(), Some(5), "{said}");
    let digits = said.rsplit("SigIgn:").next().unwrap().chars().skip_while(|c| !c.is_ascii_hexdigit());
    let ignored = u64::from_str_radix(&digits.take(16).collect::<String>(), 16).unwrap();
    // The C library keeps those from 32 on for itself.
    assert_eq!(ignored & 0x7fff_ffff, 0, "{said}");
}

const KNOB: &str = "/proc/sys/vm/swappiness";

/// The knob of this machine, which goes back whatever the test does; `None` where it cannot be set.
struct Knob(String);

impl Knob {
    fn new() -> Option<Self> {
        if !rustix::process::geteuid().is_root() || fs::OpenOptions::new().write(true).open(KNOB).is_err() {
            eprintln!("skipped: {KNOB} cannot be set");
            return None;
        }
        Some(Self(fs::read_to_string(KNOB).unwrap()))
    }

    fn now() -> String {
        fs::read_to_string(KNOB).unwrap().trim().to_string()
    }

    fn is_as_before(&self) -> bool {
        Self::now() == self.0.trim()
    }
}

impl Drop for Knob {
    fn drop(&mut self) {
        let _ = fs::write(KNOB, &self.0);
    }
}

/// A plan that sets the knob to one value after the other.
fn plan(place: &Place, values: impl Iterator<Item = u32>) {
    let setting =
        |value| format!("[[setting]]\nknob = \"swappiness\"\ntarget = \"machine\"\nvalue = \"{value}\"\n");
    fs::write(place.path("plan.toml"), values.map(setting).collect::<String>()).unwrap();
}

/// So many acts that signals come in the middle of them.
const MANY: u32 = 1500;

#[test]
#[ignore = "sets a knob of this machine: part of the ground truth"]
fn an_apply_and_an_undo_are_stopped_by_no_number_of_signals_before_all_is_as_it_was() {
    let Some(knob) = Knob::new() else { return };
    let place = Place::new();
    let values = || (0..MANY).map(|n| 11 + n % 2);
    plan(&place, values());
    let mut apply = place.command(&["apply", "plan.toml", "--format", "json"]).spawn().unwrap();
    // So many that taking them back takes a while on a fast disk, too.
    let done = || place.ledgers().matches("\"done\"").count();
    wait_for("most acts are done", &mut apply, || done() > MANY as usize / 2);
    send(&apply, libc::SIGINT);
    wait_for("an act is taken back", &mut apply, || place.ledgers().contains("\"undone\""));
    [libc::SIGINT, libc::SIGHUP, libc::SIGTERM].into_iter().for_each(|signal| send(&apply, signal));
    let (status, said) = ended(apply);
    assert_eq!(status.code(), Some(STOPPED), "{said}");
    assert!(said.contains(ANSWER) && knob.is_as_before(), "{said}");
    place.nothing_is_changed();

    let (status, said) = ended(place.command(&["apply", "plan.toml", "--format", "json"]).spawn().unwrap());
    assert_eq!(status.code(), Some(0), "{said}");
    let mut undo = place.command(&["undo"]).spawn().unwrap();
    wait_for("an act is taken back", &mut undo, || place.ledgers().contains("\"undone\""));
    [libc::SIGINT, libc::SIGHUP, libc::SIGTERM].into_iter().for_each(|signal| send(&undo, signal));
    let (status, said) = ended(undo);
    assert_eq!(status.code(), Some(0), "{said}");
    assert!(said.contains(ANSWER) && knob.is_as_before(), "{said}");
    place.nothing_is_changed();
}

#[test]
#[ignore = "sets a knob of this machine: part of the ground truth"]
fn a_study_that_is_stopped_says_by_its_exit_code_whether_the_machine_is_as_it_was() {
    let Some(knob) = Knob::new() else { return };
    for by_others in [false, true] {
        let place = Place::new();
        fs::write(
            place.path("r.toml"),
            "[[settings]]\nknob = \"swappiness\"\ntarget = \"machine\"\nvalue = \"11\"\n",
        )
        .unwrap();
        let arguments = [&["study", "r.toml"], &STUDY[1..], &["case"]].concat();
        let mut study = place.command(&arguments).spawn().unwrap();
        wait_for("the setting is made", &mut study, || {
            place.ledgers().contains("\"done\"") && Knob::now() == "11"
        });
        if by_others {
            fs::write(KNOB, "12").unwrap();
        }
        send(&study, libc::SIGINT);
        let (status, said) = ended(study);
        if !by_others {
            assert_eq!(status.code(), Some(STOPPED), "{said}");
            assert!(knob.is_as_before() && said.contains("the machine is as it was"), "{said}");
            place.nothing_is_changed();
            continue;
        }
        assert_eq!(status.code(), Some(NO), "{said}");
        assert!(said.contains(KNOB) && said.contains("pinwise undo"), "{said}");
        assert!(!said.contains("the machine is as it was"), "{said}");
        assert_eq!(Knob::now(), "12", "what others set is left alone");
        assert!(String::from_utf8_lossy(&place.pinwise(&["status"]).stdout).contains(KNOB));
        assert!(place.pinwise(&["undo", "--force"]).status.success());
        assert!(knob.is_as_before());
    }
}

#[test]
#[ignore = "sets a knob of this machine: part of the ground truth"]
fn an_apply_whose_ledger_cannot_grow_changes_nothing_and_an_undo_needs_no_room() {
    let Some(knob) = Knob::new() else { return };
    let place = Place::new();
    plan(&place, [11, 12, 13].into_iter());
    let mut refused = 0;
    for bytes in (0..).step_by(150) {
        let mut command = place.command(&["apply", "plan.toml"]);
        limit(&mut command, bytes);
        let (status, said) = ended(command.spawn().unwrap());
        if status.success() {
            break;
        }
        refused += 1;
        assert_eq!(status.code(), Some(STORAGE), "{bytes} bytes: {status} {said}");
        assert!(said.contains("state/ledger/") && said.contains("ulimit -f"), "{bytes} bytes: {said}");
        assert!(knob.is_as_before(), "{bytes} bytes: {said}");
        place.nothing_is_changed();
    }
    assert!(refused > 5, "{refused} limits");
    assert_eq!(Knob::now(), "13");
    let mut command = place.command(&["undo"]);
    limit(&mut command, 0);
    let (status, said) = ended(command.spawn().unwrap());
    assert_eq!(status.code(), Some(0), "{said}");
    assert!(knob.is_as_before());
    place.nothing_is_changed();
}
