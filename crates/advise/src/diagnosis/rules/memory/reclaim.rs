//! The server has to free memory before it gets any.

use machine::limits::memory_use::MemoryUse;
use machine::wording::{per_second, percent};

use super::swap::is_full;
use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::{About, Costs, Looked, Rule};
use crate::diagnosis::scene::{MATTERS, Scene};

/// The rule `reclaim`.
pub struct Reclaim;

static ABOUT: About = About {
    id: "reclaim",
    title: "reclaim",
    costs: Costs::OwnTime,
    docs: "The server's own threads have to free memory before they get any (direct reclaim), because their cgroup is at its limit (memory.max, \
           memory.high) or because the machine, or the NUMA nodes that they may use, are short of memory; the kernel counts only the latter for the \
           machine (allocstall). It shows up as kernel time and stalls, long before anything is swapped or killed; page cache that was just read goes \
           first. Look-alikes: waiting for swap (swap) or for files to be read again (page-cache).",
};

impl Rule for Reclaim {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn examine(&self, scene: &Scene<'_>) -> Looked {
        let Some(account) = &scene.situation.account else { return Looked::needs_account(&ABOUT) };
        let ns: f64 = account.threads.iter().map(|thread| thread.reclaim.total_ns as f64).sum();
        let times: u64 = account.threads.iter().map(|thread| thread.reclaim.count).sum();
        let share = scene.time.share(ns);
        if share < MATTERS {
            return Looked::Fine;
        }
        let (subject, why, remedy) = who_is_short(scene, times);
        let claim = format!("The server has to free memory before it gets any: {why}");
        let cause = Cause::seen(ABOUT.id, subject, share, claim)
            .because(format!(
                "reclaim took {} of its time, {}",
                percent(share),
                per_second(scene.per_s(times))
            ))
            .figure("reclaims_per_s", scene.per_s(times))
            .remedy(Remedy::by_hand(remedy));
        Looked::Found(vec![cause])
    }
}

/// Who is short of memory, why in words, and what can be done.
fn who_is_short(scene: &Scene<'_>, times: u64) -> (Subject, String, String) {
    let situation = scene.situation;
    // What is freed for the limit of a cgroup is not in the machine's count (mm/vmscan.c).
    let stalls = situation.account.as_ref().and_then(|account| account.paging?.allocation_stalls);
    let by_machine = stalls.map(|stalls| stalls.saturating_mul(2) >= times);
    let is_it = |memory: &&MemoryUse| is_full(memory) && !(by_machine == Some(true) && was_not_met(memory));
    match situation.memory.iter().find(is_it) {
        Some(memory) => (
            Subject::Cgroup { path: memory.cgroup.clone() },
            format!("cgroup {} reached its memory limit of {} MiB", memory.cgroup, memory.limit_bytes >> 20),
            format!("Raise the limit ({}): page cache counts towards it", memory.file),
        ),
        None if by_machine == Some(false) => (
            Subject::Server,
            "a limit that is not known here, of its cgroup or of one above it, was met: the machine itself is not short"
                .to_string(),
            "Look from the host for what limits its cgroup and those above it: memory.max, memory.high (version 1: memory.limit_in_bytes, \
             memory.memsw.limit_in_bytes)"
                .to_string(),
        ),
        None if situation.account_alone => (
            Subject::Machine,
            "it was not recorded whether its cgroup or the machine is short of it".to_string(),
            "Compare memory.current with memory.max of its cgroup, and free memory of the machine, while it happens"
                .to_string(),
        ),
        None => {
            let who = match situation.machine.nodes.len() {
                0 | 1 => "the machine",
                _ => "the machine, or a node that it is bound to,",
            };
            let remedy = "Find out who uses the memory. Raise vm.watermark_scale_factor, so kswapd frees memory earlier, or give the machine more";
            (Subject::Machine, format!("{who} is short of free memory"), remedy.to_string())
        }
    }
}

/// Whether the kernel counts how often the limit was met, and counted nothing. Version 1 counts apart what meets the limit of memory and swap
/// together.
fn was_not_met(memory: &MemoryUse) -> bool {
    let is_counted = memory.file.ends_with("/memory.max") || memory.file.ends_with("/memory.high");
    is_counted && memory.limit_hits == Some(0)
}

#[cfg(test)]
mod tests {
    use probe::Situation;
    use probe::account::{Paging, Stretches};

    use super::*;
    use crate::diagnosis::situation_builder::{SECOND, situation};

    /// A server whose threads freed memory 500 times, on a machine that did so often for its own sake.
    fn freeing(stalls: Option<u64>) -> Situation {
        let mut seen = situation();
        let account = seen.account.as_mut().unwrap();
        account.threads[0].reclaim = Stretches { count: 500, total_ns: SECOND / 10, ..Stretches::default() };
        account.paging = Some(Paging { allocation_stalls: stalls, ..Paging::default() });
        seen
    }

    /// A cgroup that is full, mostly of page cache, and met its limit so often.
    fn full(file: &str, limit_hits: Option<u64>) -> MemoryUse {
        MemoryUse {
            cgroup: "/db".into(),
            file: format!("/sys/fs/cgroup/db/{file}"),
            limit_bytes: 100 << 20,
            used_bytes: Some(99 << 20),
            anonymous_bytes: Some(10 << 20),
            swapped_bytes: Some(0),
            peak_bytes: None,
            limit_hits,
        }
    }

    fn cause(seen: &Situation) -> (String, String) {
        match Reclaim.examine(&Scene::of(seen).unwrap()) {
            Looked::Found(mut causes) => {
                let cause = causes.remove(0);
                (cause.id.subject.to_string(), cause.claim)
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_machine_that_frees_nothing_for_its_own_sake_is_not_short() {
        let (subject, claim) = cause(&freeing(Some(3)));
        assert_eq!(subject, "server");
        assert!(claim.contains("a limit that is not known") && claim.contains("is not short"), "{claim}");
        for stalls in [None, Some(500)] {
            let (subject, claim) = cause(&freeing(stalls));
            assert_eq!(subject, "machine");
            assert!(claim.ends_with("the machine is short of free memory"), "{claim}");
        }
    }

    #[test]
    fn a_cgroup_full_of_cache_that_did_not_meet_its_limit_is_not_it_on_a_machine_that_is_short() {
        let subject = |stalls, memory| {
            let mut seen = freeing(stalls);
            seen.memory = vec![memory];
            cause(&seen).0
        };
        assert_eq!(subject(Some(500), full("memory.max", Some(0))), "machine");
        assert_eq!(subject(Some(0), full("memory.max", Some(9))), "cgroup:/db");
        assert_eq!(subject(None, full("memory.max", Some(0))), "cgroup:/db");
        let with_swap = full("memory.limit_in_bytes", Some(0));
        assert_eq!(subject(Some(500), with_swap), "cgroup:/db", "the limit of both is counted apart");
    }

    #[test]
    fn of_a_ring_it_is_not_known_who_is_short_and_on_several_nodes_it_may_be_one_of_them() {
        let mut ring = freeing(None);
        ring.account_alone = true;
        assert!(cause(&ring).1.contains("not recorded"));
        let mut nodes = freeing(None);
        nodes.machine.nodes = vec![Default::default(), Default::default()];
        assert!(cause(&nodes).1.contains("a node that it is bound to"));
    }
}
