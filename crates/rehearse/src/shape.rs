//! What a guest is to be like: where each CPU sits, memory by node, distances, devices and their nodes.

pub mod catalogue;
mod check;
mod file;
mod of_machine;

use std::collections::BTreeMap;
use std::path::Path;

use machine::{CpuSet, Fault, Machine, Root};
use serde::{Deserialize, Serialize};

/// The shape of a machine, as far as a guest can take it on.
///
/// CPU numbers are those that Linux is to give in the guest. Caches, clock speeds and device models are QEMU's own.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Shape {
    /// Short name: of the named shape, of the capture, of the file.
    pub name: String,
    /// One line on what machine it is.
    pub about: String,
    /// Physical cores.
    pub cores: Vec<Core>,
    /// NUMA nodes; empty for a machine without NUMA.
    pub nodes: Vec<Node>,
    /// CPUs that are there and offline when the command starts.
    pub offline: CpuSet,
    /// CPUs that are possible and not there (hot-pluggable).
    pub absent: CpuSet,
    /// Network cards.
    pub nics: Vec<Nic>,
    /// Disks.
    pub disks: Vec<Disk>,
    /// Idle states beyond polling; none on a guest as QEMU makes it.
    pub idle_states: Vec<IdleState>,
    /// What a guest cannot reproduce of the machine whose shape this is, a sentence each.
    pub differs: Vec<String>,
}

/// A physical core and where it sits.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Core {
    /// Package (socket).
    pub package: u32,
    /// Die in its package.
    pub die: u32,
    /// NUMA node; `None` only where the machine has no nodes.
    pub node: Option<u32>,
    /// CPU numbers of its hardware threads, first thread first.
    pub cpus: Vec<u32>,
}

/// A NUMA node.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Node {
    /// Number.
    pub id: u32,
    /// Memory, MB; 0 for a node without memory.
    pub memory_mb: u64,
    /// Distance to each node by its number (ACPI SLIT: 10 is local).
    pub distances: BTreeMap<u32, u32>,
}

/// A network card. In the guest it is a virtio card with as many queue pairs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Nic {
    /// Node on which it hangs; `None` when the firmware does not report it.
    pub node: Option<u32>,
    /// Pairs of receive and transmit queues.
    pub queues: u32,
}

/// A disk: a sparse file that is thrown away with the guest.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Disk {
    /// Node on which it hangs; `None` when the firmware does not report it.
    pub node: Option<u32>,
    /// How it is attached.
    pub kind: DiskKind,
    /// Size, MB.
    pub size_mb: u64,
}

/// How a disk is attached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiskKind {
    /// NVMe with a queue for each CPU, each with its managed interrupt.
    Nvme,
    /// virtio-blk with a queue for each CPU.
    #[default]
    Virtio,
}

/// An idle state deeper than polling, as ACPI's `_CST` reports it (ACPI specification, 8.4.1.1).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct IdleState {
    /// ACPI type: 1 (halt), 2 or 3.
    pub depth: u8,
    /// Worst time to leave it, us.
    pub exit_latency_us: u16,
}

impl Shape {
    /// The requested shape: a named one, a file `*.toml`, or a capture (archive or directory).
    ///
    /// # Errors
    /// When it is none of these, cannot be read, or cannot be made; see [`Shape::check`].
    pub fn find(asked: &str) -> Result<Self, Fault> {
        if let Some(shape) = catalogue::find(asked) {
            return shape;
        }
        let path = Path::new(asked);
        if !path.exists() {
            return Err(catalogue::no_such(asked));
        }
        match path.extension().is_some_and(|end| end == "toml") {
            true => file::read(path),
            false => {
                let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
                let made = Self::of(&Machine::read(&Root::at(path)?));
                let mut shape = made.map_err(|why| Fault { object: format!("shape {name}"), ..why })?;
                shape.name = name;
                Ok(shape)
            }
        }
    }

    /// CPUs that are there when the command starts, online or not.
    pub fn present(&self) -> CpuSet {
        self.possible().difference(&self.absent)
    }

    /// CPUs that could ever be there.
    pub fn possible(&self) -> CpuSet {
        self.cores.iter().flat_map(|core| core.cpus.iter().copied()).collect()
    }

    /// Node of each device that is to be, cards first.
    pub(crate) fn device_nodes(&self) -> impl Iterator<Item = Option<u32>> {
        self.nics.iter().map(|nic| nic.node).chain(self.disks.iter().map(|disk| disk.node))
    }

    /// Memory of all nodes, MB; [`MEMORY_WITHOUT_NODES_MB`] where there are none.
    pub fn memory_mb(&self) -> u64 {
        match self.nodes.is_empty() {
            true => MEMORY_WITHOUT_NODES_MB,
            false => self.nodes.iter().map(|node| node.memory_mb).sum(),
        }
    }

    /// The same shape with `total_mb` of memory, shared out as it was; a shape without nodes gets one for it, which is
    /// what Linux shows there anyway.
    pub fn with_memory_mb(mut self, total_mb: u64) -> Self {
        let before = self.memory_mb();
        if self.nodes.is_empty() {
            self.nodes.push(Node { id: 0, memory_mb: before, distances: BTreeMap::from([(0, 10)]) });
            for core in &mut self.cores {
                core.node = Some(0);
            }
        }
        for node in self.nodes.iter_mut().filter(|node| node.memory_mb > 0) {
            let share = u128::from(node.memory_mb) * u128::from(total_mb) / u128::from(before.max(1));
            node.memory_mb = u64::try_from(share).unwrap_or(u64::MAX).max(LEAST_NODE_MB);
        }
        self
    }
}

/// Memory of a guest whose shape has no nodes, MB.
pub const MEMORY_WITHOUT_NODES_MB: u64 = 768;

/// Least memory of a node that has any, MB: below, the kernel leaves the node out.
pub const LEAST_NODE_MB: u64 = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_shared_out_as_it_was_and_without_nodes_to_one() {
        let two = Shape::find("memory-only-node").unwrap().with_memory_mb(448);
        assert_eq!(two.nodes.iter().map(|node| node.memory_mb).collect::<Vec<_>>(), [160, 160, 128]);
        let plain = Shape::find("plain").unwrap().with_memory_mb(256);
        assert_eq!((plain.memory_mb(), plain.nodes.len()), (256, 1));
        plain.check().unwrap();
    }
}
