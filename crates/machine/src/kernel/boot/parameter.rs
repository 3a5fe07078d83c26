//! A parameter of the boot command line, with what came of it.

use serde::{Deserialize, Serialize};

/// One parameter of the command line that bears on placement.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct BootParameter {
    /// Name as it was written: `nohz_full`, `processor.max_cstate`.
    pub name: String,
    /// What was requested; `None` for a word without a value (`nosmt`).
    pub asked: Option<String>,
    /// What is so now, in words; `None` when nothing that can be read shows it.
    pub now: Option<String>,
    /// Whether it took effect; `None` when that is not known.
    pub took_effect: Option<bool>,
    /// The file that shows it, or why none does.
    pub source: String,
}
