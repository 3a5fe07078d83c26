//! The server sleeps for a time that it has chosen itself.

use machine::wording::percent;
use probe::account::{Account, SleepReason, ThreadAccount};

use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::sleep_share::{MUCH, large_sleep_share};
use crate::diagnosis::rules::{About, Costs, Looked, Rule};
use crate::diagnosis::scene::Scene;

/// The rule `own-sleep`.
pub struct OwnSleep;

/// A thread that used less than this share of the CPU time of the busiest one serves nobody, but does housekeeping: for example the thread of
/// Go's runtime that looks after the others and sleeps 20 us to 10 ms in between (runtime/proc.go, sysmon).
const SERVES: f64 = 0.25;

static ABOUT: About = About {
    id: "own-sleep",
    title: "its own pauses",
    costs: Costs::Asleep,
    docs: "Threads that serve sleep in nanosleep or clock_nanosleep. The program pauses by itself: to poll with a delay, to back off, to limit a \
           rate, or while a garbage collector waits. No placement changes it. Threads that work less than a quarter as much as the busiest one are \
           left out, because they do housekeeping. Look-alikes: a server that waits for requests (slow-client) sleeps in epoll or read, with or \
           without a timeout; one that is stopped (stopped).",
};

impl Rule for OwnSleep {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn examine(&self, scene: &Scene<'_>) -> Looked {
        if let Err(looked) = large_sleep_share(scene, &ABOUT, SleepReason::Timer) {
            return looked;
        }
        let Some(account) = &scene.situation.account else { return Looked::needs_account(&ABOUT) };
        let share = paused_ns(account) / scene.time.wall_ns;
        if share < MUCH {
            return Looked::Fine;
        }
        let claim = "The server pauses by itself: its threads sleep for a time that the program chose";
        let cause = Cause::seen(ABOUT.id, Subject::Server, share, claim)
            .because(format!("its threads slept for {} of their time in nanosleep(2) or clock_nanosleep(2)", percent(share)))
            .figure("asleep_share", share)
            .remedy(Remedy::by_hand(
                "Find the pause in its code or settings: pinwise watch --process PID --format folded shows the stacks in which it sleeps",
            ));
        Looked::Found(vec![cause])
    }
}

/// How long threads that serve slept in such calls, ns.
fn paused_ns(account: &Account) -> f64 {
    let busiest = account.threads.iter().map(ThreadAccount::had_ns).max().unwrap_or(0) as f64;
    let serving = account.threads.iter().filter(|thread| thread.had_ns() as f64 >= SERVES * busiest);
    let parts = serving.filter_map(|thread| thread.asleep_for.get(&SleepReason::Timer));
    parts.map(|part| part.total_ns as f64).sum()
}

#[cfg(test)]
mod tests {
    use probe::Situation;
    use probe::account::{Part, Stretches};

    use super::*;
    use crate::diagnosis::situation_builder::{SECOND, situation};

    /// A server whose second thread sleeps for half of the window in nanosleep, and has a CPU for so long.
    fn with_a_sleeper(on_cpu_ns: u64) -> Situation {
        let mut seen = situation();
        let account = seen.account.as_mut().unwrap();
        let mut second = account.threads[0].clone();
        second.tid += 1;
        second.on_cpu = Stretches { count: 1_000, total_ns: on_cpu_ns, ..Stretches::default() };
        second.asleep = Stretches { count: 1_000, total_ns: SECOND / 2, ..Stretches::default() };
        second.asleep_for = [(SleepReason::Timer, Part { count: 1_000, total_ns: SECOND / 2 })].into();
        account.threads.push(second);
        seen
    }

    fn look(seen: &Situation) -> Looked {
        OwnSleep.examine(&Scene::of(seen).unwrap())
    }

    #[test]
    fn a_thread_that_serves_and_pauses_is_named_and_one_that_keeps_house_is_not() {
        let busiest = situation().account.unwrap().threads[0].had_ns();
        assert!(matches!(look(&with_a_sleeper(busiest / 2)), Looked::Found(_)));
        assert_eq!(look(&with_a_sleeper(busiest / 20)), Looked::Fine);
    }

    #[test]
    fn a_pause_counts_whatever_sleeps_beside_it() {
        let share = |seen: &Situation| match look(seen) {
            Looked::Found(causes) => causes[0].share,
            other => panic!("{other:?}"),
        };
        let mut seen = with_a_sleeper(situation().account.unwrap().threads[0].had_ns() / 2);
        let alone = share(&seen);
        let account = seen.account.as_mut().unwrap();
        let idle = ThreadAccount {
            tid: 999,
            wall_ns: SECOND,
            asleep: Stretches { count: 1, total_ns: SECOND, ..Stretches::default() },
            asleep_for: [(SleepReason::Timer, Part { count: 1, total_ns: SECOND })].into(),
            ..ThreadAccount::default()
        };
        account.threads.extend((0..9).map(|_| idle.clone()));
        assert_eq!(share(&seen), alone);
    }
}
