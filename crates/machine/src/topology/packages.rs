//! Packages (sockets) as sets of CPUs: by the lists of their CPUs, since numbers are not unique on some machines and not reported
//! on others. Books and drawers (s390: `book_cpus_list`, `drawer_cpus_list`) hold several packages and are never read as one.

use std::collections::BTreeMap;

use super::partition::Partition;
use super::{CPUS, Gaps};
use crate::{CpuSet, Notes, Root};

/// The package of a CPU, as a missing fact.
pub(super) const PACKAGE: &str = "package";
/// The CPUs of a package, likewise.
const MATES: &str = "CPUs of the package";
/// A package that CPUs agree about, likewise.
const AGREED: &str = "undisputed package";

/// Files of the CPUs of a package, by their names of today and of kernels before 5.3.
const LISTS: [&str; 2] = ["package_cpus_list", "core_siblings_list"];
const MASKS: [&str; 2] = ["package_cpus", "core_siblings"];

/// What one CPU says of itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Said<'a> {
    /// The CPU.
    pub(super) cpu: u32,
    /// Its folder `topology`.
    pub(super) dir: &'a str,
    /// `physical_package_id` as it is printed: -1 where the firmware does not report it.
    pub(super) number: Option<i64>,
    /// The threads of its core.
    pub(super) core: Option<&'a CpuSet>,
}

/// The packages while CPU after CPU is read.
#[derive(Debug, Default)]
pub(super) struct Packages {
    sets: Partition,
    /// CPUs whose package has no number.
    unnumbered: BTreeMap<u32, Unnumbered>,
}

#[derive(Debug)]
struct Unnumbered {
    core: Option<CpuSet>,
    mates: Option<CpuSet>,
}

/// What the CPUs come to.
#[derive(Debug)]
pub(super) struct Found {
    /// The packages in order of their lowest CPUs.
    pub(super) sets: Vec<CpuSet>,
    /// Whether the firmware numbers none of them: then their places are their numbers.
    pub(super) are_counted: bool,
}

impl Packages {
    /// Reads who shares the package of a CPU, unless that is known.
    pub(super) fn read(&mut self, root: &Root, said: Said<'_>, online: &CpuSet, gaps: &mut Gaps) {
        let Said { cpu, dir, number, core } = said;
        let mates = || root.cpu_set(dir, &LISTS, &MASKS).map(|set| set.intersection(online));
        match number {
            Some(..0) => {
                let unnumbered = Unnumbered { core: core.cloned(), mates: mates().ok() };
                self.unnumbered.insert(cpu, unnumbered);
            }
            _ if self.sets.set_of(cpu).is_some() => {}
            _ => {
                if let Some(mates) = gaps.keep(MATES, cpu, mates()) {
                    self.place(said, &mates, gaps);
                }
            }
        }
    }

    fn place(&mut self, Said { cpu, dir, .. }: Said<'_>, mates: &CpuSet, gaps: &mut Gaps) {
        if !mates.contains(cpu) {
            let why = format!("{dir}: the list of its package ('{mates}') does not name CPU {cpu} itself");
            return gaps.note(MATES, cpu, why);
        }
        let own = self.sets.add(mates);
        if own != *mates {
            let others = mates.difference(&own);
            let why = format!(
                "{dir}: the list of its package ('{mates}') names {others}, which the list of another package named before"
            );
            gaps.note(AGREED, cpu, why);
        }
    }

    /// The packages, with a note where they have no numbers and `package` missing where they are not known.
    pub(super) fn finish(self, online: &CpuSet, gaps: &mut Gaps, notes: &mut Notes) -> Found {
        let first = self.unnumbered.keys().next().copied();
        if let (Some(first), Some(sets)) = (first, self.by_lists(online)) {
            let why = format!(
                "{CPUS}/cpu{first}/topology/physical_package_id: -1, the firmware does not report them; packages are what \
                 package_cpus_list (core_siblings_list) names, numbered in the order of their lowest CPUs"
            );
            notes.missing("numbers of packages", why);
            return Found { sets, are_counted: true };
        }
        for cpu in self.unnumbered.keys() {
            let file = format!("{CPUS}/cpu{cpu}/topology/physical_package_id");
            gaps.note(PACKAGE, *cpu, format!("{file}: -1, the firmware does not report the package"));
        }
        let mut sets = self.sets.into_sets();
        sets.sort();
        Found { sets, are_counted: false }
    }

    /// The packages of a machine on which no CPU has a package number; `None` where the lists do not say what they are:
    /// they contradict each other, or name no more than cores (POWER without chip numbers), or everything (the kernel takes
    /// CPUs of the same number for neighbours, and -1 equals -1: update_siblings_masks in drivers/base/arch_topology.c).
    fn by_lists(&self, online: &CpuSet) -> Option<Vec<CpuSet>> {
        // Where only some CPUs have no number, one that is given here could be another package's.
        if self.unnumbered.len() != online.len() {
            return None;
        }
        let (mut sets, mut are_more_than_cores) = (Partition::default(), false);
        for (cpu, said) in &self.unnumbered {
            let (mates, core) = (said.mates.as_ref()?, said.core.as_ref()?);
            if !mates.contains(*cpu) || !core.is_subset(mates) {
                return None;
            }
            let known = sets.set_of(*cpu).map(|set| set == mates);
            if !known.unwrap_or_else(|| sets.add(mates) == *mates) {
                return None;
            }
            are_more_than_cores |= core != mates;
        }
        let sets = sets.into_sets();
        (sets.len() > 1 && are_more_than_cores).then_some(sets)
    }
}
