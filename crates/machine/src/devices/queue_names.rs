//! Which queues an interrupt serves, by the name that its driver gave it (`request_irq`, shown in /proc/interrupts).
//!
//! The kernel does not say which interrupt serves which queue. Forms that are read here, with the file of the driver below
//! `drivers/net`, N being a number:
//!
//! | form | driver |
//! |---|---|
//! | `eth0-rx-N`, `eth0-tx-N`, `eth0-TxRx-N` | ixgbe, igb, bnxt, sfc, vmxnet3 (`rxtx`), hns (`ethernet/*`) |
//! | `i40e-eth0-TxRx-N`, `ice-eth0-TxRx-N`, `iavf-...` | `ethernet/intel/{i40e,ice,iavf}` |
//! | `idpf-eth0-TxRx-N`, N from 0 or from 1 | `ethernet/intel/idpf/idpf_txrx.c` |
//! | `eth0-Tx-Rx-N` | `ethernet/amazon/ena/ena_netdev.c` |
//! | `mlx5_compN@pci:ADDRESS` | `ethernet/mellanox/mlx5/core/pci_irq.c` |
//! | `gve-ntfy-blkN@pci:ADDRESS`: the first half sends, the second receives | `ethernet/google/gve/gve_main.c`, `gve.h` |
//! | `mana_qN@pci:ADDRESS` | `ethernet/microsoft/mana/gdma_main.c` |
//! | `eth0-RxN`, `eth0 (queue N)`: receiving only | `ethernet/chelsio/cxgb4/cxgb4_main.c` |
//! | `eth0-N`, numbered over all ports of a card | `ethernet/chelsio/cxgb3/cxgb3_main.c` |
//! | `eth0-qN` | `ethernet/emulex/benet/be_main.c`, `ethernet/marvell/octeon_ep` |
//! | `hns3-ADDRESS-TxRx-N`, N counting by two | `ethernet/hisilicon/hns3/hns3_enet.c` |
//! | `eth0:rx-N`, `eth0:tx-N` | `ethernet/stmicro/stmmac/stmmac_main.c` |
//! | `8000000.ethernet-rxN`, `-txN` | `ethernet/ti/am65-cpsw-nuss.c` |
//! | `eth0-N`, N - 1 being the queue | `ethernet/broadcom/tg3.c` |
//! | `eth0-fp-N` | bnx2x, qede |
//! | `virtioN-input.N`, `-output.N`, `virtioN-virtqueues` | `virtio_net.c`, `../virtio/virtio_pci_common.c` |
//! | `vif0-qN-rx`, `eth0-qN-tx`, `eth0-rx` | `xen-netfront.c` |
//!
//! A name of another form, and a number that no queue of the device has, leave the queue unknown. So do fewer interrupts
//! than queues: then some serve several, and only the driver knows which.

use std::collections::BTreeSet;

use super::{Device, DeviceKind};

/// Words of names that are no queue's: configuration, link, mailbox, errors, flow director.
const NO_QUEUE: [&str; 27] = [
    "config", "mgmnt", "mgmt", "mailbox", "async", "hwc", "mcc", "misc", "link", "lsc", "mac", "wol", "lpi",
    "ctrl", "control", "aeq", "adminq", "fweventq", "event", "events", "fdir", "xdp", "ptp", "traceq",
    "other", "mbx", "error",
];

/// The driver of the DPAA2 network interfaces: their one interrupt reports the link, traffic comes by the portals
/// (`dpio.N`) that all of them share (drivers/net/ethernet/freescale/dpaa2/dpaa2-eth.c).
pub(super) const DPAA2: &str = "fsl_dpaa2_eth";

/// Which way the queues of an interrupt go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Receive,
    Transmit,
    Both,
}

impl Way {
    fn words(self) -> &'static [&'static str] {
        match self {
            Self::Receive => &["rx"],
            Self::Transmit => &["tx"],
            Self::Both => &["rx", "tx"],
        }
    }
}

/// What the name of a network interrupt mentions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mention {
    /// The queue of this number, or the only one.
    Queue(Way, Option<u32>),
    /// A block of gve, whose number says which way.
    GveBlock(u32),
    /// All queues.
    All,
    /// None: it serves the card, not a queue.
    NoQueue,
    /// The form is not known.
    Unknown,
}

/// What one interrupt of a device serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Serves {
    /// These queues of the device, by its names for them.
    Queues(Vec<String>),
    /// No queue.
    NoQueue,
    /// Queues that cannot be decided.
    Unknown,
}

/// The names of all interrupts of one device, which together say what each number means.
pub(super) struct Names<'a> {
    device: &'a Device,
    /// How many network interfaces have its PCI function.
    ports: usize,
    queues: BTreeSet<&'a str>,
    /// How many of them receive, and how many send.
    receiving: usize,
    sending: usize,
    /// Numbers of interrupts that receive, that send, and that do both.
    receive: BTreeSet<u32>,
    transmit: BTreeSet<u32>,
    both: BTreeSet<u32>,
    /// Blocks of gve.
    blocks: BTreeSet<u32>,
}

impl<'a> Names<'a> {
    /// `names` are those of the device's interrupts in use, each with its actions separated by commas.
    pub(super) fn new<'n>(device: &'a Device, ports: usize, names: impl Iterator<Item = &'n str>) -> Self {
        let queues: BTreeSet<&str> = device.queues.iter().map(|queue| queue.name.as_str()).collect();
        let count = |way: &str| queues.iter().filter(|name| name.starts_with(way)).count();
        let mut all = Self {
            device,
            ports,
            receiving: count("rx-"),
            sending: count("tx-"),
            queues,
            receive: BTreeSet::new(),
            transmit: BTreeSet::new(),
            both: BTreeSet::new(),
            blocks: BTreeSet::new(),
        };
        for action in names.flat_map(|name| name.split(',')) {
            match mention(action, device) {
                Mention::Queue(Way::Receive, Some(number)) => all.receive.insert(number),
                Mention::Queue(Way::Transmit, Some(number)) => all.transmit.insert(number),
                Mention::Queue(Way::Both, Some(number)) => all.both.insert(number),
                Mention::GveBlock(number) => all.blocks.insert(number),
                _ => false,
            };
        }
        all
    }

    /// What the interrupt of this name serves.
    pub(super) fn serves(&self, name: &str) -> Serves {
        let mut queues = Vec::new();
        let mut is_known = true;
        for action in name.split(',') {
            match self.action(action.trim()) {
                Serves::Queues(found) => queues.extend(found),
                Serves::NoQueue => {}
                Serves::Unknown => is_known = false,
            }
        }
        match queues.is_empty() {
            false => Serves::Queues(queues),
            true if is_known => Serves::NoQueue,
            true if self.is_alone() => Serves::Queues(self.all()),
            true => Serves::Unknown,
        }
    }

    fn action(&self, name: &str) -> Serves {
        match self.device.kind {
            DeviceKind::Net => self.network(mention(name, self.device)),
            DeviceKind::Block => match block(name) {
                Some(None) => Serves::NoQueue,
                Some(Some(queue)) => self.existing(vec![queue.to_string()]),
                None if name.ends_with("-virtqueues") => Serves::Queues(self.all()),
                None => Serves::Unknown,
            },
            _ => Serves::Unknown,
        }
    }

    fn network(&self, mention: Mention) -> Serves {
        match mention {
            Mention::NoQueue => Serves::NoQueue,
            Mention::Unknown => Serves::Unknown,
            Mention::All => Serves::Queues(self.all()),
            Mention::GveBlock(block) => self.gve(block),
            // Which port has the vector is not in the name.
            Mention::Queue(..) if self.driver() == "mana" && self.ports > 1 => Serves::Unknown,
            // The vector for link events.
            Mention::Queue(Way::Receive | Way::Both, Some(0)) if self.is_tg3() => Serves::NoQueue,
            Mention::Queue(way, Some(number)) => {
                let Some(number) = self.numbered(way, number) else { return Serves::Unknown };
                let ways = way.words().iter().filter(|word| self.has_one_for_each(word));
                self.existing(ways.map(|word| format!("{word}-{number}")).collect())
            }
            Mention::Queue(way, None) => {
                let ways = way.words().iter().filter(|word| self.count(word) == 1);
                self.existing(ways.map(|word| format!("{word}-0")).collect())
            }
        }
    }

    /// The number of the queue, counted from 0 on, whatever number the driver starts from.
    fn numbered(&self, way: Way, number: u32) -> Option<u32> {
        let numbers = match way {
            Way::Receive => &self.receive,
            Way::Transmit => &self.transmit,
            Way::Both => &self.both,
        };
        let from_lowest = number.checked_sub(numbers.first().copied().unwrap_or(0));
        match self.driver() {
            // It keeps its first vector for link events, and ring q has vector q + 1, unless all is sent from the first.
            _ if self.is_tg3() => Some(number.saturating_sub(1)),
            "cxgb3" | "idpf" => from_lowest,
            // Sending rings of their own are numbered on from the receiving ones.
            "bnxt_en" if way == Way::Transmit => from_lowest,
            "hns3" if way == Way::Both => by_two(numbers, number),
            _ => Some(number),
        }
    }

    /// Block k sends for queue k, block half + k receives for queue k.
    fn gve(&self, block: u32) -> Serves {
        let half = u32::try_from(self.blocks.len() / 2).unwrap_or(u32::MAX);
        // An interrupt that is not in the table would move the middle.
        let is_whole =
            self.blocks.last().is_some_and(|last| *last == half.saturating_mul(2).saturating_sub(1));
        match block.checked_sub(half) {
            _ if !is_whole => Serves::Unknown,
            None => self.existing(vec![format!("tx-{block}")]),
            Some(queue) => self.existing(vec![format!("rx-{queue}")]),
        }
    }

    /// Those of the names that are queues of the device. A driver may keep vectors for more queues than are open.
    fn existing(&self, mut names: Vec<String>) -> Serves {
        if names.is_empty() {
            return Serves::Unknown;
        }
        names.retain(|name| self.queues.contains(name.as_str()));
        match names.is_empty() {
            true => Serves::NoQueue,
            false => Serves::Queues(names),
        }
    }

    fn all(&self) -> Vec<String> {
        self.device.queues.iter().map(|queue| queue.name.clone()).collect()
    }

    fn driver(&self) -> &str {
        self.device.driver.as_deref().unwrap_or_default()
    }

    fn is_tg3(&self) -> bool {
        self.driver() == "tg3" && self.device.irqs.len() > 1
    }

    /// Queues of a way, `rx` or `tx`.
    fn count(&self, way: &str) -> usize {
        if way == "rx" { self.receiving } else { self.sending }
    }

    /// Whether there are as many interrupts as queues of this way: else some serve several, and only the driver knows which.
    fn has_one_for_each(&self, way: &str) -> bool {
        let own = if way == "rx" { &self.receive } else { &self.transmit };
        own.len().saturating_add(self.both.len()) >= self.count(way)
    }

    /// Whether all that the device has to say comes by one interrupt.
    fn is_alone(&self) -> bool {
        let is_up = self.device.state.as_deref() != Some("down");
        self.device.irqs.len() == 1 && self.driver() != DPAA2 && is_up && !self.device.queues.is_empty()
    }
}

/// The driver adds 2 where it means 1; should that be fixed, the numbers have no gaps.
fn by_two(numbers: &BTreeSet<u32>, number: u32) -> Option<u32> {
    let last = numbers.last().copied().unwrap_or(0);
    let steps = u32::try_from(numbers.len().saturating_sub(1)).ok()?;
    let all_even = || numbers.iter().all(|n| n.is_multiple_of(2));
    match last {
        _ if last == steps => Some(number),
        _ if Some(last) == steps.checked_mul(2) && all_even() => Some(number / 2),
        _ => None,
    }
}

/// What one action's name mentions.
fn mention(name: &str, device: &Device) -> Mention {
    let name = name.trim().split('@').next().unwrap_or_default().to_ascii_lowercase();
    if name.ends_with("-virtqueues") {
        return Mention::All;
    }
    let is_separator = |c: char| !c.is_ascii_alphanumeric();
    let without_number = |word: &str| word.trim_end_matches(|c: char| c.is_ascii_digit()).to_string();
    let interface = device.name.to_ascii_lowercase();
    let beside = without_interface(&name, &interface);
    let mut words = beside.split(is_separator).map(without_number);
    // What comes after `fdir` is the form of a queue, and not one that the interface has.
    if words.any(|word| NO_QUEUE.contains(&word.as_str())) {
        return Mention::NoQueue;
    }
    if let Some((queue, way)) = xen(&name) {
        return Mention::Queue(way, queue);
    }
    let (stem, number) = split_number(name.strip_suffix(')').unwrap_or(&name));
    let way = way(stem, &interface, device.driver.as_deref().unwrap_or_default());
    match (way, number) {
        (_, Some(number)) if stem == "gve-ntfy-blk" || stem.ends_with("-ntfy-block.") => {
            Mention::GveBlock(number)
        }
        (Some(way), Some(number)) => Mention::Queue(way, Some(number)),
        _ => Mention::Unknown,
    }
}

/// The name without that of the interface, whose words (`mgmt0`) say nothing about the interrupt.
fn without_interface(name: &str, interface: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric();
    let stands_alone = |at: &usize| {
        let (before, rest) = name.split_at(*at);
        let after = rest.strip_prefix(interface).unwrap_or_default();
        !interface.is_empty() && !before.ends_with(is_part) && !after.starts_with(is_part)
    };
    let Some(at) = name.match_indices(interface).map(|(at, _)| at).find(stands_alone) else {
        return name.to_string();
    };
    let (before, rest) = name.split_at(at);
    format!("{before}{}", rest.strip_prefix(interface).unwrap_or(rest))
}

/// The name without the digits at its end, and these.
fn split_number(name: &str) -> (&str, Option<u32>) {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    (stem, name.get(stem.len()..).and_then(|digits| digits.parse().ok()))
}

/// `vif0-q1-rx`: the number before the way; without one where there is but one pair.
fn xen(name: &str) -> Option<(Option<u32>, Way)> {
    let (stem, way) = match name.strip_suffix("-rx") {
        Some(stem) => (stem, Way::Receive),
        None => (name.strip_suffix("-tx")?, Way::Transmit),
    };
    let (stem, number) = split_number(stem);
    Some((number.filter(|_| stem.ends_with("-q")), way))
}

/// The way that the name without its number mentions.
fn way(stem: &str, interface: &str, driver: &str) -> Option<Way> {
    let words: Vec<&str> = stem.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    let has = |word: &str| words.contains(&word);
    let rest = stem.strip_prefix(interface);
    match (has("rx") || has("input"), has("tx") || has("output")) {
        (true, false) => Some(Way::Receive),
        (false, true) => Some(Way::Transmit),
        (true, true) => Some(Way::Both),
        _ if has("txrx") || has("rxtx") || has("fp") => Some(Way::Both),
        _ if stem.ends_with("_comp") || stem == "mana_q" => Some(Way::Both),
        // Of a set of queues the vector is the receiving one's, where nothing is sent by interrupts.
        _ if rest == Some(" (queue ") => Some(if driver == "cxgb4" { Way::Receive } else { Way::Both }),
        // `eth0-3`: many drivers name nothing but interface and channel.
        _ if matches!(rest, Some("-" | "-q")) => Some(Way::Both),
        _ => None,
    }
}

/// NVMe counts its admin queue as 0, `Some(None)` here; virtio has a request queue of each number.
fn block(name: &str) -> Option<Option<u32>> {
    if name.ends_with("-config") {
        return Some(None);
    }
    let (stem, number) = split_number(name);
    match (stem, number) {
        (_, Some(number)) if stem.starts_with("nvme") && stem.ends_with('q') => Some(number.checked_sub(1)),
        (_, Some(number)) if stem.ends_with("-req.") => Some(Some(number)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
