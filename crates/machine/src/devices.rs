//! Network interfaces, disks and accelerators: where they are attached, which interrupts they raise, which queues
//! they have.

pub(crate) mod accelerators;
pub mod block;
pub mod chain;
pub mod ethtool;
pub(crate) mod lines;
mod links;
pub mod network;
pub mod path;
pub mod pcie;
pub(crate) mod place;
mod queue_names;

use serde::{Deserialize, Serialize};

use crate::CpuSet;
use ethtool::Ethtool;
use pcie::PcieLink;

/// What kind of device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceKind {
    /// Network interface (/sys/class/net), also virtual ones.
    #[default]
    Net,
    /// Disk (/sys/class/block) with hardware behind it; no partitions, loop or RAM disks.
    Block,
    /// Graphics card or compute GPU (/sys/class/drm, /proc/driver/nvidia).
    Gpu,
    /// RDMA adapter (/sys/class/infiniband).
    Rdma,
    /// Other accelerator (/sys/class/accel).
    Accelerator,
    /// Memory that is used as a device (/sys/bus/dax).
    Dax,
}

/// One device.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Device {
    /// What kind.
    pub kind: DeviceKind,
    /// Name: `eth0`, `nvme0n1`.
    pub name: String,
    /// NUMA node that it is attached to; `None` when it has none (virtual) or the firmware does not report (-1).
    pub node: Option<u32>,
    /// PCI address (`0000:3b:00.0`) of the function behind it.
    pub pci: Option<String>,
    /// PCI addresses of the bridges above the function, from the root port down.
    pub bridges: Vec<String>,
    /// PCIe links above it, from the root port down; empty where it has none of its own (SR-IOV, root complex, virtio).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<PcieLink>,
    /// CPUs that firmware calls near to it (`local_cpulist`); all of them where it does not report it.
    pub local_cpus: Option<CpuSet>,
    /// Its interrupts: those of the PCI function, else those of the lines that carry its name or that of the device it hangs on
    /// (platform, virtio over MMIO, Xen). Devices that share the function (disks of one controller) or a line share them.
    pub irqs: Vec<u32>,
    /// Receive, transmit and request queues.
    pub queues: Vec<Queue>,
    /// Driver: `ixgbe`, `virtio_net`, `nvme`.
    pub driver: Option<String>,
    /// Whether no hardware is behind it (lo, veth, bridges).
    pub is_virtual: bool,
    /// Network: `bond`, `bridge`, `vlan`, `veth`, `loopback`, `tun`, or the type that its driver reports.
    pub link: Option<String>,
    /// Network, virtual: interfaces directly below (ports of a bridge, slaves of a bond).
    pub lower: Vec<String>,
    /// Network, virtual: the cards at the bottom.
    pub hardware: Vec<String>,
    /// Network, veth: the other end, where it is in the same namespace.
    pub peer: Option<String>,
    /// Network: PCI address of the physical function, for a function that was split off (SR-IOV).
    pub physical_function: Option<String>,
    /// Network: channels, coalescing and rings, where the driver reports them.
    pub ethtool: Option<Ethtool>,
    /// Network: link speed, Mbit/s, where the driver reports it.
    pub speed_mbit: Option<u64>,
    /// Network: `up`, `down`, `unknown` (operstate, RFC 2863).
    pub state: Option<String>,
    /// Block: size, bytes.
    pub bytes: Option<u64>,
}

/// One queue of a device.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Queue {
    /// Name: `rx-0`, `tx-0` (network), `0` (block).
    pub name: String,
    /// Receive: CPUs that receive work is steered to (RPS); empty when it stays where the interrupt came.
    pub rps_cpus: Option<CpuSet>,
    /// Receive: entries of the flow table (RFS); 0 when off.
    pub rps_flow_cnt: Option<u64>,
    /// Transmit: CPUs that send through this queue (XPS); `None` also where there is but one queue.
    pub xps_cpus: Option<CpuSet>,
    /// Block: CPUs whose requests go through this queue.
    pub cpus: Option<CpuSet>,
}
