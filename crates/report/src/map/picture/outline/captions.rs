//! What the picture says in words: the line above it, and what is not known.

use std::collections::BTreeMap;

use machine::topology::cpus::Cpu;
use machine::{CpuSet, FactId, Machine};

use crate::map::machine_text::cpus as cpu_words;
use crate::map::machine_text::size;
use crate::number::counted;

/// More speeds than this are reported as a range.
const MOST_SPEEDS: usize = 3;

/// `24 CPUs, 12 cores of 2 threads, 2 packages, 2 NUMA nodes, 128 GiB`
pub(super) fn headline(machine: &Machine) -> String {
    let online = machine.online().len();
    if machine.cpus.is_empty() {
        return "CPUs not known".into();
    }
    let mut words = vec![counted(online, "CPU")];
    let cores = machine.cores();
    if !cores.is_empty() {
        let most = cores.iter().map(CpuSet::len).max().filter(|most| *most > 1);
        let least = cores.iter().map(CpuSet::len).min();
        let threads = match most {
            Some(most) if least == Some(most) => format!(" of {most} threads"),
            Some(most) => format!(" of up to {most} threads"),
            None => String::new(),
        };
        words.push(counted(cores.len(), "core") + &threads);
    }
    if !machine.packages.is_empty() {
        words.push(counted(machine.packages.len(), "package"));
    }
    if !machine.nodes.is_empty() {
        words.push(counted(machine.nodes.len(), "NUMA node"));
    }
    words.extend(machine.memory_bytes.map(size));
    let offline = machine.cpus.len() - online;
    if offline > 0 {
        words.push(counted(offline, "CPU") + " offline");
    }
    words.join(", ")
}

/// Kernel and host, speeds where they differ, and interfaces without hardware.
pub(super) fn lines(machine: &Machine) -> Vec<String> {
    let guest = match (machine.virtualization.guest, machine.virtualization.name()) {
        (Some(true), Some(who)) => Some(format!("guest of {who}")),
        (Some(true), None) => Some("guest of a hypervisor".into()),
        _ => None,
    };
    let kernel = machine.kernel.release.as_ref().map(|release| format!("Linux {release}"));
    let host: Vec<String> =
        [kernel, machine.kernel.architecture.clone(), guest].into_iter().flatten().collect();
    let virtual_ones = machine.devices.iter().filter(|device| device.is_virtual);
    let names: Vec<&str> = virtual_ones.map(|device| device.name.as_str()).collect();
    let without = (!names.is_empty()).then(|| match names.len() {
        0..=12 => format!("interfaces without hardware: {}", names.join(" ")),
        n => format!("interfaces without hardware: {} and {} more", names[..12].join(" "), n - 12),
    });
    let host = (!host.is_empty()).then(|| host.join(", "));
    [host, speeds(machine), without].into_iter().flatten().collect()
}

/// The highest frequency by CPU, where it differs.
fn speeds(machine: &Machine) -> Option<String> {
    let mut of_speed: BTreeMap<u64, CpuSet> = BTreeMap::new();
    for cpu in &machine.cpus {
        if let Some(khz) = cpu.max_frequency_khz {
            of_speed.entry(khz).or_default().insert(cpu.id);
        }
    }
    let ghz = |khz: u64| format!("{:.2} GHz", khz as f64 / 1e6);
    let (low, high) = (*of_speed.first_key_value()?.0, *of_speed.last_key_value()?.0);
    match of_speed.len() {
        0 | 1 => None,
        2..=MOST_SPEEDS => {
            let each =
                of_speed.iter().rev().map(|(khz, cpus)| format!("{} ({})", ghz(*khz), cpu_words(cpus)));
            Some(format!("up to {}", each.collect::<Vec<_>>().join(", ")))
        }
        _ => Some(format!("up to {} to {}, by CPU", ghz(low), ghz(high))),
    }
}

/// Levels of which nothing is reported, each with the reader's reason.
pub(super) fn gaps(machine: &Machine) -> Vec<String> {
    let of = |wanted: fn(&Cpu) -> bool| -> CpuSet {
        machine.cpus.iter().filter(|cpu| cpu.online && wanted(cpu)).map(|cpu| cpu.id).collect()
    };
    let (no_package, no_core) = (of(|cpu| cpu.package.is_none()), of(|cpu| cpu.siblings.is_none()));
    let no_node = of(|cpu| cpu.node.is_none());
    let levels = [
        (machine.cpus.is_empty(), FactId::Cpus, "CPUs not known".to_string()),
        (!no_package.is_empty(), FactId::Package, format!("package of {} unknown", cpu_words(&no_package))),
        (!no_core.is_empty(), FactId::Siblings, format!("core of {} unknown", cpu_words(&no_core))),
        (machine.nodes.is_empty(), FactId::Nodes, "NUMA nodes unknown".into()),
        (
            !machine.nodes.is_empty() && !no_node.is_empty(),
            FactId::NodeOfCpus,
            format!("node of {} unknown", cpu_words(&no_node)),
        ),
        (machine.caches.is_empty() && !machine.cpus.is_empty(), FactId::Caches, "caches unknown".into()),
    ];
    levels
        .into_iter()
        .filter(|(is_so, ..)| *is_so)
        .map(|(_, fact, words)| with_reason(machine, &fact, words))
        .collect()
}

/// The words with the reason why the fact is missing: the first that was noted.
fn with_reason(machine: &Machine, fact: &FactId, words: String) -> String {
    match machine.missing.iter().find(|missing| missing.is(fact)) {
        Some(missing) => format!("{words}: {}", missing.why),
        None => words,
    }
}
