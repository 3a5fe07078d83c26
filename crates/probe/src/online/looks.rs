//! Looks, one after another, at which CPUs are online.

use std::collections::BTreeMap;

use machine::{CpuSet, Missing, Root};

use super::online_to_compare;
use crate::changed_cpu::ChangedCpu;
use crate::clock;

/// Which CPUs were online, at each look. One that goes and comes back between two looks is not seen to be offline.
pub(crate) struct OnlineLooks {
    /// CPUs that are looked for.
    cpus: CpuSet,
    /// Those that were online at the last look, and those that ever were.
    online: CpuSet,
    ever: CpuSet,
    /// When it was looked, ns of CLOCK_MONOTONIC.
    looked_ns: Vec<u64>,
    away: BTreeMap<u32, Vec<Away>>,
    missing: Option<Missing>,
}

/// The first look that found a CPU offline, and the first that found it back; places among all looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Away {
    first: usize,
    back: Option<usize>,
}

/// Looks one after another that found a CPU offline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OfflineLooks<'a> {
    /// When it was found online last; of a CPU that was offline from the beginning when that was.
    pub(crate) online_ns: u64,
    /// When it was found offline.
    pub(crate) offline_ns: &'a [u64],
    /// When it was found online again.
    pub(crate) back_ns: Option<u64>,
}

impl OnlineLooks {
    /// Of these CPUs. Looks the first time.
    pub(crate) fn begin(root: &Root, cpus: CpuSet) -> Self {
        let mut looks = Self {
            online: cpus.clone(),
            ever: CpuSet::new(),
            cpus,
            looked_ns: Vec::new(),
            away: BTreeMap::new(),
            missing: None,
        };
        looks.look(root);
        looks
    }

    /// Looks again; to be called some ten times a second.
    pub(crate) fn look(&mut self, root: &Root) {
        match online_to_compare(root) {
            Ok(online) => self.see(&online, clock::monotonic_ns()),
            Err(missing) => {
                self.missing.get_or_insert(missing);
            }
        }
    }

    fn see(&mut self, online: &CpuSet, at_ns: u64) {
        let (place, online) = (self.looked_ns.len(), online.intersection(&self.cpus));
        self.looked_ns.push(at_ns);
        for cpu in self.online.difference(&online).iter() {
            self.away.entry(cpu).or_default().push(Away { first: place, back: None });
        }
        for cpu in online.difference(&self.online).iter() {
            if let Some(away) = self.away.get_mut(&cpu).and_then(|all| all.last_mut()) {
                away.back = Some(place);
            }
        }
        self.ever = self.ever.union(&online);
        self.online = online;
    }

    /// Of these CPUs those that were online at any look; all where none could be made.
    pub(crate) fn ever_online(&self) -> &CpuSet {
        if self.looked_ns.is_empty() { &self.cpus } else { &self.ever }
    }

    /// When CPUs were found offline, by CPU in order of time; those that were never online are left out.
    pub(crate) fn offline(&self) -> impl Iterator<Item = (u32, OfflineLooks<'_>)> {
        let changed = self.away.iter().filter(move |(cpu, _)| self.ever.contains(**cpu));
        changed
            .flat_map(move |(cpu, all)| all.iter().filter_map(move |away| Some((*cpu, self.looks(*away)?))))
    }

    fn looks(&self, away: Away) -> Option<OfflineLooks<'_>> {
        let offline_ns = self.looked_ns.get(away.first..away.back.unwrap_or(self.looked_ns.len()))?;
        let before = away.first.checked_sub(1).and_then(|place| self.looked_ns.get(place));
        let online_ns = *before.or(offline_ns.first())?;
        let back_ns = away.back.and_then(|place| self.looked_ns.get(place)).copied();
        Some(OfflineLooks { online_ns, offline_ns, back_ns })
    }

    /// How often a CPU was found back.
    pub(crate) fn times_back(&self, cpu: u32) -> u64 {
        self.away.get(&cpu).map_or(0, |all| all.iter().filter(|away| away.back.is_some()).count() as u64)
    }

    /// CPUs that changed until the window ended, each change taken to be halfway between two looks.
    pub(crate) fn changed(&self, ended_ns: u64) -> Vec<ChangedCpu> {
        let began_ns = self.looked_ns.first().copied().unwrap_or(ended_ns);
        let absence = |(cpu, looks): (u32, OfflineLooks<'_>)| {
            let (first, last) = (looks.offline_ns.first()?, looks.offline_ns.last()?);
            let from_ns = halfway(looks.online_ns, *first);
            let until_ns = looks.back_ns.map_or(ended_ns, |back_ns| halfway(*last, back_ns));
            Some(ChangedCpu {
                cpu,
                offline_ns: until_ns.saturating_sub(from_ns),
                wall_ns: ended_ns.saturating_sub(began_ns),
                left: u64::from(looks.online_ns < *first),
                came: u64::from(looks.back_ns.is_some()),
            })
        };
        ChangedCpu::summed(self.offline().filter_map(absence))
    }

    /// The longest time that a CPU can have been offline until the window ended, ns.
    pub(crate) fn longest_offline_ns(&self, cpu: u32, ended_ns: u64) -> u64 {
        let of_cpu = self.offline().filter(|(of, _)| *of == cpu);
        let longest_ns =
            of_cpu.map(|(_, looks)| looks.back_ns.unwrap_or(ended_ns).saturating_sub(looks.online_ns));
        longest_ns.fold(0, u64::saturating_add)
    }

    /// Why it is not known.
    pub(crate) fn missing(&self) -> Option<&Missing> {
        self.missing.as_ref()
    }
}

fn halfway(from_ns: u64, to_ns: u64) -> u64 {
    from_ns + to_ns.saturating_sub(from_ns) / 2
}

#[cfg(test)]
pub(crate) mod tests {
    use machine::Tree;

    use super::*;

    /// Looks at 0-3: when, and which were online.
    pub(crate) fn looks(seen: &[(u64, &str)]) -> OnlineLooks {
        let unread = Root::from_tree(Tree::new());
        let mut looks = OnlineLooks::begin(&unread, "0-3".parse().unwrap());
        for (at_ns, online) in seen {
            looks.see(&online.parse().unwrap(), *at_ns);
        }
        looks
    }

    fn changed(seen: &[(u64, &str)], ended_ns: u64) -> Vec<(u32, u64, u64, u64)> {
        let all = looks(seen).changed(ended_ns);
        all.iter().map(|cpu| (cpu.cpu, cpu.offline_ns, cpu.left, cpu.came)).collect()
    }

    #[test]
    fn what_changed_is_known_to_within_the_time_between_two_looks() {
        assert_eq!(changed(&[(100, "0-3"), (200, "0-2"), (300, "0-2")], 400), [(3, 250, 1, 0)]);
        assert_eq!(
            changed(&[(100, "0-3"), (200, "0,2"), (300, "0-3")], 400),
            [(1, 100, 1, 1), (3, 100, 1, 1)]
        );
        // Offline from the beginning.
        assert_eq!(changed(&[(100, "0-2"), (200, "0-2"), (300, "0-3")], 400), [(3, 150, 0, 1)]);
        let twice = [(100, "0-3"), (200, "0-2"), (300, "0-3"), (400, "0-2"), (500, "0-2")];
        assert_eq!(changed(&twice, 500), [(3, 250, 2, 1)]);
        assert_eq!((looks(&twice).times_back(3), looks(&twice).longest_offline_ns(3, 500)), (1, 400));
    }

    #[test]
    fn who_was_never_there_or_always_did_not_change() {
        assert!(changed(&[(100, "0-2"), (200, "0-2")], 400).is_empty());
        assert!(changed(&[(100, "0-3,9"), (200, "0-3")], 400).is_empty(), "CPU 9 is not looked for");
        let never = looks(&[(100, "0-2"), (200, "0-2")]);
        assert_eq!(never.ever_online().to_string(), "0-2");
        assert_eq!(looks(&[]).ever_online().to_string(), "0-3", "nothing could be read");
        assert!(looks(&[]).missing().is_some_and(|missing| missing.fact.contains("offline")));
    }
}
