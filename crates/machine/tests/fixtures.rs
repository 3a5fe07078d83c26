//! Captured machines in fixtures/machines: each reads as its expected.json says.
//!
//! `cargo test -p pinwise-machine --test fixtures -- --ignored` writes them anew: `vm-2cpu` from the machine that it runs on.
//! With `PINWISE_WRITE_EXPECTED=1` the trees stay, and what they read as is written: for new facts. Look at the difference.
#![allow(clippy::unwrap_used)] // clippy sees only #[test] functions as tests, not what they share

#[path = "fixtures/hand_made.rs"]
mod hand_made;

use std::io::{Read, Write};
use std::path::PathBuf;

use pinwise_machine::devices::{DeviceKind, chain};
use pinwise_machine::{Machine, Root};

fn machines() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/machines"))
}

fn json(machine: &Machine) -> String {
    serde_json::to_string_pretty(machine).expect("a machine is JSON") + "\n"
}

/// The first lines in which two documents differ: a whole one would drown them.
fn differing_lines(ours: &str, expected: &str) -> Vec<String> {
    let lines = ours.lines().map(Some).chain(std::iter::repeat(None));
    let pairs = lines.zip(expected.lines().map(Some).chain(std::iter::repeat(None)));
    let differ =
        pairs.enumerate().take_while(|(_, (a, b))| a.is_some() || b.is_some()).filter(|(_, (a, b))| a != b);
    differ.take(5).map(|(n, (a, b))| format!("line {}: {a:?}, expected {b:?}", n + 1)).collect()
}

#[test]
fn every_fixture_reads_as_expected() {
    let mut count = 0;
    let table = std::fs::read_to_string(machines().join("README.md")).unwrap();
    for entry in machines().read_dir().unwrap() {
        let path = entry.unwrap().path();
        if !path.is_dir() {
            continue;
        }
        let name = path.file_name().unwrap().to_string_lossy();
        assert!(
            table.contains(&format!("| {name} |")),
            "{name} has no line in {}",
            machines().join("README.md").display()
        );
        // Guests are kept as archives.
        let archive = path.join("capture.tar.zst");
        let kept = if archive.exists() { archive } else { path.clone() };
        let machine = Machine::read(&Root::at(&kept).unwrap());
        if std::env::var_os("PINWISE_WRITE_EXPECTED").is_some() {
            std::fs::write(path.join("expected.json"), json(&machine)).unwrap();
        }
        let expected = std::fs::read_to_string(path.join("expected.json")).unwrap();
        let differences = differing_lines(&json(&machine), &expected);
        assert!(differences.is_empty(), "{}:\n{}", path.display(), differences.join("\n"));
        count += 1;
    }
    assert!(count > 0, "no fixtures in {}", machines().display());
}

#[test]
fn the_virtual_machine_is_what_it_was() {
    let machine = Machine::read(&Root::at(&machines().join("vm-2cpu")).unwrap());
    assert_eq!(machine.online().to_list(), "0-1");
    assert_eq!((machine.packages.len(), machine.nodes.len(), machine.cores().len()), (1, 1, 2));
    assert_eq!((machine.kernel.hz, machine.kernel.irq_time_accounting), (Some(250), Some(false)));
    assert_eq!(machine.virtualization.guest, Some(true));
    let nic = machine.devices.iter().find(|d| d.name == "eth0").unwrap();
    assert_eq!((nic.node, nic.driver.as_deref()), (None, Some("virtio_net")));
    let names: Vec<&str> = nic.irqs.iter().map(|irq| machine.irq(*irq).unwrap().name.as_str()).collect();
    assert_eq!(names, ["virtio2-config", "virtio2-input.0", "virtio2-output.0"]);
    let idle: Vec<&str> = machine.idle.states.iter().map(|state| state.name.as_str()).collect();
    assert_eq!(idle, ["POLL", "haltpoll idle"]);
    assert_eq!(machine.kernel.cmdline.as_deref(), Some("console=ttyS0 quiet nomodule psi=1"));
}

#[test]
fn hand_made_machines_are_what_their_code_builds() {
    for (name, tree) in hand_made::all() {
        // Through a capture, as the kept one: the words for what is absent differ by what was read.
        let root = Root::recording(Root::from_tree(tree));
        Machine::read(&root);
        let dir = tempfile::tempdir().unwrap();
        root.take_capture().unwrap().write(&dir.path().join("m")).unwrap();
        let built = Machine::read(&Root::at(&dir.path().join("m")).unwrap());
        let kept = Machine::read(&Root::at(&machines().join(name)).unwrap());
        let differences = differing_lines(&json(&kept), &json(&built));
        assert!(differences.is_empty(), "{name}:\n{}", differences.join("\n"));
    }
}

#[test]
fn corsair_has_its_card_on_cpus_5_and_6() {
    let machine = Machine::read(&Root::at(&machines().join("corsair")).unwrap());
    assert_eq!((machine.online().len(), machine.cores().len(), machine.packages.len()), (16, 8, 1));
    let card = machine.device(DeviceKind::Net, "p7p1").unwrap();
    let busiest = |irq: u32| {
        let counts = machine.irq(irq).unwrap().counts.as_ref().unwrap();
        *counts.iter().max_by_key(|(_, count)| **count).unwrap().0
    };
    let served: Vec<_> =
        chain::of(&machine, card).into_iter().map(|s| (s.queues.join(" "), busiest(s.irq))).collect();
    assert_eq!(served, [("rx-0".to_string(), 5), ("tx-0".to_string(), 6)]);
    assert_eq!(machine.irq(85).unwrap().counts.as_ref().unwrap()[&5], 424_447);
}

#[test]
fn managed_queues_of_a_disk_are_known_with_their_cpus() {
    let machine = Machine::read(&Root::at(&machines().join("managed-irqs")).unwrap());
    let disk = machine.device(DeviceKind::Block, "nvme0n1").unwrap();
    let chain = chain::of(&machine, disk);
    let served: Vec<_> =
        chain.iter().map(|s| (s.queues.join(" "), s.irq, machine.irq(s.irq).unwrap().managed)).collect();
    assert_eq!(served[0], (String::new(), 40, Some(false)));
    assert_eq!(served[4], ("3".to_string(), 44, Some(true)));
    for served in chain.iter().filter(|served| !served.queues.is_empty()) {
        let queue = disk.queues.iter().find(|queue| queue.name == served.queues[0]).unwrap();
        assert_eq!(served.effective, queue.cpus, "an interrupt goes where the queue's requests come from");
    }
    assert_eq!(machine.irq(45).unwrap().managed, Some(false));
}

/// Writes the hand-made machines anew, through the recording root as `pinwise capture` does.
#[test]
#[ignore = "writes fixtures/machines/corsair and managed-irqs"]
fn write_the_hand_made_machines_anew() {
    for (name, tree) in hand_made::all() {
        let path = machines().join(name);
        let _ = std::fs::remove_dir_all(&path);
        let root = Root::recording(Root::from_tree(tree));
        Machine::read(&root);
        root.take_capture().unwrap().write(&path).unwrap();
        let machine = Machine::read(&Root::at(&path).unwrap());
        std::fs::write(path.join("expected.json"), json(&machine)).unwrap();
    }
}

/// Takes the capture of this machine anew, without what is private to it.
#[test]
#[ignore = "writes fixtures/machines/vm-2cpu from the machine that it runs on"]
fn take_the_virtual_machine_anew() {
    let path = machines().join("vm-2cpu");
    let _ = std::fs::remove_dir_all(&path);
    let root = Root::recording(Root::live());
    Machine::read(&root);
    let release = root.fact("release").unwrap();
    root.take_capture().unwrap().write(&path).unwrap();
    // What follows the version names who built it.
    let version = release.split('-').next().unwrap();
    let index = path.join("pinwise-capture.json");
    replace_in_files(&path, &index, &release, version);
    for file in ["proc/cmdline", "proc/self/cgroup", "proc/self/mountinfo", "proc/self/status"] {
        let text = std::fs::read_to_string(path.join(file)).unwrap();
        std::fs::write(path.join(file), public_part(file, &text)).unwrap();
    }
    let config = path.join("proc/config.gz");
    std::fs::write(&config, repacked(&std::fs::read(&config).unwrap()).unwrap()).unwrap();
    let text = std::fs::read_to_string(&index).unwrap();
    let mut index_json: serde_json::Value = serde_json::from_str(&text).unwrap();
    for fact in index_json["facts"].as_object_mut().unwrap().values_mut() {
        *fact = fact.as_str().unwrap().replace(&release, version).into();
    }
    index_json["facts"]["nodename"] = "host".into();
    forget_programs(&path, &mut index_json);
    std::fs::write(&index, serde_json::to_string_pretty(&index_json).unwrap() + "\n").unwrap();
    let machine = Machine::read(&Root::at(&path).unwrap());
    std::fs::write(path.join("expected.json"), json(&machine)).unwrap();
}

/// Replaces a text in all files of a captured machine but its index.
fn replace_in_files(folder: &std::path::Path, index: &std::path::Path, old: &str, new: &str) {
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap()) {
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        if kind.is_dir() {
            replace_in_files(&path, index, old, new);
        } else if kind.is_file()
            && path != index
            && let Ok(text) = std::fs::read_to_string(&path)
            && text.contains(old)
        {
            std::fs::write(&path, text.replace(old, new)).unwrap();
        }
    }
}

/// Takes out every process but the kernel's own threads: what runs on a machine is its owner's business.
fn forget_programs(path: &std::path::Path, index: &mut serde_json::Value) {
    let is_kernel_thread = |pid: &str| {
        let stat = std::fs::read_to_string(path.join("proc").join(pid).join("stat")).unwrap_or_default();
        pinwise_machine::procfs::pid_stat::parse(&stat).is_ok_and(|stat| stat.is_kernel_thread())
    };
    let listed = index["lists"]["/proc"].as_array().unwrap().clone();
    let is_pid = |name: &str| name.bytes().all(|b| b.is_ascii_digit());
    let (gone, kept): (Vec<_>, Vec<_>) = listed.into_iter().partition(|name| {
        let name = name.as_str().unwrap();
        is_pid(name) && !is_kernel_thread(name)
    });
    index["lists"]["/proc"] = kept.into();
    let gone: Vec<String> = gone.iter().map(|pid| format!("/proc/{}/", pid.as_str().unwrap())).collect();
    for pid in &gone {
        let _ = std::fs::remove_dir_all(path.join(pid.trim_start_matches('/')));
    }
    let of_gone = |name: &str| gone.iter().any(|pid| name.starts_with(pid));
    for answers in ["lists", "links", "resolved", "exists"] {
        index[answers].as_object_mut().unwrap().retain(|name, _| !of_gone(name));
    }
    index["errors"]
        .as_array_mut()
        .unwrap()
        .retain(|error| !of_gone(error["path"].as_str().unwrap_or_default()));
}

/// The part of a file that is not private to the machine.
fn public_part(file: &str, text: &str) -> String {
    match file {
        "proc/self/cgroup" => keep(text, |line| line.ends_with(":/")),
        "proc/self/mountinfo" => keep(text, |line| line.contains(" - cgroup")),
        "proc/self/status" => keep(text, |line| line.contains("_allowed_list:")),
        _ => "console=ttyS0 quiet nomodule psi=1\n".into(),
    }
}

fn keep(text: &str, wanted: impl Fn(&str) -> bool) -> String {
    text.lines().filter(|line| wanted(line)).map(|line| format!("{line}\n")).collect()
}

/// The kernel's configuration with only the options that are read; the whole file names compiler and builder.
fn repacked(packed: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut text = String::new();
    flate2::read::GzDecoder::new(packed).read_to_string(&mut text)?;
    let wanted =
        ["CONFIG_HZ", "CONFIG_PREEMPT", "CONFIG_IRQ_TIME", "CONFIG_VIRT_CPU_ACCOUNTING", "CONFIG_NO_HZ"];
    let text = keep(&text, |line| wanted.iter().any(|name| line.contains(name)));
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packer.write_all(text.as_bytes())?;
    packer.finish()
}
