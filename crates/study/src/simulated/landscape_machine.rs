//! The machine that a landscape stands for, as a map of it would show: all that the search may know.

use machine::devices::{Device, DeviceKind};
use machine::irqs::Irq;
use machine::topology::caches::{Cache, CacheType};
use machine::topology::cpus::Cpu;
use machine::topology::nodes::Node;
use machine::{CpuSet, Machine};

use super::landscape::{Landscape, Shape};

/// Where one CPU is.
#[derive(Debug, Clone, Copy)]
struct Seat {
    cpu: u32,
    node: u32,
    cache: u32,
    core: u32,
}

impl Shape {
    /// Number of nodes.
    pub fn all_nodes(&self) -> u32 {
        self.packages * self.nodes
    }

    fn cores_of_node(&self) -> u32 {
        self.caches * self.cores
    }

    /// Number of CPUs.
    pub fn all_cpus(&self) -> u32 {
        self.all_nodes() * self.cores_of_node() * self.threads
    }

    fn seats(&self) -> Vec<Seat> {
        let all_cores = self.all_nodes() * self.cores_of_node();
        let mut seats = Vec::new();
        for core in 0..all_cores {
            let node = core / self.cores_of_node();
            for thread in 0..self.threads {
                let listed = self.numbering.get(node as usize);
                let at = core % self.cores_of_node() + thread * self.cores_of_node();
                let cpu = listed.and_then(|cpus| cpus.get(at as usize)).copied();
                let cpu = cpu.unwrap_or(core + thread * all_cores);
                seats.push(Seat { cpu, node, cache: core / self.cores, core });
            }
        }
        seats.sort_by_key(|seat| seat.cpu);
        seats
    }

    /// Distance from node to node as firmware reports it.
    pub fn distance(&self, from: u32, to: u32) -> u32 {
        let reported = self.distances.get(from as usize).and_then(|row| row.get(to as usize)).copied();
        reported.unwrap_or(if from == to { 10 } else { 20 })
    }
}

fn sets_by(seats: &[Seat], of: impl Fn(&Seat) -> u32) -> Vec<CpuSet> {
    let mut sets: std::collections::BTreeMap<u32, CpuSet> = std::collections::BTreeMap::new();
    for seat in seats {
        sets.entry(of(seat)).or_default().insert(seat.cpu);
    }
    sets.into_values().collect()
}

impl Landscape {
    /// The machine as a map would show it. Nothing of the workload is in it.
    pub fn machine(&self) -> Machine {
        let shape = &self.shape;
        let seats = shape.seats();
        let cores = sets_by(&seats, |seat| seat.core);
        let cpu = |seat: &Seat| Cpu {
            id: seat.cpu,
            online: true,
            allowed: Some(true),
            package: Some(seat.node / shape.nodes.max(1)),
            core: Some(seat.core),
            node: Some(seat.node),
            siblings: cores.get(seat.core as usize).cloned(),
            ..Cpu::default()
        };
        let ids = 0..shape.all_nodes();
        let node = |(id, cpus): (u32, CpuSet)| Node {
            id,
            cpus,
            memory_bytes: Some(16 << 30),
            distances: ids.clone().map(|to| (to, shape.distance(id, to))).collect(),
            ..Node::default()
        };
        let cache = |cpus| Cache { level: 3, kind: CacheType::Unified, bytes: Some(16 << 20), cpus };
        let counts = shape.interrupts.iter().filter_map(|(cpu, n)| Some((cpu.parse::<u32>().ok()?, *n)));
        Machine {
            cpus: seats.iter().map(cpu).collect(),
            packages: sets_by(&seats, |seat| seat.node / shape.nodes.max(1)),
            nodes: (0..).zip(sets_by(&seats, |seat| seat.node)).map(node).collect(),
            caches: sets_by(&seats, |seat| seat.cache).into_iter().map(cache).collect(),
            devices: vec![Device {
                kind: DeviceKind::Net,
                name: "eth0".into(),
                node: shape.card_node,
                state: Some("up".into()),
                ..Device::default()
            }],
            irqs: vec![Irq {
                irq: 40,
                name: "eth0".into(),
                counts: Some(counts.collect()),
                ..Irq::default()
            }],
            ..Machine::default()
        }
    }
}
