//! Which CPUs share a core.

use std::collections::BTreeMap;

use machine::CpuSet;

/// SMT siblings by CPU: the other hardware threads of its core.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Siblings {
    cores: Vec<CpuSet>,
    /// The place in `cores` by CPU. Sets of siblings by CPU would grow with the square of a core: a document that somebody else has
    /// written may say that one has 18,000 threads.
    core_of: BTreeMap<u32, usize>,
}

impl Siblings {
    /// Nothing is known: no sibling is named, and none is avoided.
    pub fn unknown() -> Self {
        Self::default()
    }

    /// From cores, each as the set of its hardware threads (`thread_siblings_list` in sysfs).
    pub fn from_cores<'a>(cores: impl IntoIterator<Item = &'a CpuSet>) -> Self {
        let cores: Vec<CpuSet> = cores.into_iter().cloned().collect();
        let core_of =
            cores.iter().enumerate().flat_map(|(at, core)| core.iter().map(move |cpu| (cpu, at))).collect();
        Self { cores, core_of }
    }

    /// The other hardware threads of the core of `cpu`; none where SMT is off or nothing is known.
    pub fn of(&self, cpu: u32) -> CpuSet {
        let core = self.core_of.get(&cpu).and_then(|at| self.cores.get(*at));
        core.map(|core| core.difference(&CpuSet::single(cpu))).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_is_no_sibling_of_itself() {
        let core = CpuSet::from_list("5,13").unwrap();
        let siblings = Siblings::from_cores([&core]);
        assert_eq!(siblings.of(5), CpuSet::single(13));
        assert_eq!(siblings.of(13), CpuSet::single(5));
        assert!(siblings.of(0).is_empty() && Siblings::unknown().of(5).is_empty());
    }

    /// Found by libFuzzer (docs/fuzzing.md): 2 GB, by one word of a case.
    #[test]
    fn a_core_of_very_many_threads_is_kept_once() {
        let core = CpuSet::from_list("0-60000").unwrap();
        assert_eq!(Siblings::from_cores([&core]).of(60_000).len(), 60_000);
    }
}
