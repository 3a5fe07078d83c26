//! The machine: every fact of one host at one moment.

mod missing;
mod read;

use serde::{Deserialize, Serialize};

pub use missing::{FactId, Missing, Notes};

use crate::CpuSet;
use crate::devices::{Device, DeviceKind};
use crate::distances::Distances;
use crate::irqs::Irq;
use crate::isolation::Isolation;
use crate::kernel::Kernel;
use crate::limits::Limits;
use crate::power::Power;
use crate::power::idle::Idle;
use crate::processes::{Containers, Guest, KernelThreads, Owner};
use crate::topology::caches::{Cache, CacheType};
use crate::topology::cpus::Cpu;
use crate::topology::kinds::CoreKind;
use crate::topology::memory::Memory;
use crate::topology::nodes::Node;
use crate::virtualization::Virtualization;

/// Facts of one host at one moment. As JSON it is what `pinwise map --format json` prints.
///
/// `None` and an empty list mean "not known" wherever `missing` names the fact; nothing is ever made up.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Machine {
    /// CPUs that are present, online or not, by number.
    pub cpus: Vec<Cpu>,
    /// CPUs that the kernel could ever have (`possible`), and so the width of its masks.
    pub possible: Option<CpuSet>,
    /// CPUs that are there, online or not.
    pub present: Option<CpuSet>,
    /// CPUs that could be online and are not, as the kernel counts them: of all that are *possible*.
    pub offline: Option<CpuSet>,
    /// Kinds of cores, where they are not all alike.
    pub core_kinds: Vec<CoreKind>,
    /// NUMA nodes that are online; empty on kernels without NUMA.
    pub nodes: Vec<Node>,
    /// Caches, each once, nearest to the core first.
    pub caches: Vec<Cache>,
    /// Packages (sockets) as sets of online CPUs.
    pub packages: Vec<CpuSet>,
    /// Memory that the kernel manages, bytes.
    pub memory_bytes: Option<u64>,
    /// What of it is free or set aside, and swap.
    pub memory: Memory,
    /// Network interfaces, then disks, then accelerators.
    pub devices: Vec<Device>,
    /// Interrupt lines in use, by number.
    pub irqs: Vec<Irq>,
    /// The kernel.
    pub kernel: Kernel,
    /// CPUs that the scheduler balances apart or not at all, with what set them apart.
    pub isolation: Isolation,
    /// CPU idle states.
    pub idle: Idle,
    /// Clock speed and latency limits.
    pub power: Power,
    /// What this process may use.
    pub limits: Limits,
    /// Whether a hypervisor runs below.
    pub virtualization: Virtualization,
    /// Virtual machines that run here.
    pub guests: Vec<Guest>,
    /// Whether this is a container, and which containers run here.
    pub containers: Containers,
    /// Who else sets affinities.
    pub owners: Vec<Owner>,
    /// The kernel's own threads by what they do.
    pub kernel_threads: Vec<KernelThreads>,
    /// Distances that were measured on it, where the root holds some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured_distances: Option<Distances>,
    /// What is not known, and why.
    pub missing: Vec<Missing>,
}

impl Machine {
    /// A CPU by number.
    pub fn cpu(&self, id: u32) -> Option<&Cpu> {
        match self.cpus.binary_search_by_key(&id, |cpu| cpu.id) {
            Ok(at) => self.cpus.get(at),
            // A document that was written manually need not be in order.
            Err(_) => self.cpus.iter().find(|cpu| cpu.id == id),
        }
    }

    /// CPUs that are online.
    pub fn online(&self) -> CpuSet {
        self.cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.id).collect()
    }

    /// Online CPUs that this process may use: all that are online when no limit is known.
    pub fn usable(&self) -> CpuSet {
        self.cpus.iter().filter(|cpu| cpu.online && cpu.allowed != Some(false)).map(|cpu| cpu.id).collect()
    }

    /// CPUs that the scheduler moves nothing onto or off: those that the kernel lists, and those that cpusets took out of its
    /// balancing. `None` where neither is known.
    pub fn isolated(&self) -> Option<CpuSet> {
        let by_cpusets = self.isolation.cpus();
        match &self.kernel.isolated {
            Some(listed) => Some(listed.union(&by_cpusets)),
            None => (!by_cpusets.is_empty()).then_some(by_cpusets),
        }
    }

    /// Cores as sets of online CPUs; CPUs whose siblings are not known are left out.
    pub fn cores(&self) -> Vec<CpuSet> {
        let mut cores: Vec<CpuSet> = self.cpus.iter().filter_map(|cpu| cpu.siblings.clone()).collect();
        cores.sort();
        cores.dedup();
        cores
    }

    /// The last-level cache of a CPU: the data or unified cache of the highest level that it uses.
    pub fn last_level_cache(&self, cpu: u32) -> Option<&Cache> {
        let of_cpu = self.caches.iter().filter(|c| c.cpus.contains(cpu) && c.kind != CacheType::Instruction);
        of_cpu.max_by_key(|cache| cache.level)
    }

    /// A device by kind and name.
    pub fn device(&self, kind: DeviceKind, name: &str) -> Option<&Device> {
        self.devices.iter().find(|device| device.kind == kind && device.name == name)
    }

    /// An interrupt line by number.
    pub fn irq(&self, number: u32) -> Option<&Irq> {
        match self.irqs.binary_search_by_key(&number, |irq| irq.irq) {
            Ok(at) => self.irqs.get(at),
            Err(_) => self.irqs.iter().find(|irq| irq.irq == number),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Root, Tree};

    #[test]
    fn an_empty_tree_is_a_machine_of_which_nothing_is_known() {
        let machine = Machine::read(&Root::from_tree(Tree::new()));
        let unknown = Machine { missing: machine.missing.clone(), ..Machine::default() };
        assert_eq!(machine, unknown);
        assert!(machine.missing.len() > 15, "{:?}", machine.missing);
        assert!(machine.missing.iter().all(|m| !m.why.is_empty()));
    }

    #[test]
    fn the_live_machine_has_cpus_and_survives_json() {
        let machine = Machine::read(&Root::live());
        assert!(!machine.online().is_empty());
        assert!(machine.kernel.release.is_some());
        assert!(machine.usable().is_subset(&machine.online()));
        let json = serde_json::to_string(&machine).unwrap();
        assert_eq!(serde_json::from_str::<Machine>(&json).unwrap(), machine);
    }

    #[test]
    fn json_has_the_promised_keys() {
        let json = serde_json::to_value(Machine::read(&Root::live())).unwrap();
        for key in ["cpus", "nodes", "caches", "packages", "devices", "irqs", "kernel", "idle", "missing"] {
            assert!(json.get(key).is_some(), "{key}");
        }
        for key in ["id", "online", "allowed", "package", "core", "node", "siblings"] {
            assert!(json["cpus"][0].get(key).is_some(), "{key}");
        }
        assert!(json["isolation"].get("sets").is_some());
        for key in ["release", "cmdline", "hz", "isolated", "nohz_full"] {
            assert!(json["kernel"].get(key).is_some(), "{key}");
        }
    }
}
