//! Changes that are taken back by themselves unless somebody confirms in time that the machine can still be reached.
//!
//! The revert is armed before the first write, outside of the session that makes the changes: as a transient service of systemd
//! where that runs, else as a process in a session of its own, which outlives the terminal and the network connection.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use machine::{Class, Fault};

use crate::kernel::{Kernel, now_ticks, program};
use crate::ledger::owner::{owner_alive, same_boot};
use crate::ledger::{self, Ledger, Session, is_followed};
use crate::lock::MachineLock;
use crate::record::{Armed, Record, Reverter};

/// The verb that takes an unconfirmed session back.
pub const VERB: &str = "revert";

/// What the process of the revert prints once it cannot be hit by a hang-up any more.
pub const READY: &str = "armed";

/// How long a service may take until it follows the ledger. Its program has been executed by then.
const FOLLOWS_WITHIN: Duration = Duration::from_secs(5);

/// How often it is looked whether it does.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Starts what takes `session` back after its time; says what that is.
///
/// `exe` is the pinwise binary, `state_dir` its folder of state.
///
/// # Errors
/// Neither systemd nor this machine starts it.
pub fn arm(exe: &Path, state_dir: &Path, session: &str) -> Result<Reverter, Fault> {
    start(exe, state_dir, session, &[])
}

/// As [`arm`], with further flags of [`VERB`]. What it has started follows the ledger.
pub(crate) fn start(
    exe: &Path,
    state_dir: &Path,
    session: &str,
    flags: &[String],
) -> Result<Reverter, Fault> {
    if let Some(unit) = systemd_service(exe, state_dir, session, flags) {
        let ledger = ledger::path_of(&ledger::within(state_dir), session);
        if is_followed_within(&ledger, FOLLOWS_WITHIN) {
            return Ok(Reverter::Service { unit });
        }
        // The systemd of a host sees other folders and processes than the container that reaches it.
        stop_unit(&unit);
    }
    own_process(exe, state_dir, session, flags).map(|pid| Reverter::Process { pid })
}

/// Whether a ledger is followed by the end of this time.
fn is_followed_within(ledger: &Path, within: Duration) -> bool {
    let until = Instant::now() + within;
    loop {
        let followed = is_followed(ledger).unwrap_or(false);
        if followed || Instant::now() >= until {
            return followed;
        }
        sleep(LOOK_EVERY);
    }
}

/// A transient service, which waits from now on, so that it needs no disk when its time has come, and is restarted if it fails;
/// `None` where systemd does not run or refuses, and for users: their own systemd ends with their last session.
fn systemd_service(exe: &Path, state_dir: &Path, session: &str, flags: &[String]) -> Option<String> {
    if !Path::new("/run/systemd/system").is_dir() || !rustix::process::geteuid().is_root() {
        return None;
    }
    let unit = format!("pinwise-revert-{session}.service");
    let mut command = program::command("systemd-run");
    command
        .args(["--quiet", "--collect", "--property=Type=exec"])
        .args(["--property=Restart=on-failure", "--property=RestartSec=1", "--property=OOMScoreAdjust=-1000"])
        .arg(format!("--unit={unit}"))
        .arg(format!("--setenv=PINWISE_STATE_DIR={}", state_dir.display()))
        .arg(exe)
        .args([VERB, "--session", session])
        .args(flags);
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status().ok()?;
    status.success().then_some(unit)
}

/// A process that waits by itself; its number.
fn own_process(exe: &Path, state_dir: &Path, session: &str, flags: &[String]) -> Result<u32, Fault> {
    let fault = |cause: &dyn std::fmt::Display| {
        Fault::new(
            Class::MachineLacks,
            "arming the revert",
            cause,
            "nothing was changed; apply without --confirm-within, or fix the cause",
        )
    };
    let mut child = Command::new(exe)
        .args([VERB, "--session", session])
        .args(flags)
        .env("PINWISE_STATE_DIR", state_dir)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| fault(&e))?;
    let mut line = String::new();
    let read = child.stdout.take().map(|out| BufReader::new(out).read_line(&mut line));
    match read {
        Some(Ok(_)) if line.trim() == READY => Ok(child.id()),
        _ => {
            let _ = child.kill();
            let _ = child.wait();
            Err(fault(&"the process that is to undo everything did not get ready"))
        }
    }
}

/// Lets changes stay that wait for it: those of `session`, or of all sessions that wait and whose time is not over. Their ids.
///
/// # Errors
/// None waits; the time is over; another pinwise is changing the machine; the ledger cannot be written.
pub fn confirm(dir: &Path, kernel: &dyn Kernel, session: Option<&str>) -> Result<Vec<String>, Fault> {
    let _lock = MachineLock::take_existing(dir)?;
    let now = now_ticks(kernel)?;
    let wanted = |found: &Session| session.is_none_or(|id| id == found.id());
    let sessions = ledger::sessions(dir)?.into_iter();
    let waiting: Vec<Session> =
        sessions.filter(|found| wanted(found) && found.armed.is_some() && same_boot(found, kernel)).collect();
    let in_time = |found: &&Session| found.armed.as_ref().is_some_and(|armed| now < armed.until_ticks);
    let confirmed: Vec<String> =
        waiting.iter().filter(in_time).map(|found| confirm_one(found, kernel)).collect::<Result<_, _>>()?;
    match (confirmed.is_empty(), waiting.first()) {
        (false, _) => Ok(confirmed),
        (true, Some(late)) => Err(too_late(late)),
        (true, None) => {
            let cause = "no change is waiting to be confirmed";
            let remedy = "see 'pinwise status': what was not confirmed in time has been undone";
            Err(Fault::new(Class::No, session.unwrap_or("confirm"), cause, remedy))
        }
    }
}

/// That no session waits to be confirmed. While one does nothing else is changed: whether the machine can be reached as it is now is
/// not known, and its revert must not have to wait for a study to end.
///
/// # Errors
/// One waits.
pub fn none_waits(sessions: &[Session], kernel: &dyn Kernel) -> Result<(), Fault> {
    let mut waiting = sessions.iter().filter(|found| found.armed.is_some() && same_boot(found, kernel));
    waiting.next().map_or(Ok(()), |found| {
        let cause = "it is waiting to be confirmed, and nothing else is changed until then";
        let remedy = "run 'pinwise confirm' first, or wait until it has been undone";
        Err(Fault::new(Class::No, format!("session {}", found.id()), cause, remedy))
    })
}

fn too_late(session: &Session) -> Fault {
    let (object, cause) = (format!("session {}", session.id()), "the time to confirm it has run out");
    Fault::new(Class::No, object, cause, "apply it again; 'pinwise undo' undoes what is left")
}

fn confirm_one(session: &Session, kernel: &dyn Kernel) -> Result<String, Fault> {
    let id = session.id();
    if owner_alive(session, kernel) {
        let cause = "pinwise apply still works in it";
        return Err(Fault::new(Class::No, format!("session {id}"), cause, "confirm it when that has ended"));
    }
    Ledger::reopen(session, true)?.append(&Record::Confirmed)?;
    stop_service(session);
    Ok(id)
}

/// The service finds the session confirmed by itself, a moment later: stopping it is tidiness.
fn stop_service(session: &Session) {
    if let Some(Armed { by: Reverter::Service { unit }, .. }) = &session.armed {
        stop_unit(unit);
    }
}

/// Has systemd stop a unit, where it can.
fn stop_unit(unit: &str) {
    let mut command = program::command("systemctl");
    let _ = command.args(["stop", unit]).stdout(Stdio::null()).stderr(Stdio::null()).status();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ledger_is_followed_for_as_long_as_its_file_is_held() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("1-1.jsonl");
        std::fs::write(&path, "").unwrap();
        assert!(!is_followed_within(&path, Duration::ZERO));
        let follower = std::fs::File::open(&path).unwrap();
        ledger::follow(&follower).unwrap();
        assert!(is_followed_within(&path, Duration::from_secs(600)), "it is not waited for any longer");
        drop(follower);
        assert!(!is_followed_within(&path, Duration::ZERO));
        assert!(!is_followed_within(&dir.path().join("2-2.jsonl"), Duration::ZERO), "there is none");
    }
}
