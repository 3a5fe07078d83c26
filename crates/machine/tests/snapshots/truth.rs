//! What lstopo says of a tree, and what we say, in the same words.

use std::collections::BTreeMap;
use std::path::Path;

use pinwise_machine::devices::DeviceKind;
use pinwise_machine::topology::caches::{Cache, CacheType};
use pinwise_machine::{CpuSet, Machine};
use serde::Deserialize;

use super::Facts;

/// The file beside the tree (see README.md there).
#[derive(Deserialize)]
pub struct Truth {
    cpus: CpuSet,
    allowed_cpus: CpuSet,
    packages: Vec<CpuSet>,
    cores: Vec<CpuSet>,
    caches: BTreeMap<String, Vec<CacheOf>>,
    nodes: BTreeMap<u32, NodeOf>,
    distances: Option<Distances>,
    devices: Vec<DeviceOf>,
}

#[derive(Deserialize)]
struct CacheOf {
    bytes: u64,
    cpus: CpuSet,
}

#[derive(Deserialize)]
struct NodeOf {
    cpus: CpuSet,
    memory_bytes: u64,
}

#[derive(Deserialize)]
struct Distances {
    order: Vec<u32>,
    rows: Vec<Vec<u32>>,
}

#[derive(Deserialize)]
struct DeviceOf {
    kind: String,
    name: String,
    nodes: CpuSet,
}

fn sets(mut sets: Vec<CpuSet>) -> String {
    sets.sort();
    sets.iter().map(CpuSet::to_list).collect::<Vec<_>>().join(" ")
}

/// `32768: 0 1 2-3` for each size.
fn cache_list(caches: Vec<(CpuSet, u64)>) -> String {
    let mut of_size: BTreeMap<u64, Vec<CpuSet>> = BTreeMap::new();
    for (cpus, bytes) in caches {
        of_size.entry(bytes).or_default().push(cpus);
    }
    of_size.into_iter().map(|(bytes, cpus)| format!("{bytes}: {}", sets(cpus))).collect::<Vec<_>>().join("; ")
}

/// lstopo names data caches `L1d`, and unified ones of higher levels `L2`, `L3`.
fn cache_name(cache: &Cache) -> Option<String> {
    match (cache.kind, cache.level) {
        (CacheType::Instruction, _) => None,
        (_, 1) => Some("L1d".into()),
        (_, level) => Some(format!("L{level}")),
    }
}

impl Truth {
    pub fn read(path: &Path) -> Self {
        let text = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        serde_json::from_slice(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    }

    pub fn facts(&self) -> Facts {
        let mut facts = Facts::new();
        let mut say = |name: String, value: String| drop(facts.insert(name, value));
        say("cpus".into(), self.cpus.to_list());
        say("allowed".into(), self.allowed_cpus.to_list());
        say("packages".into(), sets(self.packages.clone()));
        say("cores".into(), sets(self.cores.clone()));
        for (name, caches) in &self.caches {
            say(name.clone(), cache_list(caches.iter().map(|c| (c.cpus.clone(), c.bytes)).collect()));
        }
        for (id, node) in &self.nodes {
            say(format!("node {id} cpus"), node.cpus.to_list());
            say(format!("node {id} memory"), node.memory_bytes.to_string());
        }
        if let Some(distances) = &self.distances {
            for (from, row) in distances.order.iter().zip(&distances.rows) {
                let row: Vec<_> =
                    distances.order.iter().zip(row).map(|(to, d)| format!("{to}:{d}")).collect();
                say(format!("node {from} distances"), row.join(" "));
            }
        }
        for device in self.devices.iter().filter(|d| compared(d)) {
            // What hangs on the whole machine is what the kernel does not report the node of.
            let nodes = device.nodes.len() == self.nodes.len();
            let nodes = if nodes { "any".into() } else { device.nodes.to_list() };
            say(format!("{} {}", device.kind, device.name), nodes);
        }
        facts
    }
}

/// DMA engines serve no server, and `controlD64` is the other name of a card.
fn compared(device: &DeviceOf) -> bool {
    device.kind != "dma" && !device.name.starts_with("controlD")
}

/// Our facts in the same words. Devices only where lstopo names them: it shows none that are virtual or unattached.
pub fn facts_of(machine: &Machine, truth: &Truth) -> Facts {
    let mut facts = Facts::new();
    let mut say = |name: String, value: String| drop(facts.insert(name, value));
    say("cpus".into(), machine.online().to_list());
    say("allowed".into(), machine.usable().to_list());
    say("packages".into(), sets(machine.packages.clone()));
    say("cores".into(), sets(machine.cores()));
    let mut caches: BTreeMap<String, Vec<(CpuSet, u64)>> = BTreeMap::new();
    for cache in &machine.caches {
        if let Some(name) = cache_name(cache) {
            caches.entry(name).or_default().push((cache.cpus.clone(), cache.bytes.unwrap_or(0)));
        }
    }
    for (name, caches) in caches {
        say(name, cache_list(caches));
    }
    for node in &machine.nodes {
        say(format!("node {} cpus", node.id), node.cpus.to_list());
        say(format!("node {} memory", node.id), node.memory_bytes.map_or("-".into(), |b| b.to_string()));
        // lstopo prints no distances where there is but one node.
        if machine.nodes.len() > 1 && !node.distances.is_empty() {
            let row: Vec<_> = node.distances.iter().map(|(to, d)| format!("{to}:{d}")).collect();
            say(format!("node {} distances", node.id), row.join(" "));
        }
    }
    for told in &truth.devices {
        let kind = match told.kind.as_str() {
            "net" => DeviceKind::Net,
            "block" => DeviceKind::Block,
            "gpu" => DeviceKind::Gpu,
            "rdma" => DeviceKind::Rdma,
            _ => continue,
        };
        if let Some(device) = machine.device(kind, &told.name) {
            let only = |node: u32| machine.nodes.len() <= 1 && machine.nodes.iter().all(|n| n.id == node);
            let node = device.node.filter(|node| !only(*node)).map_or("any".into(), |node| node.to_string());
            say(format!("{} {}", told.kind, told.name), node);
        }
    }
    facts
}
