//! Cards on other buses than PCI, ports of one function, and names that only look alike.

use super::*;
use crate::devices::chain;
use crate::{Machine, Missing, Tree};

/// A card with that many pairs of queues, whose device is at `path`.
fn with_card(tree: Tree, path: &str, driver: &str, name: &str, pairs: u32) -> Tree {
    let dir = format!("{path}/net/{name}");
    let tree = tree
        .link(&format!("{path}/driver"), &format!("/sys/bus/any/drivers/{driver}"))
        .link(&format!("{dir}/device"), path)
        .link(&format!("/sys/class/net/{name}"), &dir)
        .file(&format!("{dir}/operstate"), "up\n");
    let queue = |tree: Tree, at: u32| {
        tree.dir(&format!("{dir}/queues/rx-{at}")).dir(&format!("{dir}/queues/tx-{at}"))
    };
    (0..pairs).fold(tree, queue)
}

/// Lines of two CPUs by their numbers; `tail` is what stands behind the counts.
fn with_lines(tree: Tree, lines: &[(u32, &str)]) -> Tree {
    let row = |(irq, tail): &(u32, &str)| format!("{irq:>3}:          0          7   {tail}\n");
    let rows: String = lines.iter().map(row).collect();
    tree.file("/proc/interrupts", format!("           CPU0       CPU1\n{rows}"))
}

fn with_vectors(tree: Tree, function: &str, irqs: std::ops::Range<u32>) -> Tree {
    irqs.fold(tree, |tree, irq| tree.file(&format!("{function}/msi_irqs/{irq}"), "msix\n"))
}

fn read(tree: Tree) -> Machine {
    Machine::read(&Root::from_tree(tree))
}

fn irqs<'m>(machine: &'m Machine, name: &str) -> &'m [u32] {
    machine.devices.iter().find(|device| device.name == name).map(|device| device.irqs.as_slice()).unwrap()
}

/// `70 tx-0`, for each of a card's lines.
fn chain_of(machine: &Machine, name: &str) -> Vec<String> {
    let device = machine.device(DeviceKind::Net, name).unwrap();
    let of = |served: chain::Served| format!("{} {}", served.irq, served.queues.join(" "));
    chain::of(machine, device).into_iter().map(of).collect()
}

fn unknown<'m>(machine: &'m Machine, fact: &str) -> Vec<&'m Missing> {
    machine.missing.iter().filter(|missing| missing.fact == fact).collect()
}

#[test]
fn a_card_of_xen_owns_the_event_channels_that_carry_its_name() {
    for card in ["eth0", "vif0"] {
        let names = ["q0-tx", "q0-rx", "q1-tx", "q1-rx"];
        let tails = names.map(|name| format!("xen-dyn    -event     {card}-{name}"));
        let lines: Vec<(u32, &str)> = (70..)
            .zip(tails.iter().map(String::as_str))
            .chain([(9, "xen-pirq    -ioapic-level  acpi")])
            .collect();
        let tree = with_card(Tree::new(), "/sys/devices/vif-0", "vif", "eth0", 2);
        let machine = read(with_lines(tree, &lines));
        assert_eq!(chain_of(&machine, "eth0"), ["70 tx-0", "71 rx-0", "72 tx-1", "73 rx-1"], "{card}");
        let line = machine.irq(73).unwrap();
        assert_eq!(
            (line.name.as_str(), line.chip.as_deref()),
            (lines[3].1.rsplit(' ').next().unwrap(), Some("xen-dyn"))
        );
        assert_eq!(line.devices, ["eth0"]);
        assert_eq!(unknown(&machine, "interrupts of eth0").len(), 0);
    }
    let old = with_card(Tree::new(), "/sys/devices/vif-0", "vif", "eth0", 1);
    let machine =
        read(with_lines(old, &[(72, "xen-dyn-event     eth0"), (73, "xen-percpu-virq      timer0")]));
    assert_eq!(chain_of(&machine, "eth0"), ["72 rx-0 tx-0"]);
}

#[test]
fn a_card_of_a_platform_and_one_of_virtio_over_mmio() {
    let path = "/sys/devices/platform/fe300000.ethernet";
    let board = |lines: &[(u32, &str)]| {
        read(with_lines(with_card(Tree::new(), path, "rk_gmac-dwmac", "eth0", 1), lines))
    };
    let gpio = (25, "rockchip_gpio_irq  24 Level     rk805");
    for name in ["eth0", "fe300000.ethernet", "eth0:mac"] {
        let tail = format!("GICv2  56 Level     {name}");
        assert_eq!(irqs(&board(&[(24, tail.as_str()), gpio]), "eth0"), [24], "{name}");
    }
    assert_eq!(chain_of(&board(&[(24, "GICv2  56 Level     eth0"), gpio]), "eth0"), ["24 rx-0 tx-0"]);
    let none = board(&[gpio]);
    assert_eq!(irqs(&none, "eth0"), [0u32; 0]);
    assert!(unknown(&none, "interrupts of eth0")[0].why.contains("carries its name"));
    let path = "/sys/devices/platform/LNRO0005:01/virtio1";
    let tree = with_card(Tree::new(), path, "virtio_net", "eth0", 1);
    let lines = [
        (5, "IO-APIC   5-edge      virtio0"),
        (6, "IO-APIC   6-edge      virtio1"),
        (7, "IO-APIC   7-edge      virtio10"),
    ];
    let machine = read(with_lines(tree, &lines));
    assert_eq!(chain_of(&machine, "eth0"), ["6 rx-0 tx-0"]);
}

#[test]
fn a_name_within_a_longer_one_is_no_name() {
    let tree = with_card(Tree::new(), "/sys/devices/platform/a.ethernet", "macb", "eth1", 2);
    let tree = with_card(tree, "/sys/devices/platform/b.ethernet", "macb", "eth10", 2);
    // A bond, and an interface that is called like a queue of eth1.
    let tree = tree
        .dir("/sys/devices/virtual/net/bond0")
        .link("/sys/class/net/bond0", "/sys/devices/virtual/net/bond0");
    let tree = with_card(tree, "/sys/devices/platform/c.ethernet", "macb", "eth1-1", 1);
    let machine = read(with_lines(
        tree,
        &[
            (40, "GICv3  40 Level     eth10-rx-0"),
            (41, "GICv3  41 Level     eth1-rx-0"),
            (42, "GICv3  42 Level     xeth1-rx-0"),
            (43, "GICv3  43 Level     eth1.5"),
            (44, "GICv3  44 Level     eth1-1"),
            (45, "GICv3  45 Level     bond0-eth1x"),
        ],
    ));
    assert_eq!(irqs(&machine, "eth1"), [41]);
    assert_eq!(irqs(&machine, "eth10"), [40]);
    assert_eq!(irqs(&machine, "eth1-1"), [44]);
    assert_eq!(irqs(&machine, "bond0"), [0u32; 0]);
    assert_eq!(unknown(&machine, "interrupts of bond0").len(), 0, "a bond has none by nature");
}

#[test]
fn a_line_of_two_devices_is_both_s() {
    let tree = with_card(Tree::new(), "/sys/devices/platform/a.ethernet", "macb", "eth0", 1);
    let tree = with_card(tree, "/sys/devices/platform/b.ethernet", "macb", "eth1", 1);
    let machine =
        read(with_lines(tree, &[(24, "GICv2  56 Level     eth0, eth1"), (25, "GICv2  57 Level     eth2")]));
    assert_eq!((irqs(&machine, "eth0"), irqs(&machine, "eth1")), (&[24][..], &[24][..]));
    assert_eq!(machine.irq(24).unwrap().devices, ["eth0", "eth1"]);
}

#[test]
fn names_part_the_ports_of_one_function_and_never_take_another_function_s_lines() {
    let card = "/sys/devices/pci0000:3a/0000:3b:00.4";
    let tree = with_vectors(Tree::new(), card, 40..45);
    let tree = with_card(with_card(tree, card, "cxgb4", "eth0", 2), card, "cxgb4", "eth1", 2);
    // Renamed after its interrupts were named: they are called like another card.
    let other = "/sys/devices/pci0000:3a/0000:3c:00.0";
    let tree = with_card(with_vectors(tree, other, 50..52), other, "ixgbe", "enp60s0", 2);
    let machine = read(with_lines(
        tree,
        &[
            (40, "PCI-MSIX-0000:3b:00.4   0-edge      0000:3b:00.4"),
            (41, "PCI-MSIX-0000:3b:00.4   1-edge      eth0 (queue 0)"),
            (42, "PCI-MSIX-0000:3b:00.4   2-edge      eth0 (queue 1)"),
            (43, "PCI-MSIX-0000:3b:00.4   3-edge      eth1 (queue 0)"),
            (44, "PCI-MSIX-0000:3b:00.4   4-edge      eth1 (queue 1)"),
            (50, "PCI-MSIX-0000:3c:00.0   0-edge      eth0-TxRx-0"),
            (51, "PCI-MSIX-0000:3c:00.0   1-edge      eth0-TxRx-1"),
        ],
    ));
    assert_eq!(chain_of(&machine, "eth0"), ["40 ", "41 rx-0", "42 rx-1"]);
    assert_eq!(chain_of(&machine, "eth1"), ["40 ", "43 rx-0", "44 rx-1"]);
    assert_eq!(chain_of(&machine, "enp60s0"), ["50 rx-0 tx-0", "51 rx-1 tx-1"]);
}

#[test]
fn the_controller_s_name_stands_for_a_function_that_lists_nothing() {
    let card = "/sys/devices/pci0000:3a/0000:3b:00.0";
    let tree = with_card(Tree::new(), card, "ixgbe", "eth0", 1).file(&format!("{card}/irq"), "255\n");
    let lines = [
        (40, "PCI-MSIX-0000:3b:00.0   0-edge      p1p1-TxRx-0"),
        (41, "PCI-MSIX-0000:3d:00.0   0-edge      eth0-TxRx-0"),
    ];
    assert_eq!(irqs(&read(with_lines(tree.clone(), &lines)), "eth0"), [40]);
    let machine = read(with_lines(tree, &lines[1..]));
    assert_eq!(irqs(&machine, "eth0"), [0u32; 0]);
    assert_eq!(unknown(&machine, "interrupts of eth0").len(), 1);
}

#[test]
fn clouds_name_their_queues_in_ways_of_their_own() {
    let card = "/sys/devices/pci0000:00/0000:00:04.0";
    let of = |driver: &str, names: &[&str]| {
        let tails: Vec<String> =
            names.iter().map(|name| format!("PCI-MSIX-0000:00:04.0   0-edge      {name}")).collect();
        let lines: Vec<(u32, &str)> = (40..).zip(tails.iter().map(String::as_str)).collect();
        let tree = with_vectors(Tree::new(), card, 40..40 + names.len() as u32);
        let machine = read(with_lines(with_card(tree, card, driver, "eth0", 2), &lines));
        (chain_of(&machine, "eth0"), unknown(&machine, "queues of the interrupts of eth0").len())
    };
    let blocks: Vec<String> = (0..4).map(|n| format!("gve-ntfy-blk{n}@pci:0000:00:04.0")).collect();
    let blocks: Vec<&str> = blocks.iter().map(String::as_str).collect();
    assert_eq!(of("gve", &blocks).0, ["40 tx-0", "41 tx-1", "42 rx-0", "43 rx-1"]);
    assert_eq!(
        of("mana", &["mana_q0@pci:7870:00:00.0", "mana_q1@pci:7870:00:00.0"]).0,
        ["40 rx-0 tx-0", "41 rx-1 tx-1"]
    );
    assert_eq!(of("be2net", &["eth0-q0", "eth0-q1", "be2net-mcc"]).1, 0);
    let (chain, unknown) = of("am65-cpsw-nuss", &["8000000.ethernet-rx0", "485c0100.dma-controller chan6"]);
    assert_eq!((chain, unknown), (vec!["40 ".to_string(), "41 ".to_string()], 1));
}

#[test]
fn disks_beside_pci_and_those_that_have_no_interrupt_by_nature() {
    let disk = |path: &str, name: &str| {
        Tree::new()
            .file(&format!("{path}/block/{name}/size"), "8\n")
            .link(&format!("/sys/class/block/{name}"), &format!("{path}/block/{name}"))
    };
    let card = disk("/sys/devices/platform/fe330000.mmc/mmc_host/mmc0/mmc0:0001", "mmcblk0");
    let lines = [(30, "GICv3  30 Level     mmc0"), (31, "GICv3  31 Level     mmc1")];
    assert_eq!(irqs(&read(with_lines(card, &lines)), "mmcblk0"), [30]);
    let far =
        read(with_lines(disk("/sys/devices/platform/host2/session1/target2:0:0/2:0:0:0", "sdb"), &lines));
    assert_eq!(unknown(&far, "interrupts of sdb").len(), 0);
    let ceph = read(with_lines(disk("/sys/devices/rbd/0", "rbd0"), &lines));
    assert_eq!(unknown(&ceph, "interrupts of rbd0").len(), 0);
    let near = read(with_lines(disk("/sys/devices/vbd-51712", "xvda"), &lines));
    assert_eq!(unknown(&near, "interrupts of xvda").len(), 1);
}

proptest::proptest! {
    #[test]
    fn no_action_makes_it_panic(action in "(eth0|[-:@ .é]|[a-z0-9]{1,3}){0,40}") {
        let known = BTreeSet::from(["eth0", "é", "-"]);
        for name in names_in(&action, &known) {
            proptest::prop_assert!(known.contains(name));
        }
    }
}
