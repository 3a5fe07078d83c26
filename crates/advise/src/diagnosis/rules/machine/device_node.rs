//! The server runs on another node than the card or disk that it uses.

use std::collections::BTreeMap;

use machine::Missing;
use machine::devices::{Device, DeviceKind};
use machine::wording::things_per_second;
use probe::account::Account;

use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::waits::blocked;
use crate::diagnosis::rules::{About, Costs, Looked, Rule};
use crate::diagnosis::scene::Scene;

/// The rule `device-node`.
pub struct DeviceNode;

/// Fewer packets, or interrupts of a disk, a second do not matter: at a microsecond each for the way to another node, this rate takes 1 % of a CPU.
const OFTEN_PER_S: f64 = 10_000.0;
/// A card counts if at least this share of the packets comes through it, a disk if at least this share of its interrupts arrives at the server's CPUs.
const MOST: f64 = 0.5;
/// The server runs on one node if it spends at least this share of its CPU time there.
const ON_ONE: f64 = 0.8;
/// The server waits for a disk if it is blocked for at least this share of its time.
const WAITS: f64 = 0.1;

static ABOUT: About = About {
    id: "device-node",
    title: "NUMA node of its devices",
    costs: Costs::OwnTime,
    docs: "The server runs on another NUMA node than the network card that its packets come through, or than the disk that it waits for. What the \
           device writes to memory, its interrupts, and the server's work on it then meet across the interconnect. Either placement is known to be \
           faster in some cases: near the card the path is short; away from it, interrupts and receive work do not take the server's CPUs and cache. \
           So the cause is only possible, and a study of both nodes decides. A card is named only if more connections come from other hosts or \
           namespaces than from clients on this host, most packets of its network namespace (and at least 10,000 a second) come through that card, \
           and interrupts of the card were seen. A disk is named only if the server is blocked on I/O and most of the disk's interrupts (and at \
           least 10,000 a second) arrive on the server's CPUs: they arrive where requests were made. Other things that look the same, such as \
           packets for another server behind the same card, are not excluded. Look-alikes: loopback traffic and that of containers; a server on \
           several nodes; memory on another node (memory-node); on the card's own node, interrupts and receive work on the server's CPUs \
           (device-interrupts, receive-work). *Not verified on hardware.*",
};

impl Rule for DeviceNode {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn examine(&self, scene: &Scene<'_>) -> Looked {
        if scene.situation.machine.nodes.len() < 2 {
            return Looked::DoesNotApply;
        }
        let Some(account) = &scene.situation.account else { return Looked::needs_account(&ABOUT) };
        let own = match own_node(scene, account) {
            Ok(Some(own)) => own,
            Ok(None) => return Looked::Fine,
            Err(cpu) => {
                let why = format!("it is not known which node CPU {cpu} is on, where the server ran");
                return Looked::CannotTell(Missing::new(ABOUT.title, why));
            }
        };
        let used = [card(scene, account), Ok(disk(scene, account))];
        let mut causes = Vec::new();
        let mut missing = None;
        for used in used {
            match used {
                Ok(Some(used)) => match used.device.node {
                    Some(node) if node != own => causes.push(cause(scene, &used, node, own)),
                    Some(_) => {}
                    None => {
                        let why = format!("the firmware does not report the node of {}", used.device.name);
                        missing = Some(Missing::new(ABOUT.title, why));
                    }
                },
                Ok(None) => {}
                Err(why) => missing = Some(Missing::new(ABOUT.title, why)),
            }
        }
        match missing {
            Some(missing) if causes.is_empty() => Looked::CannotTell(missing),
            _ => Looked::of(causes),
        }
    }
}

/// The node on which the server spent most of its time; `None` if it ran on several. The error is a CPU whose node is not known.
fn own_node(scene: &Scene<'_>, account: &Account) -> Result<Option<u32>, u32> {
    let mut by_node: BTreeMap<u32, f64> = BTreeMap::new();
    for cpu in account.cpus.iter().filter(|cpu| cpu.target_ns > 0) {
        let node = scene.situation.machine.cpu(cpu.cpu).and_then(|cpu| cpu.node).ok_or(cpu.cpu)?;
        *by_node.entry(node).or_default() += cpu.target_ns as f64;
    }
    let all: f64 = by_node.values().sum();
    let most = by_node.into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
    Ok(most.filter(|(_, ns)| *ns >= ON_ONE * all).map(|(node, _)| node))
}

/// A device that the server uses.
struct Used<'a> {
    device: &'a Device,
    /// How often, a second: packets, or interrupts.
    per_s: f64,
    /// What shows it.
    evidence: String,
}

/// Interrupts of a device in the window: all, and those that came to CPUs on which the server ran.
fn came(scene: &Scene<'_>, account: &Account, device: &Device) -> (u64, u64) {
    let lines = account.lines.iter().filter(|line| device.irqs.contains(&line.irq));
    lines.fold((0, 0), |(all, here), line| {
        let count = line.seen.all.count;
        let here_too = if scene.time.cpus.contains(line.cpu) { count } else { 0 };
        (all.saturating_add(count), here.saturating_add(here_too))
    })
}

/// The card through which most packets come, if most connections are not from this host; the error says what is not known.
fn card<'a>(scene: &Scene<'a>, account: &Account) -> Result<Option<Used<'a>>, String> {
    let connections = &scene.situation.connections;
    let local = connections.peers.iter().map(|peer| peer.connections).fold(0, u64::saturating_add);
    if connections.from_elsewhere <= local {
        return Ok(None);
    }
    match connections.same_namespace {
        Some(true) => {}
        Some(false) => {
            return Err(
                "the server is in another network namespace: it is not seen which card its packets take"
                    .into(),
            );
        }
        None => {
            return Err("it is not known whether the server is in the network namespace of the cards".into());
        }
    }
    if scene.interfaces().next().is_none() {
        return Err("packets were not counted by interface".into());
    }
    let interfaces: Vec<(&str, f64)> = scene.interfaces().collect();
    let net = |name: &str| scene.situation.machine.device(DeviceKind::Net, name);
    // What comes through a bond, VLAN or bridge was counted at its cards.
    let is_upon_cards = |name: &str| net(name).is_some_and(|device| !device.hardware.is_empty());
    let all: f64 = interfaces.iter().filter(|(name, _)| !is_upon_cards(name)).map(|(_, per_s)| per_s).sum();
    let cards = interfaces
        .iter()
        .filter_map(|(name, per_s)| Some((net(name).filter(|card| !card.is_virtual)?, *per_s)));
    let Some((card, per_s)) = cards.max_by(|a, b| a.1.total_cmp(&b.1)) else { return Ok(None) };
    if per_s < OFTEN_PER_S || per_s < MOST * all {
        return Ok(None);
    }
    let (interrupts, _) = came(scene, account, card);
    if interrupts == 0 {
        return Err(format!("{} receives packets, but none of its interrupts was seen", card.name));
    }
    let evidence = format!(
        "{} received {} and raised {}; {} connections come from other hosts or namespaces",
        card.name,
        things_per_second(per_s, "packets"),
        things_per_second(scene.per_s(interrupts), "interrupts"),
        connections.from_elsewhere
    );
    Ok(Some(Used { device: card, per_s, evidence }))
}

/// The disk whose interrupts arrive at the server's CPUs, if the server waits for I/O.
fn disk<'a>(scene: &Scene<'a>, account: &Account) -> Option<Used<'a>> {
    let blocked_ns = scene.time.blocked_ns.filter(|ns| scene.time.share(*ns) >= WAITS)?;
    if blocked::is_io(scene, blocked_ns) != Some(true) {
        return None;
    }
    let disks = scene.situation.machine.devices.iter().filter(|device| device.kind == DeviceKind::Block);
    let (disk, (all, here)) =
        disks.map(|disk| (disk, came(scene, account, disk))).max_by_key(|(_, (_, here))| *here)?;
    let per_s = scene.per_s(here);
    let is_its_own = per_s >= OFTEN_PER_S && here as f64 >= MOST * all as f64;
    is_its_own.then(|| Used {
        device: disk,
        per_s,
        evidence: format!(
            "the server is blocked on I/O, and {} of {} arrive at its CPUs",
            things_per_second(per_s, "interrupts"),
            disk.name
        ),
    })
}

fn cause(scene: &Scene<'_>, used: &Used<'_>, node: u32, own: u32) -> Cause {
    let name = &used.device.name;
    let (subject, claim) = match used.device.kind {
        DeviceKind::Net => (
            Subject::Interface { name: name.clone() },
            format!(
                "The server runs on node {own}, but {name}, which receives most packets, is on node {node}"
            ),
        ),
        _ => (
            Subject::Disk { name: name.clone() },
            format!("The server runs on node {own}, but {name}, the disk it waits for, is on node {node}"),
        ),
    };
    let cause = Cause::possible(ABOUT.id, subject, claim)
        .because(used.evidence.clone())
        .because("either node can be the faster one: near the device the path is short; away from it, its interrupts do not take the server's CPUs")
        .figure("events_per_s", used.per_s)
        .figure("device_node", f64::from(node))
        .figure("server_node", f64::from(own));
    let nodes = &scene.situation.machine.nodes;
    let has_cpus = nodes.iter().any(|known| known.id == node && !known.cpus.is_empty());
    cause.remedy(Remedy::by_hand(match has_cpus {
        true => format!(
            "Measure both: pinwise study with the server on node {node} and on node {own} (a factor of kind places, server = \"node:{node}\" and \"node:{own}\")"
        ),
        false => format!("Node {node} has no CPUs: measure the nodes nearest to it (pinwise study)"),
    }))
}

#[cfg(test)]
mod tests {
    use machine::CpuSet;
    use machine::processes::Peer;
    use machine::topology::nodes::Node;
    use probe::Situation;

    use super::*;
    use crate::diagnosis::diagnose;
    use crate::diagnosis::situation_builder::{SECOND, SituationBuilder, situation};

    /// Two nodes of one CPU each; the server runs on CPU 1, node 1.
    fn on_two_nodes() -> Situation {
        let mut seen = situation();
        let node = |id| Node { id, cpus: CpuSet::single(id), ..Node::default() };
        seen.machine.nodes = vec![node(0), node(1)];
        seen.machine.cpus.iter_mut().for_each(|cpu| cpu.node = Some(cpu.id));
        seen.connections.same_namespace = Some(true);
        seen
    }

    /// A server with clients of other hosts, and a card with a line on CPU 1.
    fn behind_a_card(node: Option<u32>, packets: u64) -> Situation {
        let mut seen = on_two_nodes().line(9, "eth0", DeviceKind::Net, SECOND / 1_000).counted(
            "network",
            "received eth0",
            packets,
        );
        seen.machine.devices[0].node = node;
        seen.account.as_mut().unwrap().lines[0].seen.all.count = 20_000;
        seen.connections.from_elsewhere = 9;
        seen
    }

    /// A server that waits for a disk of node 0, whose interrupts come to CPU 1.
    fn behind_a_disk(interrupts: u64) -> Situation {
        let mut seen = on_two_nodes()
            .line(5, "nvme0n1", DeviceKind::Block, SECOND / 1_000)
            .blocked(SECOND / 5, 0)
            .swapped_in(0)
            .counted("pressure", "io some", 200_000);
        seen.machine.devices[0].node = Some(0);
        seen.account.as_mut().unwrap().lines[0].seen.all.count = interrupts;
        seen
    }

    fn look(situation: &Situation) -> Looked {
        DeviceNode.examine(&Scene::of(situation).unwrap())
    }

    fn found(situation: &Situation) -> Cause {
        match look(situation) {
            Looked::Found(mut causes) => causes.remove(0),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_card_on_another_node_is_a_question_for_a_study() {
        let cause = found(&behind_a_card(Some(0), 60_000));
        assert_eq!((cause.id.to_string().as_str(), cause.share), ("device-node/interface:eth0", None));
        assert_eq!(cause.remedies[0].setting, None);
        assert!(
            cause.remedies[0].words.contains("study with the server on node 0 and on node 1"),
            "{cause:?}"
        );
        let seen = behind_a_card(Some(0), 60_000).taken_by("hog", 8, false, SECOND / 10);
        let rules: Vec<String> = diagnose(&seen).causes.into_iter().map(|cause| cause.id.rule).collect();
        assert_eq!(rules[0], "busy-task", "what was seen to cost comes first");
    }

    #[test]
    fn the_cards_own_node_few_packets_and_one_node_are_fine() {
        assert_eq!(look(&behind_a_card(Some(1), 60_000)), Looked::Fine);
        assert_eq!(look(&behind_a_card(Some(0), 500)), Looked::Fine);
        let mut one = behind_a_card(Some(0), 60_000);
        one.machine.nodes.truncate(1);
        assert_eq!(look(&one), Looked::DoesNotApply);
        let mut spread = behind_a_card(Some(0), 60_000);
        spread.account.as_mut().unwrap().cpus[0].target_ns = SECOND / 2;
        assert_eq!(look(&spread), Looked::Fine, "it runs on both");
    }

    #[test]
    fn loopback_containers_and_local_clients_are_not_it() {
        let local = behind_a_card(Some(0), 60_000).counted("network", "received lo", 90_000);
        assert_eq!(look(&local), Looked::Fine);
        let container = behind_a_card(Some(0), 60_000).counted("network", "received docker0", 90_000);
        assert_eq!(look(&container), Looked::Fine);
        let mut clients = behind_a_card(Some(0), 60_000);
        clients.connections.peers = vec![Peer { pid: 7, comm: "client".into(), connections: 9 }];
        assert_eq!(look(&clients), Looked::Fine);
        let mut nobody = behind_a_card(Some(0), 60_000);
        nobody.connections.from_elsewhere = 0;
        assert_eq!(look(&nobody), Looked::Fine);
    }

    #[test]
    fn a_bond_counts_its_cards_packets_again() {
        let mut seen = behind_a_card(Some(0), 60_000).counted("network", "received bond0", 60_000).counted(
            "network",
            "received lo",
            50_000,
        );
        assert_eq!(look(&seen), Looked::Fine, "not known to be upon the card");
        let bond = Device {
            name: "bond0".into(),
            is_virtual: true,
            hardware: vec!["eth0".into()],
            ..Device::default()
        };
        seen.machine.devices.push(bond);
        assert_eq!(found(&seen).id.to_string(), "device-node/interface:eth0");
    }

    #[test]
    fn a_disk_is_named_where_its_requests_come_from_the_servers_cpus() {
        assert_eq!(found(&behind_a_disk(20_000)).id.to_string(), "device-node/disk:nvme0n1");
        assert_eq!(look(&behind_a_disk(500)), Looked::Fine);
        let mut of_others = behind_a_disk(20_000);
        let mut elsewhere = of_others.account.as_ref().unwrap().lines[0].clone();
        (elsewhere.cpu, elsewhere.seen.all.count) = (0, 90_000);
        of_others.account.as_mut().unwrap().lines.push(elsewhere);
        assert_eq!(look(&of_others), Looked::Fine);
        let mut lock = behind_a_disk(20_000);
        lock.observation
            .system
            .iter_mut()
            .filter(|row| row.probe == "pressure")
            .for_each(|row| row.value = 0);
        assert_eq!(look(&lock), Looked::Fine, "a lock of the kernel");
    }

    #[test]
    fn facts_that_are_missing_or_odd() {
        let cannot_tell =
            |seen: &Situation| assert!(matches!(look(seen), Looked::CannotTell(_)), "{:?}", look(seen));
        cannot_tell(&behind_a_card(None, 60_000));
        for namespace in [Some(false), None] {
            let mut elsewhere = behind_a_card(Some(0), 60_000);
            elsewhere.connections.same_namespace = namespace;
            cannot_tell(&elsewhere);
        }
        let mut uncounted = behind_a_card(Some(0), 60_000);
        uncounted.observation.system.clear();
        cannot_tell(&uncounted);
        let mut silent = behind_a_card(Some(0), 60_000);
        silent.account.as_mut().unwrap().lines.clear();
        cannot_tell(&silent);
        let mut unknown = behind_a_card(Some(0), 60_000);
        unknown.machine.cpus.iter_mut().for_each(|cpu| cpu.node = None);
        cannot_tell(&unknown);
        let mut huge = behind_a_card(Some(0), u64::MAX);
        huge.account.as_mut().unwrap().lines[0].seen.all.count = u64::MAX;
        huge.connections.from_elsewhere = u64::MAX;
        let _ = look(&huge);
        let time = Scene::of(&huge).unwrap().time;
        huge.account = None;
        assert!(matches!(DeviceNode.examine(&Scene { situation: &huge, time }), Looked::CannotTell(_)));
    }
}
