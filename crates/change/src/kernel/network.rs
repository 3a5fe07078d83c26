//! The network: namespaces, interfaces and the settings of their drivers.

#[cfg(any(test, feature = "emulated"))]
mod emulated;
mod ethtool;
pub(super) mod interfaces;
mod live;
mod netns_pair;

use std::io;

use machine::ethtool::Topic;
use machine::{EthtoolSetting, EthtoolState, NetnsPair};

use crate::namespace::Namespace;
use crate::subject::{Interface, Reference};

/// Reads and sets what belongs to the network.
///
/// `netns` names the network namespace (/run/netns/NAME) of an interface; `None` is the one that this kernel is seen
/// from.
pub trait Network {
    /// The network namespace in which an object is found.
    ///
    /// # Errors
    /// It is in a namespace of a name that is not there; nothing leads to the one that /sys shows.
    fn network_around(&self, object: &Reference) -> io::Result<Namespace>;

    /// Index of an interface (netdevice(7)).
    ///
    /// # Errors
    /// `NotFound` or `ENODEV` when there is no interface of that name, or the object is none.
    fn index_of(&self, object: &Reference) -> io::Result<u32>;

    /// All interfaces of the network namespace that this kernel is seen from.
    fn interfaces(&self) -> io::Result<Vec<Interface>>;

    /// The network namespace that an interface was moved to, and its name there; `None` if it is not found.
    fn interface_elsewhere(&self, interface: &Interface) -> Option<(Namespace, String)>;

    /// Whether there is a network namespace of this name.
    fn has_netns(&self, name: &str) -> bool;

    /// Makes two network namespaces that are joined by a veth(4) pair.
    ///
    /// # Errors
    /// `Unsupported` when ip(8) is not installed; `AlreadyExists`; `EPERM`.
    fn make_netns_pair(&self, pair: &NetnsPair) -> io::Result<()>;

    /// Removes the name of a network namespace. The namespace and all that is in it end with its last process.
    ///
    /// # Errors
    /// As [`make_netns_pair`](Network::make_netns_pair), or there is none of that name.
    fn remove_netns(&self, name: &str) -> io::Result<()>;

    /// What the driver of an interface reports on a topic.
    ///
    /// # Errors
    /// `ENODEV` when there is no such interface; `EOPNOTSUPP` when its driver does not report it.
    fn ethtool(&self, device: &str, netns: Option<&str>, topic: Topic) -> io::Result<EthtoolState>;

    /// Changes settings of an interface, in one netlink message that the kernel carries out as a whole.
    ///
    /// # Errors
    /// As [`ethtool`](Network::ethtool), and what the driver refuses the settings with.
    fn set_ethtool(&self, device: &str, netns: Option<&str>, setting: &EthtoolSetting) -> io::Result<()>;
}
