//! Forms of what goes to stdout.

use clap::ValueEnum;

/// Form of what goes to stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// For programs: one JSON document; progress and notes stay on stderr.
    Json,
}
