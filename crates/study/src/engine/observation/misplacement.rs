//! Whether the server ran where its arm says, from what its threads did: pure.

use std::collections::BTreeMap;

use machine::CpuSet;
use probe::ThreadSeen;
use probe::account::working_threshold;

use super::demand::cpu_us;
use crate::trial::Misplaced;

/// Holds the server's threads against the CPUs that the arm asks for (`asked`; `None`: it leaves the server unpinned), and against
/// those that it was given: what was asked, or, of an unpinned server that pinwise started, what pinwise may use (`None`: not
/// known). `None` also where the threads show too little. Threads that hardly work are no evidence: helpers that sleep.
pub(in crate::engine) fn of(
    threads: &[ThreadSeen],
    asked: Option<&CpuSet>,
    given: Option<&CpuSet>,
) -> Option<Misplaced> {
    let had_us = |thread: &ThreadSeen| cpu_us(thread).unwrap_or(0) as f64;
    let threshold = working_threshold(threads.iter().map(had_us));
    let busy: Vec<&ThreadSeen> = threads.iter().filter(|thread| had_us(thread) >= threshold).collect();
    let allowed_by_thread: Vec<Option<CpuSet>> =
        busy.iter().map(|thread| CpuSet::from_list(thread.allowed.as_deref()?).ok()).collect();
    if let Some(asked) = asked {
        let used = share_by_cpu(busy.iter().copied());
        let elsewhere: f64 =
            used.iter().filter(|(cpu, _)| !asked.contains(**cpu)).map(|(_, share)| share).sum();
        if elsewhere > Misplaced::MOST_ELSEWHERE {
            return Some(Misplaced::Elsewhere { asked: asked.clone(), ran_on: used.into_keys().collect() });
        }
        let allowed = union(allowed_by_thread.iter().flatten());
        if !allowed.difference(asked).is_empty() {
            return Some(Misplaced::Wider { asked: asked.clone(), allowed });
        }
    }
    // One whose mask is not known may be allowed on all the rest.
    let allowed = union(&allowed_by_thread.into_iter().collect::<Option<Vec<_>>>()?);
    let given = given.filter(|given| !allowed.is_empty() && !given.difference(&allowed).is_empty())?;
    allowed.difference(given).is_empty().then(|| Misplaced::Narrower { given: given.clone(), allowed })
}

/// Share of the threads' CPU time on each CPU. Each thread's time is spread over the CPUs on which it was seen.
pub(super) fn share_by_cpu<'a>(threads: impl Iterator<Item = &'a ThreadSeen>) -> BTreeMap<u32, f64> {
    let mut used: BTreeMap<u32, f64> = BTreeMap::new();
    for thread in threads {
        let seen: u64 = thread.seen_on.values().sum();
        let weight = cpu_us(thread).unwrap_or(0) as f64;
        for (cpu, times) in thread.seen_on.iter().filter(|_| seen > 0 && weight > 0.0) {
            *used.entry(*cpu).or_default() += weight * *times as f64 / seen as f64;
        }
    }
    let total: f64 = used.values().sum();
    used.values_mut().for_each(|share| *share /= total);
    used
}

fn union<'a>(sets: impl IntoIterator<Item = &'a CpuSet>) -> CpuSet {
    sets.into_iter().fold(CpuSet::default(), |all, set| all.union(set))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(list: &str) -> CpuSet {
        CpuSet::from_list(list).unwrap()
    }

    fn thread(on_cpu_us: u64, seen_on: &[(u32, u64)], allowed: &str) -> ThreadSeen {
        ThreadSeen {
            on_cpu_us: Some(on_cpu_us),
            seen_on: seen_on.iter().copied().collect(),
            allowed: Some(allowed.into()),
            ..ThreadSeen::default()
        }
    }

    fn pinned(threads: &[ThreadSeen], asked: &str) -> Option<Misplaced> {
        of(threads, Some(&set(asked)), Some(&set(asked)))
    }

    #[test]
    fn a_server_that_pins_itself_to_another_cpu_ran_elsewhere() {
        let server = [thread(900_000, &[(0, 7)], "0"), thread(100, &[(1, 7)], "0-1")];
        let elsewhere = Misplaced::Elsewhere { asked: set("1"), ran_on: set("0") };
        assert_eq!(pinned(&server, "1"), Some(elsewhere));
        assert_eq!(pinned(&server, "0"), None, "the helper that may go anywhere does not run");
    }

    #[test]
    fn a_little_time_elsewhere_is_let_pass() {
        let stray = |us| [thread(1_000_000 - us, &[(1, 10)], "1"), thread(us, &[(0, 10)], "1")];
        assert_eq!(pinned(&stray(40_000), "1"), None);
        assert!(matches!(pinned(&stray(60_000), "1"), Some(Misplaced::Elsewhere { .. })));
    }

    #[test]
    fn a_server_that_may_go_elsewhere_and_did_not_is_wider() {
        let server = [thread(900_000, &[(1, 7)], "0-3")];
        assert_eq!(pinned(&server, "1"), Some(Misplaced::Wider { asked: set("1"), allowed: set("0-3") }));
    }

    #[test]
    fn workers_that_share_the_cpus_out_are_not_narrower_and_one_that_keeps_to_a_part_is() {
        let workers = [thread(500_000, &[(2, 7)], "2"), thread(400_000, &[(3, 7)], "3")];
        assert_eq!(pinned(&workers, "2-3"), None);
        let narrower = Misplaced::Narrower { given: set("2-3"), allowed: set("2") };
        assert_eq!(pinned(&workers[..1], "2-3"), Some(narrower));
    }

    #[test]
    fn an_unpinned_server_is_held_against_what_it_was_given() {
        let server = [thread(500_000, &[(0, 7)], "0")];
        let narrower = Misplaced::Narrower { given: set("0-1"), allowed: set("0") };
        assert_eq!(of(&server, None, Some(&set("0-1"))), Some(narrower));
        assert_eq!(of(&server, None, None), None, "one that ran before is where its owner put it");
        let free = [thread(500_000, &[(0, 7)], "0-1")];
        assert_eq!(of(&free, None, Some(&set("0-1"))), None);
        assert_eq!(of(&free, None, Some(&set("0"))), None, "wider than what pinwise may use");
    }

    #[test]
    fn what_is_not_known_is_no_evidence() {
        assert_eq!(pinned(&[], "0-1"), None);
        let no_mask = ThreadSeen { allowed: None, ..thread(500_000, &[(0, 7)], "") };
        assert_eq!(pinned(&[no_mask.clone(), thread(500_000, &[(0, 7)], "0")], "0-1"), None);
        assert!(matches!(pinned(&[no_mask], "1"), Some(Misplaced::Elsewhere { .. })));
        let no_time = ThreadSeen { on_cpu_us: None, ..thread(0, &[(0, 7)], "0") };
        assert_eq!(pinned(&[no_time], "1"), None);
    }
}
