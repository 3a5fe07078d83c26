//! Every parser against bytes that a fuzzer chooses: no panic, and memory bounded by what was read.
//!
//! `cargo test` runs each target for a second on random bytes. `docs/fuzzing.md` says how the same targets run for
//! hours under libFuzzer, which learns from the branches that it reaches.
#![allow(clippy::unwrap_used)] // clippy sees only #[test] functions as tests, not what they share

use std::path::Path;
use std::sync::OnceLock;

use ::machine::procfs::{
    interrupts, pid_sched, pid_schedstat, pid_stat, pid_status, pressure, softirqs, stat,
};
use ::machine::{CpuChoice, CpuSet, Machine, Root, Tree};
use bolero::check;

/// Runs a parser of text on bytes; what is no UTF-8 reaches it as U+FFFD, as from `Root::read`.
macro_rules! parser {
    ($name:ident, $parse:expr) => {
        #[test]
        fn $name() {
            check!().for_each(|bytes: &[u8]| {
                let _ = $parse(&String::from_utf8_lossy(bytes));
            });
        }
    };
}

parser!(proc_interrupts, interrupts::parse);
parser!(proc_softirqs, softirqs::parse);
parser!(proc_stat, stat::parse);
parser!(proc_pressure, pressure::parse);
parser!(proc_pid_stat, pid_stat::parse);
parser!(proc_pid_status, pid_status::parse);
parser!(proc_pid_sched, pid_sched::parse);
parser!(proc_pid_schedstat, pid_schedstat::parse);

#[test]
fn cpu_lists_and_masks_print_as_they_were_read() {
    check!().for_each(|bytes: &[u8]| {
        let Ok(text) = std::str::from_utf8(bytes) else { return };
        if let Ok(set) = CpuSet::from_list(text) {
            assert_eq!(CpuSet::from_list(&set.to_list()).unwrap(), set);
        }
        if let Ok(set) = CpuSet::from_mask(text) {
            assert!(set.len() <= text.len() * 4);
        }
        if let Ok(choice) = text.parse::<CpuChoice>() {
            assert_eq!(choice.to_string().parse::<CpuChoice>().unwrap(), choice);
        }
    });
}

/// The machine of this repository, file by file.
fn known() -> &'static [(String, Vec<u8>)] {
    static KNOWN: OnceLock<Vec<(String, Vec<u8>)>> = OnceLock::new();
    KNOWN.get_or_init(|| {
        let dir = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/machines/vm-2cpu"));
        let root = Root::recording(Root::at(dir).unwrap());
        Machine::read(&root);
        let capture = root.take_capture().unwrap();
        let files: Vec<String> = capture.files().map(String::from).collect();
        files.into_iter().map(|file| (file.clone(), root.read_bytes(&file).unwrap())).collect()
    })
}

/// The first two bytes choose one of the files that a machine is read from, the rest stands in it.
#[test]
fn one_file_of_a_machine() {
    check!().for_each(|bytes: &[u8]| {
        let [first, second, content @ ..] = bytes else { return };
        let chosen = usize::from(u16::from_le_bytes([*first, *second])) % known().len();
        let files = known().iter().enumerate();
        let tree = files.fold(Tree::new(), |tree, (n, (file, whole))| {
            tree.file(file, if n == chosen { content.to_vec() } else { whole.clone() })
        });
        Machine::read(&Root::from_tree(tree));
    });
}

/// An archive from anywhere. The first byte chooses how it is packed: what unpacks it reads the rest.
#[test]
fn an_archive() {
    let dir = tempfile::tempdir().unwrap();
    check!().for_each(|bytes: &[u8]| {
        let [packing, bytes @ ..] = bytes else { return };
        let packings = ["m.tar", "m.tar.zst", "m.tar.gz", "m.tar.bz2"];
        let path = dir.path().join(packings[usize::from(*packing) % packings.len()]);
        std::fs::write(&path, bytes).unwrap();
        if let Ok(root) = Root::at(&path) {
            Machine::read(&root);
        }
    });
}

/// The headers of an archive, with sums that are right: kinds, lengths, names, holes as the fuzzer likes.
#[test]
fn an_archive_with_sound_sums() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m.tar");
    check!().for_each(|bytes: &[u8]| {
        let mut blocks = bytes.to_vec();
        blocks.resize(bytes.len().next_multiple_of(512), 0);
        for head in blocks.chunks_exact_mut(512) {
            // The sum counts itself as blanks (tar(5)).
            head[148..156].fill(b' ');
            let sum: u32 = head.iter().map(|byte| u32::from(*byte)).sum();
            head[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        }
        blocks.resize(blocks.len() + 1_024, 0);
        std::fs::write(&path, blocks).unwrap();
        if let Ok(root) = Root::at(&path) {
            Machine::read(&root);
        }
    });
}

/// The index of a capture.
#[test]
fn an_index() {
    let dir = tempfile::tempdir().unwrap();
    check!().for_each(|bytes: &[u8]| {
        std::fs::write(dir.path().join("pinwise-capture.json"), bytes).unwrap();
        if let Ok(root) = Root::at(dir.path()) {
            Machine::read(&root);
        }
    });
}
