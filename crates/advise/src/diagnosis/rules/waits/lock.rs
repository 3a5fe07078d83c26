//! Threads of the server wait for each other at a lock of its own.

use machine::wording::{percent, things_per_second};
use probe::account::SleepReason;
use probe::futexes::{Futex, FutexKind, FutexWaits, WaitStacks};
use study::observed_blocks::lock_waits::MUCH;

use crate::diagnosis::cause::{Cause, CauseId, Certainty, Remedy, Subject};
use crate::diagnosis::rules::{About, Costs, Looked, Rule};
use crate::diagnosis::scene::Scene;

/// The rule `lock`.
pub struct Lock;

/// Threads wait for futexes if at least this share of their sleep is at them.
const MOSTLY: f64 = 0.5;
/// Threads that take turns use this many CPUs together, from and to.
const ONE_CPU: (f64, f64) = (0.7, 1.35);
/// CPUs that were idle meanwhile, at least: otherwise threads wait for a CPU first, whoever has the lock.
const IDLE_CPUS: f64 = 0.2;
/// Fewest waits that were released: fewer say little about who releases.
const FEWEST: u64 = 20;
/// Threads take turns if waiters themselves release at least this share of the waits.
const TURNS: f64 = 0.5;

/// Name of the figure: while the lock is held and others wait, the share of that time in which its holder waits for a CPU.
const HOLDER_WAITING: &str = "holder_waiting_share";

/// Whether a cause is a lock.
pub(crate) fn is_of(id: &CauseId) -> bool {
    id.rule == ABOUT.id
}

/// Whether it is held for long because its holder is kept from a CPU.
pub(crate) fn is_kept_from_a_cpu(cause: &Cause) -> bool {
    let mut figures = cause.figures.iter();
    is_of(&cause.id) && figures.any(|figure| figure.name == HOLDER_WAITING && figure.value >= TURNS)
}

static ABOUT: About = About {
    id: "lock",
    title: "locks",
    costs: Costs::Asleep,
    docs: "Threads of the server sleep at a futex that they release for each other, while CPUs that they may use are idle: one lock lets them \
           through one at a time. More CPUs do not help, and can make it slower. diagnose adds up waits by the address of the futex, with the stacks \
           of those who wait and of those who release, and reports whether the holder had a CPU meanwhile: a holder that sleeps (in a write, in a \
           call to a back end) or waits for a CPU keeps the lock for long, however short the locked code is. Look-alikes: a pool whose threads wait \
           for work also sleeps at a futex, but it is released by others, who never wait there. Threads that each park at a futex of their own \
           (Java, Go, parking_lot) do not show which lock they wait for. For those, and if waits were not added up, the rule judges by the shape \
           (several threads work, they have about one CPU together, and sleep at futexes), and the cause is only possible. Many threads on few CPUs \
           wait for a CPU and do not sleep (own-threads). A barrier, at which the last thread wakes the others, looks like a lock here.",
};

impl Rule for Lock {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn examine(&self, scene: &Scene<'_>) -> Looked {
        if scene.time.threads < 2 {
            return Looked::DoesNotApply;
        }
        match &scene.situation.futexes {
            Some(waits) => by_futexes(scene, waits),
            None => by_shape(scene),
        }
    }
}

/// Idle time of the CPUs that the server may use, in CPUs; if those are not known, of the CPUs on which it ran.
fn idle_cpus(scene: &Scene<'_>) -> f64 {
    let is_known = !scene.situation.server.cpus().is_empty();
    let cpus = if is_known { scene.allowed_to_working() } else { scene.time.cpus.clone() };
    scene.idle_cpus(&cpus).unwrap_or(0.0)
}

/// By the futexes at which threads waited.
fn by_futexes(scene: &Scene<'_>, waits: &FutexWaits) -> Looked {
    let idle = idle_cpus(scene);
    let share = |futex: &Futex| {
        (futex.released.total_ns as f64 / (scene.time.window_ns * scene.time.threads as f64)).min(1.0)
    };
    let turns = |futex: &Futex| {
        futex.released.count >= FEWEST && futex.share_by_waiters().is_some_and(|share| share >= TURNS)
    };
    let locks = waits.futexes.iter().filter(|futex| turns(futex));
    match locks.max_by_key(|futex| futex.released.total_ns) {
        Some(worst) if share(worst) >= MUCH && idle >= IDLE_CPUS => {
            Looked::Found(vec![lock(scene, worst, share(worst), idle)])
        }
        Some(_) => Looked::Fine,
        // Each thread parks at a futex of its own: it cannot be seen for which lock.
        None if parks(waits, scene.time.threads) => by_shape(scene),
        None => Looked::Fine,
    }
}

/// Whether there are as many futexes that are released as threads.
fn parks(waits: &FutexWaits, threads: usize) -> bool {
    waits.futexes.iter().filter(|futex| futex.released.count >= FEWEST).count() >= threads
}

/// The lock that is waited for most.
fn lock(scene: &Scene<'_>, futex: &Futex, share: f64, idle: f64) -> Cause {
    let released_ns = futex.released.total_ns as f64;
    let asleep = futex.share_of_held(futex.holder_asleep_ns);
    let waiting = futex.share_of_held(futex.holder_waiting_ns);
    let name = match futex.kind {
        FutexKind::Unknown => "lock (or barrier)",
        FutexKind::Mutex => "mutex",
        FutexKind::PriorityInheritance => "mutex with priority inheritance",
    };
    let place = futex.place.as_ref().map_or(String::new(), |place| format!(" in {place}"));
    let claim = format!(
        "Its {} threads wait for each other at one {name}, although {idle:.1} CPUs that they may use are idle",
        scene.time.threads
    );
    let mean_us = released_ns / futex.released.count as f64 / 1e3;
    let rate = things_per_second(scene.per_s(futex.released.count), "waits");
    let cause = Cause::seen(ABOUT.id, Subject::Server, share, claim)
        .because(format!(
            "at {:#x}{place}: {rate}, {mean_us:.0} us each on average{}{}",
            futex.address,
            futex.stacks.first().map_or(String::new(), by_whom),
            meanwhile(asleep, waiting)
        ))
        .figure("threads", scene.time.threads as f64)
        .figure("waits_per_s", scene.per_s(futex.released.count))
        .figure("mean_wait_us", mean_us)
        .figure("mean_held_us", futex.mean_held_us().unwrap_or(0.0))
        .figure("released_by_waiters_share", futex.share_by_waiters().unwrap_or(0.0))
        .figure("holder_asleep_share", asleep)
        .figure(HOLDER_WAITING, waiting);
    cause.remedy(Remedy::by_hand(if asleep >= TURNS {
        "Do not sleep while holding the lock (a write, a call to a back end): no placement cures that"
    } else if waiting >= TURNS {
        "Give the thread that holds the lock a CPU: another cause here names what keeps it from one"
    } else {
        "No placement cures a lock: hold it for a shorter time, split it, or run fewer threads (about two) near each other (one cache)"
    }))
}

/// What the holder does while others wait, if for the most part it does not run.
fn meanwhile(asleep: f64, waiting: f64) -> String {
    if asleep >= TURNS {
        format!("; meanwhile its holder is asleep or blocked for at least {} of the time", percent(asleep))
    } else if waiting >= TURNS {
        format!("; meanwhile its holder waits for a CPU for at least {} of the time", percent(waiting))
    } else {
        String::new()
    }
}

/// `, in fetch, released in store`.
fn by_whom(stacks: &WaitStacks) -> String {
    let short = |name: &str| name.chars().take(LONGEST).collect::<String>();
    let waiter = outside(&stacks.waiter).map_or(String::new(), |name| format!(", in {}", short(name)));
    let releaser = outside(&stacks.releaser);
    let releaser = releaser.map_or(String::new(), |name| format!(", released in {}", short(name)));
    waiter + &releaser
}

/// Longest name of a function, characters: those of generics have hundreds.
const LONGEST: usize = 60;

/// Parts of the names of functions that belong to the lock itself, in lower case.
const LOCKING: [&str; 13] = [
    "futex",
    "lll_",
    "pthread_",
    "syscall",
    "mutex",
    "rwlock",
    "condvar",
    "sem_",
    "parking_lot",
    "spinlock",
    "lock_slow",
    "[libc",
    "[ld-musl",
];

/// The innermost function that does not belong to the lock itself.
fn outside(frames: &[String]) -> Option<&str> {
    let is_locking = |name: &str| {
        let name = name.to_ascii_lowercase();
        LOCKING.iter().any(|part| name.contains(part))
    };
    let name = frames.iter().rev().find(|name| !is_locking(name))?;
    (!name.starts_with('[')).then_some(name.as_str())
}

/// By the shape alone: several threads that use one CPU together and sleep at futexes. Those of a pool that gets one request at a time do so too,
/// so it is only possible.
fn by_shape(scene: &Scene<'_>) -> Looked {
    let time = &scene.time;
    if time.asleep_for_ns.is_empty() {
        return Looked::needs_account(&ABOUT);
    }
    let futex_ns = time.asleep_for_ns.get(&SleepReason::Futex).copied().unwrap_or(0.0);
    let share_of_sleep = if time.asleep_ns > 0.0 { futex_ns / time.asleep_ns } else { 0.0 };
    let active = time.in_cpus(time.active_ns());
    let had = time.in_cpus(time.had_ns());
    let idle = idle_cpus(scene);
    // If one thread alone uses the CPU, there is no queue at a lock.
    let alone = time.busiest.active_share >= 0.9 * active;
    // A thread that is preempted while it holds the lock keeps the others waiting: still, only one runs at a time.
    let at_a_time = active - time.in_cpus(time.preempted_ns);
    let turns = active >= ONE_CPU.0 && at_a_time <= ONE_CPU.1 && had >= ONE_CPU.0 * 0.8;
    if share_of_sleep < MOSTLY || !turns || alone || idle < IDLE_CPUS {
        return Looked::Fine;
    }
    let share = (time.threads as f64 - active).max(0.0) / time.threads as f64;
    let claim = format!(
        "{} threads of the server together use {had:.1} CPUs, although {idle:.1} CPUs that they may use are idle: they take turns, as at one lock or in a \
         pool that gets one request at a time",
        time.threads
    );
    let cause = Cause::seen(ABOUT.id, Subject::Server, share, claim)
        .because(format!("{} of their sleep is at futexes", percent(share_of_sleep)))
        .figure("threads", time.threads as f64)
        .figure("had_cpus", had)
        .figure("futex_share_of_sleep", share_of_sleep)
        .remedy(Remedy::by_hand(
            "No placement cures a lock: run fewer threads (about two), keep them near each other (one cache), and find the lock: pinwise watch --process PID --format folded",
        ));
    Looked::Found(vec![Cause { certainty: Certainty::Possible, ..cause }])
}

#[cfg(test)]
mod tests {
    use probe::Situation;
    use probe::account::{Part, Stretches, ThreadAccount};

    use super::*;
    use crate::diagnosis::situation_builder::{SECOND, situation};

    /// Two threads that have a CPU for 45 % each in turns; CPU 0 is idle.
    fn two_in_turns() -> Situation {
        let mut seen = situation();
        let account = seen.account.as_mut().unwrap();
        let thread = ThreadAccount {
            on_cpu: Stretches { count: 1, total_ns: SECOND / 2, ..Stretches::default() },
            run_queue: Stretches::default(),
            asleep: Stretches { count: 1, total_ns: SECOND / 2, ..Stretches::default() },
            asleep_for: [(SleepReason::Futex, Part { count: 500, total_ns: SECOND / 2 })].into(),
            ..account.threads[0].clone()
        };
        account.threads = vec![thread.clone(), ThreadAccount { tid: 101, ..thread }];
        seen.server.processes[0].threads[0].cpus = Some("0-1".parse().unwrap());
        seen
    }

    fn mutex(by_waiters: u64) -> Futex {
        Futex {
            pid: 100,
            address: 0x7f00,
            place: Some("[heap]".into()),
            kind: FutexKind::Mutex,
            released: Part { count: 1_000, total_ns: SECOND },
            by_waiters,
            held_ns: SECOND / 2,
            stacks: vec![WaitStacks {
                waiter: vec!["main".into(), "fetch".into(), "std::sync::Mutex::lock".into()],
                releaser: vec!["[server]".into(), "__lll_lock_wake".into()],
                ..WaitStacks::default()
            }],
            ..Futex::default()
        }
    }

    fn look(futexes: Vec<Futex>) -> Looked {
        let mut seen = two_in_turns();
        seen.futexes = Some(FutexWaits { futexes, ..FutexWaits::default() });
        Lock.examine(&Scene::of(&seen).unwrap())
    }

    fn cause(futex: Futex) -> Cause {
        match look(vec![futex]) {
            Looked::Found(mut causes) => causes.remove(0),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_mutex_that_its_waiters_release_is_named_with_its_address_and_who_waits_there() {
        let cause = cause(mutex(900));
        assert!(cause.claim.contains("2 threads") && cause.claim.contains("one mutex"), "{}", cause.claim);
        assert_eq!(cause.share, Some(0.5));
        assert_eq!(
            cause.evidence[0],
            "at 0x7f00 in [heap]: 1,000 waits/s, 1000 us each on average, in fetch"
        );
    }

    #[test]
    fn what_others_release_is_a_queue() {
        assert_eq!(look(vec![mutex(0)]), Looked::Fine);
        assert_eq!(look(vec![Futex { kind: FutexKind::Unknown, ..mutex(100) }]), Looked::Fine);
        assert_eq!(look(Vec::new()), Looked::Fine);
    }

    #[test]
    fn little_waiting_and_few_waits_are_no_cause() {
        let little = Part { count: 1_000, total_ns: SECOND / 10 };
        assert_eq!(look(vec![Futex { released: little, ..mutex(900) }]), Looked::Fine);
        let few = Part { count: 10, total_ns: SECOND };
        assert_eq!(look(vec![Futex { released: few, ..mutex(10) }]), Looked::Fine);
    }

    #[test]
    fn a_lock_on_full_cpus_is_no_lock_first() {
        let mut seen = two_in_turns();
        seen.futexes = Some(FutexWaits { futexes: vec![mutex(900)], ..FutexWaits::default() });
        seen.account.as_mut().unwrap().cpus.iter_mut().for_each(|cpu| cpu.idle_ns = 0);
        assert_eq!(Lock.examine(&Scene::of(&seen).unwrap()), Looked::Fine);
    }

    #[test]
    fn a_holder_without_a_cpu_is_said() {
        let asleep = cause(Futex { holder_asleep_ns: SECOND * 4 / 10, ..mutex(900) });
        let said = &asleep.evidence[0];
        assert!(said.ends_with("its holder is asleep or blocked for at least 80 % of the time"), "{said}");
        let waiting = cause(Futex { holder_waiting_ns: SECOND * 3 / 10, ..mutex(900) });
        assert!(
            waiting.evidence[0].contains("waits for a CPU") && is_kept_from_a_cpu(&waiting),
            "{waiting:?}"
        );
        assert!(!is_kept_from_a_cpu(&cause(mutex(900))));
    }

    #[test]
    fn threads_that_park_each_at_its_own_futex_are_judged_by_the_shape() {
        let parked = |address| Futex { address, kind: FutexKind::Unknown, ..mutex(0) };
        let Looked::Found(causes) = look(vec![parked(16), parked(32)]) else { panic!() };
        assert!(causes[0].claim.contains("take turns"), "{causes:?}");
        assert_eq!(causes[0].certainty, Certainty::Possible);
    }

    #[test]
    fn frames_of_the_lock_itself_are_passed_over() {
        let frames = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        assert_eq!(
            outside(&frames(&["main", "work", "pthread_mutex_lock", "__lll_lock_wait"])),
            Some("work")
        );
        assert_eq!(outside(&frames(&["__lll_lock_wait"])), None);
        assert_eq!(outside(&frames(&["[unknown]", "__lll_lock_wait"])), None);
        assert_eq!(outside(&[]), None);
    }
}
