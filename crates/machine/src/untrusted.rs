//! What anybody may have written: files are read within bounds, and text is made safe to show.

pub mod file;
pub mod text;
