//! Threads of the server that wake each other are spread over several last-level caches, although one has room for them.

use std::collections::BTreeSet;

use machine::wording::{per_second, plural};
use machine::{CpuSet, Missing};
use probe::account::{Account, Waker, WakerContext};

use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::last_level_caches::LastLevel;
use crate::diagnosis::rules::{About, Costs, Looked, Rule};
use crate::diagnosis::scene::Scene;

/// The rule `llc-split`.
pub struct LlcSplit;

/// Fewer wake-ups of its threads by each other across CPUs, a second, do not matter: each hands something over, and fetching a few lines from
/// another cache takes about a microsecond more, which is 1 % of a CPU at this rate.
const MANY_PER_S: f64 = 10_000.0;
/// A cache has room if the server wants at most this share of its CPUs.
const ROOM: f64 = 0.75;

static ABOUT: About = About {
    id: "llc-split",
    title: "split over last-level caches",
    costs: Costs::OwnTime,
    docs: "Threads of the server run on CPUs of several last-level caches and often wake each other across CPUs, although one of these caches has \
           enough CPUs for all of them. What one thread writes for the next may then have to come from another cache, which between chiplets of \
           one socket takes as long as from memory. It is not counted which wake-ups cross caches, and the cost is not seen, so the cause is only \
           possible: a study with the server within one cache and over all of them decides. A cache has room by those of its CPUs that the cpuset \
           of the server allows and that are not isolated. Look-alikes: a server whose threads do not wake each other, which gains from the room of \
           several caches (wake-ups are counted by who caused them); one that wants more CPUs than a cache has; threads that the scheduler moves (migrations); private caches of level 2, behind which there may be one that the kernel does not list. \
           If it was not counted who woke the threads, or the server runs on CPUs whose last cache is of a lower level than that of others (LP-E \
           cores), the rule cannot tell. *Not verified on hardware.*",
};

impl Rule for LlcSplit {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn examine(&self, scene: &Scene<'_>) -> Looked {
        let last = LastLevel::of(scene);
        if scene.time.threads < 2 {
            return Looked::DoesNotApply;
        }
        if let Some(missing) = last.why_not(scene, &ABOUT) {
            return Looked::CannotTell(missing);
        }
        if !last.are_several(scene) {
            return Looked::DoesNotApply;
        }
        let Some(account) = &scene.situation.account else { return Looked::needs_account(&ABOUT) };
        let own: Vec<&CpuSet> =
            last.caches.iter().filter(|cache| !cache.intersection(&scene.time.cpus).is_empty()).collect();
        let wanted = scene.time.in_cpus(scene.time.active_ns());
        let Some(room) = Room::of(scene, &own, wanted) else { return Looked::Fine };
        if own.len() < 2 {
            return Looked::Fine;
        }
        if account.threads.iter().all(|thread| thread.wakers.is_empty()) {
            let why = format!(
                "it runs on {} last-level caches, but it was not counted who woke its threads",
                own.len()
            );
            return Looked::CannotTell(Missing::new(ABOUT.title, why));
        }
        let per_s = scene.per_s(woken_by_each_other(account));
        if per_s < MANY_PER_S {
            return Looked::Fine;
        }
        Looked::Found(vec![last.remarked(scene, cause(&own, &room, wanted, per_s))])
    }
}

/// Where the server would fit into one cache.
struct Room {
    /// CPUs of that cache that it may use.
    cpus: CpuSet,
    /// Those of them that its affinity leaves out.
    beyond_affinity: CpuSet,
}

impl Room {
    /// In the cache of which it may use most CPUs, if they are enough. An affinity can be changed, so that it counts only if it leaves room.
    fn of(scene: &Scene<'_>, own: &[&CpuSet], wanted: f64) -> Option<Self> {
        let (reach, affinity) = (reach(scene), scene.allowed_to_working());
        let within = |limit: &CpuSet| {
            let parts = own.iter().map(|cache| cache.intersection(limit));
            parts.filter(|cpus| wanted <= ROOM * cpus.len() as f64).max_by_key(CpuSet::len)
        };
        let cpus = within(&reach.intersection(&affinity)).or_else(|| within(&reach))?;
        // Of a ring it is not known which CPUs the server may use.
        let known = if scene.situation.account_alone { &cpus } else { &affinity };
        let beyond_affinity = cpus.difference(known);
        Some(Self { cpus, beyond_affinity })
    }
}

/// CPUs that all cpusets of the server allow, without those that are isolated and that it does not use.
fn reach(scene: &Scene<'_>) -> CpuSet {
    let allowed = scene.within_cpusets(&scene.situation.online());
    allowed.difference(&scene.isolated().difference(&scene.time.cpus))
}

/// Wake-ups of the server's threads by other threads of its own, from other CPUs than they were woken onto.
fn woken_by_each_other(account: &Account) -> u64 {
    let pids: BTreeSet<u32> = account.threads.iter().map(|thread| thread.pid).collect();
    let is_own = |waker: &&Waker| {
        waker.elsewhere
            && waker.context == WakerContext::Task
            && waker.pid.is_some_and(|pid| pids.contains(&pid))
    };
    let wakers = account.threads.iter().flat_map(|thread| &thread.wakers).filter(is_own);
    wakers.fold(0, |sum, waker| sum.saturating_add(waker.count))
}

fn cause(own: &[&CpuSet], room: &Room, wanted: f64, per_s: f64) -> Cause {
    let names: Vec<String> = own.iter().map(|cache| cache.to_string()).collect();
    let claim = format!(
        "Its threads wake each other across CPUs ({}) and run on {} last-level caches, although one has room for the {wanted:.1} CPUs that they want",
        per_second(per_s),
        own.len()
    );
    let words = format!(
        "Measure it: pinwise study with the server on {} {} and on the CPUs of all these caches that it may use (a factor of kind places)",
        plural("CPU", room.cpus.len()),
        room.cpus
    );
    let cause = Cause::possible(ABOUT.id, Subject::Server, claim)
        .because(format!("the CPUs of these caches: {}", names.join(" and ")))
        .figure("caches", own.len() as f64)
        .figure("wanted_cpus", wanted)
        .figure("woken_by_own_elsewhere_per_s", per_s)
        .remedy(Remedy::by_hand(words));
    match room.beyond_affinity.is_empty() {
        true => cause,
        false => cause.because(format!(
            "its affinity leaves out {} {} of that cache, which may be reserved for something else",
            plural("CPU", room.beyond_affinity.len()),
            room.beyond_affinity
        )),
    }
}

#[cfg(test)]
mod tests {
    use machine::topology::caches::{Cache, CacheType};
    use machine::topology::cpus::Cpu;
    use probe::Situation;
    use probe::account::{CpuAccount, ThreadAccount};

    use super::*;
    use crate::diagnosis::situation_builder::{SECOND, situation};

    /// Eight CPUs, four to a cache. Two threads, on CPUs 1 and 4, wake each other so often a second.
    fn split(wakes: u64) -> Situation {
        let mut seen = situation();
        let cpu = seen.machine.cpus[0].clone();
        seen.machine.cpus.extend((2..8).map(|id| Cpu { id, ..cpu.clone() }));
        let cache = |cpus: &str| Cache {
            level: 3,
            kind: CacheType::Unified,
            bytes: None,
            cpus: CpuSet::from_list(cpus).unwrap(),
        };
        seen.machine.caches = vec![cache("0-3"), cache("4-7")];
        seen.server.processes[0].threads[0].cpus = None;
        let account = seen.account.as_mut().unwrap();
        let busy = CpuAccount { cpu: 4, target_ns: SECOND / 2, ..account.cpus[1].clone() };
        account.cpus.push(busy);
        let waker = Waker { pid: Some(100), elsewhere: true, count: wakes / 2, ..Waker::default() };
        account.threads[0].wakers = vec![waker];
        let other = ThreadAccount { tid: 101, last_cpu: 4, ..account.threads[0].clone() };
        account.threads.push(other);
        seen
    }

    fn look(situation: &Situation) -> Looked {
        LlcSplit.examine(&Scene::of(situation).unwrap())
    }

    #[test]
    fn threads_that_wake_each_other_on_two_caches_are_possible() {
        let Looked::Found(causes) = look(&split(20_000)) else { panic!("not found") };
        assert_eq!((causes[0].id.to_string().as_str(), causes[0].share), ("llc-split/server", None));
        assert!(causes[0].evidence[0].ends_with("0-3 and 4-7"), "{causes:?}");
    }

    #[test]
    fn threads_that_seldom_wake_each_other_or_that_others_wake_are_fine() {
        assert_eq!(look(&split(1_000)), Looked::Fine);
        let mut by_client = split(20_000);
        let threads = &mut by_client.account.as_mut().unwrap().threads;
        threads.iter_mut().flat_map(|thread| &mut thread.wakers).for_each(|waker| waker.pid = Some(7));
        assert_eq!(look(&by_client), Looked::Fine);
        let mut here = split(20_000);
        let threads = &mut here.account.as_mut().unwrap().threads;
        threads.iter_mut().flat_map(|thread| &mut thread.wakers).for_each(|waker| waker.elsewhere = false);
        assert_eq!(look(&here), Looked::Fine);
    }

    #[test]
    fn one_cache_and_one_too_small_are_no_split() {
        let mut one = split(20_000);
        one.machine.caches[0].cpus = CpuSet::from_list("0-7").unwrap();
        one.machine.caches.truncate(1);
        assert_eq!(look(&one), Looked::DoesNotApply);
        let mut within = split(20_000);
        within.account.as_mut().unwrap().cpus[2].target_ns = 0;
        assert_eq!(look(&within), Looked::Fine);
        let mut small = split(20_000);
        small.machine.caches = small
            .machine
            .caches
            .iter()
            .flat_map(|cache| {
                cache.cpus.iter().map(|cpu| Cache { cpus: CpuSet::single(cpu), ..cache.clone() })
            })
            .collect();
        assert_eq!(look(&small), Looked::Fine, "no cache has room");
    }

    #[test]
    fn room_is_what_cpusets_and_isolation_leave_of_a_cache() {
        let advised = |seen: &Situation| match look(seen) {
            Looked::Found(mut causes) => causes.remove(0),
            other => panic!("{other:?}"),
        };
        let words = |seen: &Situation| advised(seen).remedies[0].words.clone();
        let mut seen = split(20_000);
        seen.server.processes[0].cpuset_cpus = CpuSet::from_list("1-5").ok();
        assert!(words(&seen).contains("on CPUs 1-3 and"), "{}", words(&seen));
        seen.machine.kernel.isolated = CpuSet::from_list("2-3").ok();
        assert!(words(&seen).contains("on CPUs 4-5 and"), "{}", words(&seen));
        seen.server.processes[0].cpuset_cpus = CpuSet::from_list("1,4").ok();
        assert_eq!(look(&seen), Looked::Fine, "one CPU of each is no room for 1.2");
        let mut pinned = split(20_000);
        let affinity = |cpus: &str| CpuSet::from_list(cpus).ok();
        pinned.server.processes[0].threads[0].cpus = affinity("1-2,4");
        assert!(words(&pinned).contains("on CPUs 1-2 and"), "{}", words(&pinned));
        pinned.server.processes[0].threads[0].cpus = affinity("1,4");
        let cause = advised(&pinned);
        assert!(cause.evidence[1].contains("leaves out CPUs 5-7"), "{cause:?}");
    }

    #[test]
    fn facts_that_are_missing() {
        let mut without = split(20_000);
        without.machine.caches.clear();
        assert_eq!(look(&without), Looked::DoesNotApply);
        let mut uncounted = split(20_000);
        uncounted.account.as_mut().unwrap().threads.iter_mut().for_each(|thread| thread.wakers.clear());
        assert!(matches!(look(&uncounted), Looked::CannotTell(_)));
    }

    #[test]
    fn private_caches_are_no_split_where_another_level_may_lie_behind_them_or_a_hypervisor_made_them_up() {
        let private = |level: u32, guest: Option<bool>| {
            let mut seen = split(20_000);
            let cache = |cpu| Cache { level, cpus: CpuSet::single(cpu), ..seen.machine.caches[0].clone() };
            seen.machine.caches = (0..8).map(cache).collect();
            seen.machine.virtualization.guest = guest;
            look(&seen)
        };
        assert_eq!(private(2, Some(false)), Looked::DoesNotApply);
        assert_eq!(private(3, Some(true)), Looked::DoesNotApply);
        assert_eq!(private(3, Some(false)), Looked::Fine, "there are such, and none has room here");
    }

    #[test]
    fn what_is_not_sure_of_caches_is_said() {
        let mut guest = split(20_000);
        guest.machine.virtualization.guest = Some(true);
        let Looked::Found(causes) = look(&guest) else { panic!("not found") };
        assert!(causes[0].evidence.iter().any(|line| line.contains("hypervisor presents")), "{causes:?}");
        let mut flat = split(20_000);
        flat.machine.caches.iter_mut().for_each(|cache| cache.level = 2);
        let Looked::Found(causes) = look(&flat) else { panic!("not found") };
        assert!(causes[0].evidence.iter().any(|line| line.contains("above level 2")), "{causes:?}");
    }

    #[test]
    fn cpus_without_the_last_level_of_others_are_not_compared_with_those() {
        let mut hybrid = split(20_000);
        hybrid.machine.caches[1].level = 2;
        let Looked::CannotTell(missing) = look(&hybrid) else { panic!("it runs on CPU 4, too") };
        assert!(missing.why.contains("(4)") && missing.why.contains("level 3"), "{missing:?}");
        hybrid.account.as_mut().unwrap().cpus[2].target_ns = 0;
        assert_eq!(look(&hybrid), Looked::DoesNotApply, "one cache of level 3");
    }
}
