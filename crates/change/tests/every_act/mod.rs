//! The emulated machine with a sample of every act, for the fuzz targets, which include this file.

pub use pinwise_change::act_samples::Machine;
