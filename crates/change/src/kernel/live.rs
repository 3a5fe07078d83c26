//! The running system.

use std::fs::File;
use std::io;
use std::sync::Arc;

use crate::namespace::netns;

/// The running system, seen from one network namespace.
#[derive(Debug, Clone)]
pub struct LiveKernel {
    /// The network namespace that it is seen from; `None`: that of this process.
    network: Option<Arc<File>>,
}

impl LiveKernel {
    /// As seen from the network namespace of this process.
    pub(super) fn here() -> Self {
        Self { network: None }
    }

    /// As seen from the network namespace that an open file of nsfs stands for.
    pub(super) fn seen_from(network: Arc<File>) -> Self {
        Self { network: Some(network) }
    }

    /// The network namespace that it is seen from, unless that is the one of this process.
    pub(super) fn network(&self) -> Option<&File> {
        self.network.as_deref()
    }

    /// Runs `work` where /proc, /sys and sockets are those of network namespace `netns`, or, without a name, of the
    /// one that this kernel is seen from.
    pub(super) fn seeing<T: Send>(
        &self,
        netns: Option<&str>,
        work: impl FnOnce() -> io::Result<T> + Send,
    ) -> io::Result<T> {
        match (netns, &self.network) {
            (Some(name), _) => netns::within(name, work),
            (None, Some(network)) => netns::within_file(network, work),
            (None, None) => work(),
        }
    }
}
