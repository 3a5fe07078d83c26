//! Identity on the emulated machine.

use std::io;

use super::Identity;
use crate::kernel::emulated::{EmulatedKernel, namespace};
use crate::kernel::network::Network as _;
use crate::namespace::process_view::{Directory, ProcessView};
use crate::subject::{Interface, Reference, Scope, Subject};

impl Identity for EmulatedKernel {
    fn boot_id(&self) -> io::Result<String> {
        Ok(format!("boot-{}", self.inner().boot))
    }

    fn now_ticks(&self) -> io::Result<u64> {
        Ok(self.inner().ticks)
    }

    fn process_view(&self) -> io::Result<ProcessView> {
        let (pid, mounts, root) = self.inner().identities.stands;
        Ok(ProcessView {
            processes: namespace(pid),
            time: None,
            mounts: namespace(mounts),
            cgroups: namespace(mounts),
            root: Directory { device: 1, inode: root },
        })
    }

    fn subject_of(&self, object: &Reference) -> Subject {
        let nothing = Subject::default();
        match object.scope {
            Scope::Network(interface) => {
                let network = self.network_around(object).ok();
                let interface = interface.and_then(|name| {
                    let index = self.index_of(object).ok()?;
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
                let cgroup = there.then(|| inner.identities.cgroup(path));
                Subject { cgroup, ..nothing }
            }
            _ => nothing,
        }
    }
}
