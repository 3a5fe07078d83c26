//! A queue that is filled and drained, each operation told by itself: the built-in queue server, and the load against it or a broker.

pub(crate) mod dialogue;
pub mod options;
pub mod protocol;
pub mod sequence;
pub mod server;
