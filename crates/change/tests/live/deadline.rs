//! A SCHED_DEADLINE thread, whose affinity the kernel does not narrow.

use std::path::Path;
use std::process::Command;

use machine::{Act, Class, CpuSet, Plan, Planned, Root};
use pinwise_change::apply::foresee;
use pinwise_change::{LiveKernel, Threads};

use super::{Sleeper, hand, is_root};

/// Whether the thread runs at that policy now.
fn at_deadline(pid: u32) -> bool {
    let times = ["-d", "-T", "1000000", "-D", "100000000", "-P", "100000000", "-p", "0"];
    let chrt = Command::new("chrt").args(times).arg(pid.to_string()).output();
    chrt.is_ok_and(|output| output.status.success())
}

#[test]
fn a_deadline_thread_is_not_pinned_and_both_dry_run_and_refusal_say_why() {
    let sleeper = Sleeper::start();
    let (pid, before) = (sleeper.0.id(), sleeper.cpus());
    let admission = std::fs::read_to_string("/proc/sys/kernel/sched_rt_runtime_us").unwrap_or_default();
    if !is_root() || before.len() < 2 || admission.trim() == "-1" || !at_deadline(pid) {
        eprintln!("skipped: SCHED_DEADLINE needs root, chrt, two CPUs and room for deadline threads");
        return;
    }
    let one = CpuSet::single(before.first().unwrap());
    let dir = tempfile::tempdir().unwrap();
    let mut hand = hand(dir.path());
    let fault = hand.perform(&Act::SetAffinity { thread: sleeper.thread(), cpus: one.clone() }).unwrap_err();
    assert!(fault.class == Class::MachineLacks && fault.cause.contains("root domain"), "{fault}");
    assert!(fault.remedy.contains("cpuset.cpus.partition"), "{fault}");
    assert_eq!(LiveKernel::new().affinity(pid, pid).unwrap(), before);
    let planned = Planned {
        knob: "process-affinity".into(),
        target: pid.to_string(),
        value: one.to_list(),
        ..Planned::default()
    };
    let plan = Plan { settings: vec![planned], ..Plan::default() };
    let foreseen = foresee(&Root::live(), &LiveKernel::new(), &plan, &[]);
    match &foreseen[0].fault {
        Some(fault) => {
            assert!(fault.cause.contains("root domain") || fault.cause.contains("cpuset"), "{fault}");
        }
        None => assert!(!has_one_root_domain(), "the dry run foresees nothing"),
    }
}

/// Whether files show that all CPUs are of one root domain: the whole of cgroup v2 is seen, without any partition, and no CPU is isolated.
fn has_one_root_domain() -> bool {
    let top = Path::new("/sys/fs/cgroup");
    let others = ["-rL", "--include=cpuset.cpus.partition", "member"];
    let partitions = Command::new("grep").args(others).arg(top).output();
    let isolated = std::fs::read_to_string("/sys/devices/system/cpu/isolated");
    top.join("cgroup.controllers").exists()
        && !top.join("cgroup.type").exists()
        && partitions.is_ok_and(|output| output.stdout.is_empty())
        && isolated.is_ok_and(|list| list.trim().is_empty())
}
