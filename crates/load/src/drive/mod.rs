//! The engine of the built-in load generators: it drives any [`Dialogue`] in a closed or an open loop, takes the time of each request
//! from when it was meant to go out, checks every answer, and counts every failure by its kind.

pub mod dialogue;

pub use dialogue::{Dialogue, News};
