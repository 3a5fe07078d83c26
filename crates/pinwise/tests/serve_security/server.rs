//! A server of the test's own: on a free port, with a ledger in the folder of the test.

use std::fs::{self, File, Permissions};
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::place::Place;

/// The user and group `nobody`.
const NOBODY: &str = "65534";

/// How long an event may take on a machine that others use, too.
const PATIENCE: Duration = Duration::from_secs(120);

/// The server; it is killed when this is dropped.
pub struct Server {
    child: Child,
    /// Where its first line came from; a closed one would end it where it says more.
    _stdout: BufReader<ChildStdout>,
    /// Where it writes what it says on stderr.
    said: PathBuf,
    /// What it printed to be opened.
    pub url: String,
    pub port: u16,
    pub token: String,
}

impl Server {
    /// Serves the folder `cases` of a place.
    pub fn start(place: &Place, flags: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pinwise"));
        command.args(arguments(place, flags));
        Self::of(place, command)
    }

    /// The one that a command starts.
    pub fn of(place: &Place, mut command: Command) -> Self {
        let said = place.path("said");
        command.env("PINWISE_STATE_DIR", place.path("state")).current_dir(place.dir.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(File::create(&said).unwrap());
        let mut child = command.spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let words = fs::read_to_string(&said).unwrap();
        let url = line.split_whitespace().find(|word| word.contains("#token="));
        let url = url.unwrap_or_else(|| panic!("no address in '{line}': {words}")).to_string();
        let (address, token) = url.split_once("/#token=").unwrap();
        let (port, token) = (address.rsplit(':').next().unwrap().parse().unwrap(), token.to_string());
        Self { child, _stdout: stdout, said, url, port, token }
    }

    /// What it has said on stderr.
    pub fn said(&self) -> String {
        fs::read_to_string(&self.said).unwrap()
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: i32) {
        // SAFETY: a signal to a child of ours that has not been waited for.
        assert_eq!(unsafe { libc::kill(self.child.id() as libc::pid_t, signal) }, 0);
    }

    /// How it ends, which it does by itself.
    pub fn ended(&mut self) -> ExitStatus {
        let child = &mut self.child;
        wait_for("the end of the server", || child.try_wait().unwrap().is_some());
        child.wait().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn arguments<'a>(place: &Place, flags: &[&'a str]) -> Vec<&'a str> {
    fs::create_dir_all(place.path("cases")).unwrap();
    let listen: &[&str] = if flags.contains(&"--listen") { &[] } else { &["--listen", "127.0.0.1:0"] };
    [&["serve", "cases"][..], listen, flags].concat()
}

/// The command that starts it without root; `None` where root cannot be given up, which is said.
pub fn as_nobody(place: &Place, flags: &[&str]) -> Option<Command> {
    let arguments = arguments(place, flags);
    if !rustix::process::geteuid().is_root() {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pinwise"));
        command.args(arguments);
        return Some(command);
    }
    // The folder of the build may be closed to others.
    fs::set_permissions(place.dir.path(), Permissions::from_mode(0o755)).unwrap();
    let program = place.path("pinwise");
    fs::copy(env!("CARGO_BIN_EXE_pinwise"), &program).unwrap();
    let give_up = ["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"];
    if !Command::new("setpriv").args(give_up).arg("true").status().is_ok_and(|status| status.success()) {
        eprintln!("skipped: setpriv(1), which gives up root, is missing or may not");
        return None;
    }
    let mut command = Command::new("setpriv");
    command.args(give_up).arg(&program).args(arguments);
    Some(command)
}

/// The exit code of a server that does not start, and what it says.
pub fn refused_to_start(place: &Place, flags: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pinwise"));
    command.args(arguments(place, flags)).env("PINWISE_STATE_DIR", place.path("state"));
    command.current_dir(place.dir.path()).stdin(Stdio::null());
    let said = File::create(place.path("said")).unwrap();
    let mut child = command.stdout(said.try_clone().unwrap()).stderr(said).spawn().unwrap();
    let until = Instant::now() + PATIENCE;
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break Some(status),
            None if Instant::now() < until => std::thread::sleep(Duration::from_millis(10)),
            None => break None,
        }
    };
    let _ = child.kill();
    let _ = child.wait();
    let said = fs::read_to_string(place.path("said")).unwrap();
    (status.unwrap_or_else(|| panic!("it serves: {said}")).code(), said)
}

/// Waits for an event.
pub fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < until, "{what} did not come");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A recorded case in which CPU 0 is better for the server than any.
pub fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/cases/receive-work-on-cpu-1")
}
