//! How many cores and packages there are, on a host of which some CPUs are offline, too.
//!
//! The kernel reports the core of a CPU only while it is online. What is offline fills up the cores that are known first, each to as
//! many threads as the widest core of its kind has; the rest are cores of which no thread is online.

use std::collections::BTreeMap;

use machine::kernel::boot::words;
use machine::{CpuSet, FactId, Machine};

/// What is known of cores and packages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Layout {
    /// Cores as sets of their online CPUs.
    pub(super) online: Vec<CpuSet>,
    /// Cores that are there; `None` where that is not known.
    pub(super) cores: Option<usize>,
    /// Those of them without an online thread.
    pub(super) hidden: usize,
    /// Packages that are there; `None` where one could be offline as a whole.
    pub(super) packages: Option<usize>,
}

impl Layout {
    pub(super) fn of(machine: &Machine) -> Self {
        let cpus = machine.online();
        let online = machine.cores();
        let in_cores: usize = online.iter().map(CpuSet::len).sum();
        let unread = is_unread(machine, &FactId::Cpus);
        if cpus.is_empty() || in_cores != cpus.len() || unread || is_cut_at_boot(machine) {
            return Self { online, ..Self::default() };
        }
        let hidden = hidden(machine, &online, machine.cpus.len().saturating_sub(cpus.len()));
        let packages = packages(machine, &cpus, &online, hidden);
        Self { cores: Some(online.len() + hidden), hidden, packages, online }
    }

    /// Whether every core shows.
    pub(super) fn is_whole(&self) -> bool {
        self.cores.is_some() && self.hidden == 0
    }
}

/// Whether this fact could not be read.
pub(super) fn is_unread(machine: &Machine, fact: &FactId) -> bool {
    machine.missing.iter().any(|missing| missing.is(fact))
}

/// Whether the command line leaves CPUs out, so that they are not even present.
fn is_cut_at_boot(machine: &Machine) -> bool {
    let words = words(machine.kernel.cmdline.as_deref().unwrap_or_default());
    let limits = words.iter().filter_map(|word| {
        word.strip_prefix("nr_cpus=").or_else(|| word.strip_prefix("possible_cpus="))?.parse::<usize>().ok()
    });
    limits.into_iter().any(|limit| limit <= machine.cpus.len())
}

/// Cores of which no thread is online, when so many CPUs are offline.
fn hidden(machine: &Machine, online: &[CpuSet], offline: usize) -> usize {
    if offline == 0 {
        return 0;
    }
    let widest_online = online.iter().map(CpuSet::len).max().unwrap_or(1);
    // Cores have more threads than any shows where SMT is switched off, or all second threads are offline one by one.
    let least = match machine.kernel.smt.as_deref() {
        Some("off" | "forceoff") => 2,
        Some("on") if widest_online == 1 => 2,
        _ => 1,
    };
    let kind = |core: &CpuSet| {
        let first = core.first()?;
        machine.core_kinds.iter().position(|kind| kind.cpus.contains(first))
    };
    let mut widest: BTreeMap<Option<usize>, usize> = BTreeMap::new();
    for core in online {
        let width = widest.entry(kind(core)).or_insert(least);
        *width = core.len().max(*width);
    }
    let free = online.iter().map(|core| widest.get(&kind(core)).map_or(0, |width| width - core.len()));
    let left = offline.saturating_sub(free.sum());
    left.div_ceil(widest_online.max(least))
}

fn packages(machine: &Machine, cpus: &CpuSet, online: &[CpuSet], hidden: usize) -> Option<usize> {
    let in_packages: usize = machine.packages.iter().map(CpuSet::len).sum();
    let unread = is_unread(machine, &FactId::Package);
    if machine.packages.is_empty() || in_packages != cpus.len() || unread {
        return None;
    }
    let firsts: CpuSet = online.iter().filter_map(CpuSet::first).collect();
    let cores = machine.packages.iter().map(|package| package.intersection(&firsts).len());
    // All cores of one more package would have to be among the hidden ones.
    let smallest = cores.min()?;
    (hidden == 0 || hidden < smallest).then_some(machine.packages.len())
}

#[cfg(test)]
mod tests {
    use machine::topology::cpus::Cpu;
    use machine::topology::kinds::CoreKind;

    use super::*;

    /// A machine of these cores, all in one package, and as many CPUs offline.
    fn machine(cores: &[&str], offline: u32, smt: &str) -> Machine {
        let cores: Vec<CpuSet> = cores.iter().map(|list| list.parse().unwrap()).collect();
        let mut cpus: Vec<Cpu> = Vec::new();
        for core in &cores {
            let cpu = |id| Cpu { id, online: true, siblings: Some(core.clone()), ..Cpu::default() };
            cpus.extend(core.iter().map(cpu));
        }
        cpus.extend((0..offline).map(|n| Cpu { id: 1000 + n, ..Cpu::default() }));
        let all = cores.iter().flat_map(CpuSet::iter).collect();
        let mut machine = Machine { cpus, packages: vec![all], ..Machine::default() };
        machine.kernel.smt = Some(smt.into());
        machine
    }

    fn cores(machine: &Machine) -> (Option<usize>, usize) {
        let layout = Layout::of(machine);
        (layout.cores, layout.hidden)
    }

    #[test]
    fn cores_are_counted_when_threads_are_offline() {
        assert_eq!(cores(&machine(&["0,4", "1,5", "2,6", "3,7"], 0, "on")), (Some(4), 0));
        assert_eq!(cores(&machine(&["0,4", "1,5", "2,6", "3"], 1, "on")), (Some(4), 0), "one thread");
        assert_eq!(cores(&machine(&["0,4", "1,5", "2,6"], 2, "on")), (Some(4), 1), "a whole core");
        assert_eq!(cores(&machine(&["0", "1", "2", "3"], 4, "off")), (Some(4), 0), "SMT is off");
        assert_eq!(cores(&machine(&["0", "1", "2"], 5, "forceoff")), (Some(4), 1), "and a core offline");
        assert_eq!(cores(&machine(&["0", "1", "2", "3"], 4, "on")), (Some(4), 0), "all second threads");
        assert_eq!(cores(&machine(&["0", "1", "2"], 1, "notsupported")), (Some(4), 1), "without SMT");
        assert_eq!(cores(&machine(&["0"], 7, "on")), (Some(4), 3), "maxcpus=1");
    }

    #[test]
    fn cores_of_several_kinds_are_filled_each_to_its_own_width() {
        let mut hybrid = machine(&["0-1", "2", "8", "9"], 1, "on");
        let kind = |name: &str, cpus: &str| CoreKind { name: name.into(), cpus: cpus.parse().unwrap() };
        hybrid.core_kinds = vec![kind("cpu_core", "0-2"), kind("cpu_atom", "8-9")];
        assert_eq!(cores(&hybrid), (Some(4), 0), "the second thread of a large core");
        let mut hybrid = machine(&["0-1", "2-3", "8"], 1, "on");
        hybrid.core_kinds = vec![kind("cpu_core", "0-3"), kind("cpu_atom", "8")];
        assert_eq!(cores(&hybrid), (Some(4), 1), "a small core");
    }

    #[test]
    fn what_cannot_be_known_is_open() {
        assert_eq!(Layout::of(&Machine::default()), Layout::default());
        let mut unknown = machine(&["0", "1"], 0, "on");
        unknown.cpus[1].siblings = None;
        assert_eq!(cores(&unknown).0, None);
        let mut cut = machine(&["0", "1"], 0, "on");
        cut.kernel.cmdline = Some("quiet nr_cpus=2".into());
        assert_eq!(cores(&cut).0, None);
        cut.kernel.cmdline = Some("quiet nr_cpus=512".into());
        assert_eq!(cores(&cut).0, Some(2));
    }

    #[test]
    fn a_package_may_be_offline_as_a_whole() {
        let packages = |machine: &Machine| Layout::of(machine).packages;
        assert_eq!(packages(&machine(&["0", "1", "2"], 1, "notsupported")), Some(1));
        assert_eq!(packages(&machine(&["0", "1", "2"], 3, "notsupported")), None);
    }
}
