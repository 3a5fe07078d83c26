//! Rules of the diagnosis, one a file: each looks at one mechanism.

pub mod cpu;
pub mod interrupts;
pub mod machine;
pub mod memory;
pub mod waits;

use ::machine::Missing;
use serde::Serialize;

use super::cause::Cause;
use super::scene::Scene;

/// What a rule is, for `pinwise list rules` and docs/causes.md.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct About {
    /// Id: the file's name with dashes. It stays for ever.
    pub id: &'static str,
    /// The mechanism in a few words, as it stands in "ruled out: ...": `quota`, `swap`.
    pub title: &'static str,
    /// Which part of the server's time it takes.
    pub costs: Costs,
    /// Shape, likely cause, how to tell it from what looks the same, where to look next: a paragraph.
    pub docs: &'static str,
}

/// The part of a server's time that a mechanism takes: claims about the same part may overlap, claims about others do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Costs {
    /// Interrupts while it runs, and waiting for a CPU.
    CpuAccess,
    /// Being held back by a quota.
    Quota,
    /// Being blocked: disk, swap, locks of the kernel.
    Blocked,
    /// Its own time on a CPU, which does less or has more to do.
    OwnTime,
    /// Sleep.
    Asleep,
    /// Nobody's in particular: the machine as a whole.
    Machine,
}

/// Cost that is part of what the server does.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OwnWork {
    /// Id of the rule that looked.
    pub rule: &'static str,
    /// What it is: `its own packets on lo`.
    pub what: String,
    /// Share of the time in which the server tried to go on, 0 to 1.
    pub share: f64,
}

/// What a rule found.
#[derive(Debug, Clone, PartialEq)]
pub enum Looked {
    /// Causes that matter.
    Found(Vec<Cause>),
    /// It looked, and this costs nothing that matters.
    Fine,
    /// It looked, and found cost that is the server's own work: no theft, and nothing to move.
    OwnWork(OwnWork),
    /// There is nothing of the kind here: no swap, one node.
    DoesNotApply,
    /// It could not look.
    CannotTell(Missing),
}

impl Looked {
    /// Causes, or that all is well.
    pub fn of(causes: Vec<Cause>) -> Self {
        if causes.is_empty() { Self::Fine } else { Self::Found(causes) }
    }

    /// What a rule says that needs the kernel's account of each event, where there is none.
    pub fn needs_account(about: &About) -> Self {
        let why = "needs root and eBPF: without them only counters are known";
        Self::CannotTell(Missing::new(about.title, why))
    }
}

/// A mechanism that can cost a server time.
pub trait Rule: Sync {
    /// What it is.
    fn about(&self) -> &'static About;

    /// Ids of the rules that name the same time by its reason: what this one finds is left out where one of them finds something.
    fn gives_way_to(&self) -> &'static [&'static str] {
        &[]
    }

    /// Share of the server's time that the same takes where the mechanism is not at work, 0 to 1: of two arms, the one that has the mechanism
    /// is charged with what it takes beyond that.
    fn share_without(&self, _scene: &Scene<'_>) -> f64 {
        0.0
    }

    /// Looks for it. Never blames what was not seen.
    fn examine(&self, scene: &Scene<'_>) -> Looked;
}

/// Every rule, by field.
pub static ALL: &[&[&dyn Rule]] = &[cpu::ALL, interrupts::ALL, memory::ALL, waits::ALL, machine::ALL];

/// Every rule.
pub fn all() -> impl Iterator<Item = &'static dyn Rule> {
    ALL.iter().flat_map(|field| field.iter().copied())
}

/// The rule of an id.
pub fn find(id: &str) -> Option<&'static dyn Rule> {
    all().find(|rule| rule.about().id == id)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ids_are_unique_and_every_rule_says_what_it_is() {
        let ids: BTreeSet<&str> = all().map(|rule| rule.about().id).collect();
        assert_eq!(ids.len(), all().count());
        for rule in all() {
            let about = rule.about();
            assert!(!about.title.is_empty() && about.docs.len() > 120, "{about:?}");
            assert!(about.id.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'), "{}", about.id);
        }
    }

    #[test]
    fn rules_give_way_to_rules_that_there_are_and_that_do_not_give_way_to_them() {
        for rule in all() {
            for other in rule.gives_way_to() {
                let other = find(other).unwrap_or_else(|| panic!("{} gives way to nobody", rule.about().id));
                assert!(!other.gives_way_to().contains(&rule.about().id), "{}", rule.about().id);
            }
        }
    }

    #[test]
    fn the_folders_equal_the_lists() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/diagnosis/rules");
        let mut files: BTreeSet<String> = BTreeSet::new();
        for field in std::fs::read_dir(folder).unwrap() {
            for file in std::fs::read_dir(field.unwrap().path()).into_iter().flatten() {
                let name = file.unwrap().file_name().into_string().unwrap();
                files.extend(name.strip_suffix(".rs").filter(|name| *name != "mod").map(str::to_string));
            }
        }
        let listed: BTreeSet<String> = all().map(|rule| rule.about().id.replace('-', "_")).collect();
        assert_eq!(files, listed);
    }
}
