//! The machine of a made-up window.

use machine::devices::Device;
use machine::irqs::Irq;
use machine::power::FrequencyPolicy;
use machine::power::idle::IdleState;
use machine::topology::caches::{Cache, CacheType};
use machine::topology::cpus::Cpu;
use machine::topology::nodes::Node;
use machine::{CpuSet, Machine};

use super::Simulated;

/// CPUs, cores, nodes, devices and their lines.
pub(super) fn of(simulated: &Simulated) -> Machine {
    let mut machine = Machine {
        cpus: (0..simulated.cpus).map(|id| cpu(simulated, id)).collect(),
        nodes: (0..simulated.nodes).map(|id| node(simulated, id)).collect(),
        devices: simulated.devices.iter().map(|named| device(simulated, named)).collect(),
        irqs: lines(simulated),
        caches: simulated.caches.iter().map(cache).collect(),
        ..Machine::default()
    };
    machine.kernel.hz = simulated.hz;
    machine.kernel.tunables = simulated.tunables.clone();
    machine.virtualization.guest = Some(simulated.guest);
    machine.idle.states = (0..simulated.idle_states).map(idle_state).collect();
    let policy = |clock: &super::Clock| FrequencyPolicy {
        cpus: CpuSet::single(clock.cpu),
        governor: Some(clock.governor.clone()),
        max_khz: Some(clock.allowed_mhz * 1_000),
        hardware_max_khz: Some(clock.hardware_mhz * 1_000),
        ..FrequencyPolicy::default()
    };
    machine.power.frequency = simulated.clocks.iter().map(policy).collect();
    machine
}

fn idle_state(depth: u32) -> IdleState {
    IdleState {
        name: format!("C{depth}"),
        exit_latency_us: Some(u64::from(depth) * 30),
        target_residency_us: None,
        disabled: Some(false),
        disabled_on: CpuSet::new(),
    }
}

fn cache(cpus: &CpuSet) -> Cache {
    Cache { level: 3, kind: CacheType::Unified, bytes: Some(32 << 20), cpus: cpus.clone() }
}

fn cpu(simulated: &Simulated, id: u32) -> Cpu {
    let cores = simulated.cpus / simulated.threads_per_core.max(1);
    let core = id % cores.max(1);
    let siblings: CpuSet = (0..simulated.threads_per_core).map(|thread| core + thread * cores).collect();
    Cpu {
        id,
        online: true,
        package: Some(0),
        core: Some(core),
        node: Some(node_of(simulated, id)),
        siblings: Some(siblings),
        ..Cpu::default()
    }
}

/// The node of a CPU: siblings share one.
fn node_of(simulated: &Simulated, cpu: u32) -> u32 {
    let cores = (simulated.cpus / simulated.threads_per_core.max(1)).max(1);
    (cpu % cores) * simulated.nodes / cores
}

fn node(simulated: &Simulated, id: u32) -> Node {
    let cpus = (0..simulated.cpus).filter(|cpu| node_of(simulated, *cpu) == id).collect();
    Node { id, cpus, memory_bytes: Some(64 << 30), ..Node::default() }
}

fn device(simulated: &Simulated, named: &super::NamedDevice) -> Device {
    let irqs = simulated.interrupts.iter().filter(|one| one.device == named.name).filter_map(|one| one.irq);
    Device {
        kind: named.kind,
        name: named.name.clone(),
        node: named.node,
        links: named.links.clone(),
        irqs: irqs.collect(),
        ..Device::default()
    }
}

fn lines(simulated: &Simulated) -> Vec<Irq> {
    let line = |one: &super::Interrupt| {
        Some(Irq {
            irq: one.irq?,
            name: one.device.clone(),
            devices: vec![one.device.clone()],
            effective: Some(CpuSet::single(one.cpu)),
            ..Irq::default()
        })
    };
    simulated.interrupts.iter().filter_map(line).collect()
}
