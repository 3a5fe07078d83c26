//! Last-level caches, as rules compare where threads run.

use std::collections::BTreeSet;

use machine::{CpuSet, Machine, Missing};

use super::rule::About;
use crate::diagnosis::cause::Cause;
use crate::diagnosis::scene::Scene;

/// The last-level caches that online CPUs use, each as the online CPUs that share it.
pub(super) fn last_level_caches(machine: &Machine, online: &CpuSet) -> BTreeSet<CpuSet> {
    online.iter().filter_map(|cpu| Some(machine.last_level_cache(cpu)?.cpus.intersection(online))).collect()
}

/// The last-level caches of a machine, as far as they can be compared.
pub(super) struct LastLevel {
    /// Their level: the highest that any online CPU has.
    level: u32,
    /// Each as the online CPUs that share it.
    pub(super) caches: BTreeSet<CpuSet>,
    /// Online CPUs that have caches of lower levels alone, such as the LP-E cores of a hybrid.
    without: CpuSet,
}

impl LastLevel {
    pub(super) fn of(scene: &Scene<'_>) -> Self {
        let online = scene.situation.online();
        let last = |cpu: u32| Some((cpu, scene.situation.machine.last_level_cache(cpu)?));
        let known: Vec<_> = online.iter().filter_map(last).collect();
        let level = known.iter().map(|(_, cache)| cache.level).max().unwrap_or_default();
        let (of_it, others): (Vec<_>, Vec<_>) =
            known.into_iter().partition(|(_, cache)| cache.level == level);
        Self {
            level,
            caches: of_it.into_iter().map(|(_, cache)| cache.cpus.intersection(&online)).collect(),
            without: others.into_iter().map(|(cpu, _)| cpu).collect(),
        }
    }

    /// Whether there are several, and cores share them. Caches of one core each count from level 3 on and on hardware only: behind those of level 2
    /// there is mostly one that the kernel does not list (system-level caches of arm64), and a hypervisor may invent one for each virtual CPU.
    pub(super) fn are_several(&self, scene: &Scene<'_>) -> bool {
        let machine = &scene.situation.machine;
        let is_private = |cache: &CpuSet| {
            let core = cache.first().and_then(|cpu| machine.cpu(cpu)?.siblings.as_ref());
            core.map_or(cache.len() == 1, |core| cache.is_subset(core))
        };
        let may_be_private = self.level > 2 && machine.virtualization.guest != Some(true);
        self.caches.len() > 1 && (may_be_private || !self.caches.iter().all(is_private))
    }

    /// Why caches cannot be compared where the server runs; `None` if they can.
    pub(super) fn why_not(&self, scene: &Scene<'_>, about: &About) -> Option<Missing> {
        let off = self.without.intersection(&scene.time.cpus);
        (!off.is_empty()).then(|| {
            let why = format!(
                "it runs on CPUs ({off}) that have no cache of level {}, as others have: what lies behind theirs is not reported",
                self.level
            );
            Missing::new(about.title, why)
        })
    }

    /// The cause with what keeps it from being sure that these are separate last-level caches.
    pub(super) fn remarked(&self, scene: &Scene<'_>, cause: Cause) -> Cause {
        let cause = match self.level > 2 {
            true => cause,
            false => cause.because(format!(
                "the kernel lists no cache above level {}: one of the whole system would not be listed",
                self.level
            )),
        };
        match scene.situation.machine.virtualization.guest {
            Some(true) => cause.because("in a guest, caches are what the hypervisor presents"),
            _ => cause,
        }
    }
}
