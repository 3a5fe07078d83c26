//! Rules for udev(7) that set attributes of a network interface when it appears.

use super::Line;
use crate::{PlatformFile, Root};

/// The rule for a file of a network interface; `None` for any other.
pub(super) fn line(root: &Root, session: &str, path: &str, value: &str) -> Option<Result<Line, String>> {
    let text = udev_text(path, value)?;
    if root.list("/etc/udev/rules.d").is_err() && root.list("/run/udev").is_err() {
        return Some(Err("udev does not run here; set it where this system configures its network".into()));
    }
    let file = || PlatformFile::Udev { session: session.into() };
    Some(text.map(|rule| Line { file: file(), lines: vec![rule] }))
}

/// The text of the rule for a file of a network interface; `None` for any other. The error says why there can be no rule.
pub fn udev_text(path: &str, value: &str) -> Option<Result<String, String>> {
    let (interface, attribute) = path.strip_prefix("/sys/class/net/")?.split_once('/')?;
    if [interface, attribute, value]
        .iter()
        .any(|text| text.contains(['"', '\\', '*', '?', '[', '|', '$', '%']))
    {
        return Some(Err(format!("a udev rule cannot contain '{path}' and '{value}' literally")));
    }
    // `move`: the interface may appear first and get the name that the rule matches later.
    Some(Ok(format!(
        "ACTION==\"add|move\", SUBSYSTEM==\"net\", KERNEL==\"{interface}\", ATTR{{{attribute}}}=\"{}\"",
        value.trim()
    )))
}
