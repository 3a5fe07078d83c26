//! Whether the card joins packets of a flow as they come in.

use super::ethtool::EthtoolKnob;
use crate::ethtool::{Feature, Topic};
use crate::knobs::{About, MaySet, OwnerId};

/// The knob.
pub static KNOB: EthtoolKnob = EthtoolKnob {
    about: About {
        id: "gro-hw",
        title: "Joining of received packets of a flow by the card",
        docs: "As gro, done by the card, or by the host for a virtio card (large receive segments from its guest \
               offloads): hardly any work is left for streams. A card may hold a packet back in the hope of another, \
               which short requests pay for.",
        unit: "on or off",
        scope: "one network interface: INTERFACE, or NETNS:INTERFACE in a network namespace",
        owner: "udev rules and systemd .link files (GenericReceiveOffloadHardware=), NetworkManager \
                (ethtool.feature-rx-gro-hw), tuned ([net] features)",
        owners: &[OwnerId::NetworkManager, OwnerId::Tuned],
        risk: "Not together with LRO, and only while receive checksums are on: the kernel drops it otherwise, and it reads \
               off although it was asked for. Some drivers restart the card, which loses packets. Gone with the interface.",
        may_set: MaySet::Root,
        source: "ethtool(8) -K rx-gro-hw; Documentation/networking/netdev-features.rst; net/core/dev.c (netdev_fix_features)",
    },
    topic: Topic::Feature(Feature::GroHw),
};
