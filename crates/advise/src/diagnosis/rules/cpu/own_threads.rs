//! The server has more threads that want to run than CPUs.

use machine::wording::{percent, plural};

use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::{About, Costs, Looked, Rule};
use crate::diagnosis::scene::{MATTERS, Scene};

/// The rule `own-threads`.
pub struct OwnThreads;

static ABOUT: About = About {
    id: "own-threads",
    title: "its own threads",
    costs: Costs::CpuAccess,
    docs: "Threads of the server wait while other threads of the server have the CPUs: more of them want to run than there are CPUs for \
           it. Too many are configured, a runtime counts the machine's CPUs instead of those that it may use (GOMAXPROCS; runtime-width reports \
           the runtimes that it recognises), or threads poll. If all of them do useful work and the CPUs are full, it costs nothing but \
           switches; if they poll or hold locks, it also costs time. Look-alikes: one lock (threads sleep instead of waiting for a CPU), a \
           quota (throttled time), an affinity that is too narrow (narrow-affinity: other CPUs are idle).",
};

impl Rule for OwnThreads {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn gives_way_to(&self) -> &'static [&'static str] {
        &["runtime-width"]
    }

    fn examine(&self, scene: &Scene<'_>) -> Looked {
        let Some(ns) = scene.own_took_ns() else { return Looked::needs_account(&ABOUT) };
        let time = &scene.time;
        let share = time.share(ns);
        if share < MATTERS {
            return Looked::Fine;
        }
        let cpus = scene.allowed_to_working().len();
        let wanted = time.in_cpus(time.had_ns() + time.queued_ns() + time.throttled_ns);
        let may = if scene.situation.account_alone { "ran on" } else { "may use" };
        let claim = format!(
            "Its own threads wait for each other: {} {} want {wanted:.1} CPUs and {may} {cpus}",
            time.threads,
            plural("thread", time.threads)
        );
        // Waiting for each other is no loss by itself: the CPU works for the server meanwhile.
        let mut cause = Cause::possible(ABOUT.id, Subject::Server, claim)
            .at_most(share)
            .because(format!(
                "for {} of its time one of its threads waited for a CPU that another of its threads had",
                percent(share)
            ))
            .figure("waited_share", share)
            .figure("threads", time.threads as f64)
            .figure("wanted_cpus", wanted)
            .figure("allowed_cpus", cpus as f64);
        // With no more threads than CPUs, the scheduler put two on one CPU while another was free: fewer would not help.
        if time.threads > cpus {
            let words = format!("Let fewer of its threads run at once (about {cpus}), or give it more CPUs");
            cause = cause.remedy(Remedy::by_hand(words));
        }
        Looked::Found(vec![cause])
    }
}

#[cfg(test)]
mod tests {
    use machine::processes::Thread;
    use probe::account::ThreadAccount;

    use super::*;
    use crate::diagnosis::situation_builder::{SECOND, SERVER, SituationBuilder, situation};

    #[test]
    fn cpus_of_threads_that_are_not_at_work_do_not_count() {
        let mut seen = situation().taken_by("server", SERVER, false, SECOND / 10);
        let account = seen.account.as_mut().unwrap();
        account.tasks[0].of_target = true;
        let second = ThreadAccount { tid: SERVER + 1, ..account.threads[0].clone() };
        account.threads.push(second);
        // Two workers on CPU 1, and a thread that may use both CPUs and sleeps.
        let threads = &mut seen.server.processes[0].threads;
        let second = Thread { tid: SERVER + 1, ..threads[0].clone() };
        let idle = Thread { tid: SERVER + 2, cpus: Some([0, 1].into_iter().collect()), ..Thread::default() };
        threads.extend([second, idle]);
        let looked = OwnThreads.examine(&Scene::of(&seen).unwrap());
        let Looked::Found(causes) = looked else { panic!("not found") };
        assert!(causes[0].claim.ends_with("2 threads want 1.2 CPUs and may use 1"), "{causes:?}");
        assert!(causes[0].remedies[0].words.contains("(about 1)"), "{causes:?}");
    }
}
