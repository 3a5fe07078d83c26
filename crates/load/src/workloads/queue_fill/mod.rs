//! A queue that is filled and drained, each operation reported by itself: the built-in queue server, and the load against it or a broker.

mod dialogue;
mod driver;
pub mod options;
pub mod protocol;
pub mod sequence;
pub mod server;

pub use driver::ABOUT;
pub use options::QueueFillLoad;
