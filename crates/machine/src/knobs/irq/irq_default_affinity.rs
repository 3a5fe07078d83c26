//! CPUs that new interrupts may be delivered to.

use crate::knobs::file::{FileKnob, Form, Places};
use crate::knobs::{About, MaySet, OwnerId};

/// The knob.
pub static KNOB: FileKnob = FileKnob {
    about: About {
        id: "irq-default-affinity",
        title: "CPUs that new interrupts may be delivered to",
        docs: "An interrupt that is requested from now on starts with this set: of a card that is plugged \
               in, a driver that is loaded or a queue that is added. Those that there are stay where they \
               are. Keeps the CPUs of a server clear of what comes later.",
        unit: "CPU list",
        scope: "the whole machine: target machine",
        owner: "the boot parameter irqaffinity=; tuned (plugin scheduler with isolated_cores), CRI-O \
                (irq-load-balancing.crio.io)",
        owners: &[OwnerId::Tuned, OwnerId::CriO],
        risk: "Interrupts that come later crowd onto the CPUs that are left; with few CPUs their vectors \
               can run out (ENOSPC). irqbalance moves them again all the same.",
        may_set: MaySet::Root,
        source: "Documentation/core-api/irq/irq-affinity.rst; proc_irq(5)",
    },
    places: Places::Machine("/proc/irq/default_smp_affinity"),
    form: Form::CpuMask { may_be_empty: false },
};
