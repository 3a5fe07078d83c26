//! The http load: one request of HTTP/1.1 again and again, each answer read to its end and checked.

mod body;
mod dialogue;
mod driver;
pub mod options;

pub(crate) use dialogue::content_length;
pub use dialogue::{Http, Plan};
pub use driver::ABOUT;
pub use options::HttpLoad;
