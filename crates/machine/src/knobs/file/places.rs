//! Where the files of a knob are.

use crate::plan::MACHINE;
use crate::{Fault, Root};

/// One file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Name of the target.
    pub id: String,
    /// What the target is, for people.
    pub what: String,
    /// The file.
    pub path: String,
    /// How this file holds the value, where that differs from the knob's other files.
    pub form: Option<super::Form>,
}

/// Where the files of a knob are. A file is offered when it is there and not hidden on reading (xps_cpus of a card with
/// one queue: ENOENT); one that may not be read is offered, since root may.
#[derive(Debug, Clone, Copy)]
pub enum Places {
    /// One file for the whole machine; the target is `machine`.
    Machine(&'static str),
    /// A file in the folder of each queue: targets `INTERFACE/rx-N`.
    EachQueue {
        /// `rx` or `tx`.
        kind: &'static str,
        /// Name of the file.
        file: &'static str,
    },
    /// A file in the folder of each network interface: targets `INTERFACE`.
    EachInterface(&'static str),
    /// A file below the folder of each CPU: targets `cpuN`.
    EachCpu(&'static str),
    /// A file in the folder of each frequency policy: targets `policyN`.
    EachPolicy(&'static str),
    /// Where a function finds them: all, or at least the one of that target.
    Found(fn(&Root, Option<&str>) -> Result<Vec<Place>, Fault>),
}

const CPUS: &str = "/sys/devices/system/cpu";
const INTERFACES: &str = "/sys/class/net";

impl Places {
    /// The files that there are, in natural order.
    pub(super) fn all(&self, root: &Root) -> Result<Vec<Place>, Fault> {
        let mut places = self.find(root, None)?;
        places.retain(|place| is_there(root, place));
        Ok(places)
    }

    /// The file of one target. A machine may have thousands of others, which are not looked at.
    pub(super) fn one(&self, root: &Root, target: &str) -> Result<Option<Place>, Fault> {
        let place = self.find(root, Some(target))?.into_iter().find(|place| place.id == target);
        Ok(place.filter(|place| is_there(root, place)))
    }

    /// The place whose file is at `path`. The one file of the whole machine is known also where this machine does not have it.
    pub(super) fn at(&self, root: &Root, path: &str) -> Option<Place> {
        match *self {
            Places::Machine(own) => (own == path).then(|| Place::machine(own)),
            _ if !path.starts_with("/sys/") => None,
            _ => self.find(root, None).ok()?.into_iter().find(|place| place.path == path),
        }
    }

    fn find(&self, root: &Root, only: Option<&str>) -> Result<Vec<Place>, Fault> {
        match *self {
            Places::Machine(path) => Ok(vec![Place::machine(path)]),
            Places::EachInterface(file) => each(root, INTERFACES, file, "", "network interface", only),
            Places::EachQueue { kind, file } => queues(root, kind, file, only),
            Places::EachCpu(file) => each(root, CPUS, file, "cpu", "CPU", only),
            Places::EachPolicy(file) => {
                each(root, &format!("{CPUS}/cpufreq"), file, "policy", "frequency policy", only)
            }
            Places::Found(find) => find(root, only),
        }
    }

    /// Whether targets may stand behind `NETNS:`.
    pub(super) fn are_of_a_network(&self) -> bool {
        matches!(self, Places::EachQueue { .. } | Places::EachInterface(_))
    }

    /// Why a target is none.
    pub(super) fn none(&self) -> &'static str {
        match self {
            Places::Machine(_) => "the target is 'machine', and this machine's kernel may lack the file",
            Places::EachQueue { .. } => "there is no such queue, or it has no such file",
            Places::EachInterface(_) => "there is no such interface, or it has no such file",
            Places::EachCpu(_) => "there is no such CPU, or it has no such file",
            Places::EachPolicy(_) => "there is no such frequency policy, or it has no such file",
            Places::Found(_) => "this machine has no such thing",
        }
    }
}

impl Place {
    /// The one file of the whole machine.
    pub fn machine(path: &str) -> Self {
        Self { id: MACHINE.into(), what: "the whole machine".into(), path: path.into(), form: None }
    }
}

/// The names in a folder, none where there is no such folder.
pub(in crate::knobs) fn names(root: &Root, folder: &str) -> Result<Vec<String>, Fault> {
    match root.list(folder) {
        Err(e) if e.is_absent() => Ok(Vec::new()),
        names => Ok(names?),
    }
}

/// Whether a name is `prefix` and a number.
pub(in crate::knobs) fn is_numbered(name: &str, prefix: &str) -> bool {
    let digits = name.strip_prefix(prefix).unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a folder may hold the file of the target that is looked for, which begins with its name.
pub(in crate::knobs) fn may_hold(folder: &str, only: Option<&str>) -> bool {
    only.is_none_or(|target| target.split('/').next() == Some(folder))
}

fn is_there(root: &Root, place: &Place) -> bool {
    !root.line(&place.path).is_err_and(|e| e.is_absent())
}

/// A file in each folder of a folder whose name is `prefix` and a number; with no prefix, any name.
fn each(
    root: &Root,
    folder: &str,
    file: &str,
    prefix: &str,
    what: &str,
    only: Option<&str>,
) -> Result<Vec<Place>, Fault> {
    let is_one = |name: &String| (prefix.is_empty() || is_numbered(name, prefix)) && may_hold(name, only);
    let place = |id: String| Place {
        what: format!("{what} {id}"),
        path: format!("{folder}/{id}/{file}"),
        id,
        form: None,
    };
    Ok(names(root, folder)?.into_iter().filter(is_one).map(place).collect())
}

fn queues(root: &Root, kind: &str, file: &str, only: Option<&str>) -> Result<Vec<Place>, Fault> {
    let (prefix, way) = (format!("{kind}-"), if kind == "rx" { "receive" } else { "transmit" });
    let mut places = Vec::new();
    for interface in names(root, INTERFACES)?.into_iter().filter(|name| may_hold(name, only)) {
        // Interfaces come and go, and /sys/class/net has files that are no interfaces (bonding_masters).
        let queues = root.list(format!("{INTERFACES}/{interface}/queues")).unwrap_or_default();
        places.extend(queues.into_iter().filter(|queue| is_numbered(queue, &prefix)).map(|queue| Place {
            id: format!("{interface}/{queue}"),
            what: format!("{way} queue {} of {interface}", &queue[prefix.len()..]),
            path: format!("{INTERFACES}/{interface}/queues/{queue}/{file}"),
            form: None,
        }));
    }
    Ok(places)
}
