//! A flight recorder: what was counted, interval by interval, in a bounded ring of files.
//!
//! A ring is a folder of segments (`00000001.segment` and so on). When the bound is reached the oldest is removed. A segment is a
//! session (who is watched, since when, how), then one entry an interval: an account of it (a difference of two readings), as JSON
//! lines in one stream of zstd that is flushed after each line, cut into frames ([`frame`]). So an entry is whole or it is not
//! there, what is there can be read while the recorder goes on, and each segment can be read without the others. A recorder that
//! starts begins a new segment: what another left is never written to.
//!
//! Threads that slept for the whole interval are not written but by a number ([`entry`]).

mod entry;
mod excerpt;
mod frame;
mod lines;
mod reader;
mod recorder;
mod replay;
mod segment;
mod session;
#[cfg(test)]
mod tests;
mod wall_clock;

pub use reader::Ring;
pub use recorder::Recorder;
pub use replay::{Interval, Range, Replayed};
pub use session::Session;
pub use wall_clock::{moment, unix_ns_at, utc};
