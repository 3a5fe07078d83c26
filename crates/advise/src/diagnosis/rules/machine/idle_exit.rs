//! Idle CPUs take long to come up when the server is woken.

use std::collections::BTreeMap;

use machine::processes::{Owner, OwnerId};
use machine::wording::{per_second, percent};
use probe::Party;
use probe::account::Account;

use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::cpu::rt_throttling;
use crate::diagnosis::rules::{About, Costs, Looked, Rule};
use crate::diagnosis::scene::{MATTERS, Scene};

/// The rule `idle-exit`.
pub struct IdleExit;

/// A wake-up that takes less than this came out of no state that is worth avoiding, us. Where the idle loop polls, 1 to 2 us were measured
/// (guests; scenarios receive-steered and slow-client); C1 adds its exit latency, 1 or 2 us (drivers/idle/intel_idle.c).
const LEAST_US: f64 = 3.0;
/// The limit on the wake-up latency (PM QoS) that is proposed, us: it leaves C1.
const LIMIT_US: u64 = 2;
/// A wake-up that takes more than so many exit latencies of its idle state, and this long beside them, us, waited for something else: drivers
/// report the worst case, and the rest takes some microseconds.
const FAR: (f64, f64) = (5.0, 100.0);
/// A quota may be why threads waited for idle CPUs if it held the server back for at least this share of that time.
const HELD_BACK: f64 = 0.1;

static ABOUT: About = About {
    id: "idle-exit",
    title: "idle CPUs waking up",
    costs: Costs::CpuAccess,
    docs: "A thread of the server was woken onto an idle CPU, and the CPU took time to come up: from a deep C-state or, in a guest, because the \
           hypervisor had halted it. This adds latency to each request of a lightly loaded server and costs nothing at full load. A limit on the \
           wake-up latency (PM QoS), shallower states, or busy polling cure it at the price of energy. A wake-up that takes less than 3 us comes \
           out of no deep state: only fewer wake-ups help. Look-alikes: a CPU that is busy, where the thread waits in the run queue (busy-task); a \
           thread that may not have the CPU although that is idle, because of a CPU quota (before Linux 6.18, if it is woken after the quota ran \
           out), core scheduling, or a scheduler of sched_ext: if one of them is seen, or the wake-ups take far longer than leaving their idle \
           states does, the cause is only possible. If the server is woken from another CPU, by a client on this host or by a thread of its own, \
           cross-cpu-wakeups is reported as well.",
};

impl Rule for IdleExit {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn examine(&self, scene: &Scene<'_>) -> Looked {
        let Some(account) = &scene.situation.account else { return Looked::needs_account(&ABOUT) };
        let wake_ups = WakeUps::of(scene, account);
        let share = scene.time.share(wake_ups.waited_ns);
        if share < MATTERS || wake_ups.count == 0 {
            return Looked::Fine;
        }
        Looked::Found(vec![cause(scene, &wake_ups, share)])
    }
}

/// What threads waited while their CPU was idle, ns, and why it may not have been waking up, in words; `None` where nothing speaks against it.
pub(in crate::diagnosis::rules) fn waited_for_idle_cpus(
    scene: &Scene<'_>,
    account: &Account,
) -> (f64, Option<&'static str>) {
    let wake_ups = WakeUps::of(scene, account);
    (wake_ups.waited_ns, Doubt::of(scene, &wake_ups).map(Doubt::words))
}

/// Wake-ups onto idle CPUs.
struct WakeUps {
    /// By number and name of the state that the CPU was in.
    states: BTreeMap<(u32, String), Woken>,
    count: u64,
    /// What threads waited while their CPU was idle, ns.
    waited_ns: f64,
}

/// Wake-ups out of one idle state.
#[derive(Default)]
struct Woken {
    /// What the driver says it takes to leave the state, us.
    exit_latency_us: Option<u64>,
    count: u64,
    total_ns: u64,
}

impl WakeUps {
    fn of(scene: &Scene<'_>, account: &Account) -> Self {
        let waited_ns: f64 = account.cpus.iter().map(|cpu| cpu.idle_while_waited_ns as f64).sum();
        // A CPU that was idle because real-time tasks had used up their share did not take long to come up.
        let throttled_ns = rt_throttling::kept(scene).map_or(0.0, |kept| kept.idle_ns);
        let mut states: BTreeMap<(u32, String), Woken> = BTreeMap::new();
        for state in account.threads.iter().flat_map(|thread| &thread.from_idle) {
            let name = state.name.clone().unwrap_or_else(|| "idle".into());
            let sum = states.entry((state.state, name)).or_default();
            sum.exit_latency_us = state.exit_latency_us;
            sum.count = sum.count.saturating_add(state.count);
            sum.total_ns = sum.total_ns.saturating_add(state.total_ns);
        }
        let count = states.values().map(|woken| woken.count).fold(0, u64::saturating_add);
        Self { states, count, waited_ns: (waited_ns - throttled_ns).max(0.0) }
    }

    fn mean_us(&self) -> f64 {
        self.waited_ns / self.count.max(1) as f64 / 1e3
    }

    /// The state that cost most, with its name.
    fn costliest(&self) -> Option<(&str, &Woken)> {
        let ((_, name), woken) = self.states.iter().max_by_key(|(_, woken)| woken.total_ns)?;
        Some((name.as_str(), woken))
    }

    /// Whether they took longer than so many exit latencies, and this long beside each; `None` where it is not known how long leaving the states
    /// takes.
    fn took_longer_than(&self, (latencies, beside_us): (f64, f64)) -> Option<bool> {
        let expected_us = |woken: &Woken| {
            let each_us = latencies * woken.exit_latency_us? as f64 + beside_us;
            Some(woken.count as f64 * each_us)
        };
        let all_us: Option<f64> = self.states.values().map(expected_us).sum();
        all_us.map(|all_us| self.waited_ns / 1e3 > all_us)
    }
}

/// Why CPUs that were idle while threads waited may not have been waking up.
#[derive(Clone, Copy)]
enum Doubt {
    /// A scheduler of sched_ext is loaded.
    SchedExt,
    /// A quota ran out.
    Quota,
    /// Leaving the idle states does not take that long.
    TooLong,
}

impl Doubt {
    /// `None` where leaving the idle states explains how long wake-ups took, or nothing else is known that would.
    fn of(scene: &Scene<'_>, wake_ups: &WakeUps) -> Option<Self> {
        let situation = scene.situation;
        // The states of a guest do not say how long its hypervisor takes.
        let is_metal = !situation.account_alone && situation.machine.virtualization.guest != Some(true);
        let took_longer_than = |expected| wake_ups.took_longer_than(expected).filter(|_| is_metal);
        if wake_ups.mean_us() < LEAST_US || took_longer_than((1.0, LEAST_US)) == Some(false) {
            return None;
        }
        let is_scheduler = |owner: &Owner| owner.id == Some(OwnerId::SchedExt) && !owner.settings.is_empty();
        let is_loaded = situation.machine.owners.iter().any(is_scheduler);
        let quotas = situation.observation.quotas.iter().filter(|quota| quota.party == Party::Server);
        let ran_out_us = quotas.map(|quota| quota.throttled_us).max().unwrap_or_default();
        let held_back_ns = scene.time.throttled_ns.max(ran_out_us as f64 * 1e3);
        if is_loaded {
            Some(Self::SchedExt)
        } else if held_back_ns >= HELD_BACK * wake_ups.waited_ns {
            Some(Self::Quota)
        } else {
            (took_longer_than(FAR) == Some(true)).then_some(Self::TooLong)
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::SchedExt => {
                "a scheduler of sched_ext is loaded, which decides when an idle CPU takes a thread that was woken"
            }
            Self::Quota => {
                "its CPU quota ran out in this window: before Linux 6.18, a thread that is woken then waits even if its CPU is idle"
            }
            Self::TooLong => "by the driver's figures, leaving these idle states takes far less",
        }
    }

    fn remedy(self) -> &'static str {
        match self {
            Self::SchedExt => {
                "See whether it waits as long without that scheduler (it is unloaded when its program ends): only then idle states are to blame"
            }
            Self::Quota => "Raise or remove the quota first (cpu.max, CPUQuota=), then look again",
            Self::TooLong => {
                "Find what keeps its threads from idle CPUs: core scheduling (prctl(2), PR_SCHED_CORE), throttled real-time tasks, or a quota \
                 that is not seen from here"
            }
        }
    }
}

fn cause(scene: &Scene<'_>, wake_ups: &WakeUps, share: f64) -> Cause {
    let (count, mean_us) = (wake_ups.count, wake_ups.mean_us());
    let per_s = scene.per_s(count);
    let doubt = Doubt::of(scene, wake_ups);
    let claim = match doubt {
        _ if mean_us < LEAST_US => {
            format!("The server is woken onto idle CPUs {}, {mean_us:.1} us each", per_second(per_s))
        }
        Some(_) => format!(
            "Woken onto idle CPUs, the server waits {mean_us:.0} us: these may be slow to come up, or its threads are kept from them"
        ),
        None => format!("Idle CPUs take {mean_us:.0} us to come up when the server is woken"),
    };
    let cause = match doubt {
        Some(doubt) => {
            Cause::possible(ABOUT.id, Subject::Machine, claim).at_most(share).because(doubt.words())
        }
        None => Cause::seen(ABOUT.id, Subject::Machine, share, claim),
    };
    let mut cause = cause
        .because(format!(
            "{count} wake-ups onto idle CPUs ({}) took {} of its time",
            per_second(per_s),
            percent(share)
        ))
        .figure("wake_ups_per_s", per_s)
        .figure("mean_us", mean_us);
    if let Some((name, Woken { count, total_ns, .. })) = wake_ups.costliest() {
        cause = cause.because(format!(
            "the state that cost most is {name}: {count} times, {:.0} us each",
            *total_ns as f64 / (*count).max(1) as f64 / 1e3
        ));
    }
    cause.remedy(match doubt {
        Some(doubt) => Remedy::by_hand(doubt.remedy()),
        None => remedy(scene, wake_ups),
    })
}

fn remedy(scene: &Scene<'_>, wake_ups: &WakeUps) -> Remedy {
    let polling = busy_polling(scene);
    if wake_ups.mean_us() < LEAST_US {
        return Remedy::by_hand(format!(
            "No idle state is to blame: a wake-up takes about as long anyway. Have it woken less often: {polling}, or larger batches"
        ));
    }
    let machine = &scene.situation.machine;
    if scene.situation.account_alone {
        return Remedy::by_hand(
            "Keep CPUs out of deep idle states (knob cpu-dma-latency); in a guest, use haltpoll or busy polling",
        );
    }
    if machine.virtualization.guest == Some(true) {
        let words = format!("The hypervisor halts the CPU: {}, or {polling}", against_halting(scene));
        return Remedy::by_hand(words);
    }
    if machine.idle.sets().all(|states| states.len() < 2) {
        let words = format!("There are no C-states to choose from. What keeps the CPU awake is {polling}");
        return Remedy::by_hand(words);
    }
    let excludes = |woken: &Woken| woken.exit_latency_us.is_none_or(|us| us > LIMIT_US);
    match (limit_in_force(scene), wake_ups.costliest()) {
        (Some(us), _) if us <= LIMIT_US => Remedy::by_hand(format!(
            "A limit of {us} us on the wake-up latency is in force already (PM QoS): what is left is {polling}, or fewer wake-ups"
        )),
        (_, Some((name, woken))) if !excludes(woken) => Remedy::by_hand(format!(
            "By the driver's figures, a limit of {LIMIT_US} us on the wake-up latency would still allow {name}. What is left is {polling}, or a \
             limit of 0 (knob cpu-dma-latency): idle CPUs then poll, which takes energy, turbo, and time of other hyper-threads"
        )),
        _ => Remedy::set(
            "Limit the wake-up latency while the server runs (PM QoS)",
            "cpu-dma-latency",
            "machine",
            LIMIT_US,
        ),
    }
}

/// The limit on the wake-up latency that is in force on every CPU of the server, us; `None` where there is none on one of them.
fn limit_in_force(scene: &Scene<'_>) -> Option<u64> {
    let power = &scene.situation.machine.power;
    let of_cpu = |cpu: u32| {
        let own = power.cpu_latency_limits_us.get(&cpu).copied();
        power.latency_limit_us.into_iter().chain(own).min()
    };
    let limits: Option<Vec<u64>> = scene.time.cpus.iter().map(of_cpu).collect();
    limits?.into_iter().max()
}

/// What keeps a hypervisor from halting the CPU of a guest.
fn against_halting(scene: &Scene<'_>) -> &'static str {
    let machine = &scene.situation.machine;
    let is_kvm = machine.virtualization.name().is_none_or(|name| name == "KVM");
    match machine.idle.driver.as_deref() {
        _ if !is_kvm => "look for its setting for low latency",
        Some("haltpoll") => "raise guest_halt_poll_ns (haltpoll), or kvm.halt_poll_ns on the host",
        _ => "use haltpoll in the guest, kvm.halt_poll_ns on the host",
    }
}

/// Busy polling, by what this machine has of it.
fn busy_polling(scene: &Scene<'_>) -> &'static str {
    let tunables = &scene.situation.machine.kernel.tunables;
    match ["net.core.busy_poll", "net.core.busy_read"].map(|name| tunables.get(name).map(|us| us.trim())) {
        _ if scene.situation.account_alone => "busy polling (knobs busy-poll, busy-read)",
        [Some("0"), Some(_)] | [Some(_), Some("0")] => "busy polling of a card (knobs busy-poll, busy-read)",
        [Some(_), Some(_)] => "busy polling in the server itself (that of sockets is on already)",
        _ => "busy polling in the server itself",
    }
}

#[cfg(test)]
mod tests {
    use machine::CpuSet;
    use machine::power::idle::IdleState;
    use machine::processes::OwnerSetting;
    use probe::account::FromIdle;
    use probe::{QuotaSeen, Situation};

    use super::*;
    use crate::diagnosis::cause::Certainty;
    use crate::diagnosis::situation_builder::situation;

    /// A server that waits for idle CPUs for 80 ms, at so many wake-ups out of C6, which takes so long to leave.
    fn woken(count: u64, exit_latency_us: Option<u64>) -> Situation {
        let mut seen = situation();
        let account = seen.account.as_mut().unwrap();
        account.cpus[1].idle_while_waited_ns = 80_000_000;
        let name = Some("C6".to_string());
        account.threads[0].from_idle =
            vec![FromIdle { name, exit_latency_us, count, total_ns: 80_000_000, ..FromIdle::default() }];
        let state = |(name, us): (&str, u64)| IdleState {
            name: name.into(),
            exit_latency_us: Some(us),
            target_residency_us: None,
            disabled: Some(false),
            disabled_on: CpuSet::new(),
        };
        seen.machine.idle.states = [("POLL", 0), ("C1", 2), ("C6", 133)].map(state).into();
        seen.machine.virtualization.guest = Some(false);
        seen
    }

    fn found(seen: &Situation) -> Cause {
        match IdleExit.examine(&Scene::of(seen).unwrap()) {
            Looked::Found(mut causes) => causes.remove(0),
            other => panic!("{other:?}"),
        }
    }

    /// What is advised, and to what the limit is set.
    fn advised(seen: &Situation) -> (String, Option<String>) {
        let remedy = found(seen).remedies.remove(0);
        (remedy.words, remedy.setting.map(|setting| setting.value))
    }

    #[test]
    fn a_wake_up_that_takes_as_long_as_any_is_not_blamed_on_an_idle_state() {
        let (cheap, dear) = (found(&woken(40_000, None)), found(&woken(1_000, None)));
        assert_eq!(cheap.claim, "The server is woken onto idle CPUs 40,000/s, 2.0 us each");
        assert!(cheap.remedies[0].words.starts_with("No idle state is to blame"));
        assert_eq!(dear.claim, "Idle CPUs take 80 us to come up when the server is woken");
        assert!(!dear.remedies[0].words.starts_with("No idle state"));
    }

    #[test]
    fn a_limit_that_is_in_force_or_would_exclude_nothing_is_not_set() {
        let mut seen = woken(1_000, Some(133));
        assert_eq!(advised(&seen).1.as_deref(), Some("2"));
        seen.machine.power.latency_limit_us = Some(20);
        assert_eq!(advised(&seen).1.as_deref(), Some("2"), "C6 is excluded, other states are not");
        seen.machine.power.cpu_latency_limits_us = [(0, 1)].into();
        assert_eq!(advised(&seen).1.as_deref(), Some("2"), "the server is on CPU 1");
        seen.machine.power.cpu_latency_limits_us = [(1, 1)].into();
        let (words, set) = advised(&seen);
        assert!(set.is_none() && words.starts_with("A limit of 1 us"), "{words}");
        let (words, set) = advised(&woken(10_000, Some(2)));
        assert!(set.is_none() && words.contains("would still allow C6"), "{words}");
    }

    #[test]
    fn a_thread_that_is_kept_from_an_idle_cpu_may_not_have_waited_for_it_to_come_up() {
        let is_possible = |seen: &Situation| {
            let cause = found(seen);
            assert_eq!(cause.share.is_some(), cause.certainty == Certainty::Seen);
            assert_eq!(cause.share_at_most.is_some(), cause.certainty == Certainty::Possible);
            cause.certainty == Certainty::Possible
        };
        // C6 explains 80 us, and C1 does not.
        for (exit_latency_us, doubtful) in [(133, false), (2, true)] {
            let plain = woken(1_000, Some(exit_latency_us));
            assert!(!is_possible(&plain));
            let mut other_scheduler = plain.clone();
            let state = OwnerSetting { key: "state".into(), value: "enabled".into(), file: String::new() };
            let owner = Owner { id: Some(OwnerId::SchedExt), settings: vec![state], ..Owner::default() };
            other_scheduler.machine.owners = vec![owner];
            assert_eq!(is_possible(&other_scheduler), doubtful);
            let mut held_back = plain;
            held_back.observation.quotas = vec![QuotaSeen {
                party: Party::Server,
                cgroup: "/box".into(),
                cpus: 1.0,
                periods: 10,
                throttled_periods: 5,
                throttled_us: 60_000,
            }];
            assert_eq!(is_possible(&held_back), doubtful);
        }
        assert!(is_possible(&woken(10, Some(133))), "no CPU takes 8 ms to come up");
        let mut guest = woken(10, Some(133));
        guest.machine.virtualization.guest = Some(true);
        assert!(!is_possible(&guest), "its hypervisor may take that long");
    }

    #[test]
    fn a_guest_that_polls_is_not_to_begin_with_it() {
        let words = |driver: Option<&str>, hypervisor: &str| {
            let mut seen = woken(1_000, None);
            seen.machine.virtualization.guest = Some(true);
            seen.machine.virtualization.hypervisor = Some(hypervisor.into());
            seen.machine.idle.driver = driver.map(String::from);
            advised(&seen).0
        };
        assert!(words(None, "KVMKVMKVM").contains("use haltpoll in the guest"));
        assert!(words(Some("haltpoll"), "KVMKVMKVM").contains("guest_halt_poll_ns"));
        assert!(!words(None, "VMwareVMware").contains("kvm"));
    }
}
