//! Sets of CPUs that have no CPU in common: cores, packages, those that share a cache of one level and kind.

use std::collections::HashMap;

use crate::CpuSet;

/// Sets of CPUs, each CPU in one of them at most.
#[derive(Debug, Default)]
pub(super) struct Partition {
    sets: Vec<CpuSet>,
    /// Places in `sets`, by CPU.
    places: HashMap<u32, usize>,
}

impl Partition {
    /// The set that a CPU is in.
    pub(super) fn set_of(&self, cpu: u32) -> Option<&CpuSet> {
        self.sets.get(*self.places.get(&cpu)?)
    }

    /// Adds what of a set is in no other yet, and returns that: what was said first holds.
    pub(super) fn add(&mut self, set: &CpuSet) -> CpuSet {
        let own: CpuSet = set.iter().filter(|cpu| !self.places.contains_key(cpu)).collect();
        if !own.is_empty() {
            self.places.extend(own.iter().map(|cpu| (cpu, self.sets.len())));
            self.sets.push(own.clone());
        }
        own
    }

    /// All sets, in the order in which they were added.
    pub(super) fn into_sets(self) -> Vec<CpuSet> {
        self.sets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn no_cpu_is_in_two_sets_and_none_is_lost(lists in proptest::collection::vec(proptest::collection::vec(0u32..24, 0..6), 0..12)) {
            let mut partition = Partition::default();
            let named: Vec<CpuSet> = lists.into_iter().map(|list| list.into_iter().collect()).collect();
            for set in &named {
                let own = partition.add(set);
                proptest::prop_assert!(own.is_subset(set));
            }
            let all: CpuSet = named.iter().flat_map(CpuSet::iter).collect();
            for cpu in all.iter() {
                proptest::prop_assert!(partition.set_of(cpu).is_some_and(|set| set.contains(cpu)));
            }
            let sets = partition.into_sets();
            proptest::prop_assert_eq!(sets.iter().map(CpuSet::len).sum::<usize>(), all.len());
            proptest::prop_assert!(sets.iter().all(|set| !set.is_empty()));
        }
    }
}
