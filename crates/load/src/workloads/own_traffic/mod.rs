//! A load that drives nothing: it watches the traffic that a server has of its own, in slices of time, and ends at once when a guard is
//! breached.

mod driver;
mod lengths;
mod metric_reader;
pub mod options;
mod server_cpu;
mod silence;
mod slice_clock;
mod slices;
mod waiting_checks;
mod watching;

pub use driver::ABOUT;
pub use options::OwnTrafficLoad;
