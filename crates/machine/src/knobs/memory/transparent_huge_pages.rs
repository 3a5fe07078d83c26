//! Whether programs get huge pages without asking.

use crate::knobs::file::{FileKnob, Form, Places};
use crate::knobs::{About, MaySet, OwnerId};

/// The knob.
pub static KNOB: FileKnob = FileKnob {
    about: About {
        id: "transparent-huge-pages",
        title: "Whether programs get huge pages without asking",
        docs: "always gives them to all memory that is large enough, madvise to programs that ask, never \
               to none. They save misses of the TLB and cost zeroing 2 MiB at a fault, memory, and \
               khugepaged.",
        unit: "always, madvise or never",
        scope: "the whole machine: target machine",
        owner: "the boot parameter transparent_hugepage=, tuned ([vm] transparent_hugepages; profile \
                network-latency: never), sysfsutils, start scripts of databases",
        owners: &[OwnerId::Tuned],
        risk: "Holds for what is touched from now on: a server has to be restarted to lose or get \
               them. Each size may have a switch of its own since Linux 6.8. The kernel works \
               vm.min_free_kbytes out anew with each change and with undo: it may come to another figure \
               than at its start.",
        may_set: MaySet::Root,
        source: "Documentation/admin-guide/mm/transhuge.rst (enabled)",
    },
    places: Places::Machine("/sys/kernel/mm/transparent_hugepage/enabled"),
    form: Form::Menu,
};
