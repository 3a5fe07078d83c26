//! The built-in pair that every study can fall back on: a string server with work of a fixed amount for each
//! request, and the load that drives it (or any other server that answers a line with a line).

mod dialogue;
mod driver;
pub mod options;
pub mod protocol;
pub mod server;
pub mod work;

pub use driver::ABOUT;
pub use options::StringLoad;
