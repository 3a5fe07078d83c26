//! The order of the CPUs: by package, node and core.

use std::collections::BTreeMap;

use machine::Machine;

/// Package, node and the CPUs in their order.
pub(crate) type Placed = (Option<u32>, Option<u32>, Vec<u32>);

/// Where each CPU of the machine is.
#[derive(Debug, Clone, Default)]
pub struct Arrangement {
    /// By CPU: package, node, first thread of its core.
    places: BTreeMap<u32, (Option<u32>, Option<u32>, u32)>,
}

impl Arrangement {
    /// Of a machine; offline CPUs have no place.
    pub fn of(machine: &Machine) -> Self {
        let place = |cpu: &machine::topology::cpus::Cpu| {
            let core = cpu.siblings.as_ref().and_then(|siblings| siblings.first()).unwrap_or(cpu.id);
            (cpu.id, (cpu.package, cpu.node, core))
        };
        Self { places: machine.cpus.iter().filter(|cpu| cpu.online).map(place).collect() }
    }

    /// These CPUs in groups. One that came online since the machine was read has no place that is known: it comes last.
    pub(crate) fn groups(&self, cpus: &[u32]) -> Vec<Placed> {
        let mut groups: BTreeMap<(u32, u32), Placed> = BTreeMap::new();
        let last = |number: Option<u32>| number.unwrap_or(u32::MAX);
        for cpu in cpus {
            let (package, node, _) = self.places.get(cpu).copied().unwrap_or_default();
            let group =
                groups.entry((last(package), last(node))).or_insert_with(|| (package, node, Vec::new()));
            group.2.push(*cpu);
        }
        let mut groups: Vec<Placed> = groups.into_values().collect();
        for (_, _, cpus) in &mut groups {
            cpus.sort_by_key(|cpu| (self.places.get(cpu).map_or(*cpu, |place| place.2), *cpu));
            cpus.dedup();
        }
        groups
    }
}
