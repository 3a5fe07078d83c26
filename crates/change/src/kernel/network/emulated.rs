//! The network of the emulated machine.

use std::io;
use std::path::Path;

use machine::ethtool::Topic;
use machine::{EthtoolSetting, EthtoolState, NetnsPair};

use super::Network;
use crate::kernel::emulated::{EmulatedKernel, error, namespace};
use crate::namespace::Namespace;
use crate::subject::{Interface, Reference, Scope};

impl Network for EmulatedKernel {
    fn network_around(&self, object: &Reference) -> io::Result<Namespace> {
        let name = object.netns.map(String::from).or_else(|| self.network());
        Ok(namespace(self.inner().identities.network(&name)))
    }

    fn index_of(&self, object: &Reference) -> io::Result<u32> {
        let Scope::Network(Some(name)) = object.scope else {
            return Err(io::Error::from(io::ErrorKind::NotFound));
        };
        let network = self.network_around(object)?.inode;
        let index = self.inner().identities.interfaces.get(&(network, name.to_string())).copied();
        index.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }

    fn interfaces(&self) -> io::Result<Vec<Interface>> {
        let name = self.network();
        let mut inner = self.inner();
        let network = inner.identities.network(&name);
        let of = inner.identities.interfaces.iter().filter(|((there, _), _)| *there == network);
        let described = of.map(|((_, name), index)| Interface {
            name: name.clone(),
            index: *index,
            device: None,
            address: None,
        });
        Ok(described.collect())
    }

    fn interface_elsewhere(&self, _interface: &Interface) -> Option<(Namespace, String)> {
        None
    }

    fn has_netns(&self, name: &str) -> bool {
        self.inner().state.namespaces.contains(name)
    }

    fn make_netns_pair(&self, pair: &NetnsPair) -> io::Result<()> {
        // As ip does it: one after the other.
        pair.names.iter().try_for_each(|name| {
            self.change(&format!("netns {name}"), |inner| match inner.state.namespaces.insert(name.clone()) {
                true => Ok(()),
                false => Err(error(libc::EEXIST)),
            })
        })
    }

    fn remove_netns(&self, name: &str) -> io::Result<()> {
        self.change(&format!("netns {name}"), |inner| match inner.state.namespaces.remove(name) {
            true => {
                inner.identities.end_network(name);
                Ok(())
            }
            false => Err(error(libc::ENOENT)),
        })
    }

    fn ethtool(&self, device: &str, netns: Option<&str>, topic: Topic) -> io::Result<EthtoolState> {
        let netns = netns.map(String::from).or_else(|| self.network());
        let key = (netns, device.to_string(), topic);
        let inner = self.inner();
        match inner.unreadable.get(Path::new(&format!("ethtool {device}"))) {
            Some(errno) => Err(error(*errno)),
            None => inner.state.ethtool.get(&key).cloned().ok_or_else(|| error(libc::ENODEV)),
        }
    }

    fn set_ethtool(&self, device: &str, netns: Option<&str>, setting: &EthtoolSetting) -> io::Result<()> {
        let netns = netns.map(String::from).or_else(|| self.network());
        self.change(&format!("ethtool {device}"), |inner| {
            let key = (netns.clone(), device.to_string(), setting.topic());
            let state = inner.state.ethtool.get_mut(&key).ok_or_else(|| error(libc::ENODEV))?;
            match (state, setting) {
                (EthtoolState::Channels { counts: now }, EthtoolSetting::Channels { counts }) => {
                    now.extend(counts);
                }
                (EthtoolState::Coalescing { figures: now }, EthtoolSetting::Coalescing { figures }) => {
                    now.extend(figures);
                }
                (EthtoolState::Feature { wanted, active }, EthtoolSetting::Feature { on, .. }) => {
                    (*wanted, *active) = (*on, *on);
                }
                _ => return Err(error(libc::EINVAL)),
            }
            Ok(())
        })
    }
}
