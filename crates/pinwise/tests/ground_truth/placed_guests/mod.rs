//! Guests of this host, started manually and by libvirt: a plan places their threads, and undo puts them back.
//!
//! Nothing boots in them: their vCPUs stand still, and exist all the same.

mod libvirt;
mod plain;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use crate::pinwise::Bench;

/// Whether this is root, QEMU is installed, and there are CPUs 0 and 1 to choose from; says so where not.
fn can_place() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let field =
        |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().trim();
    let needs = [
        (!field("Uid:").starts_with("0\t"), "it needs root"),
        (!field("Cpus_allowed_list:").starts_with("0-"), "it needs CPUs 0 and 1"),
        (!is_installed("qemu-system-x86_64"), "QEMU is not installed (apt-get install qemu-system-x86)"),
    ];
    let why = needs.into_iter().find(|(is_missing, _)| *is_missing);
    why.iter().for_each(|(_, why)| eprintln!("skipped: {why}"));
    why.is_none()
}

fn is_installed(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|out| out.status.success())
}

/// CPUs of each thread of a process by its name; of those of one name all, with bars.
fn placed(pid: u32) -> BTreeMap<String, String> {
    let mut placed: BTreeMap<String, String> = BTreeMap::new();
    for task in std::fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten() {
        let Ok(status) = std::fs::read_to_string(task.path().join("status")) else { continue };
        let field =
            |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().to_string();
        let all = placed.entry(field("Name:")).or_default();
        *all = format!("{all}|{}", field("Cpus_allowed_list:")).trim_start_matches('|').to_string();
    }
    placed
}

/// Whether both vCPUs and the I/O thread are there.
fn is_up(pid: u32, io_thread: &str) -> bool {
    let placed = placed(pid);
    ["CPU 0/TCG", "CPU 1/TCG", io_thread].iter().all(|name| placed.contains_key(*name))
}

/// A plan that sets each knob of its target to a CPU.
fn plan(bench: &Bench, settings: &[(&str, &str, &str)]) -> PathBuf {
    let setting = |(knob, target, value): &(&str, &str, &str)| {
        format!("[[setting]]\nknob = \"{knob}\"\ntarget = \"{target}\"\nvalue = \"{value}\"\n")
    };
    let path = bench.case().with_file_name("plan.toml");
    std::fs::write(&path, settings.iter().map(setting).collect::<String>()).unwrap();
    path
}
