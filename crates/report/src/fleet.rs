//! A fleet: hosts by their shape, and what deviates within each, as text for people and as a Parquet table for programs.
//!
//! Names of hosts are those of files or of an inventory: all are shown through [`crate::visible`].

mod rows;
#[cfg(test)]
mod sample;
mod text;
mod to_parquet;

use machine::Fault;
use serde::Serialize;

pub use text::render;
pub use to_parquet::write_parquet;

/// A host of which nothing is known, and why.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NotRead {
    /// The host.
    pub host: String,
    /// Why it could not be reached, or its capture could not be read.
    #[serde(flatten)]
    pub fault: Fault,
}
