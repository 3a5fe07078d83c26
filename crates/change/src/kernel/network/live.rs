//! The network of the running system.

use std::io;

use machine::ethtool::Topic;
use machine::{Act, EthtoolSetting, EthtoolState, NetnsPair};

use super::{Network, ethtool, interfaces, netns_pair};
use crate::kernel::live::LiveKernel;
use crate::namespace::{Namespace, netns};
use crate::subject::Interface;

impl Network for LiveKernel {
    fn network_of(&self, act: &Act) -> io::Result<Namespace> {
        interfaces::network_of(act)
    }

    fn interface_index(&self, act: &Act) -> io::Result<u32> {
        interfaces::index(act)
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
