//! What the kernel may answer to each act, by its source: every refusal says what it means and what to do.
#![allow(clippy::unwrap_used)] // clippy sees only #[test] functions as tests, not what they share

use std::sync::Arc;

use machine::{Act, Class, CpuSet, Fault, Plan, Planned, ProcessRef, Root, ThreadRef, Tree};
use pinwise_change::act_samples::{self, Machine};
use pinwise_change::apply::foresee;
use pinwise_change::kernel::Users;
use pinwise_change::{EmulatedKernel, Hand};

/// What every act may meet: no permission, no memory, a signal.
const ALWAYS: [i32; 4] = [libc::EPERM, libc::EACCES, libc::ENOMEM, libc::EINTR];

fn refused(act: &Act, errno: i32) -> Fault {
    let (machine, dir) = (Machine::for_act(act), tempfile::tempdir().unwrap());
    let mut hand = Hand::with(Arc::new(machine.kernel.clone()), dir.path(), "test").unwrap();
    machine.kernel.refuse_every_change(Some(errno));
    let fault = act_samples::perform(&mut hand, act).unwrap_err();
    machine.kernel.refuse_every_change(None);
    hand.undo_all();
    fault
}

#[test]
fn every_refusal_has_a_remedy_of_its_own() {
    for act in Machine::new().acts() {
        for errno in ALWAYS.iter().chain(act_samples::of(&act).errnos()) {
            let fault = refused(&act, *errno);
            assert!(!fault.remedy.is_empty(), "{act:?}, {errno}: {fault}");
            assert!(!fault.remedy.contains("documentation"), "{act:?}, {errno}: {fault}");
        }
    }
}

#[test]
fn the_deadline_of_a_thread_is_named_where_it_is_what_refuses() {
    let acts = Machine::new().acts();
    let affinity = acts.iter().find(|act| matches!(act, Act::SetAffinity { .. })).unwrap();
    let fault = refused(affinity, libc::EBUSY);
    assert!(fault.class == Class::MachineLacks && fault.cause.contains("root domain"), "{fault}");
    assert!(fault.remedy.contains("cpuset.cpus.partition"), "{fault}");
    let fault = refused(affinity, libc::EINVAL);
    assert!(!fault.to_string().contains("DEADLINE"), "another refusal of the same call: {fault}");
    let join = acts.iter().find(|act| matches!(act, Act::JoinCgroup { .. })).unwrap();
    assert!(refused(join, libc::EBUSY).cause.contains("subtree_control"));
}

#[test]
fn a_thread_that_the_kernel_pins_and_cpus_that_are_not_allowed_are_refused_by_one_number() {
    let (kernel, dir) = (EmulatedKernel::new(), tempfile::tempdir().unwrap());
    let ProcessRef { pid, start_time_ticks } = kernel.add_process(50, 1);
    let thread = ThreadRef { pid, tid: pid, start_time_ticks };
    let act = Act::SetAffinity { thread, cpus: CpuSet::single(1) };
    let mut hand = Hand::with(Arc::new(kernel.clone()), dir.path(), "test").unwrap();
    kernel.alter(pid, |thread| thread.is_bound = true);
    let fault = hand.perform(&act).unwrap_err();
    assert!(fault.cause.contains("PF_NO_SETAFFINITY") && fault.cause.contains("os error 22"), "{fault}");
    assert!(!fault.cause.contains("none of these CPUs"), "{fault}");
    kernel.alter(pid, |thread| thread.is_bound = false);
    kernel.refuse(&format!("affinity {pid}"), libc::EINVAL);
    let fault = hand.perform(&act).unwrap_err();
    assert!(fault.cause.contains("none of these CPUs"), "{fault}");
    assert!(!fault.to_string().contains("kernel pins"), "{fault}");
    // Another number says nothing of either.
    kernel.alter(pid, |thread| thread.is_bound = true);
    kernel.refuse(&format!("affinity {pid}"), libc::EBUSY);
    assert!(hand.perform(&act).unwrap_err().cause.contains("root domain"));
}

#[test]
fn a_file_that_root_may_not_write_is_no_interrupt_that_the_kernel_manages() {
    let act =
        Act::WriteFile { path: "/proc/irq/38/smp_affinity_list".into(), value: "1".into(), netns: None };
    let refused = |errno| {
        let (kernel, dir) = (EmulatedKernel::new(), tempfile::tempdir().unwrap());
        kernel.add_file("/proc/irq/38/smp_affinity_list", "0-3\n");
        kernel.refuse("/proc/irq/38/smp_affinity_list", errno);
        let mut hand = Hand::with(Arc::new(kernel), dir.path(), "test").unwrap();
        hand.perform(&act).unwrap_err()
    };
    let fault = refused(libc::EACCES);
    assert!(fault.class == Class::NotPermitted && !fault.cause.contains("manages"), "{fault}");
    assert!(refused(libc::EIO).cause.contains("manages"));
}

#[test]
fn nothing_about_processes_is_said_of_what_has_none() {
    for act in Machine::new().acts() {
        let fault = refused(&act, libc::ENOENT);
        let is_of_process = act_samples::of(&act).is_of_process();
        assert!(is_of_process || !fault.remedy.contains("process ended"), "{act:?}: {fault}");
    }
}

fn planned(knob: &str, target: &str, value: &str) -> Planned {
    Planned { knob: knob.into(), target: target.into(), value: value.into(), ..Planned::default() }
}

/// What a dry run says of each setting, on the files of the machine.
fn foreseen(kernel: &EmulatedKernel, plan: &Plan) -> Vec<Option<String>> {
    let mut tree = Tree::new();
    for ((_, path), content) in &kernel.state().files {
        tree = tree.file(path.to_str().unwrap(), content.clone());
    }
    let foreseen = foresee(&Root::from_tree(tree), kernel, plan, &[]);
    foreseen.into_iter().map(|of| of.fault.map(|fault| fault.to_string())).collect()
}

/// The stat of thread 50, which began then and has this policy.
fn stat(start_time_ticks: u64, policy: u32) -> String {
    let zeros = "0 ".repeat(17);
    format!("50 (s) S 1 50 50 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 {start_time_ticks} {zeros}0 {policy} 0 0 0\n")
}

#[test]
fn a_dry_run_foresees_what_the_kernel_will_refuse() {
    let kernel = EmulatedKernel::new();
    let ProcessRef { start_time_ticks, .. } = kernel.add_process(50, 1);
    let of_policy = |policy| stat(start_time_ticks, policy);
    kernel.add_file("/proc/irq/38/smp_affinity_list", "0-3\n");
    kernel.add_file("/proc/irq/39/smp_affinity_list", "0-3\n");
    kernel.add_file("/proc/50/task/50/stat", &of_policy(6));
    kernel.add_file("/proc/50/task/50/status", "Name:\ts\nCpus_allowed_list:\t0-3\n");
    kernel.add_file("/proc/sys/kernel/sched_rt_runtime_us", "950000\n");
    kernel.add_file("/sys/devices/system/cpu/online", "0-3\n");
    kernel.add_file("/sys/devices/system/cpu/isolated", "\n");
    kernel.refuse("/proc/irq/38/smp_affinity_list", libc::EROFS);
    let settings = vec![
        planned("irq-affinity", "38", "0"),
        planned("irq-affinity", "39", "1"),
        planned("process-affinity", "50", "1"),
    ];
    let plan = Plan { settings, ..Plan::default() };
    let faults = foreseen(&kernel, &plan);
    assert!(faults[0].as_ref().unwrap().contains("read-only"), "{faults:?}");
    assert_eq!(faults[1], None);
    assert!(faults[2].as_ref().unwrap().contains("root domain"), "{faults:?}");
    kernel.add_file("/proc/50/task/50/stat", &of_policy(1));
    assert_eq!(foreseen(&kernel, &plan)[2], None, "a real-time thread may be pinned");
}

#[test]
fn a_dry_run_foresees_that_a_process_of_another_user_may_not_be_set() {
    let (kernel, dir) = (EmulatedKernel::new(), tempfile::tempdir().unwrap());
    let ProcessRef { start_time_ticks, .. } = kernel.add_process(50, 1);
    kernel.add_file("/proc/50/task/50/stat", &stat(start_time_ticks, 0));
    kernel.add_file("/proc/50/task/50/status", "Name:\ts\nCpus_allowed_list:\t0-3\n");
    kernel.add_file("/sys/devices/system/cpu/online", "0-3\n");
    let plan = Plan {
        settings: vec![planned("process-affinity", "50", "1"), planned("process-affinity", "50", "0-3")],
        ..Plan::default()
    };
    let of_user = |user| Users { real: user, effective: user };
    kernel.alter(1000, |own| own.users = of_user(1000));
    kernel.alter(50, |thread| thread.users = of_user(107));
    assert!(foreseen(&kernel, &plan).iter().all(Option::is_none), "with CAP_SYS_NICE");
    kernel.drop_privilege();
    let changes = kernel.changes();
    let faults = foreseen(&kernel, &plan);
    assert_eq!(faults[1], None, "it is so already, and nothing would be done");
    assert_eq!(kernel.changes(), changes, "nothing is tried");
    let thread = ThreadRef { pid: 50, tid: 50, start_time_ticks };
    let mut hand = Hand::with(Arc::new(kernel.clone()), dir.path(), "test").unwrap();
    let refused = hand.perform(&Act::SetAffinity { thread, cpus: CpuSet::single(1) }).unwrap_err();
    assert_eq!((refused.class, faults[0].clone()), (Class::NotPermitted, Some(refused.to_string())));
    kernel.alter(50, |thread| thread.users = of_user(1000));
    assert!(foreseen(&kernel, &plan).iter().all(Option::is_none), "it is ours");
}
