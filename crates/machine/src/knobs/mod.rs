//! Knobs: settings that can be described, read, and turned into acts. They do nothing themselves.
//!
//! One file a knob. To add one: write the file, name it in [`ALL`]; the tests below and those in
//! `change/tests/knobs.rs` hold it to its promises.

use serde::Serialize;

use crate::{Act, Class, CpuSet, Fault, Root};

mod cpuset;
mod irq_affinity;
mod process_affinity;
mod rps_cpus;
mod scheduling_policy;

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
    /// Who else may own the file.
    pub owner: &'static str,
    /// What can go wrong.
    pub risk: &'static str,
    /// Kernel documentation or man page.
    pub source: &'static str,
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

    /// Its present value, in the form that [`change`](Knob::change) takes.
    ///
    /// Errors: no such target; a file that cannot be read or is malformed.
    fn read(&self, root: &Root, target: &str) -> Result<String, Fault>;

    /// The acts that would set it.
    ///
    /// Errors: no such target; a value that is malformed or names a CPU that is not online.
    fn change(&self, root: &Root, target: &str, value: &str) -> Result<Vec<Act>, Fault>;
}

/// Every knob that there is.
pub static ALL: &[&dyn Knob] = &[
    &cpuset::Cpuset,
    &irq_affinity::IrqAffinity,
    &process_affinity::ProcessAffinity,
    &rps_cpus::RpsCpus,
    &scheduling_policy::SchedulingPolicy,
];

/// The knob of that id.
pub fn find(id: &str) -> Option<&'static dyn Knob> {
    ALL.iter().copied().find(|knob| knob.about().id == id)
}

/// Reads a value that is a CPU list, and holds it against the CPUs that are online, where those are known.
fn cpus(root: &Root, about: &About, target: &str, value: &str) -> Result<CpuSet, Fault> {
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
fn no_such(about: &About, target: &str, cause: &str) -> Fault {
    let remedy = format!("see 'pinwise list knobs' for what {} is set for: {}", about.id, about.scope);
    Fault::new(Class::Usage, format!("{} of '{target}'", about.id), cause, remedy)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;
    use crate::Tree;

    #[test]
    fn ids_are_unique_sorted_and_those_of_the_files() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/knobs");
        let stem = |entry: std::io::Result<std::fs::DirEntry>| {
            entry.unwrap().path().file_stem().unwrap().to_string_lossy().replace('_', "-")
        };
        let files: BTreeSet<String> =
            std::fs::read_dir(folder).unwrap().map(stem).filter(|f| f != "mod").collect();
        let ids: Vec<&str> = ALL.iter().map(|knob| knob.about().id).collect();
        assert_eq!(ids, files.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(ids.iter().all(|id| find(id).is_some_and(|knob| knob.about().id == *id)));
        assert!(find("nonsense").is_none());
    }

    #[test]
    fn every_field_of_about_says_something() {
        for about in ALL.iter().map(|knob| knob.about()) {
            let About { id, title, docs, unit, scope, owner, risk, source } = about;
            for text in [id, title, docs, unit, scope, owner, risk, source] {
                assert!(text.len() > 2 && text.trim() == *text, "{id}: '{text}'");
            }
            assert!(!title.ends_with('.') && title.len() < 80, "{id}: '{title}'");
        }
    }

    #[test]
    fn an_empty_machine_offers_nothing_and_every_refusal_names_target_and_remedy() {
        let root = Root::from_tree(Tree::new().file("/sys/devices/system/cpu/online", "0-1\n"));
        for knob in ALL {
            assert_eq!(knob.targets(&root).unwrap_or_default(), [], "{}", knob.about().id);
            for target in ["", "nonsense", "../../etc", "99999999999999", "a:b:c/rx-0", "/"] {
                let faults =
                    [knob.read(&root, target).unwrap_err(), knob.change(&root, target, "0").unwrap_err()];
                for fault in faults {
                    assert!(!fault.remedy.is_empty(), "{}: {fault}", knob.about().id);
                }
            }
        }
    }
}
