//! Idle CPUs take long to come up when the server is woken.

use std::collections::BTreeMap;

use machine::wording::{per_second, percent};

use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::cpu::rt_throttling;
use crate::diagnosis::rules::{About, Costs, Looked, Rule};
use crate::diagnosis::scene::{MATTERS, Scene};

/// The rule `idle-exit`.
pub struct IdleExit;

/// A wake-up that takes less than this came out of no state that is worth avoiding, us. Where the idle loop polls, 1 to 2 us were measured
/// (guests; scenarios receive-steered and slow-client); C1 adds its exit latency, 1 or 2 us (drivers/idle/intel_idle.c).
const LEAST_US: f64 = 3.0;

static ABOUT: About = About {
    id: "idle-exit",
    title: "idle CPUs waking up",
    costs: Costs::CpuAccess,
    docs: "A thread of the server was woken onto an idle CPU, and the CPU took time to come up: from a deep C-state or, in a guest, because the \
           hypervisor had halted it. This adds latency to each request of a lightly loaded server and costs nothing at full load. A limit on the \
           wake-up latency (PM QoS), shallower states, or busy polling cure it at the price of energy. A wake-up that takes less than 3 us comes \
           out of no deep state: only fewer wake-ups help. Look-alike: a CPU that is busy, where the thread waits in the run queue (busy-task). \
           If the server is woken from another CPU, by a client on this host or by a thread of its own, cross-cpu-wakeups is reported as well.",
};

impl Rule for IdleExit {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn examine(&self, scene: &Scene<'_>) -> Looked {
        let Some(account) = &scene.situation.account else { return Looked::needs_account(&ABOUT) };
        let waited_ns: f64 = account.cpus.iter().map(|cpu| cpu.idle_while_waited_ns as f64).sum();
        // A CPU that was idle because real-time tasks had used up their share did not take long to come up.
        let throttled_ns = rt_throttling::kept(scene).map_or(0.0, |kept| kept.idle_ns);
        let ns = (waited_ns - throttled_ns).max(0.0);
        let share = scene.time.share(ns);
        let mut states: BTreeMap<(u32, String), (u64, u64)> = BTreeMap::new();
        for state in account.threads.iter().flat_map(|thread| &thread.from_idle) {
            let name = state.name.clone().unwrap_or_else(|| "idle".into());
            let sum = states.entry((state.state, name)).or_default();
            sum.0 = sum.0.saturating_add(state.count);
            sum.1 = sum.1.saturating_add(state.total_ns);
        }
        let count: u64 = states.values().map(|(count, _)| *count).fold(0, u64::saturating_add);
        if share < MATTERS || count == 0 {
            return Looked::Fine;
        }
        let mean_us = ns / count as f64 / 1e3;
        let per_s = scene.per_s(count);
        let claim = match mean_us < LEAST_US {
            true => format!("The server is woken onto idle CPUs {}, {mean_us:.1} us each", per_second(per_s)),
            false => format!("Idle CPUs take {mean_us:.0} us to come up when the server is woken"),
        };
        let mut cause = Cause::seen(ABOUT.id, Subject::Machine, share, claim)
            .because(format!(
                "{count} wake-ups onto idle CPUs ({}) took {} of its time",
                per_second(per_s),
                percent(share)
            ))
            .figure("wake_ups_per_s", per_s)
            .figure("mean_us", mean_us);
        if let Some(((_, name), (times, total))) = states.iter().max_by_key(|(_, (_, total))| *total) {
            cause = cause.because(format!(
                "the state that cost most is {name}: {times} times, {:.0} us each",
                *total as f64 / (*times).max(1) as f64 / 1e3
            ));
        }
        Looked::Found(vec![cause.remedy(remedy(scene, mean_us))])
    }
}

fn remedy(scene: &Scene<'_>, mean_us: f64) -> Remedy {
    if mean_us < LEAST_US {
        return Remedy::by_hand(
            "No idle state is to blame: a wake-up takes about as long anyway. Have it woken less often: busy polling (knobs busy-poll, busy-read), or larger batches",
        );
    }
    let idle = &scene.situation.machine.idle;
    if scene.situation.account_alone {
        return Remedy::by_hand(
            "Keep CPUs out of deep idle states (knob cpu-dma-latency); in a guest, use haltpoll or busy polling",
        );
    }
    let is_guest = scene.situation.machine.virtualization.guest == Some(true);
    match (is_guest, idle.states.len()) {
        (true, _) => Remedy::by_hand(
            "The hypervisor halts the CPU: use haltpoll in the guest, kvm.halt_poll_ns on the host, or busy polling (knobs busy-poll, busy-read)",
        ),
        (false, 0 | 1) => Remedy::by_hand(
            "There are no C-states to choose from: busy polling (knobs busy-poll, busy-read) keeps the CPU awake",
        ),
        (false, _) => Remedy::set(
            "Limit the wake-up latency while the server runs (PM QoS)",
            "cpu-dma-latency",
            "machine",
            2,
        ),
    }
}

#[cfg(test)]
mod tests {
    use probe::account::FromIdle;

    use super::*;
    use crate::diagnosis::situation_builder::situation;

    #[test]
    fn a_wake_up_that_takes_as_long_as_any_is_not_blamed_on_an_idle_state() {
        let cause = |count: u64| {
            let mut seen = situation();
            let account = seen.account.as_mut().unwrap();
            account.cpus[1].idle_while_waited_ns = 80_000_000;
            account.threads[0].from_idle =
                vec![FromIdle { count, total_ns: 80_000_000, ..FromIdle::default() }];
            match IdleExit.examine(&Scene::of(&seen).unwrap()) {
                Looked::Found(causes) => causes[0].clone(),
                other => panic!("{other:?}"),
            }
        };
        let (cheap, dear) = (cause(40_000), cause(1_000));
        assert_eq!(cheap.claim, "The server is woken onto idle CPUs 40,000/s, 2.0 us each");
        assert!(cheap.remedies[0].words.starts_with("No idle state is to blame"));
        assert_eq!(dear.claim, "Idle CPUs take 80 us to come up when the server is woken");
        assert!(!dear.remedies[0].words.starts_with("No idle state"));
    }
}
