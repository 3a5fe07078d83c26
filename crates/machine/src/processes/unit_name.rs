//! Names of systemd's units, as their cgroups are called.

/// The kinds of unit that hold processes (systemd.unit(5)).
pub(super) const KINDS: [&str; 7] = [".service", ".scope", ".slice", ".socket", ".mount", ".swap", ".timer"];

/// The kind in the name of a unit; `None` where it has none.
pub(super) fn kind(name: &str) -> Option<&'static str> {
    KINDS.into_iter().find(|kind| name.len() > kind.len() && name.ends_with(kind))
}

/// Whether a cgroup of this name holds units: a slice, or the manager of a user.
pub(super) fn is_slice(name: &str) -> bool {
    name.ends_with(".slice") || name.starts_with("user@") && name.ends_with(".service")
}

/// systemd puts `_` before names that could be taken for control files (`_cpu.service`).
pub(crate) fn unescaped(name: &str) -> &str {
    name.strip_prefix('_').unwrap_or(name)
}
