//! The server and its partners wake each other across CPUs.

use machine::Missing;
use machine::wording::{per_second, percent};
use probe::account::{Account, SleepReason, ThreadAccount, Waker};

use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::machine::idle_exit::waited_for_idle_cpus;
use crate::diagnosis::rules::{About, Costs, Looked, Rule};
use crate::diagnosis::scene::Scene;
use crate::diagnosis::wakers::{is_client, is_own};

/// The rule `cross-cpu-wakeups`.
pub struct CrossCpuWakeups;

/// From this share of the server's time on, waiting for idle CPUs to wake up matters to a placement: less is within what moving costs.
const COSTLY: f64 = 0.05;
/// With fewer wake-ups a second than this, the server is hardly used.
const OFTEN_PER_S: f64 = 1_000.0;
/// From this share on, wake-ups count as onto idle CPUs, and wake-ups and sleeps as of one kind.
const MOSTLY: f64 = 0.5;
/// With more packets of a card than this for each wake-up, the card may be what wakes the server.
const OF_CARD: f64 = 0.1;

static ABOUT: About = About {
    id: "cross-cpu-wakeups",
    title: "wake-ups from other CPUs",
    costs: Costs::CpuAccess,
    docs: "The server and a client on this host, or threads of the server, hand work to each other but run on different CPUs: each \
           message wakes an idle CPU, and the server spends much of its time waiting for that. idle-exit charges the time; this rule names the \
           placement behind it. On one CPU there is no idle CPU to wake, but the two no longer run at the same time: either placement can be \
           the faster one, and only a study decides. Look-alikes: wake-ups by a timer or by a network card, which no placement of the partner \
           changes (only idle-exit is reported); partners that already share a CPU (client-beside-server, own-threads). If idle-exit doubts \
           that these CPUs were waking up (a quota that ran out, a scheduler of sched_ext), the rule cannot tell.",
};

impl Rule for CrossCpuWakeups {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn examine(&self, scene: &Scene<'_>) -> Looked {
        let Some(account) = &scene.situation.account else { return Looked::needs_account(&ABOUT) };
        if scene.situation.online().len() < 2 {
            return Looked::DoesNotApply;
        }
        let Some(partner) = partner(scene, account) else { return Looked::DoesNotApply };
        let wake_ups = sum(account, |thread| thread.run_queue.count);
        let onto_idle = sum(account, |thread| {
            thread.from_idle.iter().map(|state| state.count).fold(0, u64::saturating_add)
        });
        let coming_up_ns = sum(account, |thread| {
            thread.from_idle.iter().map(|state| state.total_ns).fold(0, u64::saturating_add)
        });
        // The time from being woken to running includes interrupts. Only the part in which the CPUs were idle counts, as in idle-exit.
        let (idle_ns, doubt) = waited_for_idle_cpus(scene, account);
        let waited_ns = coming_up_ns.min(idle_ns);
        let share = scene.time.share(waited_ns);
        let per_s = if scene.situation.window_s > 0.0 { wake_ups / scene.situation.window_s } else { 0.0 };
        if share < COSTLY || per_s < OFTEN_PER_S || onto_idle < MOSTLY * wake_ups {
            return Looked::Fine;
        }
        if let Some(doubt) = doubt {
            let why = format!("what it waited for while its CPUs were idle may not be wake-ups: {doubt}");
            return Looked::CannotTell(Missing::new(ABOUT.title, why));
        }
        let elsewhere = sum(account, |thread| thread.woken_elsewhere) / wake_ups;
        let (who, remedy) = partner.words();
        let cause = Cause::possible(ABOUT.id, Subject::Server, format!("{who}, {}", per_second(per_s)))
            .because(format!(
                "it spent {} of its time waiting for idle CPUs to wake up (charged by idle-exit), at {} of its wake-ups",
                percent(share),
                percent(onto_idle / wake_ups)
            ))
            .figure("wake_ups_per_s", per_s)
            .figure("onto_idle_share", onto_idle / wake_ups)
            .figure("woken_elsewhere_share", elsewhere.min(1.0))
            .figure("waited_share", share)
            .remedy(Remedy::by_hand(remedy));
        Looked::Found(vec![cause])
    }
}

fn sum(account: &Account, of: impl Fn(&ThreadAccount) -> u64) -> f64 {
    account.threads.iter().map(of).fold(0, u64::saturating_add) as f64
}

/// Who wakes it.
enum Partner {
    /// A client on this host, by name and process.
    Client(String),
    /// Threads of its own.
    Own,
}

impl Partner {
    /// What is claimed, and what can be done.
    fn words(&self) -> (String, &'static str) {
        match self {
            Self::Client(name) => (
                format!("The server and its client {name} wake each other across CPUs"),
                "Measure it: pinwise study compares both on one CPU with each on its own; which is faster is not known",
            ),
            Self::Own => (
                "Its threads wake each other across CPUs".to_string(),
                "Measure it: pinwise study compares one CPU with several; which is faster is not known",
            ),
        }
    }
}

/// Who wakes the server from other CPUs; `None` if that is no task of this host.
fn partner(scene: &Scene<'_>, account: &Account) -> Option<Partner> {
    let wakers: Vec<&Waker> = account.threads.iter().flat_map(|thread| &thread.wakers).collect();
    match wakers.is_empty() {
        true => partner_by_sleep(scene, account),
        false => partner_by_wakers(scene, account, &wakers),
    }
}

/// The partner by the wakers that were seen: one kind of partner, on other CPUs, must cause most wake-ups. Of several clients it is the one
/// that wakes the server most.
fn partner_by_wakers(scene: &Scene<'_>, account: &Account, wakers: &[&Waker]) -> Option<Partner> {
    let by_own = |waker: &Waker| waker.elsewhere && is_own(waker, account);
    let by_client = |waker: &Waker| waker.elsewhere && is_client(waker, scene.situation);
    let all: f64 = wakers.iter().map(|waker| waker.count as f64).sum();
    let most_are = |are: &dyn Fn(&Waker) -> bool| {
        let some: f64 = wakers.iter().filter(|waker| are(waker)).map(|waker| waker.count as f64).sum();
        some >= MOSTLY * all
    };
    if most_are(&by_own) {
        return Some(Partner::Own);
    }
    if !most_are(&by_client) {
        return None;
    }
    let waker = wakers.iter().filter(|waker| by_client(waker)).max_by_key(|waker| waker.count)?;
    let peer = scene.situation.connections.peers.iter().find(|peer| Some(peer.pid) == waker.pid)?;
    Some(Partner::Client(format!("{} (process {})", peer.comm, peer.pid)))
}

/// The partner by what its threads sleep for, if wakers were not counted.
fn partner_by_sleep(scene: &Scene<'_>, account: &Account) -> Option<Partner> {
    let slept = |reason: SleepReason| {
        sum(account, |thread| thread.asleep_for.get(&reason).map_or(0, |part| part.count))
    };
    let all: f64 = SleepReason::ALL.into_iter().map(slept).sum();
    if all > 0.0 && scene.time.threads > 1 && slept(SleepReason::Futex) >= MOSTLY * all {
        return Some(Partner::Own);
    }
    let peer = scene.situation.connections.peers.iter().max_by_key(|peer| peer.connections)?;
    // Without packet counts, the card may be what wakes it.
    scene.interfaces().next()?;
    let by_card: f64 = scene.interfaces().filter(|(name, _)| *name != "lo").map(|(_, per_s)| per_s).sum();
    let of_input = slept(SleepReason::Input);
    let per_s = if scene.situation.window_s > 0.0 { of_input / scene.situation.window_s } else { 0.0 };
    let is_local = all > 0.0 && of_input >= MOSTLY * all && by_card <= OF_CARD * per_s;
    is_local.then(|| Partner::Client(format!("{} (process {})", peer.comm, peer.pid)))
}

#[cfg(test)]
mod tests {
    use machine::processes::Peer;
    use probe::Situation;
    use probe::account::{FromIdle, Part, Stretches, WakerContext};

    use super::*;
    use crate::diagnosis::diagnose;
    use crate::diagnosis::situation_builder::{SECOND, SituationBuilder, situation};

    /// A server that is woken five thousand times a second, each time onto an idle CPU that takes 20 us.
    fn woken_by(reason: SleepReason) -> Situation {
        let mut situation = situation();
        let account = situation.account.as_mut().unwrap();
        let thread = &mut account.threads[0];
        thread.run_queue = Stretches { count: 5_000, total_ns: SECOND / 10, ..Stretches::default() };
        thread.from_idle = vec![FromIdle { count: 5_000, total_ns: SECOND / 10, ..FromIdle::default() }];
        thread.asleep_for = [(reason, Part { count: 5_000, total_ns: SECOND / 10 * 4 })].into();
        thread.woken_elsewhere = 5;
        account.cpus[1].idle_while_waited_ns = SECOND / 10;
        situation.connections.peers = vec![Peer { pid: 7, comm: "client".into(), connections: 1 }];
        situation.counted("network", "received lo", 5_000)
    }

    fn look(situation: &Situation) -> Looked {
        CrossCpuWakeups.examine(&Scene::of(situation).unwrap())
    }

    #[test]
    fn a_client_that_wakes_the_servers_idle_cpu_is_a_question_for_a_study() {
        let seen = woken_by(SleepReason::Input);
        let Looked::Found(causes) = look(&seen) else { panic!("not found") };
        assert_eq!((causes[0].share, causes[0].remedies[0].setting.clone()), (None, None));
        assert!(
            causes[0].claim.contains("client (process 7)") && causes[0].remedies[0].words.contains("study")
        );
        let ids: Vec<String> = diagnose(&seen).causes.iter().map(|cause| cause.id.rule.clone()).collect();
        assert_eq!(ids, ["idle-exit", "cross-cpu-wakeups"], "the time is charged once");
    }

    #[test]
    fn threads_of_its_own_wake_each_other() {
        let mut seen = woken_by(SleepReason::Futex);
        assert_eq!(look(&seen), Looked::DoesNotApply, "one thread wakes nobody");
        let account = seen.account.as_mut().unwrap();
        let second = account.threads[0].clone();
        account.threads.push(second);
        let Looked::Found(causes) = look(&seen) else { panic!("not found") };
        assert!(causes[0].claim.starts_with("Its threads"), "{causes:?}");
    }

    #[test]
    fn timers_and_cards_are_no_partner() {
        assert_eq!(look(&woken_by(SleepReason::Timer)), Looked::DoesNotApply);
        let by_card = woken_by(SleepReason::Input).counted("network", "received eth0", 5_000);
        assert_eq!(look(&by_card), Looked::DoesNotApply);
        let by_loopback = woken_by(SleepReason::Input).counted("network", "received lo", 5_000);
        assert!(matches!(look(&by_loopback), Looked::Found(_)));
        let mut alone = woken_by(SleepReason::Input);
        alone.connections.peers.clear();
        assert_eq!(look(&alone), Looked::DoesNotApply);
    }

    #[test]
    fn who_was_seen_to_wake_it_counts_more_than_what_it_sleeps_for() {
        let by = |context, pid, elsewhere| {
            let mut seen = woken_by(SleepReason::Input);
            let thread = &mut seen.account.as_mut().unwrap().threads[0];
            thread.wakers = vec![
                Waker { context, pid, elsewhere, count: 4_000, comm: None },
                Waker { context: WakerContext::Interrupt, elsewhere: true, count: 1_000, ..Waker::default() },
            ];
            // Packets were not counted, and need not be.
            seen.observation.system.clear();
            look(&seen)
        };
        assert!(matches!(by(WakerContext::Softirq, Some(7), true), Looked::Found(_)), "by its client");
        assert_eq!(by(WakerContext::Softirq, Some(7), false), Looked::DoesNotApply, "on its own CPU");
        assert_eq!(
            by(WakerContext::Softirq, Some(99), true),
            Looked::DoesNotApply,
            "a card: that process happened to run there"
        );
        assert_eq!(by(WakerContext::Interrupt, None, true), Looked::DoesNotApply, "a timer");
        let own = situation().account.unwrap().threads[0].pid;
        let Looked::Found(causes) = by(WakerContext::Task, Some(own), true) else { panic!("not found") };
        assert!(causes[0].claim.starts_with("Its threads"), "{causes:?}");
    }

    #[test]
    fn together_or_rarely_or_cheaply_woken_is_fine() {
        let mut together = woken_by(SleepReason::Input);
        together.account.as_mut().unwrap().threads[0].from_idle[0].count = 100;
        assert_eq!(look(&together), Looked::Fine);
        let mut rarely = woken_by(SleepReason::Input);
        rarely.account.as_mut().unwrap().threads[0].run_queue.count = 200;
        assert_eq!(look(&rarely), Looked::Fine);
        let mut cheaply = woken_by(SleepReason::Input);
        cheaply.account.as_mut().unwrap().threads[0].from_idle[0].total_ns = SECOND / 1_000;
        assert_eq!(look(&cheaply), Looked::Fine);
    }

    #[test]
    fn what_may_be_a_quota_is_charged_to_no_placement() {
        let mut seen = woken_by(SleepReason::Input);
        let thread = &mut seen.account.as_mut().unwrap().threads[0];
        thread.throttled = Stretches { count: 5, total_ns: SECOND / 20, ..Stretches::default() };
        let Looked::CannotTell(missing) = look(&seen) else { panic!("it is blamed") };
        assert!(missing.why.contains("CPU quota ran out"), "{missing:?}");
    }

    #[test]
    fn facts_that_are_missing_or_odd() {
        let mut seen = woken_by(SleepReason::Input);
        seen.account.as_mut().unwrap().threads[0].asleep_for.clear();
        assert_eq!(look(&seen), Looked::DoesNotApply, "why it sleeps is not known");
        seen = woken_by(SleepReason::Input);
        (seen.window_s, seen.account.as_mut().unwrap().threads[0].run_queue.count) = (0.0, 0);
        assert_eq!(look(&seen), Looked::Fine);
        let mut uncounted = woken_by(SleepReason::Input);
        uncounted.observation.system.clear();
        assert_eq!(look(&uncounted), Looked::DoesNotApply, "the card may be what wakes it");
        let mut huge = woken_by(SleepReason::Input);
        let thread = &mut huge.account.as_mut().unwrap().threads[0];
        (thread.woken_elsewhere, thread.run_queue.count) = (u64::MAX, u64::MAX);
        thread.from_idle.push(FromIdle { count: u64::MAX, total_ns: u64::MAX, ..FromIdle::default() });
        let _ = look(&huge);
        let scene_time = Scene::of(&huge).unwrap().time;
        huge.account = None;
        let counted = Scene { situation: &huge, time: scene_time };
        assert!(matches!(CrossCpuWakeups.examine(&counted), Looked::CannotTell(_)));
    }
}
