//! Lines of sysctl.d(5): `vm.swappiness = 10`.

use super::Line;
use crate::{PlatformFile, Root};

/// The text of the line for a file below /proc/sys; `None` for any other.
pub fn sysctl_text(path: &str, value: &str) -> Option<String> {
    let key = path.strip_prefix("/proc/sys/")?;
    // With slashes, since names of interfaces may contain dots (sysctl.d(5)).
    Some(format!("{key} = {}", value.trim()))
}

/// The line for a file below /proc/sys; `None` for any other.
pub(super) fn line(root: &Root, session: &str, path: &str, value: &str) -> Option<Result<Line, String>> {
    let text = sysctl_text(path, value)?;
    if root.list("/etc/sysctl.d").is_err() {
        return Some(Err("this system has no folder /etc/sysctl.d to read at boot".into()));
    }
    let file = PlatformFile::Sysctl { session: session.into() };
    Some(Ok(Line { file, lines: vec![text] }))
}
