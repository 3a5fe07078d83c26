//! Caches that cores share, which make groups, and those that a core has for itself.

use std::collections::{BTreeMap, BTreeSet};

use machine::topology::caches::{Cache, CacheType};
use machine::{CpuSet, Machine};

use crate::map::machine_text::size;

/// The caches of a machine, each in one of the two.
#[derive(Debug, Default)]
pub(super) struct Caches<'a> {
    /// Used by more than one core, or of the same make as one that is (where of a package only one core is online,
    /// its L3 is still no cache of that core); lowest level first.
    pub(super) shared: Vec<&'a Cache>,
    /// Used by one core, by its first CPU.
    pub(super) private: BTreeMap<u32, Vec<&'a Cache>>,
}

impl<'a> Caches<'a> {
    pub(super) fn of(machine: &'a Machine) -> Self {
        let cores: BTreeMap<u32, Option<&CpuSet>> =
            machine.cpus.iter().map(|cpu| (cpu.id, cpu.siblings.as_ref())).collect();
        let one_core = |cache: &Cache| {
            let core = cache.cpus.first().and_then(|cpu| *cores.get(&cpu)?);
            cache.cpus.len() == 1 || core.is_some_and(|core| cache.cpus.is_subset(core))
        };
        let make = |cache: &Cache| (cache.level, cache.kind, cache.bytes);
        let shared_makes: BTreeSet<_> = machine.caches.iter().filter(|c| !one_core(c)).map(make).collect();
        let mut caches = Self::default();
        for cache in &machine.caches {
            match cache.cpus.first() {
                Some(first) if !shared_makes.contains(&make(cache)) => {
                    caches.private.entry(first).or_default().push(cache);
                }
                _ => caches.shared.push(cache),
            }
        }
        caches
    }
}

/// `L1d 32 KiB`, `L3 16 MiB`.
pub(super) fn words(cache: &Cache) -> String {
    format!("{} {}", name(cache), figure(cache))
}

/// `L1d`, `L3`.
pub(super) fn name(cache: &Cache) -> String {
    let letter = match cache.kind {
        CacheType::Data => "d",
        CacheType::Instruction => "i",
        CacheType::Unified => "",
    };
    format!("L{}{letter}", cache.level)
}

/// The size, where it is reported: `1280 KiB` rather than `1.2 MiB`, for that is how caches are known.
pub(super) fn figure(cache: &Cache) -> String {
    match cache.bytes {
        None => "size unknown".into(),
        Some(bytes) if bytes < 4 << 20 && !bytes.is_multiple_of(1 << 20) && bytes.is_multiple_of(1 << 10) => {
            format!("{} KiB", bytes >> 10)
        }
        Some(bytes) => size(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::topology::cpus::Cpu;

    fn cache(level: u32, kib: u64, cpus: &str) -> Cache {
        let cpus = CpuSet::from_list(cpus).unwrap();
        Cache { level, kind: CacheType::Unified, bytes: Some(kib << 10), cpus }
    }

    #[test]
    fn what_one_core_uses_is_its_own_unless_others_of_its_make_are_shared() {
        let core = |list: &str| CpuSet::from_list(list).unwrap();
        let cpu =
            |id, siblings: &str| Cpu { id, online: true, siblings: Some(core(siblings)), ..Cpu::default() };
        let machine = Machine {
            cpus: vec![cpu(0, "0-1"), cpu(1, "0-1"), cpu(2, "2"), cpu(3, "3")],
            caches: vec![cache(1, 32, "0-1"), cache(2, 512, "2"), cache(3, 4096, "0-2"), cache(3, 4096, "3")],
            ..Machine::default()
        };
        let caches = Caches::of(&machine);
        assert_eq!(caches.shared.iter().map(|c| words(c)).collect::<Vec<_>>(), ["L3 4 MiB", "L3 4 MiB"]);
        assert_eq!(caches.private.keys().copied().collect::<Vec<_>>(), [0, 2]);
    }

    #[test]
    fn sizes_are_round_and_unknown_ones_say_so() {
        assert_eq!(size((8 << 30) - 1000), "8 GiB");
        assert_eq!(words(&cache(2, 1280, "0")), "L2 1280 KiB");
        assert_eq!(words(&cache(3, 5118, "0")), "L3 5 MiB");
        assert_eq!(words(&Cache { bytes: None, ..cache(2, 0, "0") }), "L2 size unknown");
    }
}
