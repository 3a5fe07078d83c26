//! The captures of many hosts, several at a time.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use machine::{Class, Fault};

use crate::connection::Connection;
use crate::host::{self, HostSpec};
use crate::transport::Transport;

/// How many hosts are reached at the same time unless the user says otherwise: most of that time passes in waiting for them.
pub const AT_A_TIME: usize = 16;

/// Takes what came of one host: its name, and its capture (a tar.zst) or why there is none.
pub type Each<'a> = &'a (dyn Fn(&str, Result<Vec<u8>, Fault>) + Sync);

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
        connection.capture()
    };
    hand_over(hosts, at_most, interrupted, &capture, each)
}

/// Hands over what came of each host, until a signal comes.
fn hand_over(
    hosts: &[HostSpec],
    at_most: usize,
    interrupted: &AtomicBool,
    capture: &(dyn Fn(&HostSpec) -> Result<Vec<u8>, Fault> + Sync),
    each: Each<'_>,
) -> Result<(), Fault> {
    let take = |host: &HostSpec| {
        let captured = capture(host);
        // Ctrl-C ends each ssh as well, which is no fault of its host.
        if !interrupted.load(Ordering::Relaxed) {
            each(&host.name, captured);
        }
    };
    in_parallel(hosts, at_most, interrupted, "captures of the hosts", &take)
}

/// Has `at_most` threads take one after the other of a list. `what` is the object of the fault where a signal stops them.
///
/// # Errors
/// `interrupted` was raised, after which no other is taken.
pub fn in_parallel<T: Sync>(
    list: &[T],
    at_most: usize,
    interrupted: &AtomicBool,
    what: &str,
    take: &(dyn Fn(&T) + Sync),
) -> Result<(), Fault> {
    let is_interrupted = || interrupted.load(Ordering::Relaxed);
    let next = AtomicUsize::new(0);
    let take_some = || {
        while let Some(one) = list.get(next.fetch_add(1, Ordering::Relaxed)).filter(|_| !is_interrupted()) {
            take(one);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..at_most.clamp(1, list.len().max(1)) {
            scope.spawn(take_some);
        }
    });
    match is_interrupted() {
        true => Err(Fault::new(Class::Interrupted, what, "stopped by a signal", "")),
        false => Ok(()),
    }
}

/// As [`in_parallel`], with what came of each, in the order of the list; none of one that was not taken, since `interrupted` was raised.
pub fn answers_in_parallel<T: Sync, R: Send>(
    list: &[T],
    at_most: usize,
    interrupted: &AtomicBool,
    answer: &(dyn Fn(&T) -> R + Sync),
) -> Vec<Option<R>> {
    let slots: Vec<(&T, Mutex<Option<R>>)> = list.iter().map(|one| (one, Mutex::new(None))).collect();
    // That a signal came is seen by the slots that stay empty.
    let _ = in_parallel(&slots, at_most, interrupted, "", &|(one, slot)| {
        let answered = answer(one);
        *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(answered);
    });
    slots.into_iter().map(|(_, slot)| slot.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Barrier;

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
        let each = |name: &str, captured: Result<Vec<u8>, Fault>| {
            seen.lock().unwrap().push((name.to_string(), captured));
        };
        hand_over(&hosts(9), 4, &AtomicBool::new(false), &capture, &each).unwrap();
        let seen = seen.into_inner().unwrap();
        let names: BTreeSet<String> = seen.iter().map(|(name, _)| name.clone()).collect();
        assert_eq!(names, hosts(9).into_iter().map(|host| host.name).collect());
        assert_eq!(seen.len(), 9, "each is handed over once");
        for (name, captured) in seen {
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
        hand_over(&hosts(6), 3, &AtomicBool::new(false), &capture, &|_, _| {}).unwrap();
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
        let each = |name: &str, _: Result<Vec<u8>, Fault>| {
            seen.lock().unwrap().push(name.to_string());
        };
        let fault = hand_over(&hosts(9), 1, &interrupted, &capture, &each).unwrap_err();
        assert_eq!(fault.class, Class::Interrupted);
        assert_eq!((reached.into_inner(), seen.into_inner().unwrap()), (2, vec!["node0".to_string()]));
    }

    #[test]
    fn answers_stand_in_the_order_of_the_list_and_what_was_not_taken_has_none() {
        let numbers: Vec<usize> = (0..50).collect();
        let answers = answers_in_parallel(&numbers, 8, &AtomicBool::new(false), &|number: &usize| number + 1);
        assert_eq!(answers, (1..=50).map(Some).collect::<Vec<_>>());
        let interrupted = AtomicBool::new(false);
        let until_three = |number: &usize| {
            interrupted.store(*number == 3, Ordering::SeqCst);
            *number
        };
        let answers = answers_in_parallel(&[2_usize, 3, 4], 1, &interrupted, &until_three);
        assert_eq!(answers, [Some(2), Some(3), None]);
    }

    #[test]
    fn a_list_without_hosts_is_finished_at_once_and_one_that_makes_no_sense_is_refused() {
        let (flag, calls) = (AtomicBool::new(false), AtomicUsize::new(0));
        let each = |_: &str, _: Result<Vec<u8>, Fault>| {
            calls.fetch_add(1, Ordering::SeqCst);
        };
        captures(&[], Path::new("/nonexistent"), 0, &flag, &each).unwrap();
        let twice = [HostSpec::named("b"), HostSpec::named("b")];
        let fault = captures(&twice, Path::new("/nonexistent"), 16, &flag, &each).unwrap_err();
        assert!(fault.to_string().contains("twice"), "{fault}");
        assert_eq!(calls.into_inner(), 0);
    }
}
