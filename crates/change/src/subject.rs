//! What an act is about beyond its path or name: the device, line, cgroup or namespace that these meant when it was performed.

mod reference;
pub(crate) mod scope;

use serde::{Deserialize, Serialize};

use crate::namespace::Namespace;

pub use reference::Reference;
pub use scope::Scope;

/// The identity of what an act changes. Each part is there where it applies and the kernel reports it. Processes have theirs in the act
/// itself: their start time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// The network namespace in which a file or interface is seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<Namespace>,
    /// The network interface.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<Interface>,
    /// The interrupt line behind a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<Line>,
    /// Sequence number of a disk, which no other disk of the boot has (/sys/block/NAME/diskseq, Linux 5.15).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<u64>,
    /// Inode number of a cgroup's directory, which no other cgroup of the boot has (its id, on kernels of 64 bits).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<u64>,
    /// Network namespaces that the act has made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub made: Vec<Namespace>,
}

/// A network interface, which keeps its index whatever it is renamed to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interface {
    /// Its name at the time.
    pub name: String,
    /// Its index, of its network namespace (netdevice(7)).
    pub index: u32,
    /// The device that it belongs to, as the last name in /sys/class/net/NAME/device: a PCI address; `None` for a virtual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Its hardware address, to know it by in another namespace, where it may have another index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
}

/// An interrupt line: its number may be given to another one (/sys/kernel/irq/N).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// The controller.
    pub chip: String,
    /// Its number there, which for messages holds the address of the device.
    pub hardware_number: String,
}

impl Subject {
    /// Whether nothing is known beyond the act's own words.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether it cannot be the same as another one, although path or name are.
    pub fn is_another_than(&self, other: &Self) -> bool {
        let networks = self.network.zip(other.network).is_some_and(|(a, b)| !a.is(&b));
        let interfaces =
            self.interface.as_ref().zip(other.interface.as_ref()).is_some_and(|(a, b)| a.index != b.index);
        let differ = |a: Option<u64>, b: Option<u64>| a.zip(b).is_some_and(|(a, b)| a != b);
        networks || interfaces || differ(self.disk, other.disk) || differ(self.cgroup, other.cgroup)
    }
}

impl Interface {
    /// Whether it may be this one in another network namespace, where it can have another name and index: of the same device, or of the
    /// same hardware address.
    pub fn may_be(&self, other: &Self) -> bool {
        let same = |a: &Option<String>, b: &Option<String>| a.is_some() && a == b;
        match (&self.device, &other.device) {
            (None, None) => same(&self.address, &other.address),
            (a, b) => same(a, b),
        }
    }
}
