//! The load generator as a process, `pinwise drive`: how it is started, its flags, and what it does.

pub mod flags;
mod process;
mod verb;

pub use process::{Part, start_part};
pub use verb::{VERB, run};
