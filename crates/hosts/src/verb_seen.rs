//! What the controller has heard of a verb that it has run on another host.

use std::path::PathBuf;

use crate::protocol::VerbEnd;

/// Of the verb that was run last.
#[derive(Debug, Default)]
pub(crate) struct VerbSeen {
    /// Whether it was started, and its end was not heard.
    pub(crate) runs: bool,
    /// Lines of its standard error that nobody has taken yet.
    pub(crate) printed: Vec<String>,
    /// Its end, until it is taken.
    pub(crate) end: Option<VerbEnd>,
    /// The folder of its run on that host.
    pub(crate) folder: Option<PathBuf>,
    /// The binary on that host.
    pub(crate) exe: Option<PathBuf>,
}
