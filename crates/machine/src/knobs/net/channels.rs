//! How many channels a network card uses.

use super::ethtool::EthtoolKnob;
use crate::ethtool::Topic;
use crate::knobs::{About, MaySet, OwnerId};

/// The knob.
pub static KNOB: EthtoolKnob = EthtoolKnob {
    about: About {
        id: "channels",
        title: "Channels of a network card: queues with an interrupt of their own",
        docs: "Each channel interrupts one CPU and has its receive work done there. As many as there are CPUs for that \
               work spread it; fewer keep it off the others, which a number of channels equal to that of all CPUs (the \
               default of most drivers) does not. Set it before irq-affinity, device-irqs, rps-cpus and xps-cpus: it may \
               change all of those.",
        unit: "KIND:NUMBER, several with blanks between, KIND one of combined, rx, tx, other; what is not named stays",
        scope: "one network interface: INTERFACE, or NETNS:INTERFACE in a network namespace",
        owner: "udev rules and systemd .link files (CombinedChannels=, RxChannels=), NetworkManager (ethtool.channels-*), \
                tuned ([net] channels), cloud images' start scripts, the driver after a reset",
        owners: &[OwnerId::NetworkManager, OwnerId::Tuned],
        risk: "Most drivers take the card down for it: packets are dropped, the link may go for seconds, and so may an SSH \
               session on it. Interrupts may get other numbers and their affinities the default again, queues lose their \
               RPS and XPS masks, and the table that spreads flows (RSS) may be made anew; undo brings back the numbers of \
               channels, and not these. More channels than there are entries in a table set by hand are refused.",
        may_set: MaySet::Root,
        source: "ethtool(8) -L; Documentation/networking/ethtool-netlink.rst (CHANNELS_SET); net/ethtool/channels.c",
    },
    topic: Topic::Channels,
};
