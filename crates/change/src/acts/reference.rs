//! The object of an act, found by the kernel.

use std::io;

use machine::Act;

use super::{Operation, operation};
use crate::kernel::Kernel;
use crate::namespace::Namespace;
use crate::subject::{Reference, Subject};

/// How an act refers to its object.
fn reference(operation: &dyn Operation) -> Reference<'_> {
    Reference {
        scope: operation.scope(),
        netns: operation.netns(),
        in_sys: operation.is_in_sys(),
        makes_networks: operation.makes_networks(),
    }
}

impl dyn Kernel + '_ {
    /// [`subject_of`](crate::Identity::subject_of) the object of an act.
    pub(crate) fn subject(&self, act: &Act) -> Subject {
        self.subject_of(&reference(&*operation(act)))
    }

    /// [`network_around`](crate::Network::network_around) the object of an act.
    pub(crate) fn network_of(&self, act: &Act) -> io::Result<Namespace> {
        self.network_around(&reference(&*operation(act)))
    }

    /// [`index_of`](crate::Network::index_of) the interface that an act names.
    pub(crate) fn interface_index(&self, act: &Act) -> io::Result<u32> {
        self.index_of(&reference(&*operation(act)))
    }
}
