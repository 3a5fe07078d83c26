//! Network cards: each with what it is, how it is attached, and where its interrupts and packets go.

use machine::devices::chain::{self, Served};
use machine::devices::ethtool::{Coalesce, Rings};
use machine::devices::{Device, DeviceKind, Queue};
use machine::wording::link_speed;
use machine::{CpuSet, Machine};

use super::super::FeatureId;
use super::super::values::{Card, Value};
use super::super::words;
use super::found::{Facts, MOST};

/// The cards with hardware behind them, by their addresses. Virtual functions come and go with guests, and are no cards.
pub(in crate::fleet) fn cards(machine: &Machine, online: &CpuSet, facts: &mut Facts<'_>) -> Vec<Card> {
    let is_card = |device: &&Device| {
        device.kind == DeviceKind::Net && !device.is_virtual && device.physical_function.is_none()
    };
    let mut devices: Vec<&Device> = machine.devices.iter().filter(is_card).collect();
    devices.sort_by(|a, b| (&a.pci, &a.name).cmp(&(&b.pci, &b.name)));
    devices.into_iter().take(MOST).map(|device| card(machine, device, online, facts)).collect()
}

fn card(machine: &Machine, device: &Device, online: &CpuSet, facts: &mut Facts<'_>) -> Card {
    let driver = device.driver.as_deref().unwrap_or("driver not known");
    let ethtool = device.ethtool.as_ref();
    let lines = lines(machine, device);
    let found = [
        (FeatureId::NetworkCard, Some(driver.to_string())),
        (FeatureId::CardNode, device.node.map(|node| format!("node {node}"))),
        (FeatureId::CardPcieLink, device.links.last().map(|link| link.current.to_string())),
        (FeatureId::CardSpeed, device.speed_mbit.map(link_speed)),
        (FeatureId::CardState, device.state.clone().filter(|state| state != "unknown")),
        (FeatureId::CardQueues, queues(device)),
        (FeatureId::CardRings, ethtool.and_then(|ethtool| rings(ethtool.rings.as_ref()?))),
        (FeatureId::CardCoalescing, ethtool.and_then(|ethtool| coalescing(ethtool.coalesce.as_ref()?))),
        (FeatureId::IrqPlacement, placement(&lines, online).filter(|_| !is_moved(machine, &lines))),
        (FeatureId::IrqNode, irq_nodes(&lines)),
        (FeatureId::ReceiveSteering, steering(device, online, |queue| queue.rps_cpus.as_ref())),
        (FeatureId::FlowSteering, flow_steering(device)),
        (FeatureId::TransmitSteering, steering(device, online, |queue| queue.xps_cpus.as_ref())),
    ];
    let value = |(feature, words): (FeatureId, Option<String>)| {
        Some((feature, Value::Text(facts.symbols.of(&words?))))
    };
    let of_card = found.into_iter().filter_map(value).collect();
    let (name, driver) = (facts.symbols.of(&device.name), facts.symbols.of(driver));
    Card { name, driver, facts: of_card }
}

fn queues(device: &Device) -> Option<String> {
    let count = |way: &str| device.queues.iter().filter(|queue| queue.name.starts_with(way)).count();
    (!device.queues.is_empty()).then(|| format!("{} rx, {} tx", count("rx-"), count("tx-")))
}

fn rings(rings: &Rings) -> Option<String> {
    figures(&[("rx", rings.rx), ("tx", rings.tx)])
}

fn coalescing(coalesce: &Coalesce) -> Option<String> {
    // A driver that chooses for itself reports what it chose last.
    let fixed = |adaptive: Option<u32>, figure: Option<u32>| figure.filter(|_| adaptive != Some(1));
    figures(&[
        ("adaptive-rx", coalesce.adaptive_rx),
        ("rx-usecs", fixed(coalesce.adaptive_rx, coalesce.rx_usecs)),
        ("rx-frames", fixed(coalesce.adaptive_rx, coalesce.rx_max_frames)),
        ("adaptive-tx", coalesce.adaptive_tx),
        ("tx-usecs", fixed(coalesce.adaptive_tx, coalesce.tx_usecs)),
        ("tx-frames", fixed(coalesce.adaptive_tx, coalesce.tx_max_frames)),
    ])
}

fn figures(figures: &[(&str, Option<u32>)]) -> Option<String> {
    let known = figures.iter().filter_map(|(name, figure)| figure.map(|figure| format!("{name} {figure}")));
    let known: Vec<String> = known.collect();
    (!known.is_empty()).then(|| known.join(", "))
}

/// The lines of its queues in their order; all lines where no name says whose they are.
fn lines(machine: &Machine, device: &Device) -> Vec<Served> {
    let all = chain::of(machine, device);
    let (mut of_queues, others): (Vec<Served>, Vec<Served>) =
        all.into_iter().partition(|line| !line.queues.is_empty());
    if of_queues.is_empty() {
        return others;
    }
    let queue = |line: &Served| line.queues.first().map_or(u64::MAX, |name| words::trailing_number(name));
    of_queues.sort_by(|a, b| (queue(a), &a.queues).cmp(&(queue(b), &b.queues)));
    of_queues
}

/// Where the lines may go, which an administrator or the driver decided; not where the kernel sends each of them for now.
fn placement(lines: &[Served], online: &CpuSet) -> Option<String> {
    let asked: Option<Vec<String>> =
        lines.iter().map(|line| Some(words::cpus(line.asked.as_ref()?, online))).collect();
    asked.filter(|asked| !asked.is_empty()).map(|asked| words::runs(&asked))
}

/// Whether irqbalance moves any of them, so that where it is now says nothing.
fn is_moved(machine: &Machine, lines: &[Served]) -> bool {
    let mut moved = machine.owners.iter().filter_map(|owner| owner.irqbalance.as_ref());
    moved.any(|irqbalance| lines.iter().any(|line| irqbalance.moves.contains(&line.irq)))
}

fn irq_nodes(lines: &[Served]) -> Option<String> {
    let nodes: CpuSet = lines.iter().flat_map(|line| line.nodes.iter().copied()).collect();
    match nodes.len() {
        0 => None,
        1 => Some(format!("node {nodes}")),
        _ => Some(format!("nodes {nodes}")),
    }
}

fn steering(device: &Device, online: &CpuSet, cpus: impl Fn(&Queue) -> Option<&CpuSet>) -> Option<String> {
    let known = device.queues.iter().filter_map(|queue| Some(words::cpus(cpus(queue)?, online)));
    let known: Vec<String> = known.collect();
    (!known.is_empty()).then(|| words::runs(&known))
}

fn flow_steering(device: &Device) -> Option<String> {
    let entries = device.queues.iter().filter_map(|queue| queue.rps_flow_cnt);
    let known: Vec<String> =
        entries.map(|entries| if entries == 0 { "off".into() } else { entries.to_string() }).collect();
    (!known.is_empty()).then(|| words::runs(&known))
}
