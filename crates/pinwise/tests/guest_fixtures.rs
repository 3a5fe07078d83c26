//! Takes the captures of guests that are kept in fixtures/machines anew:
//! `cargo test -p pinwise --test guest_fixtures -- --ignored`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

use std::path::Path;

use machine::{Machine, Root};
use rehearse::Guest;

/// Folder, shape, kernel parameters.
const GUESTS: &[(&str, &str, &str)] = &[
    ("artemis", "artemis", ""),
    ("artemis-isolated", "artemis", "isolcpus=1-23 nohz_full=1-23 rcu_nocbs=1-23"),
    ("leviathan", "leviathan", ""),
    ("two-node-smt", "two-node-smt", ""),
    ("memory-only-node", "memory-only-node", ""),
    ("sparse", "sparse", ""),
    ("deep-idle", "deep-idle", ""),
];

/// Options of the kernel's configuration that are read; the whole file is larger than all else.
const OPTIONS: [&str; 5] =
    ["CONFIG_HZ", "CONFIG_PREEMPT", "CONFIG_IRQ_TIME", "CONFIG_VIRT_CPU_ACCOUNTING", "CONFIG_NO_HZ"];

#[test]
#[ignore = "boots guests under QEMU and writes fixtures/machines"]
fn take_the_guests_anew() {
    let machines = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/machines");
    for (name, shape, cmdline) in GUESTS {
        let guest =
            Guest::like(shape).unwrap().cmdline(cmdline).program_as("pinwise", env!("CARGO_BIN_EXE_pinwise"));
        let outcome = guest.run("pinwise capture -o capture").unwrap_or_else(|why| panic!("{name}: {why}"));
        assert_eq!(outcome.exit, 0, "{name}: {}", String::from_utf8_lossy(&outcome.stderr));
        keep(&outcome.files().join("capture"), &machines.join(name));
    }
}

/// Writes a capture as an archive, with what is read of it.
fn keep(capture: &Path, to: &Path) {
    for config in capture.join("boot").read_dir().unwrap() {
        let path = config.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let read = text.lines().filter(|line| OPTIONS.iter().any(|option| line.contains(option)));
        std::fs::write(&path, read.map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    }
    let root = Root::recording(Root::at(capture).unwrap());
    let machine = Machine::read(&root);
    std::fs::create_dir_all(to).unwrap();
    root.take_capture().unwrap().write(&to.join("capture.tar.zst")).unwrap();
    let json = serde_json::to_string_pretty(&machine).unwrap() + "\n";
    std::fs::write(to.join("expected.json"), json).unwrap();
}
