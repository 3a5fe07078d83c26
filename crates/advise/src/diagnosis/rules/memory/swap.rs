//! The server waits for its own memory to come back from swap.

use machine::limits::memory_use::MemoryUse;
use machine::wording::{percent, things_per_second};
use probe::account::Stretches;

use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::{About, Costs, Looked, Rule};
use crate::diagnosis::scene::{MATTERS, Scene};

/// The rule `swap`.
pub struct Swap;

const MIB: u64 = 1 << 20;
/// Waits that a fault which has to read may bring with it, at most: for its page, for memory to put it in, for a lock.
const WAITS_A_FAULT: f64 = 4.0;
/// What a fault takes at least that finds its page in compressed memory, ns: entering the kernel, and decompressing 4 KiB. It decides whether such
/// faults may matter, and is no measured cost.
const AT_ONCE_NS: f64 = 2_000.0;
/// Less swap space in use than this means nothing.
const LITTLE: u64 = 16 * MIB;

static ABOUT: About = About {
    id: "swap",
    title: "swap",
    costs: Costs::Blocked,
    docs: "The server touches memory that was swapped out and waits for the disk: it is blocked, its page faults have to read (major faults), and \
           pages come in from swap. Either the machine is short of memory, or the server's cgroup is at its limit while the machine has plenty. \
           From compressed memory (zram, zswap) pages come back without a wait: that takes CPU time of the server's own, which is not measured, so \
           the cause is only possible. The kernel does not count pages from zswap as pages from swap. Look-alikes: files that are read again \
           (page-cache), with major faults but no pages from swap; a thread that is blocked much more often than it has such faults, in fsync or at a \
           lock (blocked); interrupts of the disk that holds the swap space, which are a consequence.",
};

impl Rule for Swap {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn examine(&self, scene: &Scene<'_>) -> Looked {
        let paged_in = scene.swapped_in_pages();
        // The machine is read once, and swap may be switched on later, as a study does for its trials.
        let had_none = scene.situation.machine.memory.swap_total_bytes == Some(0);
        if had_none && paged_in.unwrap_or(0) == 0 {
            return Looked::DoesNotApply;
        }
        let Some(blocked_ns) = scene.time.blocked_ns else { return Looked::needs_account(&ABOUT) };
        let share = scene.time.share(blocked_ns);
        let faults = scene.major_faults().unwrap_or(0);
        if share >= MATTERS
            && faults > 0
            && let Some(odd) = scene.why_not_counted("pswpin")
        {
            return Looked::without(&ABOUT, odd);
        }
        let from_swap = paged_in.unwrap_or(0).min(faults.saturating_mul(readahead_pages()));
        // A few stray pages mean nothing: at least half of what it had to read must have come from swap.
        let is_from_swap = faults > 0 && from_swap.saturating_mul(2) >= faults;
        if share < MATTERS {
            return Looked::of(without_waits(scene, faults, is_from_swap).into_iter().collect());
        }
        let cost = blocked_by_faults(scene).filter(|cost| is_from_swap && *cost >= MATTERS);
        match cost {
            Some(cost) => Looked::Found(vec![with_waits(scene, cost, share, faults)]),
            None => Looked::Fine,
        }
    }
}

/// The server is blocked while its pages come from swap.
fn with_waits(scene: &Scene<'_>, cost: f64, share: f64, faults: u64) -> Cause {
    let at_once = most_came_at_once(scene);
    let waits = match at_once {
        true => "is blocked while its memory comes back from swap",
        false => "waits for memory from swap",
    };
    let cause = match full_limit(scene) {
        Some(memory) => of_limit(memory, cost, waits),
        None if scene.situation.account_alone => {
            let claim = format!(
                "The server {waits}; it was not recorded whether its cgroup or the machine is short of it"
            );
            Cause::seen(ABOUT.id, Subject::Machine, cost, claim)
        }
        None => {
            let claim = format!(
                "The server {waits}, and no limit of a cgroup is the reason: the machine is short of memory"
            );
            Cause::seen(ABOUT.id, Subject::Machine, cost, claim).remedy(Remedy::by_hand(
                "Give the machine more memory, or make the server keep less; find out who else uses memory",
            ))
        }
    };
    let per_s = scene.per_s(faults);
    let cause = cause
        .because(format!(
            "blocked for {} of the time in which it tried to run; {}",
            percent(share),
            things_per_second(per_s, "major faults")
        ))
        .figure("major_faults_per_s", per_s);
    match at_once {
        true => cause.because(
            "most of these faults did not wait (compressed memory, or a disk that answers at once), so something else may block it: \
             pinwise watch --process PID --format folded shows the stacks in which it waits",
        ),
        false => cause,
    }
}

/// Pages come back, and the server hardly waits. What that costs is its own time on a CPU, and nothing counts how much of it.
fn without_waits(scene: &Scene<'_>, faults: u64, is_from_swap: bool) -> Option<Cause> {
    let may_matter = scene.time.share(faults as f64 * AT_ONCE_NS) >= MATTERS;
    if !may_matter || !(is_from_swap || is_zswap_used(scene)) {
        return None;
    }
    let from = match is_from_swap {
        true => "swap: it is in compressed memory (zram), or on a disk that answers at once",
        false => "compressed memory: zswap is on, and pages from it are not counted as pages from swap",
    };
    let claim = format!(
        "The server takes CPU time to bring its memory back, and hardly waits for it, most likely from {from}"
    );
    let per_s = scene.per_s(faults);
    let (subject, words) = match full_limit(scene) {
        Some(memory) => (
            Subject::Cgroup { path: memory.cgroup.clone() },
            format!("Raise the limit ({}), or make the server keep less in memory", memory.file),
        ),
        None => (
            Subject::Machine,
            "Give the machine more memory, or make the server keep less; less is swapped out with a lower vm.swappiness (knob swappiness)"
                .to_string(),
        ),
    };
    let cause = Cause::possible(ABOUT.id, subject, claim)
        .because(format!(
            "{}, and blocked for less than {} of the time in which it tried to run",
            things_per_second(per_s, "major faults"),
            percent(MATTERS)
        ))
        .figure("major_faults_per_s", per_s);
    Some(cause.remedy(Remedy::by_hand(words)))
}

/// Whether zswap, the compressed cache in front of swap space, is on, and pages are in swap.
pub(super) fn is_zswap_used(scene: &Scene<'_>) -> bool {
    let machine = &scene.situation.machine;
    let is_on = machine.kernel.tunables.get("swap.zswap").is_some_and(|on| on.trim() == "Y");
    let swapped = machine.memory.swap_total_bytes.zip(machine.memory.swap_free_bytes);
    is_on && swapped.is_some_and(|(all, free)| all.saturating_sub(free) >= LITTLE)
}

/// Whether the server was blocked so rarely that most of its major faults cannot have waited: what they read was in memory already (zram, zswap,
/// persistent memory), or came from a disk that answers before the thread sleeps.
pub(super) fn most_came_at_once(scene: &Scene<'_>) -> bool {
    let threads = scene.situation.account.iter().flat_map(|account| &account.threads);
    let known = threads.filter_map(|thread| Some((thread.blocked.count, thread.major_faults?)));
    let (at_once, all) = known.fold((0u64, 0u64), |(at_once, all), (waits, faults)| {
        (at_once.saturating_add(faults.saturating_sub(waits)), all.saturating_add(faults))
    });
    at_once > all / 2
}

/// Share of the server's time in which page faults that had to read blocked it, at most; `None` if it was blocked for something else most of the
/// time: a thread that is blocked much more often than it has such faults waits in system calls.
pub(super) fn blocked_by_faults(scene: &Scene<'_>) -> Option<f64> {
    let threads = &scene.situation.account.as_ref()?.threads;
    let known: Vec<(&Stretches, u64)> =
        threads.iter().filter_map(|thread| Some((&thread.blocked, thread.major_faults?))).collect();
    let all_ns: f64 = known.iter().map(|(blocked, _)| blocked.total_ns as f64).sum();
    let by_faults_ns = known.iter().map(|(blocked, faults)| {
        let of_waits = WAITS_A_FAULT * *faults as f64 / blocked.count.max(1) as f64;
        blocked.total_ns as f64 * of_waits.min(1.0)
    });
    let by_faults_ns: f64 = by_faults_ns.sum();
    let blocked_ns = scene.time.blocked_ns?;
    (2.0 * by_faults_ns >= all_ns).then(|| scene.time.share(by_faults_ns.min(blocked_ns)))
}

/// How many pages one fault may bring in: the kernel reads 2^page-cluster at once, 8 by default (mm/swap_state.c).
fn readahead_pages() -> u64 {
    8
}

/// The first cgroup of the server that is full ([`is_full`]).
pub(super) fn full_limit<'a>(scene: &Scene<'a>) -> Option<&'a MemoryUse> {
    scene.situation.memory.iter().find(|memory| is_full(memory))
}

/// Whether a cgroup reached its limit in the window, was near it, or has swapped because of it. What is in use at the end is not enough: by then
/// the server may have given its memory back.
pub(super) fn is_full(memory: &MemoryUse) -> bool {
    let most_bytes = memory.used_bytes.max(memory.peak_bytes);
    let near = most_bytes.is_some_and(|most| is_share(most, 0.95, memory));
    let met = memory.limit_hits.is_some_and(|hits| hits > 0);
    near || met || memory.swapped_bytes.is_some_and(|swapped| swapped >= LITTLE) && is_filled(memory)
}

/// Whether most of the limit was in use when the window ended.
fn is_filled(memory: &MemoryUse) -> bool {
    memory.used_bytes.is_some_and(|used| is_share(used, 0.8, memory))
}

fn is_share(bytes: u64, share: f64, memory: &MemoryUse) -> bool {
    bytes as f64 >= share * memory.limit_bytes as f64
}

fn of_limit(memory: &MemoryUse, share: f64, waits: &str) -> Cause {
    let mib = |bytes: u64| bytes.div_ceil(MIB);
    let swapped = memory.swapped_bytes.unwrap_or(0);
    let limit = format!(
        "Cgroup {} has reached its memory limit, and the server {waits}: limit {} MiB",
        memory.cgroup,
        mib(memory.limit_bytes)
    );
    let (claim, words) = if is_filled(memory) {
        let used = memory.used_bytes.map_or("?".into(), |used| format!("{} MiB", mib(used)));
        // What it has in swap has to fit as well, and a tenth for what grows.
        let wanted = (memory.limit_bytes.saturating_add(swapped) / 10).saturating_mul(11);
        (
            format!("{limit}, in use {used}, in swap {} MiB", mib(swapped)),
            format!("Raise the limit to {} MiB ({})", mib(wanted).div_ceil(16) * 16, memory.file),
        )
    } else {
        // How much it needed is not known: it had given most of it back.
        let words = format!("Raise the limit ({}), or make the server keep less in memory", memory.file);
        (format!("{limit}, reached in the window"), words)
    };
    Cause::seen(ABOUT.id, Subject::Cgroup { path: memory.cgroup.clone() }, share, claim)
        .figure("limit_bytes", memory.limit_bytes as f64)
        .figure("swapped_bytes", swapped as f64)
        .remedy(Remedy::by_hand(words))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::diagnose;
    use crate::diagnosis::situation_builder::{SECOND, SituationBuilder, situation};

    /// What is named first of a server that is blocked for a fifth of its time in so many stretches, with so many major faults, while so many
    /// pages come from swap.
    fn named(stretches: u64, faults: u64, swapped_in: u64) -> String {
        let mut seen = situation().blocked(SECOND / 5, faults).swapped_in(swapped_in);
        seen.account.as_mut().unwrap().threads[0].blocked.count = stretches;
        diagnose(&seen).causes[0].id.to_string()
    }

    #[test]
    fn waits_of_a_log_are_not_charged_to_a_few_page_faults() {
        assert_eq!(named(600, 1, 8), "blocked/server", "one page of swap, 600 waits");
        assert_eq!(named(600, 12, 0), "blocked/server", "a few pages of files, 600 waits");
    }

    #[test]
    fn a_fault_may_bring_a_few_waits() {
        assert_eq!(named(600, 250, 1_000), "swap/machine");
        assert_eq!(named(600, 250, 0), "page-cache/server");
    }

    /// A server that is blocked for so long, so often, while 30,000 pages come back from swap in a second.
    fn faulting(blocked_ns: u64, stretches: u64) -> probe::Situation {
        let mut seen = situation().blocked(blocked_ns, 30_000).swapped_in(30_000);
        seen.account.as_mut().unwrap().threads[0].blocked.count = stretches;
        seen
    }

    fn look(seen: &probe::Situation) -> Looked {
        Swap.examine(&Scene::of(seen).unwrap())
    }

    #[test]
    fn pages_from_compressed_memory_cost_time_on_a_cpu_and_no_wait() {
        let Looked::Found(causes) = look(&faulting(0, 0)) else { panic!("not found") };
        assert!(causes[0].share.is_none() && causes[0].claim.contains("zram"), "{causes:?}");
        assert!(!causes[0].claim.contains("waits for memory from swap"), "{causes:?}");
        let few = situation().blocked(0, 500).swapped_in(500);
        assert_eq!(look(&few), Looked::Fine);
        let mut zswap = faulting(0, 0).swapped_in(0);
        assert_eq!(look(&zswap), Looked::Fine, "files on fast storage");
        zswap.machine.kernel.tunables.insert("swap.zswap".into(), "Y".into());
        zswap.machine.memory.swap_total_bytes = Some(1 << 30);
        zswap.machine.memory.swap_free_bytes = Some(1 << 29);
        let Looked::Found(causes) = look(&zswap) else { panic!("not found") };
        assert!(causes[0].claim.contains("zswap is on"), "{causes:?}");
    }

    #[test]
    fn waits_that_are_far_fewer_than_faults_may_be_for_something_else() {
        let claim = |stretches| match look(&faulting(SECOND / 5, stretches)) {
            Looked::Found(mut causes) => causes.remove(0).claim,
            other => panic!("{other:?}"),
        };
        assert!(claim(600).contains("is blocked while its memory comes back"), "fsync, with swap on zram");
        assert!(claim(30_000).contains("waits for memory from swap"));
    }

    #[test]
    fn threads_are_told_apart_by_their_own_faults() {
        let mut seen = situation().blocked(SECOND / 5, 500).swapped_in(1_000);
        let threads = &mut seen.account.as_mut().unwrap().threads;
        let mut log = threads[0].clone();
        (log.tid, log.major_faults) = (101, Some(0));
        (log.blocked.count, log.blocked.total_ns) = (600, SECOND / 10);
        threads.push(log);
        let scene = Scene::of(&seen).unwrap();
        let expected = scene.time.share(SECOND as f64 / 5.0);
        assert!(blocked_by_faults(&scene).is_some_and(|share| (share - expected).abs() < 1e-9));
    }
}
