//! Processes that are started here: what they need, what they print, and how they end.

pub(crate) mod allowed_cpus;
pub mod children;
pub mod log_tail;
pub(crate) mod netns;
pub(crate) mod own_binary;
pub mod program;
pub mod running;
mod stdout;
pub(crate) mod trial_folder;
