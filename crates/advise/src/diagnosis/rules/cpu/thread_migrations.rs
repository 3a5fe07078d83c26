//! The scheduler moves the server's threads from cache to cache.

use machine::Missing;
use machine::wording::per_second;
use probe::account::{Migrations, ThreadAccount};

use crate::diagnosis::cause::{Cause, Remedy, Subject};
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
           where it is. The scheduler moves threads because their CPUs are taken: look first at who else runs (busy-task, own-threads).",
};

/// Fewer migrations a second than this are normal for a server that sleeps a lot.
const LEAST_PER_S: f64 = 100.0;

/// Migrations that leave the last-level cache.
fn far(migrations: &Migrations) -> u64 {
    migrations.same_node.saturating_add(migrations.across_nodes)
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
        let count = sum(&|thread| far(&thread.migrations));
        let unknown = sum(&|thread| thread.migrations.unknown);
        // A refill takes no longer than the thread then runs for.
        let slices = sum(&|thread| thread.on_cpu.count).max(1);
        let refill_ns = REFILL_NS.min(scene.time.on_cpu_ns / slices as f64);
        let may_matter = |count: u64| {
            scene.per_s(count) >= LEAST_PER_S && scene.time.share(count as f64 * refill_ns) >= MATTERS
        };
        if !may_matter(count) {
            return match may_matter(unknown) {
                true => {
                    let why = "threads migrate, but which CPUs share a cache is not known";
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
        if let Some(most) = account.threads.iter().max_by_key(|thread| far(&thread.migrations)) {
            let times = scene.per_s(far(&most.migrations));
            cause = cause.because(format!(
                "thread {} ({}) moves most often, {}",
                most.comm,
                most.tid,
                per_second(times)
            ));
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
