//! The server's cgroup is about to hit its memory limit.

use machine::limits::memory_use::MemoryUse;
use machine::wording::{per_second, percent};

use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::{About, Costs, Looked, Rule};
use crate::diagnosis::scene::Scene;

/// The rule `memory-limit-near`.
pub struct MemoryLimitNear;

/// Anonymous memory, which is not given back as page cache is, is near the limit from this share of it.
const NEAR: f64 = 0.9;

static ABOUT: About = About {
    id: "memory-limit-near",
    title: "memory limit",
    costs: Costs::OwnTime,
    docs: "At least nine tenths of the memory limit of the server's cgroup are used for memory that only swap can take (anonymous memory), and its \
           threads have begun to free memory before they get any. That takes less than 1 % of their time so far; with the next growth it takes more, \
           or swap or the out-of-memory killer follow. Once it costs 1 %, the rules reclaim, swap and page-cache name the limit instead of this one. \
           Look-alike: a cgroup that is full of page cache, as any cgroup that reads files is sooner or later: page cache is given back at once.",
};

/// Reclaims a second below which the limit does not bite.
const FEW_PER_S: f64 = 1.0;

impl Rule for MemoryLimitNear {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn gives_way_to(&self) -> &'static [&'static str] {
        &["swap", "reclaim", "page-cache"]
    }

    fn examine(&self, scene: &Scene<'_>) -> Looked {
        let near = scene.situation.memory.iter().find_map(|memory| Some((memory, near(memory)?)));
        let Some((memory, share)) = near else {
            return if scene.situation.memory.is_empty() { Looked::DoesNotApply } else { Looked::Fine };
        };
        let Some(account) = &scene.situation.account else { return Looked::needs_account(&ABOUT) };
        let times = account.threads.iter().map(|thread| thread.reclaim.count).fold(0, u64::saturating_add);
        // If the whole machine reclaims memory, that is no sign of the limit.
        let global = scene.system_per_s("memory", "allocstall").is_some_and(|per_s| per_s > 0.0);
        if scene.per_s(times) < FEW_PER_S || global {
            return Looked::Fine;
        }
        let mib = |bytes: u64| bytes >> 20;
        let claim = format!(
            "The memory limit of cgroup {} is near: {} of its {} MiB are anonymous memory, which only swap can take",
            memory.cgroup,
            percent(share),
            mib(memory.limit_bytes)
        );
        let cause = Cause::possible(ABOUT.id, Subject::Cgroup { path: memory.cgroup.clone() }, claim)
            .because(format!(
                "its threads have to free memory {}, which costs little so far",
                per_second(scene.per_s(times))
            ))
            .figure("limit_bytes", memory.limit_bytes as f64)
            .figure("anonymous_share", share)
            .figure("reclaims_per_s", scene.per_s(times));
        let words = format!(
            "Raise the limit ({}) before the server grows, or make it keep less in memory",
            memory.file
        );
        Looked::Found(vec![cause.remedy(Remedy::by_hand(words))])
    }
}

/// The share of a limit that is in use for anonymous memory, where that is near it.
fn near(memory: &MemoryUse) -> Option<f64> {
    let share = memory.anonymous_bytes? as f64 / memory.limit_bytes as f64;
    (memory.limit_bytes > 0 && share >= NEAR).then_some(share)
}

#[cfg(test)]
mod tests {
    use probe::Situation;
    use probe::account::Stretches;

    use super::*;
    use crate::diagnosis::diagnose;
    use crate::diagnosis::situation_builder::{SECOND, situation};

    /// A server in a cgroup of 100 MiB, all in use and so many of them anonymous, that freed memory for so long.
    fn limited(anonymous_mib: u64, reclaim_ns: u64) -> Situation {
        let mut situation = situation();
        situation.memory = vec![MemoryUse {
            cgroup: "/db".into(),
            file: "/sys/fs/cgroup/db/memory.max".into(),
            limit_bytes: 100 << 20,
            used_bytes: Some(100 << 20),
            anonymous_bytes: Some(anonymous_mib << 20),
            swapped_bytes: Some(0),
            peak_bytes: None,
            limit_hits: None,
        }];
        let reclaim = Stretches { count: 3, total_ns: reclaim_ns, ..Stretches::default() };
        situation.account.as_mut().unwrap().threads[0].reclaim = reclaim;
        situation
    }

    fn look(situation: &Situation) -> Looked {
        MemoryLimitNear.examine(&Scene::of(situation).unwrap())
    }

    #[test]
    fn memory_that_cannot_be_given_back_near_the_limit() {
        let Looked::Found(causes) = look(&limited(95, SECOND / 1_000)) else { panic!("not found") };
        assert_eq!(
            (causes[0].id.to_string().as_str(), causes[0].share),
            ("memory-limit-near/cgroup:/db", None)
        );
    }

    #[test]
    fn page_cache_and_reclaim_that_bites_are_not_it() {
        assert_eq!(look(&limited(50, SECOND / 1_000)), Looked::Fine, "the rest is page cache");
        let bites = limited(95, SECOND / 10);
        let ids: Vec<String> = diagnose(&bites).causes.iter().map(|cause| cause.id.to_string()).collect();
        assert_eq!(ids, ["reclaim/cgroup:/db"]);
        let mut quiet = limited(95, 0);
        quiet.account.as_mut().unwrap().threads[0].reclaim = Stretches::default();
        assert_eq!(look(&quiet), Looked::Fine, "nothing has to be freed");
    }

    #[test]
    fn facts_that_are_missing_or_odd() {
        assert_eq!(look(&situation()), Looked::DoesNotApply, "no limit");
        let mut unknown = limited(95, 1);
        unknown.memory[0].anonymous_bytes = None;
        assert_eq!(look(&unknown), Looked::Fine);
        let mut nothing = limited(95, 1);
        nothing.memory[0].limit_bytes = 0;
        assert_eq!(look(&nothing), Looked::Fine);
        let mut counted = limited(95, 1);
        let time = Scene::of(&counted).unwrap().time;
        counted.account = None;
        let scene = Scene { situation: &counted, time };
        assert!(matches!(MemoryLimitNear.examine(&scene), Looked::CannotTell(_)));
    }
}
