//! Busy polling is on, but what the server waits for never arrives in a queue that can be polled.

use machine::Missing;
use machine::wording::{per_second, percent};
use probe::account::SleepReason;

use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::{About, Costs, Looked, Rule};
use crate::diagnosis::scene::{MATTERS, Scene};

/// The rule `busy-polling`.
pub struct BusyPolling;

/// The server's traffic is that of an interface if at least this share of the packets comes over it.
const MOSTLY: f64 = 0.9;
/// A thread that has a CPU for this share of the window hardly sleeps.
const NEVER_SLEEPS: f64 = 0.9;
/// A thread that never sleeps may be polling if at least this share of the CPU time is in the kernel.
const IN_KERNEL: f64 = 0.7;

static ABOUT: About = About {
    id: "busy-polling",
    title: "busy polling",
    costs: Costs::OwnTime,
    docs: "net.core.busy_poll and net.core.busy_read are set, so poll(2) and select(2) look at the card's queue for that many us before they sleep. \
           But the server's packets come over the loopback interface, which has no queue to look at (no NAPI id): this takes time, and no packet \
           arrives sooner. epoll and blocking reads see that there is no queue and sleep at once. It is not known in which call a server waits, so \
           the cause is only possible. It is reported if polling before each wait would cost 1 % of the server's time, or if a thread hardly sleeps \
           and the server is in the kernel for most of its CPU time. Look-alikes: a server whose packets come over a card, which is what the setting \
           is for; a server that polls in its own code, which looks like work.",
};

impl Rule for BusyPolling {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn examine(&self, scene: &Scene<'_>) -> Looked {
        // busy_read permits it for sockets; busy_poll is how long poll and select do it (net/socket.c, include/net/busy_poll.h).
        let tunable = |name: &str| {
            let value = scene.situation.machine.kernel.tunables.get(name)?;
            value.trim().parse::<u64>().ok().filter(|us| *us > 0)
        };
        let (Some(poll_us), Some(_)) = (tunable("net.core.busy_poll"), tunable("net.core.busy_read")) else {
            return Looked::DoesNotApply;
        };
        let packets: f64 = scene.interfaces().map(|(_, per_s)| per_s).sum();
        if scene.interfaces().next().is_none() {
            let why = "packets were not counted by interface, so it is not known where its own come from";
            return Looked::CannotTell(Missing::new(ABOUT.title, why));
        }
        let local: f64 = scene.interfaces().filter(|(name, _)| *name == "lo").map(|(_, per_s)| per_s).sum();
        if packets <= 0.0 || local < MOSTLY * packets {
            return Looked::Fine;
        }
        let Some(account) = &scene.situation.account else { return Looked::needs_account(&ABOUT) };
        let waits = account.threads.iter().filter_map(|thread| thread.asleep_for.get(&SleepReason::Input));
        let waits = waits.map(|part| part.count).fold(0, u64::saturating_add);
        let time = &scene.time;
        let at_most = time.share(waits as f64 * poll_us as f64 * 1e3).min(1.0);
        let in_kernel = time.user_ns.filter(|_| time.on_cpu_ns > 0.0).map(|user| 1.0 - user / time.on_cpu_ns);
        let spins =
            time.busiest.had_share >= NEVER_SLEEPS && in_kernel.is_some_and(|share| share >= IN_KERNEL);
        if at_most < MATTERS && !spins {
            return Looked::Fine;
        }
        let claim = format!(
            "Busy polling is on ({poll_us} us), but nine of ten packets here come over lo, where there is nothing to poll"
        );
        let cause = Cause::possible(ABOUT.id, Subject::Machine, claim)
            .at_most(at_most)
            .because(format!(
                "the server sleeps for input {}: polling before each wait would take at most {} of its time, if it waits in poll or select",
                per_second(scene.per_s(waits)),
                percent(at_most)
            ))
            .figure("busy_poll_us", poll_us as f64)
            .figure("input_waits_per_s", scene.per_s(waits))
            .figure("at_most_share", at_most);
        let words = "Switch it off, unless another server on this machine needs it: a single socket can use SO_BUSY_POLL instead";
        Looked::Found(vec![cause.remedy(Remedy::set(words, "busy-poll", "machine", 0))])
    }
}

#[cfg(test)]
mod tests {
    use probe::Situation;
    use probe::account::Part;

    use super::*;
    use crate::diagnosis::situation_builder::{SECOND, SituationBuilder, situation};

    /// A server that waits for input a thousand times a second, with these settings.
    fn polling(busy_poll: &str, busy_read: &str, interface: &str) -> Situation {
        let mut situation = situation().counted("network", &format!("received {interface}"), 1_000);
        let tunables = &mut situation.machine.kernel.tunables;
        tunables.insert("net.core.busy_poll".into(), busy_poll.into());
        tunables.insert("net.core.busy_read".into(), busy_read.into());
        let waits = Part { count: 1_000, total_ns: SECOND / 10 * 4 };
        situation.account.as_mut().unwrap().threads[0].asleep_for = [(SleepReason::Input, waits)].into();
        situation
    }

    fn look(situation: &Situation) -> Looked {
        BusyPolling.examine(&Scene::of(situation).unwrap())
    }

    #[test]
    fn polling_before_each_wait_for_a_loopback_packet_may_cost() {
        let Looked::Found(causes) = look(&polling("50", "50", "lo")) else { panic!("not found") };
        assert_eq!(causes[0].share, None);
        assert_eq!(causes[0].remedies[0].setting.as_ref().unwrap().knob, "busy-poll");
    }

    #[test]
    fn packets_of_a_card_and_few_waits_are_fine() {
        assert_eq!(look(&polling("50", "50", "eth0")), Looked::Fine);
        let mut few = polling("50", "50", "lo");
        let waits = Part { count: 10, total_ns: SECOND / 10 * 4 };
        few.account.as_mut().unwrap().threads[0].asleep_for = [(SleepReason::Input, waits)].into();
        assert_eq!(look(&few), Looked::Fine);
    }

    #[test]
    fn off_missing_and_odd_values() {
        for (poll, read) in [("0", "50"), ("50", "0"), ("", "50"), ("-1", "50"), ("x", "y")] {
            assert_eq!(look(&polling(poll, read, "lo")), Looked::DoesNotApply, "{poll} {read}");
        }
        let mut uncounted = polling("50", "50", "lo");
        uncounted.observation.system.clear();
        assert!(matches!(look(&uncounted), Looked::CannotTell(_)));
        let mut none = polling("50", "50", "lo");
        none.observation.system[0].value = 0;
        assert_eq!(look(&none), Looked::Fine);
        let mut huge = polling("18446744073709551615", "50", "lo");
        let waits = Part { count: u64::MAX, total_ns: u64::MAX };
        huge.account.as_mut().unwrap().threads[0].asleep_for = [(SleepReason::Input, waits)].into();
        assert!(matches!(look(&huge), Looked::Found(_)));
    }
}
