//! Ledgers of versions that went out: changes that were made before an upgrade are undone after it.
#![allow(clippy::unwrap_used)] // clippy sees only #[test] functions as tests, not what they share

use std::path::Path;
use std::sync::Arc;

use pinwise_change::act_samples::Machine;
use pinwise_change::ledger::{Session, sessions};
use pinwise_change::{Hand, How, UndoOptions, undo};

/// Recorded on 2026-11-26 on the emulated kernel, by the last version that wrote format 1.
const FORMAT_1: &[u8] = include_bytes!("ledgers/format-1-every-act.jsonl");

/// The machine after every act, and what it was before. Its hand is gone, as after kill -9.
fn changed() -> (Machine, pinwise_change::emulated_kernel::EmulatedState) {
    let machine = Machine::new();
    let before = machine.kernel.state();
    let dir = tempfile::tempdir().unwrap();
    let mut hand = Hand::with(Arc::new(machine.kernel.clone()), dir.path(), "every act").unwrap();
    machine.perform_all(&mut hand);
    std::mem::forget(hand);
    (machine, before)
}

#[test]
fn a_ledger_of_format_1_is_read_whole() {
    let session = Session::parse(Path::new("x"), FORMAT_1);
    assert_eq!(session.problems, []);
    assert!(session.entries.iter().all(|entry| entry.outstanding() && entry.read_back.is_some()));
    let kinds: std::collections::BTreeSet<String> = session
        .entries
        .iter()
        .map(|entry| serde_json::to_value(&entry.act).unwrap()["act"].as_str().unwrap().to_string())
        .collect();
    assert_eq!(kinds.len(), 20, "{kinds:?}");
}

#[test]
fn a_ledger_of_format_1_restores_the_machine() {
    let (machine, before) = changed();
    let dir = tempfile::tempdir().unwrap();
    let session = Session::parse(Path::new("x"), FORMAT_1).header.unwrap().session;
    std::fs::write(dir.path().join(format!("{session}.jsonl")), FORMAT_1).unwrap();
    // The processes carry the marker of the session that was recorded.
    for tid in machine.kernel.state().threads.keys() {
        machine.kernel.alter(*tid, |thread| {
            if let Some(marker) = &mut thread.marker {
                let act = marker.rsplit_once('.').unwrap().1;
                *marker = format!("{session}.{act}");
            }
        });
    }
    machine.kernel.remove_thread(1000);
    let report = undo(dir.path(), &machine.kernel, &UndoOptions::default()).unwrap();
    assert!(report.is_clean(), "{report}");
    let hows = report.sessions[0].undone.iter().map(|undone| &undone.how);
    assert!(hows.clone().all(|how| matches!(how, How::Restored | How::Gone)), "{report}");
    let (mut expected, now) = (before, machine.kernel.state());
    expected.threads.remove(&1000);
    assert_eq!(now, expected);
    assert!(sessions(dir.path()).unwrap().is_empty());
}
