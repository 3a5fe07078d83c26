//! What is odd about single settings, on the emulated kernel: files that set each other to 0, sessions, ranks.
#![allow(clippy::unwrap_used)] // clippy sees only #[test] functions as tests, not what they share

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use machine::ethtool::{ChannelKind, Feature, Figure, Topic};
use machine::{
    Act, Class, CpuSet, EthtoolSetting, EthtoolState, IoPriority, ProcessFile, ProcessRef, ThreadRef,
    UtilClamp,
};
use pinwise_change::emulated_kernel::{Crash, When};
use pinwise_change::status::status_with;
use pinwise_change::{EmulatedKernel, Hand, How, UndoOptions, Value, undo};

const RATIO: &str = "/proc/sys/vm/dirty_ratio";
const BYTES: &str = "/proc/sys/vm/dirty_bytes";

fn write(path: &str, value: &str) -> Act {
    Act::WriteFile { path: path.into(), value: value.into(), netns: None }
}

fn kernel(ratio: &str, bytes: &str) -> EmulatedKernel {
    let kernel = EmulatedKernel::new();
    kernel.add_file(RATIO, &format!("{ratio}\n"));
    kernel.add_file(BYTES, &format!("{bytes}\n"));
    kernel
}

fn hand(kernel: &EmulatedKernel, dir: &Path) -> Hand {
    Hand::with(Arc::new(kernel.clone()), dir, "test").unwrap()
}

/// What a later `pinwise undo` does, when the owner is gone.
fn undo_after_death(kernel: &EmulatedKernel, dir: &Path) -> pinwise_change::UndoReport {
    kernel.remove_thread(1000);
    undo(dir, kernel, &UndoOptions::default()).unwrap()
}

#[test]
fn a_file_that_reads_0_since_its_twin_is_in_force_is_undone_by_the_twin() {
    let settings = [("20", "0"), ("0", "268435456"), ("0", "0")];
    let sessions: [&[Act]; 4] = [
        &[write(BYTES, "1073741824")],
        &[write(RATIO, "30")],
        &[write(RATIO, "30"), write(BYTES, "1073741824"), write(RATIO, "5")],
        &[write(BYTES, "1073741824"), write(BYTES, "536870912"), write(RATIO, "30")],
    ];
    for ((ratio, bytes), acts) in settings.iter().flat_map(|s| sessions.iter().map(move |acts| (*s, *acts))) {
        let (kernel, dir) = (kernel(ratio, bytes), tempfile::tempdir().unwrap());
        let before = kernel.state();
        let mut hand = hand(&kernel, dir.path());
        acts.iter().for_each(|act| assert!(hand.perform(act).unwrap().took_effect, "{act:?}"));
        assert!(hand.undo_all().iter().all(|undone| undone.how == How::Restored), "{acts:?}");
        assert_eq!(kernel.state(), before, "{ratio} {bytes} {acts:?}");
    }
}

#[test]
fn a_pair_comes_back_whatever_the_moment_of_the_crash() {
    let acts = [write(RATIO, "30"), write(BYTES, "1073741824"), write(RATIO, "5")];
    for (ratio, bytes) in [("20", "0"), ("0", "268435456"), ("0", "0")] {
        // Three changes, and up to four more to undo them.
        for (number, when) in (0..7).flat_map(|n| [(n, When::Before), (n, When::After)]) {
            let (kernel, dir) = (kernel(ratio, bytes), tempfile::tempdir().unwrap());
            let before = kernel.state().files;
            kernel.crash_at(Some((number, when)));
            let crashed = catch_unwind(AssertUnwindSafe(|| {
                let mut hand = hand(&kernel, dir.path());
                acts.iter().for_each(|act| drop(hand.perform(act).unwrap()));
                hand.undo_all();
                hand.finish().unwrap();
            }));
            if let Err(panic) = crashed {
                assert!(panic.downcast_ref::<Crash>().is_some(), "another panic than the crash");
            }
            kernel.crash_at(None);
            let report = undo_after_death(&kernel, dir.path());
            assert_eq!(kernel.state().files, before, "{ratio} {bytes}, {number} {when:?}: {report:?}");
        }
    }
}

#[test]
fn a_twin_that_somebody_else_set_is_a_conflict() {
    let (kernel, dir) = (kernel("20", "0"), tempfile::tempdir().unwrap());
    let mut hand = hand(&kernel, dir.path());
    let receipt = hand.perform(&write(BYTES, "1073741824")).unwrap();
    assert_eq!(receipt.old.to_string(), "0, with 20 in the file's twin");
    kernel.add_file(BYTES, "0\n");
    kernel.add_file(RATIO, "40\n");
    assert!(matches!(hand.undo_all()[0].how, How::Conflict { .. }));
    assert_eq!(hand.perform(&write(BYTES, "0")).unwrap_err().class, Class::Usage);
}

#[test]
fn status_does_not_take_our_own_change_of_the_twin_for_somebody_elses() {
    let (kernel, dir) = (kernel("20", "0"), tempfile::tempdir().unwrap());
    let mut hand = hand(&kernel, dir.path());
    hand.perform(&write(RATIO, "30")).unwrap();
    hand.perform(&write(BYTES, "1073741824")).unwrap();
    let status = status_with(dir.path(), &kernel).unwrap();
    let acts = &status.sessions[0].outstanding;
    assert_eq!((acts[0].changed_since, acts[1].changed_since), (None, Some(false)), "{acts:?}");
    hand.undo_all();
}

fn session_of_two() -> (EmulatedKernel, ProcessRef, ProcessRef) {
    let kernel = EmulatedKernel::new();
    let (first, second) = (kernel.add_process(50, 1), kernel.add_process(60, 50));
    kernel.add_file("/proc/50/autogroup", "/autogroup-12 nice 0\n");
    kernel.add_file("/proc/60/autogroup", "/autogroup-12 nice 0\n");
    kernel.add_process(70, 1);
    kernel.add_file("/proc/70/autogroup", "/autogroup-13 nice 7\n");
    (kernel, first, second)
}

#[test]
fn a_session_is_restored_by_another_of_its_processes() {
    let (kernel, first, _) = session_of_two();
    let dir = tempfile::tempdir().unwrap();
    let mut hand = hand(&kernel, dir.path());
    let act = Act::WriteProcessFile { process: first, file: ProcessFile::Autogroup, value: 7 };
    assert!(hand.perform(&act).unwrap().took_effect);
    kernel.remove_thread(50);
    let undone = hand.undo_all();
    assert_eq!((&undone[0].how, undone[0].heirs), (&How::Gone, 1));
    let files = kernel.state().files;
    let read = |pid: u32| files[&(None, format!("/proc/{pid}/autogroup").into())].trim().to_string();
    assert_eq!((read(60), read(70)), ("/autogroup-12 nice 0".into(), "/autogroup-13 nice 7".into()));
}

#[test]
fn children_that_inherited_a_score_are_restored_and_a_reused_number_is_not_touched() {
    let kernel = EmulatedKernel::new();
    let parent = kernel.add_process(50, 1);
    kernel.add_file("/proc/50/oom_score_adj", "0\n");
    let dir = tempfile::tempdir().unwrap();
    let mut hand = hand(&kernel, dir.path());
    let act = |process| Act::WriteProcessFile { process, file: ProcessFile::OomScoreAdj, value: -500 };
    assert!(hand.perform(&act(parent)).unwrap().took_effect);
    kernel.add_process(60, 50);
    kernel.add_file("/proc/60/oom_score_adj", "-500\n");
    let undone = hand.undo_all();
    assert_eq!((&undone[0].how, undone[0].heirs), (&How::Restored, 1));
    assert_eq!(kernel.state().files[&(None, "/proc/60/oom_score_adj".into())], "0\n");
    let later = ProcessRef { start_time_ticks: parent.start_time_ticks + 1, ..parent };
    assert_eq!(hand.perform(&act(later)).unwrap_err().class, Class::MachineLacks);
}

#[test]
fn ranks_and_clamps_are_inherited_and_restored() {
    let kernel = EmulatedKernel::new();
    let ProcessRef { pid, start_time_ticks } = kernel.add_process(50, 1);
    let before = kernel.state().threads[&50].clone();
    let thread = ThreadRef { pid, tid: pid, start_time_ticks };
    let dir = tempfile::tempdir().unwrap();
    let mut hand = hand(&kernel, dir.path());
    hand.perform(&Act::SetIoPriority { thread, priority: IoPriority::Idle }).unwrap();
    let receipt =
        hand.perform(&Act::SetUtilClamp { thread, clamp: UtilClamp { min: 512, max: 1024 } }).unwrap();
    assert_eq!((receipt.old.to_string(), receipt.took_effect), ("0-1024".into(), true));
    kernel.add_thread(50, 51);
    assert_eq!(hand.undo_all().iter().map(|undone| undone.heirs).sum::<usize>(), 2);
    for tid in [50, 51] {
        let now = kernel.state().threads[&tid].clone();
        assert_eq!((now.io_priority, now.util_clamp), (before.io_priority, before.util_clamp), "{tid}");
    }
}

#[test]
fn memory_is_moved_and_comes_back_in_the_shares_that_it_had() {
    let kernel = EmulatedKernel::new();
    let process = kernel.add_process(50, 1);
    kernel.set_memory(50, &[(0, 800), (1, 200)]);
    let on = |pid: u32| kernel.state().memory[&pid].clone().into_iter().collect::<Vec<_>>();
    let dir = tempfile::tempdir().unwrap();
    let mut hand = hand(&kernel, dir.path());
    let act = Act::MigratePages { process, nodes: CpuSet::single(1) };
    let receipt = hand.perform(&act).unwrap();
    assert!(receipt.took_effect && on(50) == [(1, 1000)], "{receipt:?}");
    // What a process takes that runs on is no other's doing.
    kernel.set_memory(50, &[(0, 100), (1, 1400)]);
    assert_eq!(hand.undo_all()[0].how, How::Restored);
    assert_eq!(on(50), [(0, 800), (1, 200)]);
    hand.perform(&act).unwrap();
    kernel.set_memory(50, &[(1, 100), (2, 900)]);
    assert!(matches!(hand.undo_all()[0].how, How::Conflict { .. }), "somebody else has moved it");
    kernel.set_memory(50, &[(0, 796), (1, 204)]);
    assert_eq!(hand.undo_all()[0].how, How::Already);
    kernel.refuse("memory 50", libc::EINVAL);
    let fault = hand.perform(&act).unwrap_err();
    assert!(fault.class == Class::MachineLacks && fault.cause.contains("has memory"), "{fault}");
    let later = ProcessRef { start_time_ticks: process.start_time_ticks + 1, ..process };
    let gone = Act::MigratePages { process: later, nodes: CpuSet::single(1) };
    assert!(hand.perform(&gone).unwrap_err().cause.contains("does not exist"));
}

#[test]
fn what_could_not_be_given_back_is_not_taken() {
    let (kernel, first, _) = session_of_two();
    kernel.add_file("/proc/50/autogroup", "/autogroup-12 nice -5\n");
    kernel.alter(50, |thread| thread.io_priority = IoPriority::RealTime { level: 2 }.to_raw());
    kernel.drop_privilege();
    let dir = tempfile::tempdir().unwrap();
    let mut hand = hand(&kernel, dir.path());
    let thread = ThreadRef { pid: 50, tid: 50, start_time_ticks: first.start_time_ticks };
    let acts = [
        Act::WriteProcessFile { process: first, file: ProcessFile::Autogroup, value: 0 },
        Act::SetIoPriority { thread, priority: IoPriority::Idle },
    ];
    for act in acts {
        let fault = hand.perform(&act).unwrap_err();
        assert!(fault.class == Class::NotPermitted && fault.cause.contains("CAP_SYS_NICE"), "{fault}");
    }
    // A hint beside the class has no name here, and is not forgotten.
    kernel.alter(50, |thread| thread.io_priority = 0x4010);
    let fault = hand.perform(&Act::SetIoPriority { thread, priority: IoPriority::Idle }).unwrap_err();
    assert!(fault.cause.contains("16400"), "{fault}");
}

fn coalescing(figures: &[(Figure, u32)]) -> EthtoolState {
    EthtoolState::Coalescing { figures: figures.iter().copied().collect() }
}

fn set_eth0(setting: EthtoolSetting) -> Act {
    Act::SetEthtool { device: "eth0".into(), netns: None, setting }
}

/// A card that chooses its receive figures by load, and acts on each of its topics.
fn card() -> (EmulatedKernel, [Act; 4]) {
    let kernel = EmulatedKernel::new();
    let add = |topic, state| kernel.add_ethtool(None, "eth0", topic, state);
    add(
        Topic::Coalescing,
        coalescing(&[(Figure::RxUsecs, 50), (Figure::TxUsecs, 9), (Figure::AdaptiveRx, 1)]),
    );
    let counts = [(ChannelKind::Combined, 8), (ChannelKind::Other, 1)].into();
    add(Topic::Channels, EthtoolState::Channels { counts });
    add(Topic::Feature(Feature::Gro), EthtoolState::Feature { wanted: true, active: true });
    let figures = [(Figure::RxUsecs, 8), (Figure::AdaptiveRx, 0)].into();
    let acts = [
        set_eth0(EthtoolSetting::Channels { counts: [(ChannelKind::Combined, 2)].into() }),
        set_eth0(EthtoolSetting::Coalescing { figures }),
        set_eth0(EthtoolSetting::Coalescing { figures: [(Figure::TxUsecs, 0)].into() }),
        set_eth0(EthtoolSetting::Feature { feature: Feature::Gro, on: false }),
    ];
    (kernel, acts)
}

/// A card like before, but for what its driver chooses by load.
fn as_before(now: &EmulatedKernel, before: &EmulatedKernel) -> bool {
    let (now, before) = (now.state().ethtool, before.state().ethtool);
    now.len() == before.len() && now.iter().all(|(key, state)| before[key].means(state))
}

#[test]
fn a_card_comes_back_whatever_the_moment_of_the_crash() {
    // Four changes, and as many to undo them.
    for (number, when) in (0..9).flat_map(|n| [(n, When::Before), (n, When::After)]) {
        let (kernel, acts) = card();
        let dir = tempfile::tempdir().unwrap();
        kernel.crash_at(Some((number, when)));
        let crashed = catch_unwind(AssertUnwindSafe(|| {
            let mut hand = hand(&kernel, dir.path());
            acts.iter().for_each(|act| assert!(hand.perform(act).unwrap().took_effect, "{act:?}"));
            assert!(hand.undo_all().iter().all(|undone| undone.how == How::Restored));
            hand.finish().unwrap();
        }));
        if let Err(panic) = crashed {
            assert!(panic.downcast_ref::<Crash>().is_some(), "another panic than the crash");
        }
        kernel.crash_at(None);
        let report = undo_after_death(&kernel, dir.path());
        assert!(as_before(&kernel, &card().0), "{number} {when:?}: {report:?}\n{:?}", kernel.state().ethtool);
    }
}

/// An irqbalance that leaves interrupts 5 and 9 alone.
fn irqbalance() -> (EmulatedKernel, ProcessRef) {
    let kernel = EmulatedKernel::new();
    let process = kernel.add_irqbalance(60, &[5, 9]);
    (kernel, process)
}

fn bans(kernel: &EmulatedKernel) -> Vec<u32> {
    kernel.state().irq_bans[&60].iter().copied().collect()
}

#[test]
fn only_our_own_interrupt_is_taken_off_irqbalances_list() {
    let (kernel, process) = irqbalance();
    let dir = tempfile::tempdir().unwrap();
    let mut hand = hand(&kernel, dir.path());
    for irq in [38, 9] {
        let receipt = hand.perform(&Act::SetIrqBan { process, irq, banned: true }).unwrap();
        assert!(receipt.took_effect && receipt.read_back.to_string() == "left alone", "{receipt:?}");
    }
    hand.perform(&Act::SetIrqBan { process, irq: 5, banned: false }).unwrap();
    assert_eq!(bans(&kernel), [9, 38]);
    // Somebody else adds one more.
    use pinwise_change::Platform;
    kernel.set_irq_bans(&process, &[9, 12, 38].into()).unwrap();
    let undone: Vec<How> = hand.undo_all().into_iter().map(|undone| undone.how).collect();
    assert_eq!(undone, [How::Restored, How::Already, How::Restored]);
    assert_eq!(bans(&kernel), [5, 9, 12]);
}

#[test]
fn an_irqbalance_that_was_restarted_has_forgotten() {
    let (kernel, process) = irqbalance();
    let dir = tempfile::tempdir().unwrap();
    let mut hand = hand(&kernel, dir.path());
    hand.perform(&Act::SetIrqBan { process, irq: 38, banned: true }).unwrap();
    kernel.add_irqbalance(60, &[38]);
    assert_eq!(hand.undo_all()[0].how, How::Gone);
    assert_eq!(bans(&kernel), [38], "the later one has it from somebody else");
    let fault = hand.perform(&Act::SetIrqBan { process, irq: 4, banned: true }).unwrap_err();
    assert!(fault.remedy.contains("restarted"), "{fault}");
}

#[test]
fn a_list_that_irqbalance_does_not_take_leaves_all_as_it_was() {
    let (kernel, process) = irqbalance();
    kernel.refuse("irq-bans 60", libc::EINVAL);
    let dir = tempfile::tempdir().unwrap();
    let fault =
        hand(&kernel, dir.path()).perform(&Act::SetIrqBan { process, irq: 38, banned: true }).unwrap_err();
    assert!(fault.remedy.contains("--banmod"), "{fault}");
    assert_eq!(bans(&kernel), [5, 9]);
}

#[test]
fn a_held_limit_is_ended_whatever_the_moment_of_the_crash() {
    // Forked, released, signalled.
    for (number, when) in (0..3).flat_map(|n| [(n, When::Before), (n, When::After)]) {
        let (kernel, dir) = (EmulatedKernel::new(), tempfile::tempdir().unwrap());
        kernel.crash_at(Some((number, when)));
        let crashed = catch_unwind(AssertUnwindSafe(|| {
            let mut hand = hand(&kernel, dir.path());
            hand.perform(&Act::HoldLatency { limit_us: 20 }).unwrap();
            hand.undo_all();
        }));
        assert!(crashed.is_err(), "{number} {when:?}");
        kernel.crash_at(None);
        let report = undo_after_death(&kernel, dir.path());
        assert!(report.is_clean(), "{number} {when:?}: {report:?}");
        assert_eq!(kernel.state().threads.len(), 0, "{number} {when:?}: {report:?}");
    }
}

#[test]
fn what_somebody_else_set_of_a_card_stays_and_what_its_driver_chose_is_no_conflict() {
    let (kernel, acts) = card();
    let dir = tempfile::tempdir().unwrap();
    let mut hand = hand(&kernel, dir.path());
    let receipt = hand.perform(&acts[2]).unwrap();
    assert_eq!(receipt.old.to_string(), "rx-usecs:50 tx-usecs:9 adaptive-rx:on");
    let by_load = coalescing(&[(Figure::RxUsecs, 31), (Figure::TxUsecs, 0), (Figure::AdaptiveRx, 1)]);
    kernel.add_ethtool(None, "eth0", Topic::Coalescing, by_load);
    assert_eq!(hand.undo_all()[0].how, How::Restored);
    hand.perform(&acts[0]).unwrap();
    hand.perform(&acts[3]).unwrap();
    let theirs =
        EthtoolState::Channels { counts: [(ChannelKind::Combined, 4), (ChannelKind::Other, 1)].into() };
    kernel.add_ethtool(None, "eth0", Topic::Channels, theirs.clone());
    let undone = hand.undo_all();
    assert_eq!(undone[0].how, How::Restored);
    assert_eq!(undone[1].how, How::Conflict { now: Value::Ethtool(theirs).into() });
}

#[test]
fn a_refusal_by_a_driver_says_what_it_means_and_a_card_that_is_gone_needs_nothing() {
    let (kernel, acts) = card();
    let dir = tempfile::tempdir().unwrap();
    let mut hand = hand(&kernel, dir.path());
    /// Of the kernel alone (include/linux/errno.h).
    const ENOTSUPP: i32 = 524;
    let refusals = [
        (libc::EOPNOTSUPP, Class::MachineLacks, "cannot do it"),
        (ENOTSUPP, Class::MachineLacks, "cannot do it"),
        (libc::EINVAL, Class::Usage, "does not take these"),
        (libc::EPERM, Class::NotPermitted, "CAP_NET_ADMIN"),
        (libc::ENODEV, Class::MachineLacks, "no such interface"),
        (libc::EBUSY, Class::MachineLacks, "at the moment"),
    ];
    for (errno, class, cause) in refusals {
        kernel.refuse("ethtool eth0", errno);
        let fault = hand.perform(&acts[0]).unwrap_err();
        assert!(fault.class == class && fault.cause.contains(cause), "{errno}: {fault}");
        assert!(fault.object == "channels of eth0" && !fault.remedy.is_empty(), "{fault}");
    }
    assert!(as_before(&kernel, &card().0) && hand.undo_all().is_empty());
    let (kernel, acts) = card();
    let dir = tempfile::tempdir().unwrap();
    let mut hand = self::hand(&kernel, dir.path());
    hand.perform(&acts[3]).unwrap();
    // It sleeps.
    kernel.refuse_to_read("ethtool eth0", libc::ENODEV);
    let undone = hand.undo_all();
    assert!(matches!(&undone[0].how, How::Refused { .. }), "{undone:?}");
    kernel.set_state(pinwise_change::emulated_kernel::EmulatedState {
        ethtool: Default::default(),
        ..kernel.state()
    });
    assert_eq!(hand.undo_all()[0].how, How::Gone);
}

#[test]
fn the_shortest_limit_holds_and_each_is_ended_by_itself() {
    let (kernel, dir) = (EmulatedKernel::new(), tempfile::tempdir().unwrap());
    let before = kernel.state();
    let mut hand = hand(&kernel, dir.path());
    let start = hand.mark();
    let receipt = hand.perform(&Act::HoldLatency { limit_us: 20 }).unwrap();
    let values = |receipt: &pinwise_change::Receipt| (receipt.old.to_string(), receipt.read_back.to_string());
    assert_eq!((values(&receipt), receipt.took_effect), (("unlimited".into(), "20 us".into()), true));
    let second = hand.mark();
    let receipt = hand.perform(&Act::HoldLatency { limit_us: 50 }).unwrap();
    assert_eq!((values(&receipt), receipt.took_effect), (("20 us".into(), "20 us".into()), true));
    let status = status_with(dir.path(), &kernel).unwrap();
    let acts = &status.sessions[0].outstanding;
    assert!(acts[0].new.starts_with("20 us, held by process "), "{acts:?}");
    assert_eq!((acts[0].changed_since, acts[1].changed_since), (None, Some(false)));
    assert_eq!(hand.undo_to(second)[0].how, How::Restored);
    assert_eq!(kernel.state().cpu_latency_us(), 20);
    // Somebody ends it.
    let holder = *kernel.state().threads.keys().next_back().unwrap();
    kernel.remove_thread(holder);
    assert_eq!(
        status_with(dir.path(), &kernel).unwrap().sessions[0].outstanding[0].changed_since,
        Some(true)
    );
    assert_eq!(hand.undo_to(start)[0].how, How::Gone);
    assert_eq!(kernel.state(), before);
    hand.finish().unwrap();
}
