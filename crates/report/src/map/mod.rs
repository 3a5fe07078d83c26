//! The machine: as text, as a picture, and while it lives.

pub(crate) mod arrangement;
pub mod distances_text;
pub mod live;
pub mod machine_text;
pub mod picture;
