//! What a parameter is found to have done.

/// What came of a parameter.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Effect {
    pub(super) now: Option<String>,
    pub(super) took: Option<bool>,
    pub(super) source: &'static str,
}
