//! The hand on the emulated kernel: what is recorded, what comes back, what a refusal leaves.
#![allow(clippy::unwrap_used)] // clippy sees only #[test] functions as tests, not what they share

mod ledger;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use machine::{Act, Class, CpuSet, ProcessRef, Scheduling, ThreadRef};
use pinwise_change::emulated_kernel::When;
use pinwise_change::ledger::sessions;
use pinwise_change::{
    EmulatedKernel, Hand, How, Launch, MachineLock, MemoryLimit, UndoOptions, Value, status, undo,
};

const RPS: &str = "/sys/class/net/eth0/queues/rx-0/rps_cpus";

fn write(path: &str, value: &str) -> Act {
    Act::WriteFile { path: path.into(), value: value.into(), netns: None }
}

fn leader(process: ProcessRef) -> ThreadRef {
    ThreadRef { pid: process.pid, tid: process.pid, start_time_ticks: process.start_time_ticks }
}

fn affinity(thread: ThreadRef, cpus: &str) -> Act {
    Act::SetAffinity { thread, cpus: cpus.parse().unwrap() }
}

struct Desk {
    kernel: EmulatedKernel,
    dir: tempfile::TempDir,
}

impl Desk {
    fn new() -> Self {
        let kernel = EmulatedKernel::new();
        kernel.add_file(RPS, "00000000,00000000\n");
        kernel.add_file("/proc/irq/38/smp_affinity_list", "0-3\n");
        Self { kernel, dir: tempfile::tempdir().unwrap() }
    }

    fn hand(&self) -> Hand {
        Hand::with(Arc::new(self.kernel.clone()), self.dir.path(), "test").unwrap()
    }

    /// Sets RPS to 3 and ends; the ledger of it.
    fn ledger_of_a_change(&self) -> PathBuf {
        let mut hand = self.hand();
        hand.perform(&write(RPS, "3")).unwrap();
        hand.finish().unwrap();
        sessions(self.dir.path()).unwrap()[0].path.clone()
    }

    fn read(&self, path: &str) -> String {
        let state = self.kernel.state();
        state.files[&(None, Path::new(path).to_path_buf())].trim().to_string()
    }

    /// What a later `pinwise undo` does, when the owner is gone.
    fn undo_after_death(&self, force: bool) -> pinwise_change::UndoReport {
        self.kernel.remove_thread(1000);
        undo(self.dir.path(), &self.kernel, &UndoOptions { force, ..UndoOptions::default() }).unwrap()
    }
}

#[test]
fn a_receipt_tells_old_asked_and_read_back_and_undo_restores() {
    let desk = Desk::new();
    let before = desk.kernel.state();
    let mut hand = desk.hand();
    let receipt = hand.perform(&write(RPS, "3")).unwrap();
    assert_eq!(receipt.old.to_string(), "00000000,00000000");
    assert_eq!((receipt.asked.as_str(), receipt.read_back.to_string().as_str()), ("3", "3"));
    assert!(receipt.took_effect);
    let undone = hand.undo_all();
    assert_eq!(undone.len(), 1);
    assert_eq!(undone[0].how, How::Restored);
    assert_eq!(desk.kernel.state(), before);
    hand.finish().unwrap();
    assert!(sessions(desk.dir.path()).unwrap().is_empty(), "a ledger with nothing outstanding is removed");
}

#[test]
fn a_trial_undoes_its_own_acts_and_leaves_earlier_ones() {
    let desk = Desk::new();
    let mut hand = desk.hand();
    hand.perform(&write(RPS, "1")).unwrap();
    let trial = hand.mark();
    hand.perform(&write(RPS, "2")).unwrap();
    hand.perform(&write("/proc/irq/38/smp_affinity_list", "1")).unwrap();
    assert_eq!(hand.undo_to(trial).len(), 2);
    assert_eq!((desk.read(RPS).as_str(), desk.read("/proc/irq/38/smp_affinity_list").as_str()), ("1", "0-3"));
    assert_eq!(hand.outstanding().count(), 1);
    hand.undo_all();
    assert!(hand.undo_all().is_empty(), "undo is idempotent");
}

#[test]
fn what_reads_back_otherwise_is_reported_and_still_ours_to_restore() {
    let desk = Desk::new();
    desk.kernel.add_file("/sys/x", "always [madvise] never\n");
    desk.kernel.lie("/proc/irq/38/smp_affinity_list", "2\n");
    let mut hand = desk.hand();
    let receipt = hand.perform(&write("/proc/irq/38/smp_affinity_list", "1-2")).unwrap();
    assert!(!receipt.took_effect);
    assert_eq!(receipt.read_back.to_string(), "2");
    let undone = hand.undo_all();
    // The lie stays, so that restoring does not take either; it is said, and tried again as often as one likes.
    for undone in [undone, hand.undo_all()] {
        assert_eq!(undone[0].how, How::Incomplete { now: Value::Text("2".into()).into() });
    }
    assert_eq!(hand.outstanding().count(), 1);
    desk.kernel.lie("/proc/irq/38/smp_affinity_list", "0-3\n");
    assert_eq!(hand.undo_all()[0].how, How::Restored);
    assert_eq!(hand.outstanding().count(), 0);
}

#[test]
fn what_was_restored_in_part_is_tried_again_by_the_next_undo_and_let_go_by_force() {
    let desk = Desk::new();
    let path = "/proc/irq/38/smp_affinity_list";
    let mut hand = desk.hand();
    hand.perform(&write(path, "1")).unwrap();
    hand.finish().unwrap();
    desk.kernel.lie(path, "2\n");
    for _ in 0..2 {
        let report = desk.undo_after_death(false);
        assert_eq!(report.sessions[0].undone[0].how, How::Incomplete { now: Value::Text("2".into()).into() });
        assert!(!report.is_clean() && report.fault().unwrap().remedy.contains("again"));
    }
    let report = desk.undo_after_death(true);
    assert_eq!(report.sessions[0].undone[0].how, How::GivenUp { now: Value::Text("2".into()).into() });
    assert!(desk.undo_after_death(false).sessions.is_empty());
}

#[test]
fn a_refusal_changes_nothing_and_says_what_it_means() {
    let desk = Desk::new();
    let mut hand = desk.hand();
    desk.kernel.refuse("/proc/irq/38/smp_affinity_list", libc::EIO);
    let fault = hand.perform(&write("/proc/irq/38/smp_affinity_list", "1")).unwrap_err();
    assert_eq!(fault.class, Class::MachineLacks);
    assert!(fault.cause.contains("manages") && !fault.remedy.is_empty(), "{fault}");
    desk.kernel.refuse("/proc/irq/38/smp_affinity_list", libc::ENOSPC);
    let fault = hand.perform(&write("/proc/irq/38/smp_affinity_list", "1")).unwrap_err();
    assert!(fault.cause.contains("vector"), "{fault}");
    desk.kernel.refuse(RPS, libc::EACCES);
    let fault = hand.perform(&write(RPS, "1")).unwrap_err();
    assert_eq!(fault.class, Class::NotPermitted);
    assert_eq!(hand.outstanding().count(), 0);
    let fault = hand.perform(&write("/proc/irq/99/smp_affinity_list", "1")).unwrap_err();
    assert!(fault.object.contains("/proc/irq/99"), "{fault}");
}

#[test]
fn a_number_that_was_given_to_another_thread_is_not_touched() {
    let desk = Desk::new();
    let old = desk.kernel.add_process(50, 1000);
    let mut hand = desk.hand();
    hand.perform(&affinity(leader(old), "1")).unwrap();
    desk.kernel.remove_thread(50);
    desk.kernel.add_process(50, 1000);
    let before = desk.kernel.state();
    assert_eq!(hand.undo_all()[0].how, How::Gone);
    let fault = hand.perform(&affinity(leader(old), "2")).unwrap_err();
    assert_eq!(fault.class, Class::MachineLacks);
    assert_eq!(desk.kernel.state(), before);
}

#[test]
fn what_somebody_else_set_since_is_left_alone_unless_forced() {
    let desk = Desk::new();
    let mut hand = desk.hand();
    hand.perform(&write(RPS, "1")).unwrap();
    desk.kernel.add_file(RPS, "2\n");
    let undone = hand.undo_all();
    assert_eq!(undone[0].how, How::Conflict { now: Value::Text("2".into()).into() });
    hand.finish().unwrap();
    let report = desk.undo_after_death(false);
    assert!(!report.is_clean());
    assert_eq!(report.fault().unwrap().class, Class::No);
    assert_eq!(desk.read(RPS), "2");
    assert!(desk.undo_after_death(true).is_clean());
    assert_eq!(desk.read(RPS), "00000000,00000000");
    assert!(sessions(desk.dir.path()).unwrap().is_empty());
}

#[test]
fn values_further_back_in_our_own_chain_are_no_conflict() {
    // As after an undo on a full disk, which restored everything and could record nothing.
    let desk = Desk::new();
    let before = desk.kernel.state();
    let mut hand = desk.hand();
    hand.perform(&write(RPS, "1")).unwrap();
    hand.perform(&write(RPS, "2")).unwrap();
    desk.kernel.set_state(before.clone());
    assert!(hand.undo_all().iter().all(|undone| undone.how == How::Already));
    assert_eq!(desk.kernel.state(), before);
}

#[test]
fn scheduling_is_restored_with_the_nice_value_that_the_policy_hides() {
    let desk = Desk::new();
    let process = desk.kernel.add_process(50, 1000);
    desk.kernel.alter(50, |thread| thread.scheduling.nice = 7);
    let before = desk.kernel.state();
    let mut hand = desk.hand();
    let act = Act::SetScheduling { thread: leader(process), scheduling: Scheduling::Fifo { priority: 10 } };
    assert!(hand.perform(&act).unwrap().took_effect);
    let act = Act::SetScheduling { thread: leader(process), scheduling: Scheduling::Other { nice: 1 } };
    hand.perform(&act).unwrap();
    hand.undo_all();
    assert_eq!(desk.kernel.state(), before);
}

#[test]
fn what_could_not_be_undone_is_not_begun() {
    let desk = Desk::new();
    let process = desk.kernel.add_process(50, 1000);
    desk.kernel.drop_privilege();
    let mut hand = desk.hand();
    let act = |scheduling| Act::SetScheduling { thread: leader(process), scheduling };
    let fault = hand.perform(&act(Scheduling::Other { nice: 5 })).unwrap_err();
    assert!(fault.class == Class::NotPermitted && fault.cause.contains("could not be undone"), "{fault}");
    assert!(hand.perform(&act(Scheduling::Batch { nice: 0 })).unwrap().took_effect);
}

#[test]
fn threads_and_children_that_inherited_a_change_are_restored_with_it() {
    let desk = Desk::new();
    let process = desk.kernel.add_process(50, 1000);
    let second = desk.kernel.add_thread(50, 51);
    let mut hand = desk.hand();
    for thread in [leader(process), second] {
        assert!(hand.perform(&affinity(thread, "1")).unwrap().took_effect);
    }
    desk.kernel.add_thread(50, 52);
    desk.kernel.add_process(60, 50);
    desk.kernel.add_process(70, 60);
    // One that has chosen for itself since is not ours.
    desk.kernel.alter(70, |thread| thread.affinity = CpuSet::single(2));
    let undone = hand.undo_all();
    assert_eq!(undone.iter().map(|undone| undone.heirs).sum::<usize>(), 2);
    let state = desk.kernel.state();
    for tid in [50, 51, 52, 60] {
        assert_eq!(state.threads[&tid].affinity.to_list(), "0-3", "thread {tid}");
    }
    assert_eq!(state.threads[&70].affinity.to_list(), "2");
}

#[test]
fn an_heir_gets_what_the_thread_had_that_it_was_started_by() {
    let desk = Desk::new();
    let process = desk.kernel.add_process(50, 1000);
    let worker = desk.kernel.add_thread(50, 51);
    desk.kernel.alter(51, |thread| thread.affinity = "0-1".parse().unwrap());
    let mut hand = desk.hand();
    // Threads of the emulated kernel inherit from the first one; these inherit from the one that is named.
    let heir = |tid: u32, of: u32| {
        let thread = desk.kernel.add_thread(50, tid);
        let affinity = desk.kernel.state().threads[&of].affinity.clone();
        desk.kernel.alter(tid, |thread| thread.affinity = affinity);
        thread
    };
    hand.perform(&affinity(leader(process), "1")).unwrap();
    heir(60, 50);
    hand.perform(&affinity(worker, "2")).unwrap();
    heir(61, 51);
    hand.perform(&affinity(leader(process), "3")).unwrap();
    heir(62, 50);
    // Older than what it looks like the heir of, so somebody else set it.
    desk.kernel.alter(60, |thread| thread.affinity = CpuSet::single(3));
    let undone = hand.undo_all();
    assert_eq!(undone.iter().map(|undone| undone.heirs).sum::<usize>(), 2);
    let of = |tid: u32| desk.kernel.state().threads[&tid].affinity.to_list();
    assert_eq!([50, 51, 61, 62, 60].map(of), ["0-3", "0-1", "0-1", "0-3", "3"]);
}

#[test]
fn heirs_of_what_stays_in_force_stay_with_it() {
    let desk = Desk::new();
    let process = desk.kernel.add_process(50, 1000);
    let mut hand = desk.hand();
    hand.perform(&affinity(leader(process), "1")).unwrap();
    desk.kernel.add_thread(50, 60);
    let mark = hand.mark();
    hand.perform(&affinity(leader(process), "2")).unwrap();
    desk.kernel.add_thread(50, 61);
    assert_eq!(hand.undo_to(mark)[0].heirs, 1);
    let of = |tid: u32| desk.kernel.state().threads[&tid].affinity.to_list();
    assert_eq!([50, 60, 61].map(of), ["1", "1", "1"]);
    assert_eq!(hand.undo_all()[0].heirs, 2);
    assert_eq!([50, 60, 61].map(of), ["0-3", "0-3", "0-3"]);
}

#[test]
fn what_is_there_and_cannot_be_read_is_no_loss_but_a_refusal() {
    let desk = Desk::new();
    let mut hand = desk.hand();
    hand.perform(&write(RPS, "3")).unwrap();
    for errno in [libc::ENODEV, libc::ENOENT, libc::ESRCH] {
        desk.kernel.refuse_to_read(RPS, errno);
        let undone = hand.undo_all();
        assert!(matches!(undone[0].how, How::Refused { .. }), "{errno}: {undone:?}");
    }
    let state = desk.kernel.state();
    desk.kernel
        .set_state(pinwise_change::emulated_kernel::EmulatedState { files: Default::default(), ..state });
    assert_eq!(hand.undo_all()[0].how, How::Gone);
}

#[test]
fn a_thread_that_the_kernel_pins_itself_is_reported_and_one_that_has_ended_too() {
    let desk = Desk::new();
    let process = desk.kernel.add_process(50, 1000);
    let pinned = desk.kernel.add_thread(50, 51);
    desk.kernel.alter(51, |thread| thread.is_bound = true);
    let mut hand = desk.hand();
    let fault = hand.perform(&affinity(pinned, "1")).unwrap_err();
    assert!(fault.cause.contains("PF_NO_SETAFFINITY"), "{fault}");
    let gone = ThreadRef { start_time_ticks: 99, ..leader(process) };
    assert_eq!(hand.perform(&affinity(gone, "1")).unwrap_err().class, Class::MachineLacks);
}

#[test]
fn a_dropped_hand_undoes_and_a_finished_one_leaves_its_acts_for_undo() {
    let desk = Desk::new();
    let mut hand = desk.hand();
    hand.perform(&write(RPS, "3")).unwrap();
    drop(hand);
    assert_eq!(desk.read(RPS), "00000000,00000000");
    let mut hand = desk.hand();
    hand.perform(&write(RPS, "3")).unwrap();
    let session = hand.session().to_string();
    hand.finish().unwrap();
    assert_eq!(desk.read(RPS), "3");
    // We, process 1000, are still there.
    let refused = undo(desk.dir.path(), &desk.kernel, &UndoOptions::default()).unwrap_err();
    assert!(refused.to_string().contains("1000") && refused.remedy.contains("kill -INT 1000"), "{refused}");
    desk.kernel.remove_thread(1000);
    let options = UndoOptions { session: Some("nonsense".into()), ..UndoOptions::default() };
    assert_eq!(undo(desk.dir.path(), &desk.kernel, &options).unwrap_err().class, Class::Usage);
    let options = UndoOptions { session: Some(session), ..UndoOptions::default() };
    assert!(undo(desk.dir.path(), &desk.kernel, &options).unwrap().is_clean());
    assert_eq!(desk.read(RPS), "00000000,00000000");
}

#[test]
fn a_reboot_makes_run_time_changes_expire_and_nothing_is_written() {
    let desk = Desk::new();
    desk.ledger_of_a_change();
    desk.kernel.reboot();
    let changes = desk.kernel.changes();
    let report = undo(desk.dir.path(), &desk.kernel, &UndoOptions::default()).unwrap();
    assert_eq!(report.sessions[0].undone[0].how, How::Expired);
    assert!(report.is_clean());
    assert_eq!(desk.kernel.changes(), changes);
    assert!(sessions(desk.dir.path()).unwrap().is_empty());
}

#[test]
fn a_second_undo_is_locked_out() {
    let desk = Desk::new();
    desk.hand().finish().unwrap();
    let _lock = MachineLock::take(desk.dir.path()).unwrap();
    let fault = undo(desk.dir.path(), &desk.kernel, &UndoOptions::default()).unwrap_err();
    assert!(fault.class == Class::No && fault.cause.contains("is changing this machine"), "{fault}");
}

#[test]
fn what_somebody_else_sets_while_the_intent_is_written_is_what_undo_puts_back() {
    let desk = Desk::new();
    let mut hand = desk.hand();
    desk.kernel.alter_after_reading(RPS, "2\n");
    let receipt = hand.perform(&write(RPS, "3")).unwrap();
    assert_eq!(receipt.old, Value::Text("2".into()));
    hand.finish().unwrap();
    assert!(desk.undo_after_death(false).is_clean());
    assert_eq!(desk.read(RPS), "2");
}

#[test]
fn status_shows_what_was_changed_from_what_to_what() {
    let desk = Desk::new();
    assert!(status(desk.dir.path()).unwrap().to_string().contains("Nothing"));
    let mut hand = desk.hand();
    hand.perform(&write(RPS, "3")).unwrap();
    let text = pinwise_change::status::status_with(desk.dir.path(), &desk.kernel).unwrap().to_string();
    assert!(text.contains(&format!("{RPS}: 00000000,00000000 -> 3")), "{text}");
    assert!(text.contains("process 1000, which runs") && text.contains("1 change in force"), "{text}");
    hand.finish().unwrap();
    desk.kernel.remove_thread(1000);
    let status = pinwise_change::status::status_with(desk.dir.path(), &desk.kernel).unwrap();
    assert!(status.to_string().contains("is gone") && status.to_string().contains("pinwise undo"));
    let json = serde_json::to_value(&status).unwrap();
    assert_eq!(json["sessions"][0]["outstanding"][0]["new"], "3");
}

#[test]
fn a_launch_in_a_cpuset_cgroup_is_confined_written_down_and_taken_back() {
    let desk = Desk::new();
    desk.kernel
        .add_file("/proc/self/mountinfo", "34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset");
    desk.kernel.add_file("/proc/self/cgroup", "3:cpuset:/");
    desk.kernel.add_file("/sys/fs/cgroup/cpuset/cpuset.mems", "0");
    let before = desk.kernel.state();
    let mut hand = desk.hand();
    let launch = Launch {
        argv: vec!["server".into()],
        cpus: Some(CpuSet::single(2)),
        scheduling: Some(Scheduling::Fifo { priority: 5 }),
        cpuset_cgroup: true,
        ..Launch::default()
    };
    let launched = hand.launch(&launch).unwrap();
    let thread = desk.kernel.state().threads[&launched.process().pid].clone();
    assert_eq!(thread.affinity, CpuSet::single(2));
    assert_eq!(thread.scheduling.scheduling, Scheduling::Fifo { priority: 5 });
    let group = thread.cgroup.display().to_string();
    assert!(group.starts_with("/sys/fs/cgroup/cpuset/pinwise-"), "{group}");
    assert_eq!(
        (desk.read(&format!("{group}/cpuset.cpus")), desk.read(&format!("{group}/cpuset.mems"))),
        ("2".into(), "0".into())
    );
    // The owner is killed: nothing of its memory is left, only the ledger.
    std::mem::forget(launched);
    std::mem::forget(hand);
    let report = desk.undo_after_death(false);
    assert!(report.is_clean(), "{report}");
    let mut expected = before;
    expected.threads.remove(&1000);
    assert_eq!(desk.kernel.state(), expected);
}

#[test]
fn a_cgroup_that_is_not_there_cannot_be_joined() {
    let desk = Desk::new();
    let process = desk.kernel.add_process(50, 1);
    let mut hand = desk.hand();
    let path: std::path::PathBuf = "/sys/fs/cgroup/cpuset/g1".into();
    let fault = hand.perform(&Act::JoinCgroup { process, path: path.clone() }).unwrap_err();
    assert!(fault.cause.contains("the cgroup does not exist"), "{fault}");
    hand.perform(&Act::CreateCgroup { path: path.clone() }).unwrap();
    assert!(hand.perform(&Act::JoinCgroup { process, path }).unwrap().took_effect);
}

#[test]
fn a_launch_that_fails_leaves_nothing() {
    let desk = Desk::new();
    let process = |hand: &mut Hand, launch: &Launch| hand.launch(launch).unwrap_err();
    let before = desk.kernel.state();
    let mut hand = desk.hand();
    let launch = Launch { argv: vec!["server".into()], cpus: Some(CpuSet::single(2)), ..Launch::default() };
    assert_eq!(process(&mut hand, &Launch::default()).class, Class::Usage);
    let empty = Launch { cpus: Some(CpuSet::new()), ..launch.clone() };
    assert_eq!(process(&mut hand, &empty).class, Class::Usage);
    for (object, errno) in [("fork", libc::EAGAIN), ("release", libc::EPIPE), ("affinity 1002", libc::EINVAL)]
    {
        desk.kernel.refuse(object, errno);
        process(&mut hand, &launch);
        assert_eq!(hand.outstanding().count(), 0, "{object}");
        assert_eq!(desk.kernel.state(), before, "{object}");
    }
}

#[test]
fn a_launch_with_a_memory_limit_is_held_to_it_and_taken_back() {
    let desk = Desk::new();
    let mounts = "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory";
    desk.kernel.add_file("/proc/self/mountinfo", mounts);
    desk.kernel.add_file("/proc/self/cgroup", "4:memory:/box");
    let before = desk.kernel.state();
    let mut hand = desk.hand();
    let limit = MemoryLimit { memory_bytes: 200 << 20, swap_bytes: Some(100 << 20) };
    let launch = Launch { argv: vec!["server".into()], memory_limit: Some(limit), ..Launch::default() };
    let launched = hand.launch(&launch).unwrap();
    let group = launched.memory_cgroup().unwrap().display().to_string();
    assert!(group.starts_with("/sys/fs/cgroup/memory/box/pinwise-"), "{group}");
    let read = |name: &str| desk.read(&format!("{group}/{name}")).parse::<u64>().unwrap() >> 20;
    assert_eq!((read("memory.limit_in_bytes"), read("memory.memsw.limit_in_bytes")), (200, 300));
    assert_eq!(desk.kernel.state().threads[&launched.process().pid].cgroup.display().to_string(), group);
    std::mem::forget(launched);
    std::mem::forget(hand);
    assert!(desk.undo_after_death(false).is_clean());
    let mut expected = before;
    expected.threads.remove(&1000);
    assert_eq!(desk.kernel.state(), expected);
}

#[test]
fn a_swap_area_goes_whatever_the_moment_of_the_crash_and_its_file_after_a_restart_too() {
    // Made, switched on, switched off, removed.
    for (number, when) in (0..4).flat_map(|n| [(n, When::Before), (n, When::After)]) {
        let desk = Desk::new();
        let before = desk.kernel.state();
        desk.kernel.crash_at(Some((number, when)));
        let crashed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let mut hand = desk.hand();
            let path = hand.make_swap_file(std::path::Path::new("/"), 1 << 30).unwrap();
            assert!(hand.perform(&Act::SwapOn { path }).unwrap().took_effect);
            hand.undo_all();
        }));
        assert!(crashed.is_err(), "{number} {when:?}");
        desk.kernel.crash_at(None);
        let report = desk.undo_after_death(false);
        assert!(report.is_clean(), "{number} {when:?}: {report}");
        let mut expected = before;
        expected.threads.remove(&1000);
        assert_eq!(desk.kernel.state(), expected, "{number} {when:?}");
    }
    let desk = Desk::new();
    let mut hand = desk.hand();
    let path = hand.make_swap_file(std::path::Path::new("/"), 1 << 30).unwrap();
    hand.perform(&Act::SwapOn { path: path.clone() }).unwrap();
    std::mem::forget(hand);
    let mut restarted = desk.kernel.state();
    restarted.swaps.clear();
    desk.kernel.set_state(restarted);
    desk.kernel.reboot();
    assert!(desk.undo_after_death(false).is_clean());
    assert!(!desk.kernel.state().files.contains_key(&(None, path)));
}

/// Found by a random sequence: the older act read its old value by chance, was called done, and its change came back for good.
#[test]
fn an_older_act_waits_for_the_later_one_that_could_not_be_undone() {
    let desk = Desk::new();
    let mut hand = desk.hand();
    hand.perform(&write(RPS, "3")).unwrap();
    hand.perform(&write(RPS, "0")).unwrap();
    hand.finish().unwrap();
    desk.kernel.refuse_every_change(Some(5));
    let report = desk.undo_after_death(false);
    let hows: Vec<&How> = report.sessions[0].undone.iter().map(|undone| &undone.how).collect();
    assert!(matches!(hows[..], [How::Refused { .. }, How::HeldWithin { .. }]), "{report}");
    desk.kernel.refuse_every_change(None);
    assert!(desk.undo_after_death(false).is_clean());
    assert_eq!(desk.read(RPS), "00000000,00000000");
}
