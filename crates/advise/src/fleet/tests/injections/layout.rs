//! Differences of hardware, firmware, cards and limits.

use std::collections::BTreeMap;

use machine::devices::{Device, DeviceKind, Queue};
use machine::limits::cgroups::{MemoryLimit, Quota};
use machine::processes::Inside;
use machine::topology::nodes::Node;
use machine::{CpuSet, Machine};

use super::super::super::FeatureId;
use super::{Area, Expected, Injection, Put, card, of, one};

/// The machine with these CPUs offline, as the kernel shows it.
pub(in super::super) fn without_cpus(mut machine: Machine, offline: &CpuSet) -> Machine {
    take_offline(&mut machine, offline);
    machine
}

fn take_offline(machine: &mut Machine, offline: &CpuSet) {
    for cpu in &mut machine.cpus {
        if offline.contains(cpu.id) {
            (cpu.online, cpu.allowed) = (false, Some(false));
            (cpu.siblings, cpu.package, cpu.core) = (None, None, None);
        }
        cpu.siblings = cpu.siblings.as_ref().map(|siblings| siblings.difference(offline));
    }
    for node in &mut machine.nodes {
        node.cpus = node.cpus.difference(offline);
    }
    for cache in &mut machine.caches {
        cache.cpus = cache.cpus.difference(offline);
    }
    machine.caches.retain(|cache| !cache.cpus.is_empty());
    for package in &mut machine.packages {
        *package = package.difference(offline);
    }
    machine.packages.retain(|package| !package.is_empty());
}

fn on_card(machine: &mut Machine, put: fn(&mut Device) -> Option<FeatureId>) -> Expected {
    let card = card(machine)?;
    let name = card.name.clone();
    one(put(card)?, &name)
}

fn queue<'d>(card: &'d mut Device, way: &str) -> Option<&'d mut Queue> {
    card.queues.iter_mut().find(|queue| queue.name.starts_with(way))
}

/// The lines of the card's queues.
fn lines(machine: &mut Machine) -> Option<Vec<usize>> {
    let numbers = card(machine)?.irqs.clone();
    let is_queue = |name: &str| name.contains("input") || name.contains("output");
    let places = machine.irqs.iter().enumerate();
    let places = places.filter(|(_, irq)| numbers.contains(&irq.irq) && is_queue(&irq.name));
    Some(places.map(|(place, _)| place).collect())
}

pub(super) fn of_cards() -> Vec<Injection> {
    let layout = |put: Put| of(Area::Layout, put);
    vec![
        layout(|m, _| {
            on_card(m, |card| {
                if card.queues.len() < 8 {
                    return None;
                }
                card.queues.retain(|queue| !queue.name.ends_with("-3"));
                Some(FeatureId::CardQueues)
            })
        }),
        layout(|m, _| {
            on_card(m, |card| {
                let queue = queue(card, "tx").filter(|queue| queue.xps_cpus.is_some())?;
                queue.xps_cpus = Some(CpuSet::single(5));
                Some(FeatureId::TransmitSteering)
            })
        }),
        layout(|m, _| {
            on_card(m, |card| {
                card.driver = Some("e1000e".into());
                Some(FeatureId::NetworkCard)
            })
        }),
        layout(|m, _| {
            let name = card(m)?.name.clone();
            m.devices.retain(|device| device.name != name);
            one(FeatureId::NetworkCard, &name)
        }),
        layout(|m, _| {
            on_card(m, |card| {
                card.node = Some(u32::from(card.node? == 0));
                Some(FeatureId::CardNode)
            })
        }),
        layout(|m, _| {
            on_card(m, |card| {
                card.links.last_mut()?.current.lanes = 4;
                Some(FeatureId::CardPcieLink)
            })
        }),
        layout(|m, _| {
            on_card(m, |card| {
                card.speed_mbit = Some(10_000);
                Some(FeatureId::CardSpeed)
            })
        }),
        layout(|m, _| {
            on_card(m, |card| {
                card.state = Some("down".into());
                Some(FeatureId::CardState)
            })
        }),
        layout(|m, _| {
            on_card(m, |card| {
                card.ethtool.as_mut()?.rings.as_mut()?.rx = Some(64);
                Some(FeatureId::CardRings)
            })
        }),
        layout(|m, _| {
            on_card(m, |card| {
                card.ethtool.as_mut()?.coalesce.as_mut()?.rx_usecs = Some(50);
                Some(FeatureId::CardCoalescing)
            })
        }),
        layout(|m, _| {
            on_card(m, |card| {
                queue(card, "rx")?.rps_cpus = Some(CpuSet::single(1));
                Some(FeatureId::ReceiveSteering)
            })
        }),
        layout(|m, _| {
            on_card(m, |card| {
                queue(card, "rx")?.rps_flow_cnt = Some(4096);
                Some(FeatureId::FlowSteering)
            })
        }),
        layout(|m, _| {
            let place = *lines(m)?.first()?;
            let line = &mut m.irqs[place];
            (line.affinity, line.effective) = (Some(CpuSet::single(3)), Some(CpuSet::single(3)));
            one(FeatureId::IrqPlacement, "eth0")
        }),
        layout(|m, _| {
            for place in lines(m)? {
                m.irqs[place].effective = Some(CpuSet::single(1));
            }
            one(FeatureId::IrqNode, "eth0")
        }),
    ]
}

pub(super) fn of_the_machine() -> Vec<Injection> {
    let mut all: Vec<Injection> = PUTS.iter().map(|put| of(Area::Layout, *put)).collect();
    all.extend(of_limits());
    all
}

/// Those that fewest machines can have come first.
const PUTS: [Put; 14] = [
    |m, _| smt_off(m),
    |m, _| another_disk(m),
    |m, _| one_node(m),
    |m, _| cpus_of_other_nodes(m),
    |m, _| {
        m.nodes.get(1)?;
        m.limits.memory_nodes = Some(CpuSet::single(0));
        one(FeatureId::AllowedNodes, "")
    },
    |m, _| {
        m.nodes.first_mut()?.distances.insert(0, 11);
        one(FeatureId::NodeDistances, "node 0")
    },
    |m, _| dimm_missing(m),
    |m, _| {
        m.memory_bytes = Some(m.memory_bytes? / 10 * 9);
        one(FeatureId::Memory, "")
    },
    |m, _| {
        let last = m.cpus.last()?.id;
        take_offline(m, &CpuSet::single(last));
        one(FeatureId::CpusOffline, "")
    },
    |m, _| {
        m.kernel.isolated = Some(CpuSet::single(1));
        one(FeatureId::IsolatedCpus, "")
    },
    |m, _| {
        m.kernel.nohz_full = Some(CpuSet::single(1));
        one(FeatureId::TicklessCpus, "")
    },
    |m, _| {
        m.kernel.tunables.insert("irq.default_smp_affinity".into(), "1".into());
        one(FeatureId::SettingCpus, "irq.default_smp_affinity")
    },
    |m, _| {
        let (name, driver) = ("card0".to_string(), Some("nvidia".into()));
        m.devices.push(Device { kind: DeviceKind::Gpu, name, driver, node: Some(0), ..Device::default() });
        one(FeatureId::Accelerators, "nvidia GPUs")
    },
    |m, _| {
        let inside = Inside { container: true, because: "/.dockerenv".into() };
        m.containers.inside = Some(inside);
        one(FeatureId::Container, "")
    },
];

fn of_limits() -> Vec<Injection> {
    let layout = |put: Put| of(Area::Layout, put);
    vec![
        layout(|m, _| {
            m.limits.affinity = Some(CpuSet::single(0));
            one(FeatureId::AllowedCpus, "")
        }),
        layout(|m, _| {
            m.limits.cpu_quota = Some(Quota { cpus: 2.0, file: "/sys/fs/cgroup/a/cpu.max".into() });
            one(FeatureId::CpuQuota, "")
        }),
        layout(|m, _| {
            m.limits.memory_limit =
                Some(MemoryLimit { bytes: 1 << 28, file: "/sys/fs/cgroup/a/memory.max".into() });
            one(FeatureId::MemoryLimit, "")
        }),
    ]
}

fn smt_off(machine: &mut Machine) -> Expected {
    let cores = machine.cores();
    let second: CpuSet = cores.iter().flat_map(|core| core.iter().skip(1)).collect();
    second.first()?;
    take_offline(machine, &second);
    machine.kernel.smt = Some("off".into());
    one(FeatureId::Smt, "")
}

fn another_disk(machine: &mut Machine) -> Expected {
    let disk = machine.devices.iter().find(|device| device.kind == DeviceKind::Block)?.clone();
    machine.devices.push(Device { name: "nvme7n1".into(), irqs: Vec::new(), ..disk });
    one(FeatureId::Disks, "nvme disks")
}

/// Firmware that interleaves memory shows one node.
fn one_node(machine: &mut Machine) -> Expected {
    machine.nodes.get(1)?;
    let cpus = machine.nodes.iter().flat_map(|node| node.cpus.iter()).collect();
    let memory_bytes = machine.nodes.iter().map(|node| node.memory_bytes).sum();
    let distances = BTreeMap::from([(0, 10)]);
    machine.nodes = vec![Node { id: 0, cpus, memory_bytes, distances, ..Node::default() }];
    machine.cpus.iter_mut().for_each(|cpu| cpu.node = cpu.node.map(|_| 0));
    machine.devices.iter_mut().for_each(|device| device.node = device.node.map(|_| 0));
    machine.limits.memory_nodes = Some(CpuSet::single(0));
    one(FeatureId::Nodes, "")
}

/// Two CPUs change places.
fn cpus_of_other_nodes(machine: &mut Machine) -> Expected {
    let [one, other] = [machine.nodes.first()?.cpus.first()?, machine.nodes.get(1)?.cpus.first()?];
    for (node, (lost, won)) in machine.nodes.iter_mut().zip([(one, other), (other, one)]) {
        node.cpus = node.cpus.difference(&CpuSet::single(lost));
        node.cpus.insert(won);
    }
    let names = ["node 0", "node 1"].map(|name| (FeatureId::NodeCpus, name.to_string()));
    Some(names.into())
}

fn dimm_missing(machine: &mut Machine) -> Expected {
    let node = machine.nodes.last_mut()?;
    let bytes = node.memory_bytes? / 4;
    node.memory_bytes = Some(node.memory_bytes? - bytes);
    let subject = format!("node {}", node.id);
    machine.memory_bytes = Some(machine.memory_bytes? - bytes);
    one(FeatureId::NodeMemory, &subject)
}
