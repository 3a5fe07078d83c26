//! Every knob, on every machine that offers it: what it asks for is performed and taken back.
//!
//! The machines are made up here, recorded in fixtures/machines, and the one that the test runs on - of which only
//! the files are read: the acts are performed on the emulated kernel.
#![allow(clippy::unwrap_used)] // clippy sees only #[test] functions as tests, not what they share

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use machine::knobs::{self, Knob};
use machine::{Act, CpuSet, Root, Scheduling, ThreadRef, Tree};
use pinwise_change::emulated_kernel::{EmulatedState, EmulatedThread};
use pinwise_change::{EmulatedKernel, Hand};

/// What the emulated machine looks like to a reader.
fn root_of(state: &EmulatedState) -> Root {
    let mut tree = Tree::new();
    for ((_, path), content) in &state.files {
        tree = tree.file(path.to_str().unwrap(), content.clone());
    }
    for (tid, thread) in &state.threads {
        let (policy, priority) = match thread.scheduling.scheduling {
            Scheduling::Other { .. } => (0, 0),
            Scheduling::Fifo { priority } => (1, priority),
            Scheduling::RoundRobin { priority } => (2, priority),
            Scheduling::Batch { .. } => (3, 0),
            Scheduling::Idle => (5, 0),
        };
        let (pid, nice, start) = (thread.pid, thread.scheduling.nice, thread.start_time_ticks);
        let zeros = "0 ".repeat(17);
        let stat = format!(
            "{tid} (server) S 1 {pid} {pid} 0 -1 0 0 0 0 0 0 0 0 0 20 {nice} 2 0 {start} {zeros}{priority} {policy} 0\n"
        );
        let folder = format!("/proc/{pid}/task/{tid}");
        tree = tree
            .file(&format!("{folder}/status"), format!("Cpus_allowed_list:\t{}\n", thread.affinity))
            .file(&format!("{folder}/stat"), stat.clone());
        if *tid == pid {
            tree = tree.file(&format!("/proc/{pid}/stat"), stat);
        }
    }
    Root::from_tree(tree)
}

/// A machine that offers every knob.
fn machine() -> EmulatedKernel {
    let kernel = EmulatedKernel::new();
    kernel.add_file("/sys/devices/system/cpu/online", "0-3\n");
    kernel.add_file("/proc/irq/38/smp_affinity_list", "0-3\n");
    kernel.add_file("/proc/irq/4/smp_affinity", "f\n");
    kernel.add_file("/sys/class/net/eth0/queues/rx-0/rps_cpus", "0\n");
    kernel.add_file("/sys/class/net/eth0/queues/rx-1/rps_cpus", "3\n");
    kernel.add_file("/proc/self/mountinfo", "34 31 0:31 / /cg rw - cgroup cgroup rw,cpuset\n");
    kernel.add_file("/cg/batch/tasks", "\n");
    kernel.add_file("/cg/batch/cpuset.cpus", "0-3\n");
    kernel.add_process(50, 1);
    kernel.add_thread(50, 51);
    kernel
}

/// A value that differs from the present one.
fn another(knob: &dyn Knob, present: &str, root: &Root) -> String {
    if knob.about().id == "scheduling-policy" {
        return if present == "fifo:10" { "rr:5".into() } else { "fifo:10".into() };
    }
    let online = root.cpu_list("/sys/devices/system/cpu/online").unwrap_or_else(|_| CpuSet::single(0));
    let one = online.iter().map(|cpu| cpu.to_string()).find(|cpu| cpu != present);
    one.unwrap_or_else(|| online.to_list())
}

#[test]
fn each_knob_reads_back_what_was_set_and_is_undone() {
    let kernel = machine();
    let before = kernel.state();
    for knob in knobs::ALL {
        let targets = knob.targets(&root_of(&before)).unwrap();
        assert!(!targets.is_empty(), "{} has no target on a machine that offers it", knob.about().id);
        for target in targets {
            let what = format!("{} of {}", knob.about().id, target.id);
            let root = root_of(&kernel.state());
            let value = another(*knob, &knob.read(&root, &target.id).unwrap(), &root);
            let dir = tempfile::tempdir().unwrap();
            let mut hand = Hand::with(Arc::new(kernel.clone()), dir.path(), &what).unwrap();
            for act in knob.change(&root, &target.id, &value).unwrap() {
                assert!(hand.perform(&act).unwrap().took_effect, "{what}: {act:?}");
            }
            assert_eq!(knob.read(&root_of(&kernel.state()), &target.id).unwrap(), value, "{what}");
            assert!(hand.undo_all().iter().all(|undone| undone.how.is_final()), "{what}");
            assert_eq!(kernel.state(), before, "{what}");
            hand.finish().unwrap();
        }
    }
}

/// An emulated kernel that has just what the acts are about, as `root` shows it.
fn kernel_for(root: &Root, acts: &[Act]) -> EmulatedKernel {
    let kernel = EmulatedKernel::new();
    let insert = |thread: &ThreadRef| {
        let start_time_ticks = thread.start_time_ticks;
        kernel.insert_thread(
            thread.tid,
            EmulatedThread { start_time_ticks, ..EmulatedThread::new(thread.pid) },
        );
    };
    for act in acts {
        match act {
            Act::WriteFile { path, netns, .. } => {
                kernel.add_file_in(netns.as_deref(), path, &root.read(path).unwrap());
            }
            Act::SetAffinity { thread, .. } | Act::SetScheduling { thread, .. } => insert(thread),
            other => panic!("a knob asks for {other:?}"),
        }
    }
    kernel
}

/// Performs and takes back every knob on every target that `root` offers; gives the knobs that had one.
fn round_trips(root: &Root) -> BTreeSet<&'static str> {
    let mut offered = BTreeSet::new();
    for knob in knobs::ALL {
        // Of processes and IRQs a few stand for all.
        for target in knob.targets(root).unwrap().into_iter().take(12) {
            let what = format!("{} of {} on {}", knob.about().id, target.id, root.origin());
            // A process can end while we look, a recorded machine can lack a file: then nothing is asked for.
            let Ok(present) = knob.read(root, &target.id) else { continue };
            let Ok(acts) = knob.change(root, &target.id, &another(*knob, &present, root)) else { continue };
            let kernel = kernel_for(root, &acts);
            let before = kernel.state();
            let dir = tempfile::tempdir().unwrap();
            let mut hand = Hand::with(Arc::new(kernel.clone()), dir.path(), &what).unwrap();
            acts.iter().for_each(|act| assert!(hand.perform(act).unwrap().took_effect, "{what}: {act:?}"));
            hand.undo_all();
            same_meaning(&kernel.state(), &before, &what);
            offered.insert(knob.about().id);
        }
    }
    offered
}

/// Files may have lost blanks at their end, nothing else.
fn same_meaning(now: &EmulatedState, before: &EmulatedState, what: &str) {
    assert_eq!(now.threads, before.threads, "{what}");
    let trimmed = |state: &EmulatedState| -> Vec<String> {
        state.files.iter().map(|(key, text)| format!("{key:?} {}", text.trim())).collect()
    };
    assert_eq!(trimmed(now), trimmed(before), "{what}");
}

#[test]
fn each_knob_that_this_machine_offers_round_trips_on_the_emulated_kernel() {
    let offered = round_trips(&Root::live());
    assert!(offered.contains("process-affinity") && offered.contains("scheduling-policy"), "{offered:?}");
    eprintln!("offered here: {offered:?}");
}

#[test]
fn each_knob_that_a_recorded_machine_offers_round_trips() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/machines");
    let Ok(machines) = std::fs::read_dir(&folder) else {
        eprintln!("skipped: there is no {} yet", folder.display());
        return;
    };
    for machine in machines {
        let path = machine.unwrap().path();
        if !path.is_dir() {
            continue;
        }
        // Guests are kept as archives.
        let archive = path.join("capture.tar.zst");
        match Root::at(if archive.exists() { &archive } else { &path }) {
            Ok(root) => eprintln!("{}: {:?}", path.display(), round_trips(&root)),
            Err(fault) => panic!("{fault}"),
        }
    }
}
