//! What a fault does to get a huge page.

use crate::knobs::file::{FileKnob, Form, Places};
use crate::knobs::{About, MaySet, OwnerId};

/// The knob.
pub static KNOB: FileKnob = FileKnob {
    about: About {
        id: "transparent-huge-pages-defrag",
        title: "What a fault does to get a huge page",
        docs: "always reclaims and compacts memory within the fault, which can stall for milliseconds; \
               defer leaves that to kcompactd; defer+madvise and madvise stall those alone that asked; \
               never takes what is free.",
        unit: "always, defer, defer+madvise, madvise or never",
        scope: "the whole machine: target machine",
        owner: "tuned, sysfsutils, start scripts of databases",
        owners: &[OwnerId::Tuned],
        risk: "always makes latency spikes where memory is fragmented; never gets fewer huge pages.",
        may_set: MaySet::Root,
        source: "Documentation/admin-guide/mm/transhuge.rst (defrag)",
    },
    places: Places::Machine("/sys/kernel/mm/transparent_hugepage/defrag"),
    form: Form::Menu,
};
