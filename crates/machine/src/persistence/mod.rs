//! Settings that must survive a reboot, as lines of the files in which the platform keeps such settings.
//!
//! Nothing is written here. What is kept for a setting is derived from its knob's own acts: what is set now and what is kept
//! cannot differ.

mod guest;
mod line;
mod sysctl;
mod tmpfiles;
mod tuned;
mod udev;
mod unit;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{Act, Fault, PlatformFile, Root, Setting, knobs};
use line::{Line, Lines};
pub use sysctl::sysctl_text;
pub use tmpfiles::tmpfiles_text;
pub(crate) use tuned::dots_for_slashes;
pub use tuned::tuned_text;
pub use udev::udev_text;
pub use unit::{anew, policy, rank};

/// How settings are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// In files that the platform itself reads.
    Platform,
    /// In a tuned profile, for a machine that tuned manages.
    TunedProfile,
}

/// What is kept, and what cannot be kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Keeping {
    /// Acts that place one file each, or change the definition of a guest.
    pub acts: Vec<Act>,
    /// Settings that cannot be kept, each with the reason.
    pub not_kept: Vec<NotKept>,
}

/// A setting that cannot be kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotKept {
    /// The setting.
    #[serde(flatten)]
    pub setting: Setting,
    /// Why, and what to do instead.
    pub why: String,
}

/// How a setting is kept.
enum Kept {
    /// As lines of files.
    Lines(Vec<Line>),
    /// By acts of its own.
    Acts(Vec<Act>),
}

/// How `settings` are kept for `session` on this machine. `purpose` is written into the files.
pub fn kept(root: &Root, session: &str, purpose: &str, settings: &[Setting], manner: Manner) -> Keeping {
    let mut keeping = Keeping::default();
    let mut files: BTreeMap<PlatformFile, (Vec<String>, Vec<Setting>)> = BTreeMap::new();
    for setting in settings {
        match lines(root, session, setting, settings, manner) {
            Ok(Kept::Acts(acts)) => keeping.acts.extend(acts),
            Ok(Kept::Lines(lines)) => {
                for Line { file, lines } in lines {
                    let (text, kept) = files.entry(file).or_default();
                    let new: Vec<String> = lines.into_iter().filter(|line| !text.contains(line)).collect();
                    text.extend(new);
                    if !kept.contains(setting) {
                        kept.push(setting.clone());
                    }
                }
            }
            Err(why) => keeping.not_kept.push(NotKept { setting: setting.clone(), why }),
        }
    }
    let act = |(file, (lines, keeps)): (PlatformFile, (Vec<String>, Vec<Setting>))| {
        let content = content(&file, session, purpose, &lines);
        Act::PlaceFile { file, content, keeps }
    };
    keeping.acts.extend(files.into_iter().map(act));
    keeping
}

fn lines(
    root: &Root,
    session: &str,
    setting: &Setting,
    all: &[Setting],
    manner: Manner,
) -> Result<Kept, String> {
    let knob = knobs::named(&setting.knob).map_err(|fault| fault.cause)?;
    let acts = knob.change(root, &setting.target, &setting.value).map_err(|fault| fault.to_string())?;
    if acts.is_empty() {
        return Err("it has this value without any write by pinwise, so there is nothing to restore".into());
    }
    if knobs::guest::is_one(knob) {
        return guest::acts(root, &acts).map(Kept::Acts);
    }
    let lines = match manner {
        // These are in files that outlive a reboot anyway: boot parameters, how a unit is started.
        _ if acts.iter().all(|act| matches!(act, Act::PlaceFile { .. } | Act::AddBootWords { .. })) => {
            Ok(Vec::new())
        }
        Manner::TunedProfile => tuned::lines(root, session, &acts),
        Manner::Platform => match unit::lines(root, session, setting, &acts, all)? {
            Some(line) => Ok(vec![line]),
            None => acts.iter().map(|act| by_platform(root, session, act)).collect(),
        },
    };
    lines.map(Kept::Lines)
}

/// The line that restores one write to a kernel file.
fn by_platform(root: &Root, session: &str, act: &Act) -> Result<Line, String> {
    let (path, value, netns) = match act {
        Act::WriteFile { path, value, netns } => (path, value, netns),
        Act::SetEthtool { device, .. } => {
            return Err(format!(
                "the system's network configuration sets up {device}; set it there (systemd.link(5))"
            ));
        }
        Act::SetIrqBan { .. } => return Err(tmpfiles::NUMBERS.into()),
        Act::HoldLatency { .. } => {
            return Err(
                "it lasts only while a process holds it; a tuned profile can set it at boot (force_latency)"
                    .into(),
            );
        }
        _ => return Err("it is a setting of a process, which no file of the platform restores".into()),
    };
    if let Some(netns) = netns {
        return Err(format!(
            "the platform does not create network namespace {netns}; set it where that is created"
        ));
    }
    let path = path.to_string_lossy();
    sysctl::line(root, session, &path, value)
        .or_else(|| udev::line(root, session, &path, value))
        .unwrap_or_else(|| tmpfiles::line(root, session, &path, value))
}

/// The text of the whole file.
fn content(file: &PlatformFile, session: &str, purpose: &str, lines: &[String]) -> String {
    let purpose = purpose.replace(|letter: char| letter.is_control(), " ");
    let head = format!(
        "# Placed by pinwise, session {session}: {purpose}\n# Removed by: pinwise undo --session {session}\n"
    );
    let body = match file {
        PlatformFile::UnitDropIn { .. } => unit::section(lines),
        PlatformFile::TunedProfile { .. } => tuned::profile(session, lines),
        _ => lines.iter().map(|line| format!("{line}\n")).collect(),
    };
    head + &body
}

impl From<NotKept> for Fault {
    fn from(not_kept: NotKept) -> Self {
        let NotKept { setting, why } = not_kept;
        let object = format!("{} of {}", setting.knob, setting.target);
        Fault::new(crate::Class::No, object, format!("is not kept: {why}"), "")
    }
}

#[cfg(test)]
mod tests;
