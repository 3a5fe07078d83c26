//! A machine read through a recording root and the same machine read from its capture are one.

use pinwise_machine::{Machine, Root};

fn json(machine: &Machine) -> String {
    serde_json::to_string_pretty(machine).expect("a machine is JSON")
}

#[test]
fn live_captured_and_read_back_as_archive_and_as_directory() {
    let dir = tempfile::tempdir().unwrap();
    let root = Root::recording(Root::live());
    let live = Machine::read(&root);
    let capture = root.take_capture().unwrap();
    for name in ["machine.tar.zst", "machine"] {
        let path = dir.path().join(name);
        capture.write(&path).unwrap();
        let back = Root::at(&path).unwrap();
        assert!(!back.is_live());
        assert_eq!(json(&Machine::read(&back)), json(&live), "{name}");
        // A capture of a capture is the same machine again.
        let again = Root::recording(back);
        assert_eq!(json(&Machine::read(&again)), json(&live), "{name}, recorded again");
    }
}

#[test]
fn a_capture_holds_only_what_a_reader_asked_for() {
    let root = Root::recording(Root::live());
    Machine::read(&root);
    let capture = root.take_capture().unwrap();
    // Below /etc and the like: exactly the files of the programs that set affinities, no whole folder.
    let known = [
        "/proc/",
        "/sys/",
        "/boot/config-",
        "/dev/cpuset/",
        "/run/systemd/container",
        "/run/systemd/system.conf",
        "/etc/systemd/system.conf",
        "/usr/lib/systemd/system.conf",
        "/usr/local/lib/systemd/system.conf",
        "/etc/default/irqbalance",
        "/etc/sysconfig/irqbalance",
        "/usr/lib/irqbalance/defaults.env",
        "/etc/tuned/active_profile",
        "/etc/tuned/profile_mode",
        "/var/lib/kubelet/cpu_manager_state",
    ];
    for file in capture.files() {
        assert!(known.iter().any(|start| file.starts_with(start)), "{file}");
        assert!(
            !file.contains("environ") && !file.ends_with("/cmdline") || file == "/proc/cmdline",
            "{file}"
        );
    }
    // Of ordinary processes nothing but name and state, of the kernel's threads the status too.
    let of_us = format!("/proc/{}/", std::process::id());
    let ours: Vec<&str> = capture.files().filter(|file| file.starts_with(&of_us)).collect();
    assert_eq!(ours, [format!("{of_us}stat")]);
}

#[test]
fn trees_of_other_machines_survive_capture_too() {
    let dir = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/snapshots/hwloc"));
    // Offline CPU and node 0, and a machine whose kernel reports less than half.
    for name in ["offline-cpu0-node0", "2i386-2c-nohugepage"] {
        let tree = dir.join(format!("{name}.tar.bz2"));
        if !tree.exists() {
            eprintln!("skipped: {} is absent", tree.display());
            continue;
        }
        let root = Root::recording(Root::at(&tree).unwrap());
        let machine = Machine::read(&root);
        let out = tempfile::tempdir().unwrap();
        let path = out.path().join("m.tar.zst");
        root.take_capture().unwrap().write(&path).unwrap();
        assert_eq!(json(&Machine::read(&Root::at(&path).unwrap())), json(&machine), "{name}");
    }
}
