//! What a knob is.

use serde::Serialize;

use crate::processes::OwnerId;
use crate::{Act, Class, CpuSet, Fault, Root};

/// What a knob is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct About {
    /// Name in plans and recipes: the file's name with dashes.
    pub id: &'static str,
    /// One line.
    pub title: &'static str,
    /// What it does and when it helps.
    pub docs: &'static str,
    /// Unit or form of its values.
    pub unit: &'static str,
    /// What one target covers: an IRQ, a receive queue, a process.
    pub scope: &'static str,
    /// Who else sets it, in words, with the settings by which they do.
    pub owner: &'static str,
    /// Of those, the programs that may set it anew while they run.
    pub owners: &'static [OwnerId],
    /// What can go wrong.
    pub risk: &'static str,
    /// Who may set it.
    pub may_set: MaySet,
    /// Kernel documentation or man page.
    pub source: &'static str,
}

/// Who may set a knob.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MaySet {
    /// Root alone, or who has its capabilities.
    Root,
    /// Anybody, for processes of their own; for those of others, and to raise a priority, root.
    OwnProcesses,
}

impl std::fmt::Display for MaySet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            MaySet::Root => "root",
            MaySet::OwnProcesses => "own processes",
        })
    }
}

/// One object that a knob can be set for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Target {
    /// The name that settings use.
    pub id: String,
    /// What it is, for people.
    pub what: String,
}

/// A setting.
pub trait Knob: Sync {
    /// What it is.
    fn about(&self) -> &About;

    /// The objects that it can be set for, in natural order. A machine without any has an empty list.
    ///
    /// Errors: their folder is there and cannot be read.
    fn targets(&self, root: &Root) -> Result<Vec<Target>, Fault>;

    /// The target whose file is at `path`, and the value that writing `text` there asks for; the error says why it asks for none. `None`
    /// where no target has this file. For advice that names files (sysctl, profiles of tuned).
    fn of_file(&self, _root: &Root, _path: &str, _text: &str) -> Option<(String, Result<String, String>)> {
        None
    }

    /// Its present value, in the form that [`change`](Knob::change) takes.
    ///
    /// Errors: no such target; a file that cannot be read or is malformed.
    fn read(&self, root: &Root, target: &str) -> Result<String, Fault>;

    /// The acts that would set it.
    ///
    /// Errors: no such target; a value that is malformed or names a CPU that is not online.
    fn change(&self, root: &Root, target: &str, value: &str) -> Result<Vec<Act>, Fault>;
}

/// Reads a value that is a CPU list, and holds it against the CPUs that are online, where those are known.
pub(super) fn cpus(root: &Root, about: &About, target: &str, value: &str) -> Result<CpuSet, Fault> {
    let object = || format!("{} of {target}", about.id);
    let cpus = CpuSet::from_list(value)
        .map_err(|why| Fault::new(Class::Usage, object(), why, "write a CPU list such as 0-3,8"))?;
    let Ok(online) = root.cpu_list("/sys/devices/system/cpu/online") else { return Ok(cpus) };
    let offline = cpus.difference(&online);
    match offline.is_empty() {
        true => Ok(cpus),
        false => {
            let cause = format!("CPU {offline} is not there or not online");
            Err(Fault::new(Class::Usage, object(), cause, format!("choose from {online}")))
        }
    }
}

/// A fault for a target that is none.
pub(super) fn no_such(about: &About, target: &str, cause: &str) -> Fault {
    let remedy = format!("see 'pinwise list knobs' for what {} is set for: {}", about.id, about.scope);
    Fault::new(Class::Usage, format!("{} of '{target}'", about.id), cause, remedy)
}
