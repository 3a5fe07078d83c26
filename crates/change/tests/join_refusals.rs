//! Why a cgroup takes no process: each cause has a sentence of its own where the facts distinguish it from others of the same number.
#![allow(clippy::unwrap_used)] // clippy sees only #[test] functions as tests, not what they share

use std::sync::Arc;

use machine::{Act, Class, Fault, ProcessRef};
use pinwise_change::{EmulatedKernel, Hand};

const CGROUP: &str = "/sys/fs/cgroup/site.slice/job";

/// SCHED_OTHER, SCHED_FIFO, SCHED_RR and SCHED_DEADLINE of include/uapi/linux/sched.h.
const OTHER: u32 = 0;
const FIFO: u32 = 1;
const ROUND_ROBIN: u32 = 2;
const DEADLINE: u32 = 6;

/// A process of two threads, the second one of this policy, and a cgroup with these files, by name or path.
fn machine(policy: u32, files: &[(&str, &str)]) -> (EmulatedKernel, ProcessRef) {
    let kernel = EmulatedKernel::new();
    let process = kernel.add_process(50, 1);
    let second = kernel.add_thread(50, 51);
    for (tid, start, policy) in [(50, process.start_time_ticks, OTHER), (51, second.start_time_ticks, policy)]
    {
        let zeros = "0 ".repeat(17);
        let stat =
            format!("{tid} (s) S 1 50 50 0 -1 0 0 0 0 0 0 0 0 0 20 0 2 0 {start} {zeros}0 {policy} 0 0 0\n");
        kernel.add_file(format!("/proc/50/task/{tid}/stat"), &stat);
    }
    for (file, content) in files {
        // An absolute path stands for itself.
        kernel.add_file(std::path::Path::new(CGROUP).join(file), content);
    }
    (kernel, process)
}

fn refused(kernel: &EmulatedKernel, process: ProcessRef, errno: i32) -> Fault {
    let dir = tempfile::tempdir().unwrap();
    let mut hand = Hand::with(Arc::new(kernel.clone()), dir.path(), "test").unwrap();
    kernel.refuse(CGROUP, errno);
    let fault = hand.perform(&Act::JoinCgroup { process, path: CGROUP.into() }).unwrap_err();
    assert_eq!(fault.class, Class::MachineLacks, "{fault}");
    assert!(fault.cause.contains(&format!("os error {errno}")) && !fault.remedy.is_empty(), "{fault}");
    fault
}

fn cause(policy: u32, errno: i32, files: &[(&str, &str)]) -> String {
    let (kernel, process) = machine(policy, files);
    refused(&kernel, process, errno).cause
}

/// What is said where the facts do not distinguish the causes.
fn is_open(cause: &str) -> bool {
    cause.contains("kernel threads that are pinned stay where they are, and real-time")
        || cause.contains("may hold no process itself, or its CPUs")
        || cause.contains("no CPUs or no memory nodes")
}

const VERSION_2: [(&str, &str); 4] = [
    ("cgroup.type", "domain\n"),
    ("cgroup.controllers", "cpuset pids\n"),
    ("/sys/fs/cgroup/site.slice/cgroup.type", "domain\n"),
    ("/sys/fs/cgroup/cgroup.controllers", "cpu cpuset pids\n"),
];

#[test]
fn a_thread_that_the_kernel_pins_is_named_as_one() {
    let (kernel, process) = machine(FIFO, &[("cpu.rt_runtime_us", "0\n")]);
    kernel.alter(50, |thread| thread.is_bound = true);
    let fault = refused(&kernel, process, libc::EINVAL);
    assert!(fault.cause.contains("PF_NO_SETAFFINITY") && !fault.cause.contains("real-time"), "{fault}");
}

#[test]
fn real_time_threads_need_run_time_in_version_1() {
    let none = [("tasks", ""), ("cpu.rt_runtime_us", "0\n")];
    for policy in [FIFO, ROUND_ROBIN] {
        let cause = cause(policy, libc::EINVAL, &none);
        assert!(cause.contains("cpu.rt_runtime_us is 0") && !cause.contains("pin"), "{cause}");
    }
    let some = [("tasks", ""), ("cpu.rt_runtime_us", "950000\n")];
    assert!(is_open(&cause(FIFO, libc::EINVAL, &some)), "it has run time");
    assert!(is_open(&cause(OTHER, libc::EINVAL, &none)), "no thread needs it");
    assert!(is_open(&cause(FIFO, libc::EINVAL, &[("tasks", "")])), "not of the cpu controller");
}

#[test]
fn real_time_threads_cannot_have_run_time_in_version_2() {
    let above = [("/sys/fs/cgroup/site.slice/cgroup.controllers", "cpu cpuset\n")];
    let files = [&VERSION_2[..], &above[..]].concat();
    let cause_there = cause(FIFO, libc::EINVAL, &files);
    assert!(cause_there.contains("version 2 with the cpu controller"), "{cause_there}");
    assert!(is_open(&cause(OTHER, libc::EINVAL, &files)));
    assert!(is_open(&cause(FIFO, libc::EINVAL, &VERSION_2)), "only the top has the controller");
}

#[test]
fn a_cgroup_that_hands_controllers_down_is_not_one_without_time_for_deadlines() {
    let handing = [&VERSION_2[..], &[("cgroup.subtree_control", "cpuset\n")]].concat();
    let plain = [&VERSION_2[..], &[("cgroup.subtree_control", "\n")]].concat();
    let busy = |policy, files: &[(&str, &str)]| cause(policy, libc::EBUSY, files);
    let cause = busy(OTHER, &handing);
    assert!(cause.contains("subtree_control") && !cause.contains("DEADLINE"), "{cause}");
    for files in [&plain[..], &[("tasks", "")]] {
        let cause = busy(DEADLINE, files);
        assert!(cause.contains("SCHED_DEADLINE") && !cause.contains("subtree_control"), "{cause}");
    }
    assert!(is_open(&busy(DEADLINE, &handing)), "it may be either");
    assert!(is_open(&busy(OTHER, &plain)), "it is neither");
    assert!(is_open(&busy(DEADLINE, &[])), "its files are not known");
}

#[test]
fn what_a_cpuset_is_without_is_named() {
    let version_1 = |cpus, mems| {
        cause(OTHER, libc::ENOSPC, &[("tasks", ""), ("cpuset.cpus", cpus), ("cpuset.mems", mems)])
    };
    assert!(version_1("\n", "0\n").contains("no CPUs (cpuset.cpus is empty)"));
    assert!(version_1("0-1\n", "\n").contains("no memory nodes (cpuset.mems is empty)"));
    assert!(is_open(&version_1("\n", "\n")), "both");
    let version_2 = |effective| {
        let files = [("cpuset.cpus", "\n"), ("cpuset.mems", "\n"), ("cpuset.cpus.effective", effective)];
        cause(OTHER, libc::ENOSPC, &[&VERSION_2[..], &files[..]].concat())
    };
    assert!(version_2("\n").contains("cpuset.cpus.effective is empty"));
    assert!(is_open(&version_2("0-1\n")));
}

#[test]
fn nothing_is_concluded_from_threads_that_cannot_be_read() {
    let (kernel, process) = machine(FIFO, &[("cpu.rt_runtime_us", "0\n")]);
    kernel.refuse_to_read("/proc/50/task/51/stat", libc::EACCES);
    assert!(is_open(&refused(&kernel, process, libc::EINVAL).cause));
    // The number of another refusal keeps its own words.
    let fault = refused(&kernel, process, libc::ENODEV);
    assert!(fault.cause.contains("is being removed"), "{fault}");
}
