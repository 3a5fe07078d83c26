//! How an act refers to the object that it changes.

use super::scope::Scope;

/// What an act says about its object: enough for the kernel to find it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reference<'a> {
    /// What decides which object is meant.
    pub scope: Scope<'a>,
    /// Name of the network namespace in which it is looked for (/run/netns/NAME); `None`: that of the kernel's view.
    pub netns: Option<&'a str>,
    /// Whether it is a file below /sys, which may show another network namespace than that of the process.
    pub in_sys: bool,
    /// Names of the network namespaces that the act makes.
    pub makes_networks: &'a [String],
}
