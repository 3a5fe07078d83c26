//! The network namespaces in which acts find their objects.

/// In which network namespace, as a part of a sentence.
pub(in crate::acts) fn within(netns: Option<&str>) -> String {
    netns.map(|name| format!(" in network namespace {name}")).unwrap_or_default()
}
