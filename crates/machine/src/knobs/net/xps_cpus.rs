//! CPUs that send by a transmit queue.

use crate::knobs::file::{FileKnob, Form, Places};
use crate::knobs::{About, MaySet, OwnerId};

/// The knob.
pub static KNOB: FileKnob = FileKnob {
    about: About {
        id: "xps-cpus",
        title: "CPUs that send by a transmit queue",
        docs: "A CPU of the set sends by this queue, so that its lock and its completions stay with few \
               CPUs: the CPU that sends is then also the one whose interrupt cleans up.",
        unit: "CPU list; empty: the queue is chosen by a hash of the flow",
        scope: "one transmit queue: INTERFACE/tx-N, or NETNS:INTERFACE/tx-N in a network namespace",
        owner: "the driver, which sets it when it opens the card (netif_set_xps_queue: ixgbe, i40e, ice, \
                mlx5, virtio_net) and again when the number of queues changes; tuned, vendors' tuning \
                scripts",
        owners: &[OwnerId::Tuned],
        risk: "A CPU in the set of no queue falls back to the hash. Packets of a flow may leave out of \
               order for a moment. Gone with the interface; cards with one queue do not have it.",
        may_set: MaySet::Root,
        source: "Documentation/networking/scaling.rst; Documentation/ABI/testing/sysfs-class-net-queues",
    },
    places: Places::EachQueue { kind: "tx", file: "xps_cpus" },
    form: Form::CpuMask { may_be_empty: true },
};
