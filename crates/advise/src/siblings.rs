//! Which CPUs share a core.

use std::collections::BTreeMap;

use machine::CpuSet;

/// SMT siblings by CPU: the other hardware threads of its core.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Siblings(BTreeMap<u32, CpuSet>);

impl Siblings {
    /// Nothing is known: no sibling is named, and none is avoided.
    pub fn unknown() -> Self {
        Self::default()
    }

    /// From cores, each as the set of its hardware threads (`thread_siblings_list` in sysfs).
    pub fn from_cores<'a>(cores: impl IntoIterator<Item = &'a CpuSet>) -> Self {
        let mut siblings = BTreeMap::new();
        for core in cores {
            for cpu in core.iter() {
                siblings.insert(cpu, core.difference(&CpuSet::single(cpu)));
            }
        }
        Self(siblings)
    }

    /// The other hardware threads of the core of `cpu`; none where SMT is off or nothing is known.
    pub fn of(&self, cpu: u32) -> CpuSet {
        self.0.get(&cpu).cloned().unwrap_or_default()
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
}
