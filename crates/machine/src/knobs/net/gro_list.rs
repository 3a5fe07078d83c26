//! Whether the stack chains packets that are only passed on.

use super::ethtool::EthtoolKnob;
use crate::ethtool::{Feature, Topic};
use crate::knobs::{About, MaySet, OwnerId};

/// The knob.
pub static KNOB: EthtoolKnob = EthtoolKnob {
    about: About {
        id: "gro-list",
        title: "Chaining of received packets that are only passed on",
        docs: "Packets of a flow, of UDP too, go up as a list of what they were, without being joined: cheap to take apart \
               again where the machine forwards them (a router, a bridge to guests). A server that ends the connections \
               itself has nothing from it.",
        unit: "on or off",
        scope: "one network interface: INTERFACE, or NETNS:INTERFACE in a network namespace",
        owner: "udev rules, NetworkManager (ethtool.feature-rx-gro-list), start scripts of router distributions",
        owners: &[OwnerId::NetworkManager],
        risk: "Needs gro. Programs in the path that look into packets (BPF, filters) meet lists. Gone with the interface.",
        may_set: MaySet::Root,
        source: "ethtool(8) -K rx-gro-list; Documentation/networking/segmentation-offloads.rst; net/core/gro.c",
    },
    topic: Topic::Feature(Feature::GroList),
};
