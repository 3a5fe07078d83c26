//! Packets are received on the server's CPU.

use machine::Missing;
use machine::wording::{per_second, percent, plural};
use probe::account::Source;

use super::device_interrupts::line;
use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::{About, Costs, Looked, OwnWork, Rule};
use crate::diagnosis::scene::{MATTERS, Scene, Taken};

/// The rule `receive-work`.
pub struct ReceiveWork;

/// From this share of packets on an interface is where they come from.
const MOSTLY: f64 = 0.9;
/// From this share of receive runs on that another CPU asked for, receive work is steered here.
const STEERED: f64 = 0.1;
/// Receive runs for each segment that the namespace sends, above which they cannot be answers to the server's own.
const OWN_AT_MOST: f64 = 1.5;

static ABOUT: About = About {
    id: "receive-work",
    title: "receive work of others",
    costs: Costs::CpuAccess,
    docs: "Packets are worked off (softirq NET_RX) on a CPU of the server: it follows the card's line, or RPS hands it over from another \
           CPU. Loopback packets between the server and its clients are work of their own, done where the sender runs: they are cost and \
           no theft, and no line can be moved. Distinguished by the interfaces that packets came through, by wake-ups of RPS \
           (softnet_stat), and by how many segments the server's own namespace sent. Where to look next: the card's queues and lines \
           (pinwise map), rps_cpus of the interface.",
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
        if let Some(cause) = steered(scene, &taken, share) {
            return Looked::Found(vec![cause]);
        }
        if scene.interfaces().next().is_none() {
            let why = "packets by interface were not counted, so that its own are not known from others";
            return Looked::CannotTell(Missing::new(ABOUT.title, why));
        }
        if is_own_loopback(scene, &taken) {
            return Looked::OwnWork(OwnWork { rule: ABOUT.id, what: "its own packets on lo".into(), share });
        }
        Looked::Found(vec![received(scene, &taken, share)])
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

/// RPS hands packets over to the server's CPU.
fn steered(scene: &Scene<'_>, taken: &Taken, share: f64) -> Option<Cause> {
    let handed = |cpu| scene.situation.observation.rate("network", "received rps", cpu).unwrap_or(0.0);
    let handed_per_s: f64 = taken.cpus.iter().map(handed).sum();
    if handed_per_s < STEERED * scene.per_s(taken.count) || handed_per_s < 1.0 {
        return None;
    }
    let steers = scene.situation.machine.devices.iter().find(|device| {
        let queues = device.queues.iter().filter_map(|queue| queue.rps_cpus.as_ref());
        queues.into_iter().any(|cpus| !cpus.intersection(&taken.cpus).is_empty())
    });
    let (word, cpus) = (plural("CPU", taken.cpus.len()), &taken.cpus);
    let (subject, name) = match steers {
        Some(device) => (Subject::Interface { name: device.name.clone() }, format!("of {}", device.name)),
        None => (Subject::Server, "of an interface that is not seen here".into()),
    };
    let claim = format!("Receive work {name} is steered onto {word} {cpus}, where the server runs (RPS)");
    let cause = Cause::seen(ABOUT.id, subject, share, claim)
        .because(format!(
            "softirq NET_RX took {} of the server's time; other CPUs handed packets over {}",
            percent(share),
            per_second(handed_per_s)
        ))
        .figure("handed_over_per_s", handed_per_s)
        .figure("taken_s", taken.ns / 1e9);
    let spare = scene.spare();
    let remedy = match steers {
        Some(device) => {
            let words = match spare.is_empty() {
                true => "Leave it where the packets arrive".to_string(),
                false => format!(
                    "Steer it to {} {spare}, or leave it where the packets arrive",
                    plural("CPU", spare.len())
                ),
            };
            let queue = device
                .queues
                .iter()
                .find(|queue| queue.rps_cpus.as_ref().is_some_and(|cpus| !cpus.is_empty()))?;
            Remedy::set(
                words,
                "rps-cpus",
                format!("{}/{}", device.name, queue.name),
                if spare.is_empty() { "none".to_string() } else { spare.to_string() },
            )
        }
        None => Remedy::by_hand("Look at rps_cpus of the interfaces in other network namespaces"),
    };
    Some(cause.remedy(remedy))
}

/// Packets of a card, or of other local processes.
fn received(scene: &Scene<'_>, taken: &Taken, share: f64) -> Cause {
    let (word, cpus) = (plural("CPU", taken.cpus.len()), &taken.cpus);
    let card = scene.situation.machine.devices.iter().find(|device| {
        let arrives = |irq: &u32| {
            line(scene, *irq)
                .and_then(|line| line.effective.as_ref())
                .is_some_and(|to| !to.intersection(&taken.cpus).is_empty())
        };
        !device.is_virtual
            && device.irqs.iter().any(arrives)
            && scene.interfaces().any(|(name, per_s)| name == device.name && per_s >= 100.0)
    });
    let per_s = scene.per_s(taken.count);
    let evidence =
        format!("softirq NET_RX took {} of the server's time: {}", percent(share), per_second(per_s));
    match card {
        Some(card) => {
            let claim =
                format!("Packets of {} are received on {word} {cpus}, where the server runs", card.name);
            let spare = scene.spare();
            let cause = Cause::seen(ABOUT.id, Subject::Interface { name: card.name.clone() }, share, claim)
                .because(evidence)
                .figure("runs_per_s", per_s);
            match spare.is_empty() {
                true => {
                    cause.remedy(Remedy::by_hand("Keep a CPU for the card: place the server on the others"))
                }
                false => cause.remedy(Remedy::by_hand(format!(
                    "Move its lines to {} {spare} (knob irq-affinity), near the card's node",
                    plural("CPU", spare.len())
                ))),
            }
        }
        None => {
            let busiest = scene.interfaces().max_by(|a, b| a.1.total_cmp(&b.1));
            let through = busiest
                .map(|(name, per_s)| format!("; {name} received {} packets", per_second(per_s)))
                .unwrap_or_default();
            let claim =
                format!("Packets that are not the server's own are received on {word} {cpus}, where it runs");
            Cause::seen(ABOUT.id, Subject::Server, share, claim)
                .because(format!("{evidence}{through}"))
                .figure("runs_per_s", per_s)
                .remedy(Remedy::by_hand("Find out who sends them: packets between local interfaces are processed where the sender runs; keep the sender off these CPUs (knob process-affinity)"))
        }
    }
}
