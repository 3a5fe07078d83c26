//! Whether the stack joins packets of a flow as they come in.

use super::ethtool::EthtoolKnob;
use crate::ethtool::{Feature, Topic};
use crate::knobs::{About, MaySet, OwnerId};

/// The knob.
pub static KNOB: EthtoolKnob = EthtoolKnob {
    about: About {
        id: "gro",
        title: "Joining of received packets of a flow (GRO)",
        docs: "Packets of one flow that arrive together go up the stack as one: far less work for streams. For short \
               requests it gains nothing and costs a little; a router or a capture may want the packets as they were. On \
               a veth it also switches between NAPI and direct delivery.",
        unit: "on or off",
        scope: "one network interface: INTERFACE, or NETNS:INTERFACE in a network namespace",
        owner: "udev rules and systemd .link files (GenericReceiveOffload=), NetworkManager (ethtool.feature-gro), tuned \
                ([net] features), container network plugins",
        owners: &[OwnerId::NetworkManager, OwnerId::Tuned],
        risk: "Off, streams cost several times the CPU time in the softirq and may drop packets. A few drivers restart the \
               card, which loses packets. Gone with the interface.",
        may_set: MaySet::Root,
        source: "ethtool(8) -K gro; Documentation/networking/segmentation-offloads.rst; net/ethtool/features.c",
    },
    topic: Topic::Feature(Feature::Gro),
};
