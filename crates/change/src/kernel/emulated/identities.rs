//! What tells apart objects of the emulated machine that have the same name: numbers of namespaces, interfaces, interrupt
//! lines and cgroups.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::EmulatedKernel;
use crate::namespace::Namespace;
use crate::subject::{Line, Scope, scope};

/// Name of a network namespace; `None`: the first one.
pub(in crate::kernel) type Name = Option<String>;

/// Numbers and identities.
#[derive(Debug, Clone, Default)]
pub(in crate::kernel) struct Identities {
    /// Names of network namespaces, by number.
    networks: BTreeMap<u64, Name>,
    /// The network namespace of the process.
    here: Name,
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
pub(in crate::kernel) fn namespace(inode: u64) -> Namespace {
    Namespace { inode, id: Some(inode), mark: None }
}

impl EmulatedKernel {
    /// Adds an interface to a network namespace, with its index.
    pub fn add_interface(&self, netns: Option<&str>, name: &str, index: u32) {
        let identities = &mut self.inner().identities;
        let network = identities.network(&netns.map(String::from));
        identities.interfaces.insert((network, name.to_string()), index);
    }

    /// Renames an interface and its files.
    pub fn rename_interface(&self, netns: Option<&str>, old: &str, new: &str) {
        let mut inner = self.inner();
        let name = netns.map(String::from);
        let network = inner.identities.network(&name);
        if let Some(index) = inner.identities.interfaces.remove(&(network, old.to_string())) {
            inner.identities.interfaces.insert((network, new.to_string()), index);
        }
        let files = std::mem::take(&mut inner.state.files);
        let renamed = files.into_iter().map(|((of, path), text)| {
            let path = if of == name { scope::with_interface(&path, old, new) } else { path };
            ((of, path), text)
        });
        inner.state.files = renamed.collect();
    }

    /// Removes an interface and its files.
    pub fn remove_interface(&self, netns: Option<&str>, interface: &str) {
        let mut inner = self.inner();
        let name = netns.map(String::from);
        let network = inner.identities.network(&name);
        inner.identities.interfaces.remove(&(network, interface.to_string()));
        let is_its = |path: &Path| scope::of_path(path) == Scope::Network(Some(interface));
        inner.state.files.retain(|(of, path), _| *of != name || !is_its(path));
    }

    /// Moves the process into a network namespace, whose /sys it sees then.
    pub fn stand_in_network(&self, netns: Option<&str>) {
        self.inner().identities.here = netns.map(String::from);
    }

    /// Moves the process to another PID namespace, mount namespace and root directory. All three have number 0 at first.
    pub fn stand_on(&self, pid: u64, mounts: u64, root: u64) {
        self.inner().identities.stands = (pid, mounts, root);
    }

    /// Removes the name of a network namespace; the namespace itself stays if it `lives`, or ends with all that is in it.
    pub fn forget_network(&self, name: &str, lives: bool) {
        let mut inner = self.inner();
        let of = Some(name.to_string());
        let number = inner.identities.network(&of);
        match lives {
            true => {
                let nameless = Some(format!("({number})"));
                let files = std::mem::take(&mut inner.state.files);
                let moved = files.into_iter().map(|((netns, path), text)| {
                    ((if netns == of { nameless.clone() } else { netns }, path), text)
                });
                inner.state.files = moved.collect();
                inner.identities.networks.insert(number, nameless);
            }
            false => {
                inner.identities.networks.remove(&number);
                inner.state.files.retain(|(netns, _), _| *netns != of);
            }
        }
    }

    /// Gives the number of an interrupt to another line.
    pub fn set_line(&self, number: u32, hardware_number: &str) {
        let line = Line { chip: "emulated".into(), hardware_number: hardware_number.into() };
        self.inner().identities.lines.insert(number, line);
    }

    /// Replaces a cgroup by another one with the same name and files.
    pub fn replace_cgroup(&self, path: &Path) {
        let identities = &mut self.inner().identities;
        let number = identities.number();
        identities.cgroups.insert(path.to_path_buf(), number);
    }
}

impl EmulatedKernel {
    /// The machine as seen from a network namespace; `None` when that has ended.
    pub(in crate::kernel) fn seen_from(&self, network: &Namespace) -> Option<Self> {
        let name = self.inner().identities.networks.get(&network.inode)?.clone();
        Some(Self { shared: self.shared.clone(), network: Some(name) })
    }

    /// The network namespace whose view of a file counts. Only files of the network differ between them.
    pub(in crate::kernel) fn view_of(&self, path: &Path, netns: Option<&str>) -> Name {
        match (netns, scope::of_path(path)) {
            (Some(name), _) => Some(name.to_string()),
            (None, Scope::Network(_)) => self.network(),
            (None, _) => None,
        }
    }

    /// The network namespace that this machine is seen from.
    pub(in crate::kernel) fn network(&self) -> Name {
        self.network.clone().unwrap_or_else(|| self.inner().identities.here.clone())
    }
}
