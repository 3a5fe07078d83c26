//! The command load: any load tool by its command line, with its figures taken from what it prints.

mod addition;
mod driver;
pub mod extract;
mod gate;
mod locale;
mod tool_errors;

pub use addition::{Apart, adds_up};
pub use driver::{ABOUT, CommandLoad, CommandPart, PLACEHOLDERS};
pub use extract::Extract;
pub use gate::Gate;
