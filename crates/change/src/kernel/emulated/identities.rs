//! Identities on the emulated machine: numbers of namespaces, interfaces, interrupt lines and cgroups.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::namespace::Namespace;
use crate::subject::Line;

/// Name of a network namespace; `None`: the first one.
pub type Name = Option<String>;

/// Numbers and identities.
#[derive(Debug, Clone, Default)]
pub struct Identities {
    /// Names of network namespaces, by number.
    pub networks: BTreeMap<u64, Name>,
    /// The network namespace of the process.
    pub here: Name,
    /// PID namespace, mount namespace and root directory of the process.
    pub stands: (u64, u64, u64),
    /// Indices of interfaces, by network namespace and name.
    pub interfaces: BTreeMap<(u64, String), u32>,
    /// Interrupt lines, by number.
    pub lines: BTreeMap<u32, Line>,
    /// Numbers of cgroups.
    cgroups: BTreeMap<PathBuf, u64>,
    next: u64,
}

impl Identities {
    /// A number that nothing else has.
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Number of a cgroup. It is given when it is first asked for.
    pub fn cgroup(&mut self, path: &Path) -> u64 {
        let free = self.number();
        *self.cgroups.entry(path.into()).or_insert(free)
    }

    /// Forgets a cgroup: a later one with the same path is another one.
    pub fn end_cgroup(&mut self, path: &Path) {
        self.cgroups.remove(path);
    }

    /// Forgets a network namespace: a later one with the same name is another one.
    pub fn end_network(&mut self, name: &str) {
        self.networks.retain(|_, of| of.as_deref() != Some(name));
    }

    /// Number of the network namespace with this name. It is given when it is first asked for.
    pub fn network(&mut self, name: &Name) -> u64 {
        if let Some((number, _)) = self.networks.iter().find(|(_, of)| *of == name) {
            return *number;
        }
        let number = self.number();
        self.networks.insert(number, name.clone());
        number
    }
}

/// The namespace of a number.
pub fn namespace(inode: u64) -> Namespace {
    Namespace { inode, id: Some(inode), mark: None }
}
