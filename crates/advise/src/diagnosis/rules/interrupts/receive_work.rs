//! Packets are received on the server's CPU.

use machine::devices::{Device, DeviceKind, Queue};
use machine::wording::{per_second, percent, plural, things_per_second};
use machine::{CpuSet, Missing};
use probe::account::Source;

use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::interrupt_lines::{can_take_interrupts, own_line};
use crate::diagnosis::rules::{About, Costs, Looked, OwnWork, Rule};
use crate::diagnosis::scene::{MATTERS, Scene, Taken};

/// The rule `receive-work`.
pub struct ReceiveWork;

/// From this share of packets on an interface is where they come from.
const MOSTLY: f64 = 0.9;
/// From this share of receive runs on that another CPU asked for, receive work is steered here.
const STEERED: f64 = 0.1;
/// Interrupts of a card for each receive run from which on the runs are the card's: one is followed by one run, or by a few.
const FOLLOWS: f64 = 0.1;
/// The same, from which on they may be: a card that cannot be kept up with is polled, and interrupts seldom.
const POLLED: f64 = 0.01;
/// Receive runs for each segment that the namespace sends, above which they cannot be answers to the server's own.
const OWN_AT_MOST: f64 = 1.5;

static ABOUT: About = About {
    id: "receive-work",
    title: "receive work of others",
    costs: Costs::CpuAccess,
    docs: "Received packets are processed (softirq NET_RX) on a CPU of the server, either because the card's interrupts are served there, or \
           because RPS hands the packets over from another CPU. Packets between the server and its clients on the same machine (loopback, \
           veth, bridges) look alike: they are processed on the CPU of the sender. They are a cost of the server, nobody takes its time, and \
           moving interrupts changes nothing. What distinguishes them: the interfaces through which packets came, the segments that the \
           server's own network namespace sent, the interrupts of the card, and, for RPS, the function-call interrupts with which another \
           CPU asks for the work (softnet_stat). A run without such an interrupt, while the server has the CPU, comes from what it sends to \
           local processes. Where both kinds occur, only an upper bound of the cost of steering is known, and the cause is possible; so it is \
           where lines interrupt whose device is not seen from here, such as a card in another network namespace. Where to \
           look next: the card's queues and interrupts (pinwise map), rps_cpus of the interface.",
};

impl Rule for ReceiveWork {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn examine(&self, scene: &Scene<'_>) -> Looked {
        if scene.situation.account.is_none() {
            return Looked::needs_account(&ABOUT);
        }
        let taken = scene.taken_by(Source::SoftirqNetRx);
        let share = scene.time.share(taken.ns);
        if share < MATTERS {
            return Looked::Fine;
        }
        if let Some(handed) = Handed::over(scene, &taken) {
            let share = scene.time.share(handed.ns);
            if share >= MATTERS {
                return Looked::Found(vec![steered(scene, &taken, &handed, share)]);
            }
        }
        if scene.interfaces().next().is_none() {
            let why = "packets by interface were not counted, so that its own are not known from others";
            return Looked::CannotTell(Missing::new(ABOUT.title, why));
        }
        if is_own_loopback(scene, &taken) {
            return Looked::OwnWork(OwnWork { rule: ABOUT.id, what: "its own packets on lo".into(), share });
        }
        let cards = cards(scene, &taken);
        if is_sent_there(scene, &taken, &cards) {
            let what = "packets between processes of this machine".into();
            return Looked::OwnWork(OwnWork { rule: ABOUT.id, what, share });
        }
        Looked::Found(vec![received(scene, &taken, share, &cards)])
    }
}

/// Whether these are the server's own packets on the loopback interface.
fn is_own_loopback(scene: &Scene<'_>, taken: &Taken) -> bool {
    let packets =
        |interface: &str| scene.system_per_s("network", &format!("received {interface}")).unwrap_or(0.0);
    let all: f64 = scene.interfaces().map(|(_, per_s)| per_s).sum();
    if all <= 0.0 || packets("lo") < MOSTLY * all {
        return false;
    }
    match scene.system_per_s("network", "segments sent") {
        Some(sent) => scene.per_s(taken.on_target) <= OWN_AT_MOST * sent,
        None => true,
    }
}

/// Whether hardly any of it follows the line of a card: then whoever runs there has sent it, through virtual interfaces (veth, bridges,
/// tunnels). Not by the names of interfaces, which are those of the server's network namespace: eth0 there is seldom the machine's. Not where
/// the lines of a card are not known, or where lines of no device that is seen here interrupt as often: they may be those of a card in another
/// network namespace (a function that was given to a container, or all cards where pinwise itself runs in one).
fn is_sent_there(scene: &Scene<'_>, taken: &Taken, cards: &[(&Device, u64)]) -> bool {
    let are_known =
        cards.iter().all(|(card, _)| !card.irqs.is_empty()) && !scene.situation.machine.devices.is_empty();
    let follows: u64 = cards.iter().map(|(_, interrupts)| interrupts).sum();
    let least = POLLED * taken.count as f64;
    are_known && (follows as f64) < least && (of_nobody(scene, taken) as f64) < least
}

/// Network interfaces with hardware behind them, each with its [`interrupts`].
fn cards<'a>(scene: &Scene<'a>, taken: &Taken) -> Vec<(&'a Device, u64)> {
    let devices = scene.situation.machine.devices.iter();
    let cards = devices.filter(|device| device.kind == DeviceKind::Net && !device.is_virtual);
    cards.map(|card| (card, interrupts(scene, card, taken))).collect()
}

/// How often the lines of a card interrupted the server, or kept it waiting, where packets were received.
fn interrupts(scene: &Scene<'_>, card: &Device, taken: &Taken) -> u64 {
    let lines = scene.situation.account.iter().flat_map(|account| &account.lines);
    let of_card = lines.filter(|line| card.irqs.contains(&line.irq) && taken.cpus.contains(line.cpu));
    of_card.map(|line| line.seen.took_count()).sum()
}

/// The same of lines whose device is not seen here; without those that each CPU has of its own.
fn of_nobody(scene: &Scene<'_>, taken: &Taken) -> u64 {
    let machine = &scene.situation.machine;
    let lines = scene.situation.account.iter().flat_map(|account| &account.lines);
    let of_nobody = lines.filter(|line| {
        taken.cpus.contains(line.cpu)
            && own_line(scene, line).is_none()
            && machine.irq(line.irq).is_none_or(|known| known.devices.is_empty())
    });
    of_nobody.map(|line| line.seen.took_count()).sum()
}

/// Receive work that RPS hands over to the server's CPUs.
struct Handed {
    /// How often another CPU asked for it, 1/s.
    per_s: f64,
    /// What it took from the server, ns.
    ns: f64,
    /// Whether that is an upper bound: other runs are among it, such as those of what the server sends to local processes, which take longer
    /// since they wake them.
    is_bound: bool,
}

impl Handed {
    /// Of the receive work on the server's CPUs, that which others asked for; `None` where that is next to nothing.
    fn over(scene: &Scene<'_>, taken: &Taken) -> Option<Self> {
        let of_cpu = |cpu| scene.situation.observation.rate("network", "received rps", cpu).unwrap_or(0.0);
        let per_s: f64 = taken.cpus.iter().map(of_cpu).sum();
        if per_s < STEERED * scene.per_s(taken.count) || per_s < 1.0 {
            return None;
        }
        // Each of them comes with an interrupt. One that wakes an idle CPU takes nothing from the server; runs without one, while the server
        // has the CPU, are those of what it sends to local processes.
        let of_target = scene.interrupts_on_target(Source::CallFunctionSingle, &taken.cpus);
        let interrupting = of_target.map_or(1.0, |asked_for| part(asked_for, taken.on_target));
        let asked_for = (per_s * scene.situation.window_s) as u64;
        let waited_behind = part(asked_for, taken.count.saturating_sub(taken.on_target));
        let ns = interrupting * taken.on_target_ns + waited_behind * (taken.ns - taken.on_target_ns);
        let is_bound = of_target.is_none() || interrupting < MOSTLY || waited_behind < MOSTLY;
        Some(Self { per_s, ns, is_bound })
    }
}

/// What part of so many runs these are, at most all.
fn part(of_these: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { (of_these as f64 / all as f64).min(1.0) }
}

/// Queues of an interface that RPS steers onto CPUs of the server.
struct Steering<'a> {
    device: &'a Device,
    queues: Vec<&'a Queue>,
}

impl<'a> Steering<'a> {
    /// The first interface with such queues; `None` where none of those that are seen here has any.
    fn onto(scene: &Scene<'a>, cpus: &CpuSet) -> Option<Self> {
        let is_onto = |queue: &&Queue| {
            queue.rps_cpus.as_ref().is_some_and(|steered| !steered.intersection(cpus).is_empty())
        };
        let mut of_devices = scene.situation.machine.devices.iter().map(|device| {
            let queues = device.queues.iter().filter(is_onto).collect();
            Self { device, queues }
        });
        of_devices.find(|steering: &Self| !steering.queues.is_empty())
    }

    /// To have RPS hand them over to CPUs that the server does not use.
    fn elsewhere(&self, scene: &Scene<'_>) -> Remedy {
        let spare = can_take_interrupts(scene);
        let others: Vec<&str> = self.queues.iter().skip(1).map(|queue| queue.name.as_str()).collect();
        let likewise = match others.is_empty() {
            true => String::new(),
            false => format!("; likewise {}", others.join(", ")),
        };
        let (device, queue) = (&self.device.name, &self.queues[0].name);
        if spare.is_empty() {
            return Remedy::by_hand(format!(
                "Leave it where the packets arrive: write 0 to /sys/class/net/{device}/queues/{queue}/rps_cpus{likewise}"
            ));
        }
        let word = plural("CPU", spare.len());
        let words = format!("Steer it to {word} {spare}, or leave it where the packets arrive{likewise}");
        Remedy::set(words, "rps-cpus", format!("{device}/{queue}"), spare)
    }
}

/// RPS hands packets over to the server's CPU.
fn steered(scene: &Scene<'_>, taken: &Taken, handed: &Handed, share: f64) -> Cause {
    let steering = Steering::onto(scene, &taken.cpus);
    let (word, cpus) = (plural("CPU", taken.cpus.len()), &taken.cpus);
    let (subject, name) = match &steering {
        Some(Steering { device, .. }) => {
            (Subject::Interface { name: device.name.clone() }, format!("of {}", device.name))
        }
        None => (Subject::Server, "of an interface that is not seen here".into()),
    };
    let claim = format!("Receive work {name} is steered onto {word} {cpus}, where the server runs (RPS)");
    let (cause, at_most) = match handed.is_bound {
        true => (Cause::possible(ABOUT.id, subject, claim).at_most(share), "at most "),
        false => (Cause::seen(ABOUT.id, subject, share, claim), ""),
    };
    let cause = cause
        .because(format!(
            "packets that other CPUs handed over ({}) took {at_most}{} of the server's time; all receive work there (softirq NET_RX) took {}",
            per_second(handed.per_s),
            percent(share),
            percent(scene.time.share(taken.ns))
        ))
        .figure("handed_over_per_s", handed.per_s)
        .figure("taken_s", handed.ns / 1e9);
    cause.remedy(match &steering {
        Some(steering) => steering.elsewhere(scene),
        None => Remedy::by_hand("Look at rps_cpus of the interfaces in other network namespaces"),
    })
}

/// To have the lines of a card served on CPUs that the server does not use.
fn elsewhere(scene: &Scene<'_>) -> Remedy {
    let spare = can_take_interrupts(scene);
    Remedy::by_hand(match spare.is_empty() {
        true => "Keep a CPU for the card: place the server on the others".to_string(),
        false => format!(
            "Move its lines to {} {spare} (knob irq-affinity), near the card's node",
            plural("CPU", spare.len())
        ),
    })
}

/// Packets of a card, or of other local processes.
fn received(scene: &Scene<'_>, taken: &Taken, share: f64, cards: &[(&Device, u64)]) -> Cause {
    let follows = |interrupts: u64| interrupts as f64 / taken.count as f64;
    let of_any = follows(cards.iter().map(|(_, interrupts)| interrupts).sum());
    let most = cards.iter().max_by_key(|(_, interrupts)| *interrupts).filter(|_| of_any >= POLLED);
    let per_s = scene.per_s(taken.count);
    let evidence =
        format!("softirq NET_RX took {} of the server's time: {}", percent(share), per_second(per_s));
    let cause = match most {
        Some((card, interrupts)) => {
            of_card(scene, taken, share, card, follows(*interrupts)).because(evidence)
        }
        None => of_somebody(scene, taken, share, evidence),
    };
    cause.figure("runs_per_s", per_s)
}

/// Packets of a card whose interrupts so large a part of the runs follow.
fn of_card(scene: &Scene<'_>, taken: &Taken, share: f64, card: &Device, follows: f64) -> Cause {
    let (word, cpus) = (plural("CPU", taken.cpus.len()), &taken.cpus);
    let subject = Subject::Interface { name: card.name.clone() };
    let claim = format!("Packets of {} are received on {word} {cpus}, where the server runs", card.name);
    let cause = match follows >= FOLLOWS {
        true => Cause::seen(ABOUT.id, subject, share, claim),
        false => Cause::possible(ABOUT.id, subject, claim).at_most(share).because(format!(
            "its lines interrupted {}: it is polled, or these are packets between processes of this machine, too",
            per_second(follows * scene.per_s(taken.count))
        )),
    };
    cause.remedy(elsewhere(scene))
}

/// Packets whose origin is not known, because the interrupts of the machine's cards are not.
fn of_somebody(scene: &Scene<'_>, taken: &Taken, share: f64, evidence: String) -> Cause {
    let (word, cpus) = (plural("CPU", taken.cpus.len()), &taken.cpus);
    let busiest = scene.interfaces().max_by(|a, b| a.1.total_cmp(&b.1));
    let through = busiest
        .map(|(name, per_s)| format!("; {name} received {}", things_per_second(per_s, "packets")))
        .unwrap_or_default();
    let claim = format!(
        "Packets of a card or of other processes are received on {word} {cpus}, where the server runs"
    );
    Cause::possible(ABOUT.id, Subject::Server, claim)
        .at_most(share)
        .because(format!("{evidence}{through}; which interrupts are a network card's is not known here"))
        .remedy(Remedy::by_hand("Find the card's interrupts in /proc/interrupts. If they are on these CPUs, move them (knob irq-affinity); else the packets are sent by processes on these CPUs: keep those off (knob process-affinity)"))
}

#[cfg(test)]
mod tests {
    use probe::Situation;
    use probe::account::{Interruptions, Part};

    use super::*;
    use crate::diagnosis::cause::Certainty;
    use crate::diagnosis::situation_builder::{SECOND, SituationBuilder, situation};

    /// A server whose CPU receives packets over lo, steered there: 24,400 while it had the CPU, for which another asked so often then, and 19,800
    /// while it waited, in which it took so long. All handed over were 24,396.
    fn steered_on_lo(asked_for: u64, while_waiting_ns: u64) -> Situation {
        let mut seen = situation()
            .counted("network", "received lo", 48_800)
            .counted("network", "segments sent", 48_800)
            .counted_on("network", "received rps", 1, 24_396);
        let received = Interruptions {
            on_target: Part { count: 24_400, total_ns: SECOND / 6 },
            while_waiting: Part { count: 19_800, total_ns: while_waiting_ns },
            ..Interruptions::default()
        };
        let on_target = Part { count: asked_for, total_ns: 5_000 };
        let called = Interruptions { on_target, ..Interruptions::default() };
        let cpus = &mut seen.account.as_mut().unwrap().cpus;
        let cpu = cpus.iter_mut().find(|cpu| cpu.cpu == 1).unwrap();
        let of = [(Source::SoftirqNetRx, received), (Source::CallFunctionSingle, called)];
        cpu.sources = of.into_iter().collect();
        seen
    }

    fn looked(seen: &Situation) -> Looked {
        ReceiveWork.examine(&Scene::of(seen).unwrap())
    }

    /// What steering is said to cost at most: its cost is not known among packets of local processes.
    fn bound(looked: &Looked) -> Option<f64> {
        match looked {
            Looked::Found(causes) => {
                assert_eq!((causes[0].share, causes[0].certainty), (None, Certainty::Possible));
                causes[0].share_at_most
            }
            _ => None,
        }
    }

    #[test]
    fn packets_that_are_handed_over_while_the_server_sleeps_do_not_make_its_own_answers_a_cost_of_steering() {
        let seen = looked(&steered_on_lo(5, 0));
        assert!(matches!(&seen, Looked::OwnWork(work) if work.what.contains("on lo")), "{seen:?}");
    }

    #[test]
    fn what_the_server_waits_behind_may_be_steerings_and_its_own_answers_are_not() {
        let seen = steered_on_lo(5, SECOND / 20);
        let (all, charged) = (SECOND as f64 / 20.0, bound(&looked(&seen)).unwrap());
        let scene = Scene::of(&seen).unwrap();
        let (least, most) = (scene.time.share(all), scene.time.share(all + SECOND as f64 / 1000.0));
        assert!((least..=most).contains(&charged), "{charged}: {least} to {most}");
    }

    #[test]
    fn of_runs_that_interrupt_the_server_as_many_may_be_steerings_as_others_asked_for() {
        let half = steered_on_lo(12_200, 0);
        let charged = bound(&looked(&half)).unwrap();
        let expected = Scene::of(&half).unwrap().time.share(SECOND as f64 / 12.0);
        assert!((charged / expected - 1.0).abs() < 0.01, "{charged}: {expected}");
    }

    #[test]
    fn where_nearly_all_runs_were_asked_for_their_cost_was_seen() {
        let seen = steered_on_lo(24_400, 0);
        let Looked::Found(causes) = looked(&seen) else { panic!("nothing is found") };
        let all = Scene::of(&seen).unwrap().time.share(SECOND as f64 / 6.0);
        assert!((causes[0].share.unwrap() / all - 1.0).abs() < 0.01, "{causes:?}");
    }

    /// A server in a container: packets come through a veth that is called as the host's card, whose line interrupts so often on its CPU.
    fn in_a_container(interrupts: u64) -> Situation {
        let mut seen = situation()
            .counted("network", "received eth0", 48_800)
            .interrupted_by(Source::SoftirqNetRx, SECOND / 6, 24_400)
            .line(40, "eth0", DeviceKind::Net, SECOND / 100);
        seen.account.as_mut().unwrap().lines[0].seen.on_target.count = interrupts;
        seen
    }

    #[test]
    fn what_a_server_sends_through_a_veth_is_its_own_where_no_card_interrupts_it() {
        let seen = looked(&in_a_container(20));
        assert!(matches!(&seen, Looked::OwnWork(work) if work.what.contains("of this machine")), "{seen:?}");
        for (interrupts, certainty) in [(20_000, Certainty::Seen), (2_000, Certainty::Possible)] {
            let found = looked(&in_a_container(interrupts));
            let Looked::Found(causes) = found else { panic!("the card is not found") };
            assert_eq!(causes[0].id.subject, Subject::Interface { name: "eth0".into() });
            assert_eq!(causes[0].certainty, certainty, "{interrupts}");
        }
    }

    #[test]
    fn where_the_interrupts_of_cards_are_not_known_it_may_be_a_cards_or_other_processes() {
        let mut unknown = in_a_container(20);
        unknown.machine.devices[0].irqs.clear();
        assert!(bound(&looked(&unknown)).is_some());
    }

    #[test]
    fn a_line_of_no_device_that_is_seen_may_be_a_cards_of_another_namespace() {
        let mut seen = in_a_container(20_000);
        seen.machine.devices[0].is_virtual = true;
        seen.machine.irqs[0].devices.clear();
        assert!(bound(&looked(&seen)).is_some());
        let mut seldom = seen.clone();
        seldom.account.as_mut().unwrap().lines[0].seen.on_target.count = 20;
        assert!(matches!(looked(&seldom), Looked::OwnWork(_)));
        seen.account.as_mut().unwrap().lines[0].name = Some("arch_timer".into());
        assert!(matches!(looked(&seen), Looked::OwnWork(_)), "the CPU's own timer is no card's");
    }

    #[test]
    fn two_cards_that_are_polled_are_not_packets_between_processes() {
        let mut seen = in_a_container(200);
        assert!(bound(&looked(&in_a_container(200))).is_none(), "one alone interrupts too seldom");
        let mut second = seen.machine.devices[0].clone();
        second.name = "eth1".into();
        second.irqs = vec![41];
        seen.machine.devices.push(second);
        let mut line = seen.account.as_ref().unwrap().lines[0].clone();
        line.irq = 41;
        line.seen.on_target.count = 100;
        seen.account.as_mut().unwrap().lines.push(line);
        let Looked::Found(causes) = looked(&seen) else { panic!("neither is found") };
        assert_eq!(causes[0].certainty, Certainty::Possible);
        assert_eq!(causes[0].id.subject, Subject::Interface { name: "eth0".into() });
    }

    #[test]
    fn the_remedy_of_steering_names_the_queues_that_steer_onto_the_server() {
        let mut seen = steered_on_lo(24_400, 0);
        let queue = |name: &str, cpus: &str| Queue {
            name: name.into(),
            rps_cpus: Some(CpuSet::from_list(cpus).unwrap()),
            ..Queue::default()
        };
        let queues = vec![queue("rx-0", "0"), queue("rx-1", "1"), queue("rx-2", "0-1")];
        seen.machine.devices = vec![Device { name: "eth0".into(), queues, ..Device::default() }];
        let Looked::Found(causes) = looked(&seen) else { panic!("nothing is found") };
        let remedy = &causes[0].remedies[0];
        assert!(remedy.words.ends_with("; likewise rx-2"), "{remedy:?}");
        assert!(format!("{remedy:?}").contains("eth0/rx-1"), "{remedy:?}");
    }

    #[test]
    fn steering_is_switched_off_where_no_cpu_is_left_to_steer_to() {
        let mut seen = steered_on_lo(24_400, 0);
        let queue = Queue { name: "rx-0".into(), rps_cpus: Some(CpuSet::single(1)), ..Queue::default() };
        seen.machine.devices = vec![Device { name: "eth0".into(), queues: vec![queue], ..Device::default() }];
        seen.machine.kernel.isolated = Some(CpuSet::single(0));
        let Looked::Found(causes) = looked(&seen) else { panic!("nothing is found") };
        let remedy = &causes[0].remedies[0];
        assert_eq!(remedy.setting, None, "the knob takes no word for no CPU");
        assert!(remedy.words.ends_with("write 0 to /sys/class/net/eth0/queues/rx-0/rps_cpus"), "{remedy:?}");
    }

    #[test]
    fn where_interrupts_of_other_cpus_are_not_counted_all_of_it_may_be_theirs() {
        let mut seen = steered_on_lo(5, 0);
        let cpus = &mut seen.account.as_mut().unwrap().cpus;
        let cpu = cpus.iter_mut().find(|cpu| cpu.cpu == 1).unwrap();
        cpu.sources = cpu
            .sources
            .iter()
            .filter(|(of, _)| *of == Source::SoftirqNetRx)
            .map(|(of, seen)| (of, seen.clone()))
            .collect();
        let scene = Scene::of(&seen).unwrap();
        let taken = scene.taken_by(Source::SoftirqNetRx);
        let handed = Handed::over(&scene, &taken).unwrap();
        assert_eq!((handed.ns, taken.cpus), (taken.ns, CpuSet::single(1)));
    }
}
