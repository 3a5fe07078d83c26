//! Which CPUs there are and how they form cores and packages.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use super::packages::{Found, PACKAGE, Packages, Said};
use super::partition::Partition;
use super::{CPUS, Gaps, numbered};
use crate::{CpuSet, FactId, Missing, Notes, ReadError, Root};

/// The SMT siblings of a CPU, as a missing fact.
const SIBLINGS: &str = "siblings";
/// Siblings that CPUs agree about, likewise.
const AGREED: &str = "undisputed siblings";

/// One CPU as the scheduler sees it: a hardware thread.
///
/// Topology is `None` where the kernel does not report it: for every offline CPU, and as `missing` says.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Cpu {
    /// Number.
    pub id: u32,
    /// Whether the scheduler uses it.
    pub online: bool,
    /// Whether this process may run on it (affinity and cgroups); `None` when neither is known.
    pub allowed: Option<bool>,
    /// Package (socket) number, `physical_package_id`; where the firmware numbers none (-1), its place among the machine's
    /// `packages`. Not unique on some old machines: use those.
    pub package: Option<u32>,
    /// Die within the package, `die_id`.
    pub die: Option<u32>,
    /// Group of cores that share more than the die does, `cluster_id`.
    pub cluster: Option<u32>,
    /// Core number, `core_id`; unique within its die only: use `siblings`.
    pub core: Option<u32>,
    /// NUMA node.
    pub node: Option<u32>,
    /// All online hardware threads of its core, itself included. No CPU is in two cores.
    pub siblings: Option<CpuSet>,
    /// Relative computing power, 1024 for the strongest (`cpu_capacity`, mostly arm64).
    pub capacity: Option<u32>,
    /// Highest frequency, kHz (`cpufreq/cpuinfo_max_freq`).
    pub max_frequency_khz: Option<u64>,
}

/// What /sys/devices/system/cpu says.
#[derive(Debug, Default)]
pub(crate) struct Cpus {
    pub(crate) cpus: Vec<Cpu>,
    pub(crate) packages: Vec<CpuSet>,
    pub(crate) online: CpuSet,
    pub(crate) possible: Option<CpuSet>,
    pub(crate) present: Option<CpuSet>,
    pub(crate) offline: Option<CpuSet>,
}

/// Reads all CPUs that are present; `node` and `allowed` are filled in later.
pub(crate) fn read(root: &Root, notes: &mut Notes) -> Cpus {
    let names = match root.list(CPUS) {
        Ok(names) => names,
        Err(why) => {
            notes.add(Missing::new("CPUs", why).identified(FactId::Cpus));
            return Cpus::default();
        }
    };
    let folders = numbered(&names, "cpu");
    let present = root.cpu_list(format!("{CPUS}/present"));
    let present = old_kernels_lack_it(present, "CPUs present", notes);
    let possible = root.cpu_list(format!("{CPUS}/possible"));
    let possible = old_kernels_lack_it(possible, "CPUs possible", notes);
    let online = match root.cpu_list(format!("{CPUS}/online")) {
        Ok(online) => online,
        Err(e) => {
            if !e.is_absent() {
                let fact = "CPUs online (read from each CPU's folder instead)";
                notes.add(Missing::new(fact, e).identified(FactId::Cpus));
            }
            online_by_folder(root, &folders)
        }
    };
    let mut gaps = Gaps::default();
    let mut packages = Packages::default();
    let mut known_cores = KnownCores::default();
    let mut cpus = Vec::new();
    for id in present.as_ref().unwrap_or(&folders).union(&online).iter() {
        let is_online = online.contains(id);
        cpus.push(match is_online {
            true => read_online(root, id, &online, &mut packages, &mut known_cores, &mut gaps),
            false => Cpu { id, online: false, ..Cpu::default() },
        });
    }
    let Found { sets: packages, are_counted } = packages.finish(&online, &mut gaps, notes);
    if are_counted {
        count(&packages, &mut cpus);
    }
    gaps.report(&[(PACKAGE, FactId::Package), (SIBLINGS, FactId::Siblings)], notes);
    let offline = root.cpu_list(format!("{CPUS}/offline"));
    let offline = old_kernels_lack_it(offline, "CPUs offline", notes);
    Cpus { cpus, packages, online, possible, present, offline }
}

/// Gives each CPU the place of its package as the number.
fn count(packages: &[CpuSet], cpus: &mut [Cpu]) {
    for (number, package) in (0..).zip(packages) {
        for cpu in cpus.iter_mut().filter(|cpu| package.contains(cpu.id)) {
            cpu.package = Some(number);
        }
    }
}

/// The file came with 2.6.28: that it is absent says nothing about the machine.
fn old_kernels_lack_it(answer: Result<CpuSet, ReadError>, fact: &str, notes: &mut Notes) -> Option<CpuSet> {
    match answer {
        Err(e) if e.is_absent() => None,
        other => notes.keep(fact, other),
    }
}

/// Without the list of online CPUs: `cpuN/online` where it is, else whether the kernel shows a topology. CPU 0 often
/// has no `online` file because it cannot be taken offline.
fn online_by_folder(root: &Root, folders: &CpuSet) -> CpuSet {
    let has_topology = |id: &u32| root.exists(format!("{CPUS}/cpu{id}/topology"));
    let is_topology_reported = folders.iter().any(|id| has_topology(&id));
    let is_online = |id: &u32| match root.number::<u32>(format!("{CPUS}/cpu{id}/online")) {
        Ok(online) => online != 0,
        Err(_) => has_topology(id) || !is_topology_reported,
    };
    folders.iter().filter(is_online).collect()
}

/// What CPUs that were read before say about those to come: a map of a thousand CPUs reads half the files.
#[derive(Default)]
struct KnownCores {
    /// Cores of CPUs to come: the kernel takes threads for siblings only if they have package, die, cluster and core in
    /// common, and reports the same set for each of them (match_smt in arch/x86/kernel/smpboot.c, drivers/base/topology.c).
    cores: HashMap<u32, Core>,
    /// The threads of the cores so far.
    threads: Partition,
    /// Files that a CPU does not have; a kernel shows them for every CPU or for none.
    lacking: HashSet<&'static str>,
    /// Whether some CPU has a frequency driver; `None` while that was not looked up.
    has_frequencies: Option<bool>,
}

/// What the threads of a core have in common.
#[derive(Debug, Clone)]
struct Core {
    /// As it is printed: -1 where the firmware does not report it.
    package: Option<i64>,
    id: Option<u32>,
    die: Option<u32>,
    cluster: Option<u32>,
    siblings: Option<CpuSet>,
}

impl KnownCores {
    /// The core of a CPU: as one of its threads reported, else as its own files say.
    fn core(&mut self, root: &Root, dir: &str, id: u32, online: &CpuSet, gaps: &mut Gaps) -> Core {
        if let Some(core) = self.cores.remove(&id) {
            return core;
        }
        let (lists, masks) = (["core_cpus_list", "thread_siblings_list"], ["core_cpus", "thread_siblings"]);
        // The kernel names only online CPUs here, but trees of some machines hold more.
        let siblings = root.cpu_set(dir, &lists, &masks).map(|set| set.intersection(online));
        let siblings =
            gaps.keep(SIBLINGS, id, siblings).and_then(|named| self.siblings(dir, id, &named, gaps));
        let core = Core {
            package: gaps.keep(PACKAGE, id, root.number::<i64>(format!("{dir}/physical_package_id"))),
            id: reported(gaps.keep("core", id, root.number::<i64>(format!("{dir}/core_id")))),
            siblings,
            // Kernels before 5.3 and 5.16 report no die and no cluster: nothing to note.
            die: reported(self.number(root, dir, "die_id")),
            // x86 prints 65535 (BAD_APICID) where it knows none.
            cluster: reported(self.number(root, dir, "cluster_id")).filter(|id| *id != u32::from(u16::MAX)),
        };
        // What is not reported on one thread may be reported on another.
        if core.package.is_some()
            && core.id.is_some()
            && let Some(siblings) = &core.siblings
        {
            self.cores.extend(siblings.iter().filter(|cpu| *cpu > id).map(|cpu| (cpu, core.clone())));
        }
        core
    }

    /// The core of a CPU that names these siblings. The kernel enters them on both sides; where CPUs disagree all the same,
    /// what was read first holds.
    fn siblings(&mut self, dir: &str, id: u32, named: &CpuSet, gaps: &mut Gaps) -> Option<CpuSet> {
        let core = match self.threads.set_of(id).cloned() {
            Some(known) => known,
            None if named.contains(id) => self.threads.add(named),
            None => {
                let why =
                    format!("{dir}: the list of its siblings ('{named}') does not name CPU {id} itself");
                gaps.note(SIBLINGS, id, why);
                return None;
            }
        };
        if core != *named {
            let why = format!(
                "{dir}: the list of its siblings is '{named}', and by other CPUs' lists it is '{core}'"
            );
            gaps.note(AGREED, id, why);
        }
        Some(core)
    }

    /// A number that not every kernel reports: where it does not, there is nothing to note.
    fn number<T: std::str::FromStr<Err: std::fmt::Display>>(
        &mut self,
        root: &Root,
        dir: &str,
        name: &'static str,
    ) -> Option<T> {
        if self.lacking.contains(name) {
            return None;
        }
        let answer = root.number(format!("{dir}/{name}"));
        if answer.as_ref().is_err_and(ReadError::is_absent) {
            self.lacking.insert(name);
        }
        answer.ok()
    }

    /// The highest frequency. Not every CPU needs to have a frequency policy: only where there is none at all, and the
    /// first CPU does not have it, the others are not read.
    fn max_frequency(&mut self, root: &Root, cpu: &str) -> Option<u64> {
        if self.has_frequencies == Some(false) {
            return None;
        }
        let answer = root.number(format!("{cpu}/cpufreq/cpuinfo_max_freq")).ok();
        if self.has_frequencies.is_none() {
            let policies = || root.list(format!("{CPUS}/cpufreq")).unwrap_or_default();
            self.has_frequencies =
                Some(answer.is_some() || policies().iter().any(|name| name.starts_with("policy")));
        }
        answer
    }
}

fn read_online(
    root: &Root,
    id: u32,
    online: &CpuSet,
    packages: &mut Packages,
    known_cores: &mut KnownCores,
    gaps: &mut Gaps,
) -> Cpu {
    let cpu = format!("{CPUS}/cpu{id}");
    let dir = format!("{cpu}/topology");
    let core = known_cores.core(root, &dir, id, online, gaps);
    let said = Said { cpu: id, dir: &dir, number: core.package, core: core.siblings.as_ref() };
    packages.read(root, said, online, gaps);
    Cpu {
        id,
        online: true,
        allowed: None,
        package: reported(core.package),
        die: core.die,
        cluster: core.cluster,
        core: core.id,
        node: None,
        siblings: core.siblings,
        capacity: known_cores.number(root, &cpu, "cpu_capacity"),
        max_frequency_khz: known_cores.max_frequency(root, &cpu),
    }
}

/// A topology number; negative ones mean that it is not known.
fn reported(number: Option<i64>) -> Option<u32> {
    number.and_then(|n| u32::try_from(n).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tree;

    fn with_topology(tree: Tree, cpu: u32, package: &str, core: &str, siblings: &str, mates: &str) -> Tree {
        let dir = format!("{CPUS}/cpu{cpu}/topology");
        tree.file(&format!("{dir}/physical_package_id"), package)
            .file(&format!("{dir}/core_id"), core)
            .file(&format!("{dir}/thread_siblings"), siblings)
            .file(&format!("{dir}/core_siblings"), mates)
    }

    fn of(tree: Tree) -> (Cpus, Vec<crate::Missing>) {
        let mut notes = Notes::new();
        let cpus = read(&Root::from_tree(tree), &mut notes);
        (cpus, notes.into_vec())
    }

    #[test]
    fn cpu_0_offline_and_masks_past_64_cpus() {
        let tree = Tree::new()
            .file(&format!("{CPUS}/online"), "1,1030\n")
            .file(&format!("{CPUS}/present"), "0-1,1030\n")
            .dir(&format!("{CPUS}/cpu0"));
        let mask = format!("{:x}{}2\n", 1u32 << 6, ",00000000".repeat(31) + ",0000000");
        let tree = with_topology(tree, 1, "0\n", "0\n", &mask, &mask);
        let tree = with_topology(tree, 1030, "0\n", "0\n", &mask, &mask);
        let (cpus, missing) = of(tree);
        let ids: Vec<_> = cpus.cpus.iter().map(|c| (c.id, c.online)).collect();
        assert_eq!(ids, [(0, false), (1, true), (1030, true)]);
        assert_eq!(cpus.cpus[0].core, None);
        assert_eq!(cpus.cpus[1].siblings.as_ref().unwrap().to_list(), "1,1030");
        assert_eq!(cpus.packages.len(), 1);
        assert_eq!(missing, []);
    }

    #[test]
    fn without_a_list_the_folders_show_who_is_online() {
        let tree = Tree::new().file(&format!("{CPUS}/cpu2/online"), "0\n");
        let tree = with_topology(tree, 0, "0", "0", "1", "3");
        let tree = with_topology(tree, 1, "0", "1", "2", "3");
        let (cpus, missing) = of(tree);
        assert_eq!(cpus.online.to_list(), "0-1");
        assert_eq!(cpus.cpus.len(), 3);
        assert_eq!(missing, []);
    }

    #[test]
    fn a_package_of_minus_one_is_not_a_package() {
        let tree = Tree::new().file(&format!("{CPUS}/online"), "0-1");
        let tree = with_topology(tree, 0, "-1", "0", "1", "1")
            .file(&format!("{CPUS}/cpu0/topology/cluster_id"), "65535\n")
            .file(&format!("{CPUS}/cpu0/topology/die_id"), "-1\n");
        let tree = with_topology(tree, 1, "-1", "1", "2", "2");
        let (cpus, missing) = of(tree);
        assert_eq!((cpus.cpus[0].package, cpus.cpus[0].cluster, cpus.cpus[0].die), (None, None, None));
        assert!(cpus.packages.is_empty());
        assert_eq!(missing.len(), 1);
        assert!(missing[0].fact == "package of CPUs 0-1" && missing[0].why.contains("-1"), "{missing:?}");
    }

    #[test]
    fn malformed_and_absent_facts_are_noted_once_for_all_cpus() {
        let tree = Tree::new().file(&format!("{CPUS}/online"), "0-1").file(&format!("{CPUS}/possible"), "0-");
        let tree = with_topology(tree, 0, "0", "zero", "1", "3");
        let tree = with_topology(tree, 1, "0", "one", "?", "3");
        let (cpus, missing) = of(tree);
        let facts: Vec<_> = missing.iter().map(|m| m.fact.as_str()).collect();
        assert_eq!(facts, ["CPUs possible", "core of CPUs 0-1", "siblings of CPU 1"]);
        assert_eq!(cpus.cpus[1].siblings, None);
        let (none, missing) = of(Tree::new());
        assert!(none.cpus.is_empty());
        assert_eq!(missing[0].fact, "CPUs");
    }
}
