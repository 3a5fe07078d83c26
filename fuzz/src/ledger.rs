//! Ledgers, which undo obeys: whatever they say, status and undo come to an end.
#![allow(clippy::unwrap_used)] // clippy sees only #[test] functions as tests, not what they share

use std::path::Path;
use std::sync::{Arc, OnceLock};

use bolero::check;
use change::act_samples::Machine;
use change::emulated_kernel::EmulatedState;
use change::ledger::Session;
use change::status::status_with;
use change::{Hand, UndoOptions, undo};
use serde_json::Value;

use crate::edits;

/// A session that performed every act. Its lines are of format 1, without checksums.
const EVERY_ACT: &str = include_str!("../../crates/change/tests/ledgers/format-1-every-act.jsonl");

/// The emulated machine after every act.
fn changed() -> &'static EmulatedState {
    static CHANGED: OnceLock<EmulatedState> = OnceLock::new();
    CHANGED.get_or_init(|| {
        let (machine, dir) = (Machine::new(), tempfile::tempdir().unwrap());
        let mut hand = Hand::with(Arc::new(machine.kernel.clone()), dir.path(), "every act").unwrap();
        machine.perform_all(&mut hand);
        // As after kill -9.
        std::mem::forget(hand);
        machine.kernel.state()
    })
}

/// A line with its checksum.
fn sealed(line: &[u8]) -> Vec<u8> {
    match line.strip_suffix(b"}") {
        Some(open) => [open, format!(",\"check\":\"{:08x}\"}}", crc32fast::hash(line)).as_bytes()].concat(),
        None => line.to_vec(),
    }
}

/// The ledger that the bytes stand for.
fn ledger(kind: u8, bytes: &[u8]) -> Vec<u8> {
    let json = |value: &Value| serde_json::to_vec(value).unwrap();
    match kind % 4 {
        0 => bytes.to_vec(),
        1 => bytes
            .split(|byte| *byte == b'\n')
            .flat_map(|line| [sealed(line), b"\n".to_vec()].concat())
            .collect(),
        kind => {
            let mut lines = edits::lines(EVERY_ACT);
            if kind == 3 {
                lines[0]["format"] = 2.into();
            }
            edits::edit(&mut lines, bytes);
            edits::to_lines(&lines, |line| if kind == 3 { sealed(&json(line)) } else { json(line) })
        }
    }
}

/// The first byte chooses the form of the ledger, the second how it is undone.
#[test]
fn a_ledger() {
    let state = tempfile::tempdir().unwrap();
    let dir = state.path().join("ledger");
    std::fs::create_dir(&dir).unwrap();
    let path = dir.join("1795662052-1000.jsonl");
    check!().for_each(|bytes: &[u8]| {
        let [kind, how, rest @ ..] = bytes else { return };
        let ledger = ledger(*kind, rest);
        Session::parse(Path::new("x"), &ledger);
        std::fs::write(&path, ledger).unwrap();
        let machine = Machine::new();
        machine.kernel.set_state(changed().clone());
        let options = UndoOptions {
            force: how & 1 > 0,
            owned_too: how & 2 > 0,
            session: (how & 4 > 0).then(|| "1795662052-1000".into()),
            to: (how & 8 > 0).then(|| "1795662052-1000.3".parse().unwrap()),
        };
        let status = status_with(&dir, &machine.kernel).unwrap();
        let _ = (serde_json::to_string(&status).unwrap(), status.to_string());
        if let Ok(report) = undo(&dir, &machine.kernel, &options) {
            let _ = (serde_json::to_string(&report).unwrap(), report.to_string(), report.fault());
        }
        let _ = std::fs::remove_file(&path);
        let _ = std::fs::remove_file(path.with_extension("damaged"));
    });
}
