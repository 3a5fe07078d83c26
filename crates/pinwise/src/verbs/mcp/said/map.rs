//! The machine in words.

use std::fmt::Display;

use machine::{CpuSet, Fault, Machine};
use report::number;
use serde_json::{Value, json};

use super::{Said, fields, picked_of_each};

/// Unknown facts that are named in words.
const MISSING: usize = 3;

/// The map.
pub fn of(document: &Value) -> Result<Said, Fault> {
    let machine: Machine = fields(document, "map")?;
    let mut lines = vec![layout(&machine), kernel(&machine)];
    lines.extend(guest(&machine));
    lines.extend(machine.nodes.iter().map(|node| {
        let memory = node.memory_bytes.map_or("unknown memory".to_string(), gib);
        format!("Node {}: CPUs {}, {memory}.", node.id, set(&node.cpus))
    }));
    let real = machine.devices.iter().filter(|device| !device.is_virtual).count();
    lines.push(format!(
        "{} with hardware behind them, {}.",
        number::counted(real, "device"),
        number::counted(machine.irqs.len(), "interrupt line")
    ));
    if !machine.missing.is_empty() {
        let facts: Vec<&str> =
            machine.missing.iter().take(MISSING).map(|missing| missing.fact.as_str()).collect();
        lines.push(format!(
            "Not known: {} in all, among them {}.",
            number::counted(machine.missing.len(), "fact"),
            facts.join("; ")
        ));
    }
    Ok(Said::of(lines, summary(&machine, document)))
}

fn layout(machine: &Machine) -> String {
    let online = machine.online();
    let memory = machine.memory_bytes.map_or("an unknown amount".to_string(), gib);
    format!(
        "{} online ({}), {}, {}, {}, {memory} of memory.",
        number::counted(online.len(), "CPU"),
        set(&online),
        number::counted(machine.cores().len(), "core"),
        number::counted(machine.packages.len(), "package"),
        number::counted(machine.nodes.len(), "NUMA node")
    )
}

fn kernel(machine: &Machine) -> String {
    let kernel = &machine.kernel;
    format!(
        "Kernel {}, {} ticks a second, preemption {}, SMT {}; isolated CPUs: {}; CPUs without a tick (nohz_full): {}.",
        known(kernel.release.as_deref()),
        known(kernel.hz),
        known(kernel.preempt.as_deref()),
        known(kernel.smt.as_deref()),
        known(machine.isolated().as_ref().map(set)),
        known(kernel.nohz_full.as_ref().map(set))
    )
}

fn guest(machine: &Machine) -> Option<String> {
    match machine.virtualization.guest {
        Some(true) => Some(format!("It is a guest of {}.", known(machine.virtualization.name()))),
        Some(false) => None,
        None => Some("Whether it is a guest is not known.".into()),
    }
}

fn summary(machine: &Machine, document: &Value) -> Value {
    let kernel = &machine.kernel;
    let deepest = machine.caches.iter().map(|cache| cache.level).max();
    let caches = machine.caches.iter().filter(|cache| Some(cache.level) == deepest);
    let caches: Vec<Value> = caches
        .map(|cache| json!({"level": cache.level, "bytes": cache.bytes, "cpus": cache.cpus.to_list()}))
        .collect();
    let nodes = machine.nodes.iter();
    let nodes: Vec<Value> = nodes
        .map(|node| json!({"id": node.id, "cpus": node.cpus.to_list(), "memory_bytes": node.memory_bytes}))
        .collect();
    let devices = machine.devices.iter().filter(|device| !device.is_virtual);
    let devices: Vec<Value> = devices
        .map(|device| {
            let irqs = device.irqs.len();
            json!({"kind": device.kind, "name": device.name, "node": device.node, "driver": device.driver, "irqs": irqs})
        })
        .collect();
    json!({
        "online_cpus": machine.online().to_list(),
        "usable_cpus": machine.usable().to_list(),
        "cores": machine.cores().len(),
        "packages": machine.packages.iter().map(CpuSet::to_list).collect::<Vec<_>>(),
        "nodes": nodes,
        "last_level_caches": caches,
        "memory_bytes": machine.memory_bytes,
        "kernel": {
            "release": kernel.release,
            "command_line": kernel.cmdline,
            "hz": kernel.hz,
            "preempt": kernel.preempt,
            "smt": kernel.smt,
            "isolated_cpus": machine.isolated().map(|cpus| cpus.to_list()),
            "nohz_full_cpus": kernel.nohz_full.as_ref().map(CpuSet::to_list),
        },
        "guest": machine.virtualization.guest,
        "devices": devices,
        "interrupt_lines": machine.irqs.len(),
        "missing": picked_of_each(document.get("missing"), &["fact", "why"]),
    })
}

fn known(value: Option<impl Display>) -> String {
    value.map_or("not known".into(), |value| value.to_string())
}

fn set(cpus: &CpuSet) -> String {
    if cpus.is_empty() { "none".into() } else { cpus.to_list() }
}

fn gib(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30))
}

#[cfg(test)]
mod tests {
    use machine::Root;

    use super::*;

    fn of_fixture(name: &str) -> Said {
        let path = format!("{}/../../fixtures/machines/{name}", env!("CARGO_MANIFEST_DIR"));
        let machine = Machine::read(&Root::at(std::path::Path::new(&path)).unwrap());
        of(&serde_json::to_value(machine).unwrap()).unwrap()
    }

    #[test]
    fn a_machine_is_summed_up() {
        let said = of_fixture("corsair");
        assert!(said.words.starts_with("16 CPUs online ("), "{}", said.words);
        assert!(said.words.contains("8 cores"), "{}", said.words);
        assert!(said.summary["devices"].as_array().unwrap().iter().any(|device| device["name"] == "p7p1"));
    }

    #[test]
    fn what_is_not_known_is_said() {
        let said = of(&serde_json::to_value(Machine::default()).unwrap()).unwrap();
        assert!(
            said.words.contains("Kernel not known") && said.summary["memory_bytes"].is_null(),
            "{}",
            said.words
        );
        assert!(of(&json!({"cpus": "none"})).is_err());
    }
}
