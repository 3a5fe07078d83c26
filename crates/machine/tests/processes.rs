//! The reader of a server against what this process knows about itself: names, affinity, policy, memory.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

use std::sync::mpsc;

use pinwise_machine::processes::{Server, Thread};
use pinwise_machine::{Class, CpuSet, Machine, Root};
use rustix::thread::{CpuSet as Mask, sched_getaffinity, sched_setaffinity};

/// Runs `look` while two threads `PREFIX-a` and `PREFIX-b` wait, pinned to the first CPU that this process may use.
fn with_pinned_threads<T>(prefix: &str, look: impl FnOnce(u32) -> T) -> T {
    let allowed = sched_getaffinity(None).unwrap();
    let cpu = (0..Mask::MAX_CPU).find(|cpu| allowed.is_set(*cpu)).unwrap();
    let mut only = Mask::new();
    only.set(cpu);
    let (ready, wait_ready) = mpsc::channel();
    let mut ends = Vec::new();
    let threads: Vec<_> = ["a", "b"]
        .into_iter()
        .map(|name| {
            let (end, wait_end) = mpsc::channel::<()>();
            ends.push(end);
            let ready = ready.clone();
            let body = move || {
                sched_setaffinity(None, &only).unwrap();
                ready.send(()).unwrap();
                // Ends when the sender is dropped.
                let _ = wait_end.recv();
            };
            std::thread::Builder::new().name(format!("{prefix}-{name}")).spawn(body).unwrap()
        })
        .collect();
    for _ in &threads {
        wait_ready.recv().unwrap();
    }
    let seen = look(u32::try_from(cpu).unwrap());
    drop(ends);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    seen
}

fn placed<'a>(server: &'a Server, prefix: &str) -> Vec<&'a Thread> {
    server.threads().filter(|thread| thread.comm.starts_with(prefix)).collect()
}

#[test]
fn our_own_threads_are_where_we_put_them() {
    let pid = std::process::id();
    let (cpu, server) =
        with_pinned_threads("placed", |cpu| (cpu, Server::read(&Root::live(), &pid.to_string()).unwrap()));
    let process = &server.processes[0];
    assert_eq!((process.pid, process.ppid), (pid, std::os::unix::process::parent_id()));
    assert!(process.resident_bytes.unwrap() > 100_000, "{process:?}");
    let mut threads = placed(&server, "placed-");
    threads.sort_by(|a, b| a.comm.cmp(&b.comm));
    let names: Vec<&str> = threads.iter().map(|thread| thread.comm.as_str()).collect();
    assert_eq!(names, ["placed-a", "placed-b"]);
    for thread in threads {
        assert_eq!(thread.cpus, Some(CpuSet::single(cpu)));
        assert_eq!(thread.last_cpu, Some(cpu));
        assert_eq!((thread.policy.as_deref(), thread.no_setaffinity), (Some("other"), Some(false)));
        assert!(thread.user_us.is_some() && thread.voluntary_switches.is_some(), "{thread:?}");
    }
    match &process.memory {
        // Pages come and go between the two readings: the same to a tenth or a MiB.
        Some(memory) => {
            let (nodes, resident) = (memory.total_bytes(), process.resident_bytes.unwrap());
            assert!(
                nodes.abs_diff(resident) < resident / 10 + (1 << 20),
                "{nodes} by node, {resident} resident"
            );
            assert_eq!(memory.policies.values().sum::<u64>(), memory.total_bytes());
        }
        None => {
            assert!(server.missing.iter().any(|m| m.fact.contains("memory by node")), "{:?}", server.missing)
        }
    }
}

#[test]
fn a_server_survives_capture_and_json_and_no_argument_is_taken() {
    let pid = std::process::id();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("server.tar.zst");
    let root = Root::recording(Root::live());
    let live = with_pinned_threads("taken", |_| Server::read(&root, &pid.to_string()).unwrap());
    let capture = root.take_capture().unwrap();
    for file in capture.files() {
        assert!(
            !file.ends_with("/cmdline") && !file.ends_with("/environ") && !file.ends_with("/maps"),
            "{file}"
        );
    }
    capture.write(&path).unwrap();
    let back = Server::read(&Root::at(&path).unwrap(), &pid.to_string()).unwrap();
    assert_eq!(serde_json::to_string(&back).unwrap(), serde_json::to_string(&live).unwrap());
    let parsed: Server = serde_json::from_str(&serde_json::to_string(&live).unwrap()).unwrap();
    assert_eq!(placed(&parsed, "taken-"), placed(&live, "taken-"));
    assert_eq!(placed(&parsed, "taken-").len(), 2);
}

#[test]
fn what_does_not_run_is_refused_in_words() {
    let root = Root::live();
    // Above the highest number that the kernel can give (PID_MAX_LIMIT of include/linux/threads.h).
    let fault = Server::read(&root, "4194305").unwrap_err();
    assert_eq!((fault.class, fault.cause.as_str()), (Class::MachineLacks, "there is no such process"));
    let fault = Server::read(&root, "no-unit-of-this-name.service").unwrap_err();
    assert!(!fault.cause.is_empty() && !fault.remedy.is_empty(), "{fault}");
}

#[test]
fn kernel_threads_of_the_live_machine_are_counted_or_said_to_be_hidden() {
    let machine = Machine::read(&Root::live());
    match machine.kernel_threads.is_empty() {
        true => assert!(machine.missing.iter().any(|m| m.why.contains("/proc") || m.why.contains("process"))),
        false => {
            let online = machine.online();
            let known = machine.kernel_threads.iter().filter_map(|threads| threads.cpus.as_ref());
            // Threads of CPUs that are possible and offline exist too.
            let possible = machine.possible.clone().unwrap_or(online);
            assert!(known.into_iter().all(|cpus| cpus.is_subset(&possible)), "{:?}", machine.kernel_threads);
        }
    }
}
