//! Threads of the server take turns at a lock of its own.

use probe::account::SleepReason;

use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::{About, Costs, Looked, Rule};
use crate::diagnosis::scene::Scene;
use crate::words::percent;

/// The rule `lock`.
pub struct Lock;

/// From this share of the working threads' sleep on, futexes are what they wait for.
const MOSTLY: f64 = 0.5;
/// Threads that take turns have this many CPUs together, from and to.
const ONE_CPU: (f64, f64) = (0.7, 1.35);
/// CPUs that were idle meanwhile, at least.
const IDLE_CPUS: f64 = 0.2;

static ABOUT: About = About {
    id: "lock",
    title: "locks",
    costs: Costs::Asleep,
    docs: "Several threads of the server work, together they have about one CPU, they sleep at futexes, and CPUs that they may use are idle: one \
           lock lets them through one by one. More CPUs do not help, and can make it slower. Look-alikes: a pool whose threads wait for \
           work sleeps at a futex too, and has less than a CPU (then the load is the limit); many threads on few CPUs wait for a CPU and \
           do not sleep (own-threads).",
};

impl Rule for Lock {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn examine(&self, scene: &Scene<'_>) -> Looked {
        let time = &scene.time;
        if time.threads < 2 {
            return Looked::DoesNotApply;
        }
        if time.asleep_for_ns.is_empty() {
            return Looked::needs_account(&ABOUT);
        }
        let futex_ns = time.asleep_for_ns.get(&SleepReason::Futex).copied().unwrap_or(0.0);
        let share_of_sleep = if time.asleep_ns > 0.0 { futex_ns / time.asleep_ns } else { 0.0 };
        let active = time.in_cpus(time.active_ns());
        let had = time.in_cpus(time.had_ns());
        let idle = scene.idle_cpus(&scene.allowed()).unwrap_or(0.0);
        // One thread that alone has a CPU is no queue at a lock.
        let alone = time.busiest.active_share >= 0.9 * active;
        let turns = (ONE_CPU.0..=ONE_CPU.1).contains(&active) && had >= ONE_CPU.0 * 0.8;
        if share_of_sleep < MOSTLY || !turns || alone || idle < IDLE_CPUS {
            return Looked::Fine;
        }
        let share = (time.threads as f64 - active).max(0.0) / time.threads as f64;
        let claim = format!(
            "{} threads of the server together have {had:.1} CPUs, although {idle:.1} CPUs that they may use are idle: they take turns, as at one lock",
            time.threads
        );
        let cause = Cause::seen(ABOUT.id, Subject::Server, share, claim)
            .because(format!("{} of their sleep is at futexes", percent(share_of_sleep)))
            .figure("threads", time.threads as f64)
            .figure("had_cpus", had)
            .figure("futex_share_of_sleep", share_of_sleep)
            .remedy(Remedy::by_hand(
                "No placement cures a lock: run fewer threads (about two), keep them near each other (one cache), and find it: pinwise watch --process PID --format folded",
            ));
        Looked::Found(vec![cause])
    }
}
