//! How long a network card holds interrupts back.

use super::ethtool::EthtoolKnob;
use crate::ethtool::Topic;
use crate::knobs::{About, MaySet, OwnerId};

/// The knob.
pub static KNOB: EthtoolKnob = EthtoolKnob {
    about: About {
        id: "coalescing",
        title: "How long a network card holds interrupts back",
        docs: "With rx-usecs:0 each packet interrupts at once: least latency, most interrupts. More microseconds or frames \
               gather packets, which leaves the CPU more time under load. adaptive-rx:on has the driver choose by load: \
               good for throughput, and uneven in latency. Switch it off before rx-usecs is set: many drivers refuse both \
               at once, and change the figures again.",
        unit: "FIGURE:NUMBER, several with blanks between, as ethtool -C names them (rx-usecs, rx-frames, tx-usecs, \
               tx-frames ...); on or off for adaptive-rx, adaptive-tx, cqe-mode-rx, cqe-mode-tx; what is not named stays",
        scope: "one network interface: INTERFACE, or NETNS:INTERFACE in a network namespace",
        owner: "tuned ([net] coalesce), udev rules and systemd .link files (RxCoalesceSec=), NetworkManager \
                (ethtool.coalesce-*), the driver itself while it is adaptive and after a reset",
        owners: &[OwnerId::NetworkManager, OwnerId::Tuned],
        risk: "Too short a time can drown a CPU in interrupts, too long a time adds itself to the latency of thin traffic. \
               Drivers round to what the card can, a few reset it (packets are dropped), and where receiving and sending \
               share an interrupt one sets the other too. Figures that a driver chose by load are not put back while it \
               does.",
        may_set: MaySet::Root,
        source: "ethtool(8) -C; Documentation/networking/ethtool-netlink.rst (COALESCE_SET); net/ethtool/coalesce.c",
    },
    topic: Topic::Coalescing,
};
