//! A tuned profile: sections `[cpu]`, `[sysctl]` and `[sysfs]` (tuned.conf(5)).

use super::{Line, Lines};
use crate::{Act, PlatformFile, Root};

const SYSCTL: &str = "[sysctl] ";
const SYSFS: &str = "[sysfs] ";
const CPU: &str = "[cpu] ";

/// The lines for a setting, each prefixed with the name of its section.
pub(super) fn lines(root: &Root, session: &str, acts: &[Act]) -> Lines {
    if root.list("/etc/tuned").is_err() {
        return Err("tuned is not installed here: there is no folder /etc/tuned".into());
    }
    let in_profiles = root.list("/etc/tuned/profiles").is_ok();
    let file = || PlatformFile::TunedProfile { session: session.into(), in_profiles };
    acts.iter().map(|act| Ok(Line { file: file(), lines: vec![tuned_text(act)?] })).collect()
}

/// The line for an act, prefixed with the name of its section and a blank: `[sysctl] vm.swappiness=10`. The error says why a profile
/// cannot express it.
pub fn tuned_text(act: &Act) -> Result<String, String> {
    if let Act::HoldLatency { limit_us } = act {
        return Ok(format!("{CPU}force_latency={limit_us}"));
    }
    let Act::WriteFile { path, value, netns: None } = act else {
        return Err("tuned profiles set files of the host below /proc/sys and /sys; this is not one".into());
    };
    let (path, value) = (path.to_string_lossy(), value.trim());
    match path.strip_prefix("/proc/sys/") {
        Some(key) => Ok(format!("{SYSCTL}{}={value}", dots_for_slashes(key))),
        None if path.starts_with("/sys/fs/cgroup/") => {
            Err("cgroups are created anew at each boot; set it for the unit or container that creates it"
                .into())
        }
        None if path.starts_with("/sys/") => Ok(format!("{SYSFS}{path}={value}")),
        None => Err(format!("a tuned profile does not write {path}")),
    }
}

/// Converts the name of a kernel setting to its path below /proc/sys, or back: each dot becomes a slash and each slash a dot.
/// A dot within a component of the path, as in names of interfaces (`eth0.1`), is a slash in the name, as in sysctl.d(5).
pub(crate) fn dots_for_slashes(name: &str) -> String {
    let other = |letter: char| match letter {
        '.' => '/',
        '/' => '.',
        letter => letter,
    };
    name.chars().map(other).collect()
}

/// The text of the profile. It is used together with another (`tuned-adm profile OTHER pinwise-...`), so what tuned already sets stays.
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
