//! A subject is what it was when pinwise changed it, and not what has its path or name by now: on the emulated kernel, every way in
//! which the two come apart.
#![allow(clippy::unwrap_used)] // clippy sees only #[test] functions as tests, not what they share

use std::path::Path;
use std::sync::Arc;

use machine::{Act, CpuSet, ThreadRef};
use pinwise_change::OutOfReach;
use pinwise_change::ledger::sessions;
use pinwise_change::{EmulatedKernel, Hand, How, UndoOptions, UndoReport, status, undo};

const RPS: &str = "/sys/class/net/eth0/queues/rx-0/rps_cpus";
const CGROUP: &str = "/sys/fs/cgroup/site";

struct Desk {
    kernel: EmulatedKernel,
    dir: tempfile::TempDir,
}

impl Desk {
    /// A machine with an interface eth0 in its own network namespace, and another one of that name and index in namespace `box`.
    fn new() -> Self {
        let kernel = EmulatedKernel::new();
        for netns in [None, Some("box")] {
            kernel.add_file_in(netns, RPS, "0\n");
            kernel.add_interface(netns, "eth0", 2);
        }
        kernel.add_file("/proc/irq/38/smp_affinity_list", "0-3\n");
        kernel.set_line(38, "524288");
        kernel.add_file("/proc/sys/vm/swappiness", "60\n");
        Self { kernel, dir: tempfile::tempdir().unwrap() }
    }

    /// Performs an act and ends, as `pinwise apply` does.
    fn perform(&self, act: &Act) {
        let mut hand = Hand::with(Arc::new(self.kernel.clone()), self.dir.path(), "test").unwrap();
        assert!(hand.perform(act).unwrap().took_effect);
        hand.finish().unwrap();
    }

    fn undo(&self) -> UndoReport {
        self.undo_with(&UndoOptions::default())
    }

    fn undo_with(&self, options: &UndoOptions) -> UndoReport {
        self.kernel.remove_thread(1000);
        undo(self.dir.path(), &self.kernel, options).unwrap()
    }

    fn read(&self, netns: Option<&str>, path: &str) -> String {
        let state = self.kernel.state();
        state.files[&(netns.map(String::from), path.into())].trim().to_string()
    }

    fn admin_writes(&self, netns: Option<&str>, path: &str, text: &str) {
        self.kernel.add_file_in(netns, path, text);
    }

    fn is_kept(&self) -> bool {
        !sessions(self.dir.path()).unwrap().is_empty()
    }
}

fn how(report: &UndoReport) -> &How {
    &report.sessions[0].undone[0].how
}

fn write(path: &str, value: &str, netns: Option<&str>) -> Act {
    Act::WriteFile { path: path.into(), value: value.into(), netns: netns.map(String::from) }
}

#[test]
fn an_interface_of_the_same_name_in_the_namespace_where_undo_runs_is_left_alone() {
    let desk = Desk::new();
    desk.kernel.stand_in_network(Some("box"));
    desk.perform(&write(RPS, "3", None));
    assert_eq!(desk.read(Some("box"), RPS), "3");
    // On the host, whose administrator has written a 3 as well.
    desk.admin_writes(None, RPS, "3");
    desk.kernel.stand_in_network(None);
    let report = desk.undo();
    assert_eq!((how(&report), report.is_clean()), (&How::Restored, true), "{report}");
    assert_eq!((desk.read(Some("box"), RPS), desk.read(None, RPS)), ("0".into(), "3".into()));
    assert!(!desk.is_kept());
}

#[test]
fn a_namespace_that_has_lost_its_name_is_found_and_one_that_has_ended_is_gone() {
    for lives in [true, false] {
        let desk = Desk::new();
        desk.perform(&write(RPS, "3", Some("box")));
        desk.kernel.forget_network("box", lives);
        // Another one gets its name.
        desk.kernel.add_file_in(Some("box"), RPS, "3\n");
        desk.kernel.add_interface(Some("box"), "eth0", 2);
        let report = desk.undo();
        assert_eq!(how(&report), if lives { &How::Restored } else { &How::Gone }, "{report}");
        assert_eq!(desk.read(Some("box"), RPS), "3", "the later one is not ours");
        let nameless = desk
            .kernel
            .state()
            .files
            .into_iter()
            .find(|((netns, _), _)| netns.as_ref().is_some_and(|name| name.starts_with('(')));
        assert_eq!(nameless.map(|(_, text)| text), lives.then(|| "0\n".to_string()));
    }
}

#[test]
fn a_renamed_interface_is_followed_and_its_old_name_is_not() {
    for netns in [None, Some("box")] {
        let desk = Desk::new();
        desk.perform(&write(RPS, "3", netns));
        desk.kernel.rename_interface(netns, "eth0", "lan0");
        desk.admin_writes(netns, RPS, "3\n");
        desk.kernel.add_interface(netns, "eth0", 9);
        let report = desk.undo();
        assert_eq!(how(&report), &How::Restored, "{report}");
        let renamed = RPS.replace("eth0", "lan0");
        assert_eq!((desk.read(netns, &renamed), desk.read(netns, RPS)), ("0".into(), "3".into()));
    }
}

#[test]
fn an_interface_that_was_removed_is_gone_whatever_has_its_name() {
    let desk = Desk::new();
    desk.perform(&write(RPS, "3", None));
    desk.kernel.remove_interface(None, "eth0");
    desk.admin_writes(None, RPS, "3\n");
    desk.kernel.add_interface(None, "eth0", 9);
    assert_eq!(how(&desk.undo()), &How::Gone);
    assert_eq!(desk.read(None, RPS), "3");
}

#[test]
fn a_process_is_only_looked_for_in_its_own_pid_namespace() {
    let desk = Desk::new();
    let process = desk.kernel.add_process(50, 1);
    let thread = ThreadRef { pid: 50, tid: 50, start_time_ticks: process.start_time_ticks };
    desk.perform(&Act::SetAffinity { thread, cpus: CpuSet::single(1) });
    desk.kernel.stand_on(7, 0, 0);
    let whole = desk.kernel.state();
    desk.kernel.remove_thread(50);
    let report = desk.undo();
    let expected = OutOfReach::Processes { namespace: 0, by: None };
    assert_eq!(how(&report), &How::OutOfReach { what: expected }, "not gone: it cannot be seen");
    let fault = report.fault().unwrap();
    assert!(fault.remedy.contains("where the change was made"), "{fault}");
    assert!(desk.is_kept());
    let seen = status::status_with(desk.dir.path(), &desk.kernel).unwrap();
    assert!(seen.sessions[0].outstanding[0].out_of_reach.is_some() && seen.sessions[0].owner_elsewhere);
    assert!(seen.to_string().contains("another PID namespace"), "{seen}");

    desk.kernel.set_state(whole);
    desk.kernel.stand_on(0, 0, 0);
    assert_eq!(how(&desk.undo()), &How::Restored);
    assert!(!desk.is_kept());
}

#[test]
fn what_cannot_be_reached_is_given_up_only_by_force_and_by_name() {
    let desk = Desk::new();
    let process = desk.kernel.add_process(50, 1);
    let thread = ThreadRef { pid: 50, tid: 50, start_time_ticks: process.start_time_ticks };
    desk.perform(&Act::SetAffinity { thread, cpus: CpuSet::single(1) });
    desk.kernel.stand_on(7, 0, 0);
    let forced = UndoOptions { force: true, ..UndoOptions::default() };
    assert!(matches!(how(&desk.undo_with(&forced)), How::OutOfReach { .. }));
    let session = Some(sessions(desk.dir.path()).unwrap()[0].id());
    let report = desk.undo_with(&UndoOptions { session, ..forced });
    assert_eq!(how(&report), &How::Forgotten);
    assert!(!desk.is_kept());
}

#[test]
fn a_file_of_the_whole_machine_is_restored_from_anywhere() {
    let desk = Desk::new();
    desk.perform(&write("/proc/sys/vm/swappiness", "10", None));
    desk.kernel.stand_on(7, 7, 0);
    desk.kernel.stand_in_network(Some("box"));
    assert_eq!(how(&desk.undo()), &How::Restored);
    assert_eq!(desk.read(None, "/proc/sys/vm/swappiness"), "60");
}

#[test]
fn another_line_behind_a_number_is_left_alone() {
    let desk = Desk::new();
    let path = "/proc/irq/38/smp_affinity_list";
    desk.perform(&write(path, "1", None));
    desk.kernel.set_line(38, "999");
    assert_eq!(how(&desk.undo()), &How::Gone);
    assert_eq!(desk.read(None, path), "1");
}

#[test]
fn a_cgroup_that_was_made_anew_is_another_one() {
    let desk = Desk::new();
    let kernel = &desk.kernel;
    let file = format!("{CGROUP}/cpu.max");
    let mut hand = Hand::with(Arc::new(kernel.clone()), desk.dir.path(), "an administrator").unwrap();
    hand.perform(&Act::CreateCgroup { path: CGROUP.into() }).unwrap();
    std::mem::forget(hand);
    std::fs::remove_file(&sessions(desk.dir.path()).unwrap()[0].path).unwrap();
    kernel.add_file(&file, "max 100000\n");
    desk.perform(&write(&file, "50000 100000", None));
    kernel.replace_cgroup(Path::new(CGROUP));
    assert_eq!(how(&desk.undo()), &How::Gone);
    assert_eq!(desk.read(None, &file), "50000 100000");
}

#[test]
fn a_cgroup_seen_from_another_mount_namespace_is_not_gone() {
    let desk = Desk::new();
    let file = format!("{CGROUP}/cpu.max");
    desk.kernel.add_file(&file, "max 100000\n");
    desk.perform(&write(&file, "50000 100000", None));
    desk.kernel.stand_on(0, 7, 0);
    let report = desk.undo();
    assert_eq!(how(&report), &How::OutOfReach { what: OutOfReach::Cgroups { mounts: 0 } });
    assert!(desk.is_kept());
}

#[test]
fn a_placed_file_is_not_looked_for_under_another_root() {
    let desk = Desk::new();
    let file = machine::PlatformFile::Sysctl { session: "1-1".into() };
    let place = file.path().unwrap().display().to_string();
    desk.perform(&Act::PlaceFile { file, content: "x\n".into(), keeps: Vec::new() });
    let whole = desk.kernel.state();
    desk.kernel.stand_on(0, 0, 9);
    desk.kernel.set_state(pinwise_change::emulated_kernel::EmulatedState::default());
    assert_eq!(how(&desk.undo()), &How::OutOfReach { what: OutOfReach::Files });
    desk.kernel.set_state(whole);
    desk.kernel.stand_on(0, 0, 0);
    assert_eq!(how(&desk.undo()), &How::Restored);
    assert!(!desk.kernel.state().files.contains_key(&(None, place.into())));
}

#[test]
fn a_later_session_in_another_namespace_does_not_hold_an_object_of_the_same_name() {
    let desk = Desk::new();
    desk.perform(&write(RPS, "3", None));
    desk.kernel.stand_in_network(Some("box"));
    desk.perform(&write(RPS, "1", None));
    desk.kernel.stand_in_network(None);
    let first = sessions(desk.dir.path()).unwrap()[0].id();
    let report = desk.undo_with(&UndoOptions { session: Some(first), ..UndoOptions::default() });
    assert_eq!(how(&report), &How::Restored, "{report}");
    assert_eq!((desk.read(None, RPS), desk.read(Some("box"), RPS)), ("0".into(), "1".into()));
}
