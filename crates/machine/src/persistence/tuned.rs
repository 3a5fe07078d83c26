//! A profile for tuned: sections `[sysctl]` and `[sysfs]` (tuned.conf(5)).

use super::{Line, Lines};
use crate::{Act, PlatformFile, Root};

const SYSCTL: &str = "[sysctl] ";
const SYSFS: &str = "[sysfs] ";
const CPU: &str = "[cpu] ";

/// The lines for a setting, each behind the name of its section.
pub(super) fn lines(root: &Root, session: &str, acts: &[Act]) -> Lines {
    if root.list("/etc/tuned").is_err() {
        return Err("tuned is not installed here: there is no folder /etc/tuned".into());
    }
    let in_profiles = root.list("/etc/tuned/profiles").is_ok();
    let file = || PlatformFile::TunedProfile { session: session.into(), in_profiles };
    acts.iter().map(|act| Ok(Line { file: file(), lines: vec![tuned_text(act)?] })).collect()
}

/// The line for an act, behind the name of its section and a blank: `[sysctl] vm.swappiness=10`. Errors: why a profile cannot say it.
pub fn tuned_text(act: &Act) -> Result<String, String> {
    if let Act::HoldLatency { limit_us } = act {
        return Ok(format!("{CPU}force_latency={limit_us}"));
    }
    let Act::WriteFile { path, value, netns: None } = act else {
        return Err("a profile of tuned sets the machine, not a process or a network namespace".into());
    };
    let (path, value) = (path.to_string_lossy(), value.trim());
    match path.strip_prefix("/proc/sys/") {
        Some(key) => Ok(format!("{SYSCTL}{}={value}", dots_for_slashes(key))),
        None if path.starts_with("/sys/fs/cgroup/") => {
            Err("cgroups are made anew at each start; set it for the unit or container that makes it".into())
        }
        None if path.starts_with("/sys/") => Ok(format!("{SYSFS}{path}={value}")),
        None => Err(format!("a profile of tuned does not write {path}")),
    }
}

/// The path below /proc/sys of a kernel setting with this name, or the name with this path: each dot becomes a slash and each slash a dot.
/// A dot within a part of the path, as in names of interfaces (`eth0.1`), is a slash in the name, as in sysctl.d(5).
pub(crate) fn dots_for_slashes(name: &str) -> String {
    let other = |letter: char| match letter {
        '.' => '/',
        '/' => '.',
        letter => letter,
    };
    name.chars().map(other).collect()
}

/// The profile: what tuned sets already stays, since it is used beside another (`tuned-adm profile OTHER pinwise-...`).
pub(super) fn profile(session: &str, lines: &[String]) -> String {
    let mut text = format!("[main]\nsummary=pinwise session {session}\n");
    for section in [CPU, SYSCTL, SYSFS] {
        let of: Vec<&str> = lines.iter().filter_map(|line| line.strip_prefix(section)).collect();
        if !of.is_empty() {
            text += &format!("\n{}\n{}\n", section.trim(), of.join("\n"));
        }
    }
    text
}
