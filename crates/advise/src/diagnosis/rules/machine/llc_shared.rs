//! Others use the last-level cache of a server that misses it, while another one is idle.

use std::collections::BTreeSet;

use machine::wording::{per_second, percent, plural};
use machine::{CpuSet, Missing};
use probe::Busy;

use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::last_level_caches::LastLevel;
use crate::diagnosis::rules::{About, Costs, Looked, Rule};
use crate::diagnosis::scene::Scene;

/// The rule `llc-shared`.
pub struct LlcShared;

/// Others are busy if they use at least this many CPUs.
const BUSY_CPUS: f64 = 0.5;
/// A cache is idle if its CPUs are, for at least this share of the window.
const IDLE: f64 = 0.9;
/// What a miss takes at most, ns: a load from memory that nothing overlaps. It decides whether misses may matter, and is no measured cost.
const MISS_NS: f64 = 80.0;
/// Misses matter if they would take at least this share of the server's CPU time at that cost.
const MATTERS: f64 = 0.05;

static ABOUT: About = About {
    id: "llc-shared",
    title: "shared last-level cache",
    costs: Costs::OwnTime,
    docs: "Other tasks are busy on CPUs that share the last-level cache with the server, the server misses in that cache, and another last-level \
           cache of the same node is idle: if they were separated, each would have a cache of its own. The kernel does not report who causes whose \
           misses, so the cause is only possible. A study with and without the neighbour decides, or the server's misses after the neighbour was \
           moved. It is reported only if misses were counted (PMU) and would take 5 % of the server's CPU time if nothing overlapped them: a server \
           that does not miss loses nothing. Look-alikes: a machine with a single last-level cache, or with private ones of level 2, behind which \
           there may be one that the kernel does not list; CPUs whose last cache is of a lower level than that of others (LP-E cores), where the \
           rule cannot tell; clients on the same cache, which gain from sharing it; an idle cache on another node, which is farther from memory \
           (memory-node); one whose CPUs are isolated; a process of many threads that run elsewhere (what others had of the CPUs is counted, whose \
           it was is not); a server on several caches; a busy hyper-thread, which is on the same core (smt-sibling). *Not verified on hardware.*",
};

impl Rule for LlcShared {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn examine(&self, scene: &Scene<'_>) -> Looked {
        let last = LastLevel::of(scene);
        if let Some(missing) = last.why_not(scene, &ABOUT) {
            return Looked::CannotTell(missing);
        }
        if !last.are_several(scene) {
            return Looked::DoesNotApply;
        }
        let mut own = last.caches.iter().filter(|cache| !cache.intersection(&scene.time.cpus).is_empty());
        let (Some(own), None) = (own.next(), own.next()) else { return Looked::Fine };
        let neighbours = neighbours(scene, own);
        let in_all: f64 = neighbours.iter().map(|busy| busy.cpus).sum();
        let busy = in_all.min(used_by_others(scene, own).unwrap_or(own.len() as f64));
        let Some((idle, first)) = idle_cache(scene, &last.caches, own).zip(neighbours.first().copied())
        else {
            return Looked::Fine;
        };
        if busy < BUSY_CPUS {
            return Looked::Fine;
        }
        let Some(misses) = scene.situation.work.and_then(|work| work.cache_misses) else {
            let why = format!(
                "other tasks are busy on the server's last-level cache (CPUs {own}) and the cache of CPUs {idle} is idle, but the server's cache misses were not counted"
            );
            return Looked::CannotTell(Missing::new(ABOUT.title, why));
        };
        let share = if scene.time.on_cpu_ns > 0.0 { misses * MISS_NS / scene.time.on_cpu_ns } else { 0.0 };
        if share < MATTERS {
            return Looked::Fine;
        }
        let cause = cause(scene, &Found { own, idle, first, busy, misses, share });
        Looked::Found(vec![last.remarked(scene, cause)])
    }
}

/// The figures of a cause.
struct Found<'a> {
    own: &'a CpuSet,
    idle: &'a CpuSet,
    first: &'a Busy,
    busy: f64,
    misses: f64,
    share: f64,
}

fn cause(scene: &Scene<'_>, found: &Found<'_>) -> Cause {
    let Found { own, idle, first, busy, misses, share } = found;
    let per_s = if scene.situation.window_s > 0.0 { misses / scene.situation.window_s } else { 0.0 };
    let claim = format!(
        "Other tasks use {busy:.1} of the CPUs that share the server's last-level cache ({} {own}), while the cache of {} {idle} is idle",
        plural("CPU", own.len()),
        plural("CPU", idle.len())
    );
    let name = format!("{} (process {})", first.comm, first.pid);
    Cause::possible(ABOUT.id, Subject::Process { pid: first.pid }, claim)
        .because(format!(
            "the first thread of {name} ran there last, and all its threads use {:.2} CPUs, here and elsewhere",
            first.cpus
        ))
        .because(format!(
            "the server misses in that cache {}: at {MISS_NS:.0} ns each, that is at most {} of its CPU time",
            per_second(per_s),
            percent(share.min(1.0))
        ))
        .figure("others_cpus", *busy)
        .figure("cache_misses_per_s", per_s)
        .figure("misses_share_at_most", share.min(1.0))
        .remedy(away(&name, first, idle))
}

/// To move a neighbour to the idle cache, if that has room for all that it does.
fn away(name: &str, neighbour: &Busy, idle: &CpuSet) -> Remedy {
    let cpus = format!("{} {idle}", plural("CPU", idle.len()));
    if neighbour.cpus > idle.len() as f64 {
        return Remedy::by_hand(format!(
            "Keep {name} off the server's cache (knob process-affinity): it uses more CPUs than the idle one has ({cpus}), so that it needs others too"
        ));
    }
    let words = format!("Move {name} to {cpus}, and check whether the server's cache misses fall");
    Remedy::set(words, "process-affinity", neighbour.pid, idle)
}

/// How many CPUs of a cache others than the server used, its clients included; `None` where that is not known.
fn used_by_others(scene: &Scene<'_>, cache: &CpuSet) -> Option<f64> {
    let share = |cpu| scene.cpu(cpu).and_then(|seen| seen.share_of_online(seen.other_ns));
    cache.iter().map(share).sum()
}

/// Other processes that were busy on these CPUs, the busiest first: neither the server, nor its clients, nor pinwise.
fn neighbours<'a>(scene: &Scene<'a>, own: &CpuSet) -> Vec<&'a Busy> {
    let situation = scene.situation;
    let is_other = |busy: &&Busy| {
        scene.is_another(busy)
            && !situation.is_client(busy.pid)
            && busy.last_cpu.is_some_and(|cpu| own.contains(cpu))
    };
    situation.busy.iter().filter(is_other).collect()
}

/// A cache of the server's node whose CPUs were idle, and are not isolated for others.
fn idle_cache<'a>(scene: &Scene<'_>, caches: &'a BTreeSet<CpuSet>, own: &CpuSet) -> Option<&'a CpuSet> {
    let node_of = |cpus: &CpuSet| scene.situation.machine.cpu(cpus.first()?)?.node;
    let isolated = scene.isolated();
    let is_near = |cache: &&CpuSet| *cache != own && node_of(cache) == node_of(own);
    let is_free = |cache: &&CpuSet| cache.intersection(&isolated).is_empty();
    caches.iter().filter(is_near).filter(is_free).find(|cache| {
        let idle: Option<f64> = cache.iter().map(|cpu| scene.idle_share(cpu)).sum();
        idle.is_some_and(|idle| idle >= IDLE * cache.len() as f64)
    })
}

#[cfg(test)]
mod tests {
    use machine::processes::Peer;
    use machine::topology::caches::{Cache, CacheType};
    use probe::Situation;
    use probe::account::CpuAccount;
    use probe::pmu::Work;

    use super::*;
    use crate::diagnosis::situation_builder::{SECOND, situation};

    /// Four CPUs, two to a cache. The server is on CPU 1, a hog on CPU 0, and it misses so often.
    fn beside_a_hog(misses: f64) -> Situation {
        let mut seen = situation();
        let cpu = seen.machine.cpus[0].clone();
        seen.machine.cpus.extend([2, 3].map(|id| machine::topology::cpus::Cpu { id, ..cpu.clone() }));
        let cache = |cpus: &str| Cache {
            level: 3,
            kind: CacheType::Unified,
            bytes: None,
            cpus: CpuSet::from_list(cpus).unwrap(),
        };
        seen.machine.caches = vec![cache("0-1"), cache("2-3")];
        let idle = |cpu| CpuAccount { cpu, wall_ns: SECOND, idle_ns: SECOND, ..CpuAccount::default() };
        let account = seen.account.as_mut().unwrap();
        account.cpus.extend([idle(2), idle(3)]);
        (account.cpus[0].other_ns, account.cpus[0].idle_ns) = (SECOND, 0);
        seen.busy = vec![Busy { pid: 7, comm: "hog".into(), cpus: 1.0, last_cpu: Some(0) }];
        seen.work =
            Some(Work { instructions: 1e9, cycles: 1e9, cache_misses: Some(misses), counted_share: 1.0 });
        seen
    }

    fn look(situation: &Situation) -> Looked {
        LlcShared.examine(&Scene::of(situation).unwrap())
    }

    #[test]
    fn a_hog_on_the_cache_of_a_server_that_misses_it_is_possible() {
        let Looked::Found(causes) = look(&beside_a_hog(1e6)) else { panic!("not found") };
        assert_eq!((causes[0].id.to_string().as_str(), causes[0].share), ("llc-shared/process:7", None));
        assert_eq!(causes[0].remedies[0].setting.as_ref().map(|setting| setting.value.as_str()), Some("2-3"));
    }

    #[test]
    fn a_server_that_does_not_miss_and_a_neighbour_that_is_no_other_are_fine() {
        assert_eq!(look(&beside_a_hog(1e3)), Looked::Fine);
        let mut client = beside_a_hog(1e6);
        client.connections.peers = vec![Peer { pid: 7, comm: "hog".into(), connections: 1 }];
        assert_eq!(look(&client), Looked::Fine);
        let mut own = beside_a_hog(1e6);
        own.pids.push(7);
        assert_eq!(look(&own), Looked::Fine);
        let mut elsewhere = beside_a_hog(1e6);
        elsewhere.busy[0].last_cpu = Some(2);
        assert_eq!(look(&elsewhere), Looked::Fine);
    }

    #[test]
    fn a_process_whose_threads_run_elsewhere_is_not_said_to_use_more_cpus_than_there_are() {
        let mut wide = beside_a_hog(1e6);
        wide.busy[0].cpus = 6.0;
        let Looked::Found(causes) = look(&wide) else { panic!("not found") };
        assert!(causes[0].claim.starts_with("Other tasks use 1.0 of the CPUs"), "{causes:?}");
        assert_eq!(causes[0].remedies[0].setting, None, "the idle cache has two CPUs");
        let cpus = &mut wide.account.as_mut().unwrap().cpus;
        (cpus[0].other_ns, cpus[0].idle_ns) = (0, SECOND);
        assert_eq!(look(&wide), Looked::Fine, "nobody ran there");
    }

    #[test]
    fn a_cache_whose_cpus_are_isolated_is_not_free() {
        let mut seen = beside_a_hog(1e6);
        seen.machine.kernel.isolated = Some(CpuSet::from_list("2-3").unwrap());
        assert_eq!(look(&seen), Looked::Fine);
    }

    #[test]
    fn one_cache_a_busy_one_and_one_of_another_node_are_no_way_out() {
        let mut one = beside_a_hog(1e6);
        one.machine.caches[0].cpus = CpuSet::from_list("0-3").unwrap();
        one.machine.caches.truncate(1);
        assert_eq!(look(&one), Looked::DoesNotApply);
        let mut busy = beside_a_hog(1e6);
        busy.account.as_mut().unwrap().cpus[2].idle_ns = SECOND / 2;
        assert_eq!(look(&busy), Looked::Fine);
        let mut far = beside_a_hog(1e6);
        far.machine.cpus.iter_mut().for_each(|cpu| cpu.node = Some(cpu.id / 2));
        assert_eq!(look(&far), Looked::Fine);
        let mut on_both = beside_a_hog(1e6);
        on_both.account.as_mut().unwrap().cpus[2].target_ns = SECOND / 2;
        assert_eq!(look(&on_both), Looked::Fine);
    }

    #[test]
    fn facts_that_are_missing_or_odd() {
        let mut uncounted = beside_a_hog(1e6);
        uncounted.work = None;
        assert!(matches!(look(&uncounted), Looked::CannotTell(_)));
        uncounted.machine.caches.clear();
        assert_eq!(look(&uncounted), Looked::DoesNotApply, "no cache is known");
        let mut unseen = beside_a_hog(1e6);
        unseen.account.as_mut().unwrap().cpus.truncate(2);
        assert_eq!(look(&unseen), Looked::Fine, "whether the other cache is idle is not known");
        let _ = look(&beside_a_hog(f64::INFINITY));
        let _ = look(&beside_a_hog(f64::NAN));
    }

    #[test]
    fn a_cache_of_a_lower_level_is_no_place_to_move_to() {
        let mut hybrid = beside_a_hog(1e6);
        hybrid.machine.caches[1].level = 2;
        assert_eq!(look(&hybrid), Looked::DoesNotApply, "CPUs 2 and 3 are LP-E cores");
        hybrid.machine.caches[1].level = 3;
        hybrid.machine.caches[0].level = 2;
        assert!(matches!(look(&hybrid), Looked::CannotTell(_)), "it is on such cores itself");
    }
}
