//! Whose threads a sampler follows.

use serde::{Deserialize, Serialize};

/// A part of a trial that has processes of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Party {
    /// The server: the process that a sampler is made for.
    Server,
    /// The load generator.
    Load,
    /// The thief that is the positive control.
    Dose,
    /// What else the recipe runs beside the server.
    Neighbour,
}

impl std::fmt::Display for Party {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Server => "the server",
            Self::Load => "the load",
            Self::Dose => "the dose",
            Self::Neighbour => "a neighbour",
        })
    }
}
