//! Namespaces and identities of the emulated machine, and where its process stands.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use machine::Act;

use super::EmulatedKernel;
use crate::acts::operation;
use crate::ground::{Directory, Ground};
use crate::kernel::{Kernel, Network};
use crate::namespace::Namespace;
use crate::subject::{Interface, Line, Scope, Subject, scope};

/// A name of a network namespace; `None`: the first one.
type Name = Option<String>;

#[derive(Debug, Clone, Default)]
pub(super) struct Identities {
    /// Numbers of network namespaces. One without a name keeps its number.
    networks: BTreeMap<u64, Name>,
    /// The network namespace in which the process stands.
    here: Name,
    /// PID namespace, mount namespace and root directory.
    stands: (u64, u64, u64),
    /// Indices of interfaces, by network namespace and name.
    interfaces: BTreeMap<(u64, String), u32>,
    /// Interrupt lines behind their numbers.
    lines: BTreeMap<u32, Line>,
    /// Numbers of cgroups.
    cgroups: BTreeMap<PathBuf, u64>,
    next: u64,
}

impl Identities {
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// A later one of the same path is another one.
    pub(super) fn end_cgroup(&mut self, path: &Path) {
        self.cgroups.remove(path);
    }

    /// A later one of the same name is another one.
    pub(super) fn end_network(&mut self, name: &str) {
        self.networks.retain(|_, of| of.as_deref() != Some(name));
    }

    /// The number of the network namespace of a name, which it gets when it is first asked for.
    fn network(&mut self, name: &Name) -> u64 {
        if let Some((number, _)) = self.networks.iter().find(|(_, of)| *of == name) {
            return *number;
        }
        let number = self.number();
        self.networks.insert(number, name.clone());
        number
    }
}

fn namespace(inode: u64) -> Namespace {
    Namespace { inode, id: Some(inode), mark: None }
}

/// For tests.
impl EmulatedKernel {
    /// Gives an interface of a network namespace an index, by which it is known.
    pub fn add_interface(&self, netns: Option<&str>, name: &str, index: u32) {
        let identities = &mut self.inner().identities;
        let network = identities.network(&netns.map(String::from));
        identities.interfaces.insert((network, name.to_string()), index);
    }

    /// Renames an interface, with all of its files.
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

    /// Removes an interface with all of its files.
    pub fn remove_interface(&self, netns: Option<&str>, interface: &str) {
        let mut inner = self.inner();
        let name = netns.map(String::from);
        let network = inner.identities.network(&name);
        inner.identities.interfaces.remove(&(network, interface.to_string()));
        let is_its = |path: &Path| scope::of_path(path) == Scope::Network(Some(interface));
        inner.state.files.retain(|(of, path), _| *of != name || !is_its(path));
    }

    /// Moves the process into a network namespace, with its /sys.
    pub fn stand_in_network(&self, netns: Option<&str>) {
        self.inner().identities.here = netns.map(String::from);
    }

    /// Moves the process to another PID namespace, mount namespace and root directory, by their numbers; it began with 0 of each.
    pub fn stand_on(&self, pid: u64, mounts: u64, root: u64) {
        self.inner().identities.stands = (pid, mounts, root);
    }

    /// Takes the name of a network namespace away, which lives on; or the namespace with all that is in it.
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

    /// Puts another interrupt line behind a number.
    pub fn set_line(&self, number: u32, hardware_number: &str) {
        let line = Line { chip: "emulated".into(), hardware_number: hardware_number.into() };
        self.inner().identities.lines.insert(number, line);
    }

    /// Removes a cgroup and makes another one of its name, with the same files.
    pub fn replace_cgroup(&self, path: &Path) {
        let identities = &mut self.inner().identities;
        let number = identities.number();
        identities.cgroups.insert(path.to_path_buf(), number);
    }
}

/// What [`Kernel`] asks.
impl EmulatedKernel {
    /// The network namespace in which a file is seen; only files of the network are seen in any.
    pub(super) fn seen_in(&self, path: &Path, netns: Option<&str>) -> Name {
        match (netns, scope::of_path(path)) {
            (Some(name), _) => Some(name.to_string()),
            (None, Scope::Network(_)) => self.stands_in(),
            (None, _) => None,
        }
    }

    /// The network namespace of which this is the view.
    pub(super) fn stands_in(&self) -> Name {
        self.network.clone().unwrap_or_else(|| self.inner().identities.here.clone())
    }

    pub(super) fn own_ground(&self) -> Ground {
        let (pid, mounts, root) = self.inner().identities.stands;
        Ground {
            processes: namespace(pid),
            time: None,
            mounts: namespace(mounts),
            cgroups: namespace(mounts),
            root: Directory { device: 1, inode: root },
        }
    }

    pub(super) fn network_of_act(&self, act: &Act) -> io::Result<Namespace> {
        let name = operation(act).netns().map_or_else(|| self.stands_in(), |name| Some(name.to_string()));
        Ok(namespace(self.inner().identities.network(&name)))
    }

    pub(super) fn subject_of(&self, act: &Act) -> Subject {
        let nothing = Subject::default();
        match operation(act).scope() {
            Scope::Network(interface) => {
                let network = self.network_of_act(act).ok();
                let interface = interface.and_then(|name| {
                    let index = self.index_of(act).ok()?;
                    Some(Interface { name: name.into(), index, device: None, address: None })
                });
                Subject { network, interface, ..nothing }
            }
            Scope::Line(number) => {
                Subject { line: self.inner().identities.lines.get(&number).cloned(), ..nothing }
            }
            Scope::Cgroup(path) => {
                let inner = &mut *self.inner();
                let there = inner.state.folders.contains(path);
                let number = inner.identities.next + 1;
                let cgroup = there.then(|| *inner.identities.cgroups.entry(path.into()).or_insert(number));
                inner.identities.next = number;
                Subject { cgroup, ..nothing }
            }
            _ => nothing,
        }
    }

    pub(super) fn index_of(&self, act: &Act) -> io::Result<u32> {
        let operation = operation(act);
        let Scope::Network(Some(name)) = operation.scope() else {
            return Err(io::Error::from(io::ErrorKind::NotFound));
        };
        let network = self.network_of_act(act)?.inode;
        let index = self.inner().identities.interfaces.get(&(network, name.to_string())).copied();
        index.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }

    pub(super) fn find_network(&self, wanted: &Namespace) -> Network<'_> {
        match self.inner().identities.networks.get(&wanted.inode) {
            None => Network::Ended,
            Some(name) => {
                let there = Self { shared: self.shared.clone(), network: Some(name.clone()) };
                Network::There(Box::new(there) as Box<dyn Kernel>)
            }
        }
    }

    pub(super) fn all_interfaces(&self) -> Vec<Interface> {
        let name = self.stands_in();
        let mut inner = self.inner();
        let network = inner.identities.network(&name);
        let of = inner.identities.interfaces.iter().filter(|((there, _), _)| *there == network);
        of.map(|((_, name), index)| Interface {
            name: name.clone(),
            index: *index,
            device: None,
            address: None,
        })
        .collect()
    }
}
