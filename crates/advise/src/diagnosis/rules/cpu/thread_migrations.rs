//! The scheduler moves the server's threads from cache to cache.

use machine::Missing;
use machine::wording::per_second;
use probe::account::{Migrations, ThreadAccount};

use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::last_level_caches::last_level_caches;
use crate::diagnosis::rules::{About, Costs, Looked, Rule};
use crate::diagnosis::scene::{MATTERS, Scene};

/// The rule `thread-migrations`.
pub struct ThreadMigrations;

/// Time to refill a cache, ns: 1 MiB takes about 50 us at the 20 GB/s at which a CPU reads memory. It decides from when on migrations may
/// matter; it is not a measured cost.
const REFILL_NS: f64 = 50_000.0;

static ABOUT: About = About {
    id: "thread-migrations",
    title: "migrations",
    costs: Costs::OwnTime,
    docs: "The scheduler moves threads of the server to another last-level cache or NUMA node many times a second, and each time they \
           find none of their data in the cache. The server then does less in the same CPU time. What that costs depends on how much it keeps \
           in the cache: it is reported (as possible) if refilling 1 MiB each time would take 1 % of the server's time. Look-alikes: moves \
           between CPUs that share the last-level cache, which are cheap and are not counted; memory on another node (memory-node), which stays \
           where it is; a guest, whose caches are what the hypervisor shows: if it shows each CPU one of its own, the rule cannot tell. The scheduler \
           moves threads because their CPUs are taken: look first at who else runs (busy-task, own-threads).",
};

/// Fewer migrations a second than this are normal for a server that sleeps a lot.
const LEAST_PER_S: f64 = 100.0;

/// Migrations that leave the last-level cache, and those of which that is not known.
fn far(migrations: &Migrations, are_caches_known: bool) -> (u64, u64) {
    let Migrations { same_node, across_nodes, unknown, .. } = *migrations;
    match are_caches_known {
        true => (same_node.saturating_add(across_nodes), unknown),
        false => (across_nodes, unknown.saturating_add(same_node)),
    }
}

/// Whether this is a guest.
fn is_guest(scene: &Scene<'_>) -> bool {
    scene.situation.machine.virtualization.guest == Some(true)
}

/// Not in a guest that is shown a cache for each CPU: hypervisors show that where nobody told them what to show, whatever the host has.
fn are_caches_known(scene: &Scene<'_>) -> bool {
    let caches = last_level_caches(&scene.situation.machine, &scene.situation.online());
    !is_guest(scene) || caches.is_empty() || caches.iter().any(|cache| cache.len() > 1)
}

impl Rule for ThreadMigrations {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn examine(&self, scene: &Scene<'_>) -> Looked {
        if scene.allowed().len() < 2 {
            return Looked::DoesNotApply;
        }
        let Some(account) = &scene.situation.account else { return Looked::needs_account(&ABOUT) };
        let sum =
            |of: &dyn Fn(&ThreadAccount) -> u64| account.threads.iter().map(of).fold(0, u64::saturating_add);
        let is_known = are_caches_known(scene);
        let far = |thread: &ThreadAccount| far(&thread.migrations, is_known);
        let (count, unknown) = (sum(&|thread| far(thread).0), sum(&|thread| far(thread).1));
        // A refill takes no longer than the thread then runs for.
        let slices = sum(&|thread| thread.on_cpu.count).max(1);
        let refill_ns = REFILL_NS.min(scene.time.on_cpu_ns / slices as f64);
        let may_matter = |count: u64| {
            scene.per_s(count) >= LEAST_PER_S && scene.time.share(count as f64 * refill_ns) >= MATTERS
        };
        if !may_matter(count) {
            return match may_matter(unknown) {
                true => {
                    let why = match is_known {
                        true => "threads migrate, but which CPUs share a cache is not known",
                        false => {
                            "threads migrate, but this guest is shown a last-level cache for each CPU: which of them share one on the host is not known"
                        }
                    };
                    Looked::CannotTell(Missing::new(ABOUT.title, why))
                }
                false => Looked::Fine,
            };
        }
        let nodes = sum(&|thread| thread.migrations.across_nodes);
        let between =
            if nodes.saturating_mul(2) >= count { "NUMA node to NUMA node" } else { "cache to cache" };
        let per_s = scene.per_s(count);
        let claim = format!("The scheduler moves the server's threads from {between}, {}", per_second(per_s));
        let mut cause = Cause::possible(ABOUT.id, Subject::Server, claim)
            .figure("far_migrations_per_s", per_s)
            .figure("node_migrations_per_s", scene.per_s(nodes));
        if let Some(most) = account.threads.iter().max_by_key(|thread| far(thread).0) {
            let times = scene.per_s(far(most).0);
            cause = cause.because(format!(
                "thread {} ({}) moves most often, {}",
                most.comm,
                most.tid,
                per_second(times)
            ));
        }
        if is_guest(scene) {
            cause = cause.because("this is a guest: caches and nodes are what the hypervisor shows");
        }
        cause = cause.remedy(Remedy::by_hand(
            "Measure it: pinwise study compares the server on the CPUs of one cache or node with all of them (knobs process-affinity, cpuset)",
        ));
        Looked::Found(vec![cause])
    }
}

#[cfg(test)]
mod tests {
    use machine::CpuSet;
    use machine::topology::caches::{Cache, CacheType};
    use probe::Situation;

    use super::*;
    use crate::diagnosis::Certainty;
    use crate::diagnosis::situation_builder::situation;

    /// A server that may use both CPUs, with these migrations.
    fn migrating(migrations: Migrations) -> Situation {
        let mut situation = situation();
        situation.server.processes[0].threads[0].cpus = Some([0, 1].into_iter().collect());
        situation.account.as_mut().unwrap().threads[0].migrations = migrations;
        situation
    }

    fn look(situation: &Situation) -> Looked {
        ThreadMigrations.examine(&Scene::of(situation).unwrap())
    }

    #[test]
    fn moves_between_caches_and_nodes_are_possible_causes() {
        let caches = migrating(Migrations { same_node: 1_000, ..Migrations::default() });
        let Looked::Found(causes) = look(&caches) else { panic!("not found") };
        assert_eq!((causes[0].certainty, causes[0].share), (Certainty::Possible, None));
        assert!(causes[0].claim.contains("cache to cache, 1,000/s"), "{causes:?}");
        let nodes = migrating(Migrations { across_nodes: 1_000, ..Migrations::default() });
        let Looked::Found(causes) = look(&nodes) else { panic!("not found") };
        assert!(causes[0].claim.contains("NUMA node to NUMA node"), "{causes:?}");
    }

    #[test]
    fn hops_within_a_cache_and_rare_ones_are_fine() {
        let near =
            Migrations { same_core: 50_000, same_cache: 50_000, same_node: 3, ..Migrations::default() };
        assert_eq!(look(&migrating(near)), Looked::Fine);
        assert_eq!(look(&migrating(Migrations { same_node: 100, ..Migrations::default() })), Looked::Fine);
    }

    #[test]
    fn a_guest_that_is_shown_a_cache_for_each_cpu_cannot_tell() {
        let guest = |caches: &[&str], migrations| {
            let mut seen = migrating(migrations);
            seen.machine.virtualization.guest = Some(true);
            let cache = |cpus: &&str| Cache {
                level: 3,
                kind: CacheType::Unified,
                bytes: None,
                cpus: CpuSet::from_list(cpus).unwrap(),
            };
            seen.machine.caches = caches.iter().map(cache).collect();
            look(&seen)
        };
        let moves = Migrations { same_node: 1_000, ..Migrations::default() };
        assert!(matches!(guest(&["0", "1"], moves), Looked::CannotTell(_)));
        let Looked::Found(causes) = guest(&["0-1"], moves) else { panic!("not found") };
        assert!(causes[0].evidence.iter().any(|line| line.contains("guest")), "{causes:?}");
        let nodes = Migrations { across_nodes: 1_000, ..Migrations::default() };
        assert!(matches!(guest(&["0", "1"], nodes), Looked::Found(_)), "nodes are shown on purpose");
    }

    #[test]
    fn facts_that_are_missing_or_odd() {
        let unknown = migrating(Migrations { unknown: 1_000, ..Migrations::default() });
        assert!(matches!(look(&unknown), Looked::CannotTell(_)));
        let mut pinned = migrating(Migrations { same_node: 1_000, ..Migrations::default() });
        pinned.server.processes[0].threads[0].cpus = Some(CpuSet::single(1));
        assert_eq!(look(&pinned), Looked::DoesNotApply);
        let most = u64::MAX;
        let huge = Migrations { same_node: most, across_nodes: most, ..Migrations::default() };
        assert!(matches!(look(&migrating(huge)), Looked::Found(_)));
        let mut counted = migrating(huge);
        let time = Scene::of(&counted).unwrap().time;
        counted.account = None;
        let scene = Scene { situation: &counted, time };
        assert!(matches!(ThreadMigrations.examine(&scene), Looked::CannotTell(_)));
    }
}
