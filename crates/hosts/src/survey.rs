//! The captures of many hosts, several at a time.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use machine::{Class, Fault};

use crate::connection::Connection;
use crate::host::{self, HostSpec};
use crate::protocol::{Answer, Ask};
use crate::transport::Transport;

/// How many hosts are reached at the same time unless the user says otherwise: most of that time passes in waiting for them.
pub const AT_A_TIME: usize = 16;

/// Takes what came of one host: how many are finished with this one, its name, and its capture (a tar.zst) or why there is none.
pub type Each<'a> = &'a (dyn Fn(usize, &str, Result<Vec<u8>, Fault>) + Sync);

/// Reaches all `hosts`, `at_most` of them at the same time, and hands the capture of each to `each` as soon as it is there; `exe` is the
/// binary that is copied to them. A host that fails is handed over with its fault, and stops no other.
///
/// No capture is kept here, so that there are never more than `at_most` of them in memory. `each` is called by several threads.
///
/// # Errors
/// A host of the list makes no sense or is in it twice; no temporary folder can be made; `interrupted` was raised, after which no other
/// host is reached, and nothing more is handed over.
pub fn captures(
    hosts: &[HostSpec],
    exe: &Path,
    at_most: usize,
    interrupted: &AtomicBool,
    each: Each<'_>,
) -> Result<(), Fault> {
    host::check_all(hosts)?;
    let transport = Transport::new()?;
    let capture = |host: &HostSpec| -> Result<Vec<u8>, Fault> {
        let mut connection = Connection::open(host, exe, &transport)?;
        capture_of(&mut connection)
    };
    in_parallel(hosts, at_most, interrupted, &capture, each)
}

/// The capture of a connected host, a tar.zst.
///
/// # Errors
/// The host is lost, cannot be read, or answers what is no capture.
fn capture_of(connection: &mut Connection) -> Result<Vec<u8>, Fault> {
    let answer = connection.ask(Ask::Capture)?;
    let object = format!("host {}: capture", connection.host().name);
    match answer {
        Answer::Capture { archive } => {
            let decoded = STANDARD.decode(archive);
            decoded.map_err(|error| Fault::new(Class::WorkloadFailed, object, error, "try again"))
        }
        _ => {
            let cause = "its agent answers what was not asked";
            let remedy = "this is a bug in pinwise; please report it";
            Err(Fault::new(Class::WorkloadFailed, object, cause, remedy))
        }
    }
}

/// Has `at_most` threads take one host after the other from the list.
fn in_parallel(
    hosts: &[HostSpec],
    at_most: usize,
    interrupted: &AtomicBool,
    capture: &(dyn Fn(&HostSpec) -> Result<Vec<u8>, Fault> + Sync),
    each: Each<'_>,
) -> Result<(), Fault> {
    let is_interrupted = || interrupted.load(Ordering::Relaxed);
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let take_hosts = || {
        while let Some(host) = hosts.get(next.fetch_add(1, Ordering::Relaxed)).filter(|_| !is_interrupted()) {
            let captured = capture(host);
            // Ctrl-C ends each ssh as well, which is no fault of its host.
            if is_interrupted() {
                return;
            }
            each(done.fetch_add(1, Ordering::Relaxed) + 1, &host.name, captured);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..at_most.clamp(1, hosts.len().max(1)) {
            scope.spawn(take_hosts);
        }
    });
    match is_interrupted() {
        true => Err(Fault::new(Class::Interrupted, "captures of the hosts", "stopped by a signal", "")),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::{Barrier, Mutex};

    use super::*;

    fn hosts(count: usize) -> Vec<HostSpec> {
        (0..count).map(|number| HostSpec::named(format!("node{number}"))).collect()
    }

    fn refused(host: &HostSpec) -> Fault {
        Fault::new(Class::WorkloadFailed, format!("host {}", host.name), "is down", "switch it on")
    }

    #[test]
    fn a_host_that_fails_is_handed_over_and_stops_no_other() {
        let capture = |host: &HostSpec| -> Result<Vec<u8>, Fault> {
            match host.name.as_str() {
                "node3" => Err(refused(host)),
                name => Ok(name.as_bytes().to_vec()),
            }
        };
        let seen = Mutex::new(Vec::new());
        let each = |done: usize, name: &str, captured: Result<Vec<u8>, Fault>| {
            seen.lock().unwrap().push((done, name.to_string(), captured));
        };
        in_parallel(&hosts(9), 4, &AtomicBool::new(false), &capture, &each).unwrap();
        let seen = seen.into_inner().unwrap();
        let done: BTreeSet<usize> = seen.iter().map(|(done, ..)| *done).collect();
        assert_eq!(done, (1..=9).collect(), "each is counted once");
        for (_, name, captured) in seen {
            match captured {
                Ok(bytes) => assert_eq!(bytes, name.as_bytes()),
                Err(fault) => assert!(name == "node3" && fault.to_string().contains("host node3: is down")),
            }
        }
    }

    #[test]
    fn as_many_hosts_as_asked_for_are_reached_at_the_same_time_and_no_more() {
        // Each waits until three of them are on their way.
        let (together, running, most) = (Barrier::new(3), AtomicUsize::new(0), AtomicUsize::new(0));
        let capture = |_: &HostSpec| -> Result<Vec<u8>, Fault> {
            most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            together.wait();
            running.fetch_sub(1, Ordering::SeqCst);
            Ok(Vec::new())
        };
        in_parallel(&hosts(6), 3, &AtomicBool::new(false), &capture, &|_, _, _| {}).unwrap();
        assert_eq!(most.load(Ordering::SeqCst), 3);
    }

    #[test]
    fn after_an_interruption_no_host_is_reached_and_none_is_blamed_for_it() {
        let interrupted = AtomicBool::new(false);
        let reached = AtomicUsize::new(0);
        let capture = |host: &HostSpec| -> Result<Vec<u8>, Fault> {
            if reached.fetch_add(1, Ordering::SeqCst) == 1 {
                interrupted.store(true, Ordering::SeqCst);
                return Err(refused(host));
            }
            Ok(Vec::new())
        };
        let seen = Mutex::new(Vec::new());
        let each = |_: usize, name: &str, _: Result<Vec<u8>, Fault>| {
            seen.lock().unwrap().push(name.to_string());
        };
        let fault = in_parallel(&hosts(9), 1, &interrupted, &capture, &each).unwrap_err();
        assert_eq!(fault.class, Class::Interrupted);
        assert_eq!((reached.into_inner(), seen.into_inner().unwrap()), (2, vec!["node0".to_string()]));
    }

    #[test]
    fn a_list_without_hosts_is_finished_at_once_and_one_that_makes_no_sense_is_refused() {
        let (flag, calls) = (AtomicBool::new(false), AtomicUsize::new(0));
        let each = |_: usize, _: &str, _: Result<Vec<u8>, Fault>| {
            calls.fetch_add(1, Ordering::SeqCst);
        };
        captures(&[], Path::new("/nonexistent"), 0, &flag, &each).unwrap();
        let twice = [HostSpec::named("b"), HostSpec::named("b")];
        let fault = captures(&twice, Path::new("/nonexistent"), 16, &flag, &each).unwrap_err();
        assert!(fault.to_string().contains("twice"), "{fault}");
        assert_eq!(calls.into_inner(), 0);
    }
}
