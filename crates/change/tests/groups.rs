//! Process groups of launches after pinwise died: what belongs to a launch is ended, and nobody else is killed.
#![allow(clippy::unwrap_used)] // clippy sees only #[test] functions as tests, not what they share

use std::io::{BufRead, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use machine::{Act, ProcessRef};
use pinwise_change::emulated_kernel::EmulatedThread;
use pinwise_change::record::Record;
use pinwise_change::{
    EmulatedKernel, Hand, How, Kernel, Launch, LiveKernel, UndoOptions, UndoReport, ledger, undo,
};

/// An emulated machine after a launch whose owner and leader are gone; and the leader.
fn after_a_launch(dir: &Path) -> (EmulatedKernel, ProcessRef) {
    let kernel = EmulatedKernel::new();
    let mut hand = Hand::with(Arc::new(kernel.clone()), dir, "test").unwrap();
    let launched = hand.launch(&Launch { argv: vec!["server".into()], ..Launch::default() }).unwrap();
    let leader = launched.process();
    std::mem::forget((launched, hand));
    kernel.remove_thread(1000);
    kernel.remove_thread(leader.pid);
    (kernel, leader)
}

/// A process of the leader's group, with this marker.
fn member(kernel: &EmulatedKernel, leader: &ProcessRef, marker: Option<&str>) -> u32 {
    const PID: u32 = 4000;
    let process = EmulatedThread {
        start_time_ticks: leader.start_time_ticks + 5,
        group: leader.pid,
        marker: marker.map(String::from),
        ..EmulatedThread::new(PID)
    };
    kernel.insert_thread(PID, process);
    PID
}

fn undone(dir: &Path, kernel: &dyn Kernel, force: bool) -> UndoReport {
    undo(dir, kernel, &UndoOptions { force, ..UndoOptions::default() }).unwrap()
}

#[test]
fn a_group_of_the_same_number_whose_leader_is_gone_is_not_killed() {
    let dir = tempfile::tempdir().unwrap();
    let (kernel, leader) = after_a_launch(dir.path());
    let other = member(&kernel, &leader, None);
    let report = undone(dir.path(), &kernel, false);
    assert_eq!(report.sessions[0].undone[0].how, How::Unproven { pids: vec![other] });
    let fault = report.fault().unwrap();
    assert!(fault.cause.contains(&other.to_string()) && fault.remedy.contains("--force"), "{fault}");
    assert!(kernel.alive(&ProcessRef { pid: other, start_time_ticks: leader.start_time_ticks + 5 }));
    assert_eq!(ledger::sessions(dir.path()).unwrap().len(), 1, "the ledger is kept");

    assert!(undone(dir.path(), &kernel, true).is_clean());
    assert!(kernel.state().threads.contains_key(&other), "--force leaves them alone, too");
    assert!(ledger::sessions(dir.path()).unwrap().is_empty());
}

#[test]
fn what_carries_the_marker_is_ended_although_the_leader_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let (kernel, leader) = after_a_launch(dir.path());
    let session = ledger::sessions(dir.path()).unwrap()[0].id();
    let own = member(&kernel, &leader, Some(&format!("{session}.0")));
    assert!(undone(dir.path(), &kernel, false).is_clean());
    assert!(!kernel.state().threads.contains_key(&own));
}

#[test]
fn a_number_that_has_another_leader_by_now_is_nobodys_of_ours() {
    let dir = tempfile::tempdir().unwrap();
    let (kernel, leader) = after_a_launch(dir.path());
    member(&kernel, &leader, None);
    kernel.add_process(leader.pid, 1);
    let report = undone(dir.path(), &kernel, false);
    assert!(report.is_clean(), "{report}");
    assert!(kernel.state().threads.contains_key(&4000));
}

/// A ledger by which `leader` was launched, although it was not.
fn ledger_of_a_launch(dir: &Path, leader: ProcessRef) {
    let hand = Hand::with(Arc::new(LiveKernel::new()), dir, "test").unwrap();
    let (kernel, session) = (LiveKernel::new(), hand.session().to_string());
    let path = dir.join(format!("{session}.jsonl"));
    let act = Act::Launch { argv: vec!["server".into()] };
    let old = pinwise_change::Value::Absent;
    let at_ticks = kernel.now_ticks().unwrap();
    // By hand, and so in the format that had no checksums.
    let written = ledger::sessions(dir).unwrap().remove(0).header.unwrap();
    let header = pinwise_change::record::Header { format: 1, ..written };
    let mut file = std::fs::File::create(path).unwrap();
    for record in [
        Record::Header(header),
        Record::Intent { seq: 0, at_ticks, act, old, setting: None, subject: None },
        Record::Started { seq: 0, process: leader },
    ] {
        writeln!(file, "{}", serde_json::to_string(&record).unwrap()).unwrap();
    }
    std::mem::forget(hand);
}

/// A process that is ended with its test.
struct Ended(ProcessRef);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = LiveKernel::new().signal(&self.0, libc::SIGKILL);
    }
}

/// On this kernel: the group of somebody else, of the number of one of ours, whose leader has ended.
#[test]
fn a_real_group_without_its_leader_and_the_marker_survives_an_undo() {
    let dir = tempfile::tempdir().unwrap();
    let kernel = LiveKernel::new();
    let mut leader = Command::new("sh")
        .args(["-c", "sleep 1000 >/dev/null 2>&1 & echo $!"])
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()
        .unwrap();
    let pid = leader.id();
    let start_time_ticks = kernel.start_time(pid, pid).unwrap();
    let mut line = String::new();
    BufReader::new(leader.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let child: u32 = line.trim().parse().unwrap();
    let child = ProcessRef { pid: child, start_time_ticks: kernel.start_time(child, child).unwrap() };
    let child = Ended(child);
    leader.wait().unwrap();
    ledger_of_a_launch(dir.path(), ProcessRef { pid, start_time_ticks });
    let options = UndoOptions { owned_too: true, ..UndoOptions::default() };
    let report = undo(dir.path(), &kernel, &options).unwrap();
    assert_eq!(report.sessions[0].undone[0].how, How::Unproven { pids: vec![child.0.pid] });
    assert!(kernel.alive(&child.0), "somebody else's process was killed");
}
