//! Profiles of tuned (tuned.conf(5)) as plans: what they advise, setting by setting, and what of it no knob of pinwise sets.

mod parser;
mod reader;
mod settings;
mod variables;

pub use parser::Section;
pub use reader::{Profile, of_text, read};
pub use settings::{Advice, advice};
