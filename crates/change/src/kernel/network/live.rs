//! The network of the running system.

use std::io;

use machine::ethtool::Topic;
use machine::{EthtoolSetting, EthtoolState, NetnsPair};

use super::{Network, ethtool, interfaces, netns_pair};
use crate::kernel::live::LiveKernel;
use crate::namespace::{Namespace, netns};
use crate::subject::{Interface, Reference};

impl Network for LiveKernel {
    fn network_around(&self, object: &Reference) -> io::Result<Namespace> {
        interfaces::network_around(object)
    }

    fn index_of(&self, object: &Reference) -> io::Result<u32> {
        interfaces::index(object)
    }

    fn interfaces(&self) -> io::Result<Vec<Interface>> {
        self.seeing(None, interfaces::all_in_sys)
    }

    fn interface_elsewhere(&self, interface: &Interface) -> Option<(Namespace, String)> {
        interfaces::elsewhere(interface)
    }

    fn has_netns(&self, name: &str) -> bool {
        netns::open(name).is_ok()
    }

    fn make_netns_pair(&self, pair: &NetnsPair) -> io::Result<()> {
        netns_pair::make(pair)
    }

    fn remove_netns(&self, name: &str) -> io::Result<()> {
        netns_pair::remove(name)
    }

    fn ethtool(&self, device: &str, namespace: Option<&str>, topic: Topic) -> io::Result<EthtoolState> {
        self.seeing(namespace, || machine::ethtool::ask(device, topic))
    }

    fn set_ethtool(&self, device: &str, namespace: Option<&str>, setting: &EthtoolSetting) -> io::Result<()> {
        self.seeing(namespace, || ethtool::send(device, setting))
    }
}
