//! Pictures of many machines: those of real trees (../shared, third-party data that the repository does not carry),
//! our own fixture, and made-up ones. `PINWISE_PICTURES=DIR` writes all of them to files, to be looked at.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

// The crate's own name has the workspace's prefix; the rest of the house knows it as `report`.
extern crate pinwise_report as report;

mod machines;

use std::path::PathBuf;

use machine::{Machine, Root};
use report::picture::{self, Heat};

fn snapshots() -> Vec<(String, Machine)> {
    let dir = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/snapshots/hwloc"));
    let Ok(entries) = dir.read_dir() else {
        eprintln!("skipped: {} is absent, and with it the trees of real machines", dir.display());
        return Vec::new();
    };
    let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.to_string_lossy().ends_with(".tar.bz2"));
    paths.sort();
    let name =
        |path: &PathBuf| path.file_name().unwrap().to_string_lossy().trim_end_matches(".tar.bz2").to_string();
    paths.iter().map(|path| (name(path), Machine::read(&Root::at(path).unwrap()))).collect()
}

fn all() -> Vec<(String, Machine)> {
    let fixture = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/machines/vm-2cpu"));
    let mut all = snapshots();
    all.extend([
        ("live".to_string(), Machine::read(&Root::live())),
        ("vm-2cpu".into(), Machine::read(&Root::at(&fixture).unwrap())),
        ("leviathan".into(), machines::leviathan()),
        ("artemis".into(), machines::artemis()),
        ("made-64".into(), machines::big(64, 2, 4)),
        ("made-1024".into(), machines::big(1024, 4, 16)),
        ("made-4096".into(), machines::big(4096, 8, 16)),
    ]);
    all
}

#[test]
fn pictures_to_look_at() {
    let Some(dir) = std::env::var_os("PINWISE_PICTURES").map(PathBuf::from) else {
        eprintln!("skipped: PINWISE_PICTURES names no folder to write the pictures to");
        return;
    };
    for (name, machine) in all() {
        let heat = Heat::interrupts(&machine);
        std::fs::write(dir.join(format!("{name}.svg")), picture::svg(&machine, heat.as_ref())).unwrap();
    }
}
