//! Names as the drivers give them, and names that only look alike.

use super::*;
use crate::devices::Queue;

fn device(kind: DeviceKind, name: &str, driver: &str, queues: &[&str]) -> Device {
    let queue = |name: &&str| Queue { name: name.to_string(), ..Queue::default() };
    Device {
        kind,
        name: name.into(),
        driver: Some(driver.into()),
        queues: queues.iter().map(queue).collect(),
        ..Device::default()
    }
}

/// A card of two pairs of queues.
fn card(driver: &str) -> Device {
    device(DeviceKind::Net, "eth0", driver, &["rx-0", "rx-1", "tx-0", "tx-1"])
}

/// Queues of each interrupt, `-` for none, `?` where it is not known.
fn served(device: &Device, names: &[&str]) -> Vec<String> {
    let device = Device { irqs: (40..).take(names.len()).collect(), ..device.clone() };
    let all = Names::new(&device, 1, names.iter().copied());
    let word = |serves: Serves| match serves {
        Serves::Queues(queues) => queues.join(" "),
        Serves::NoQueue => "-".into(),
        Serves::Unknown => "?".into(),
    };
    names.iter().map(|name| word(all.serves(name))).collect()
}

#[test]
fn names_of_many_drivers() {
    let pairs = ["rx-0 tx-0", "rx-1 tx-1"];
    for (driver, names, want) in [
        ("ixgbe", &["eth0-TxRx-0", "eth0-TxRx-1", "eth0"][..], &[pairs[0], pairs[1], "?"][..]),
        ("ixgbe", &["eth0-rx-0", "eth0-rx-1", "eth0-tx-0", "eth0-tx-1"], &["rx-0", "rx-1", "tx-0", "tx-1"]),
        (
            "i40e",
            &["i40e-eth0-TxRx-0", "i40e-eth0-TxRx-1", "i40e-0000:3b:00.0:misc"],
            &[pairs[0], pairs[1], "-"],
        ),
        ("ice", &["ice-eth0-TxRx-0", "ice-eth0-TxRx-1", "ice-0000:3b:00.0:misc"], &[pairs[0], pairs[1], "-"]),
        ("ena", &["ena-mgmnt@pci:0000:00:05.0", "eth0-Tx-Rx-0", "eth0-Tx-Rx-1"], &["-", pairs[0], pairs[1]]),
        (
            "mlx5_core",
            &["mlx5_async0@pci:0000:3b:00.0", "mlx5_comp0@pci:0000:3b:00.0", "mlx5_comp1@pci:0000:3b:00.0"],
            &["-", pairs[0], pairs[1]],
        ),
        (
            "mana",
            &["mana_hwc@pci:7870:00:00.0", "mana_q0@pci:7870:00:00.0", "mana_q1@pci:7870:00:00.0"],
            &["-", pairs[0], pairs[1]],
        ),
        ("cxgb4", &["eth0-Rx0", "eth0-Rx1", "eth0-FWeventq"], &["rx-0", "rx-1", "-"]),
        ("cxgb4", &["eth0 (queue 0)", "eth0 (queue 1)"], &["rx-0", "rx-1"]),
        ("cxgb3", &["eth0-4", "eth0-5"], &pairs),
        ("be2net", &["eth0-q0", "eth0-q1", "be2net-mcc"], &[pairs[0], pairs[1], "-"]),
        ("stmmaceth", &["eth0:mac", "eth0:rx-0", "eth0:rx-1", "eth0:tx-0"], &["-", "rx-0", "rx-1", "?"]),
        ("virtio_net", &["virtio2-config", "virtio2-input.0", "virtio2-input.1"], &["-", "rx-0", "rx-1"]),
        ("virtio_net", &["virtio2-config", "virtio2-virtqueues"], &["-", "rx-0 rx-1 tx-0 tx-1"]),
        ("vif", &["vif0-q0-tx", "vif0-q0-rx", "vif0-q1-tx", "vif0-q1-rx"], &["tx-0", "rx-0", "tx-1", "rx-1"]),
        ("am65-cpsw-nuss", &["8000000.ethernet-tx0", "485c0100.dma-controller chan6"], &["?", "?"]),
        ("sfc", &["eth0-0", "eth0-1", "eth0-xdp-0"], &[pairs[0], pairs[1], "-"]),
        ("vmxnet3", &["eth0-rxtx-0", "eth0-rxtx-1", "eth0-event-2"], &[pairs[0], pairs[1], "-"]),
        ("qede", &["eth0-fp-0", "eth0-fp-1"], &pairs),
        ("enetc", &["eth0-rxtx0", "eth0-rxtx1"], &pairs),
    ] {
        assert_eq!(served(&card(driver), names), want, "{driver} {names:?}");
    }
}

#[test]
fn gve_sends_with_the_first_half_of_its_blocks_and_receives_with_the_second() {
    let block = |n: u32| format!("gve-ntfy-blk{n}@pci:0000:00:04.0");
    let names: Vec<String> = (0..6).map(block).chain(["gve-mgmnt@pci:0000:00:04.0".into()]).collect();
    let mut all: Vec<&str> = names.iter().map(String::as_str).collect();
    // Blocks for three of each, two of which are open.
    assert_eq!(served(&card("gve"), &all), ["tx-0", "tx-1", "-", "rx-0", "rx-1", "-", "-"]);
    all.remove(1);
    assert_eq!(served(&card("gve"), &all)[0], "?", "one is not in the table");
    assert_eq!(served(&card("gve"), &["eth0-ntfy-block.0", "eth0-ntfy-block.1"]), ["tx-0", "rx-0"]);
}

#[test]
fn numbers_that_do_not_begin_at_0_or_have_gaps() {
    let of = |driver, names: &[&str]| served(&card(driver), names);
    assert_eq!(of("idpf", &["idpf-eth0-TxRx-1", "idpf-eth0-TxRx-2"]), ["rx-0 tx-0", "rx-1 tx-1"]);
    assert_eq!(of("idpf", &["idpf-eth0-TxRx-0", "idpf-eth0-TxRx-1"]), ["rx-0 tx-0", "rx-1 tx-1"]);
    assert_eq!(
        of("bnxt_en", &["eth0-rx-0", "eth0-rx-1", "eth0-tx-2", "eth0-tx-3"]),
        ["rx-0", "rx-1", "tx-0", "tx-1"]
    );
    let hns3 = |first: u32, second: u32| {
        let name = |number: u32| format!("hns3-0000:7d:00.0-TxRx-{number}");
        served(&card("hns3"), &[name(first).as_str(), name(second).as_str()])
    };
    assert_eq!(hns3(0, 2), ["rx-0 tx-0", "rx-1 tx-1"]);
    assert_eq!(hns3(0, 1), ["rx-0 tx-0", "rx-1 tx-1"]);
    assert_eq!(hns3(0, 3), ["?", "?"]);
    assert_eq!(of("tg3", &["eth0-tx-0", "eth0-rx-1", "eth0-rx-2"]), ["?", "rx-0", "rx-1"]);
    assert_eq!(of("tg3", &["eth0-0", "eth0-txrx-1", "eth0-txrx-2"]), ["-", "rx-0 tx-0", "rx-1 tx-1"]);
}

#[test]
fn what_only_looks_like_a_queue_has_none() {
    let names = [
        "eth0-TxRx-0",
        "eth0-TxRx-1",
        "i40e-0000:3b:00.0:fdir-TxRx-0",
        "eth0-TxRx-7",
        "eth0-99999999999999999999",
        "",
    ];
    assert_eq!(served(&card("i40e"), &names), ["rx-0 tx-0", "rx-1 tx-1", "-", "-", "?", "?"]);
    // One for two pairs: the driver alone knows whether the second pair is served by it, too.
    assert_eq!(served(&card("ixgbe"), &["eth0-TxRx-0", "eth0"]), ["?", "?"]);
    let ports = card("mana");
    let all = Names::new(&ports, 2, ["mana_q0@pci:7870:00:00.0", "mana_q1@pci:7870:00:00.0"].into_iter());
    assert_eq!(all.serves("mana_q0@pci:7870:00:00.0"), Serves::Unknown);
    // The words of an interface's own name mean nothing.
    let named = device(DeviceKind::Net, "mac0", "ixgbe", &["rx-0", "tx-0"]);
    assert_eq!(served(&named, &["mac0-TxRx-0", "mac0"]), ["rx-0 tx-0", "?"]);
    let named = device(DeviceKind::Net, "mgmt0", "i40e", &["rx-0", "tx-0"]);
    assert_eq!(served(&named, &["i40e-mgmt0-TxRx-0", "i40e-0000:3b:00.0:misc"]), ["rx-0 tx-0", "-"]);
    assert_eq!(without_interface("ena-mgmnt", "e"), "ena-mgmnt", "a letter of another word");
}

#[test]
fn an_only_interrupt_serves_all_queues_while_the_interface_is_up() {
    let mut one = device(DeviceKind::Net, "eth0", "rk_gmac-dwmac", &["rx-0", "tx-0"]);
    for name in ["eth0", "virtio1", "xhci_hcd", "i801_smbus,eth0"] {
        assert_eq!(served(&one, &[name]), ["rx-0 tx-0"], "{name}");
    }
    assert_eq!(served(&one, &["eth0-tx"]), ["tx-0"]);
    assert_eq!(served(&one, &["eth0-mac"]), ["-"]);
    one.state = Some("down".into());
    assert_eq!(served(&one, &["i801_smbus"]), ["?"]);
    (one.state, one.driver) = (None, Some(DPAA2.into()));
    assert_eq!(served(&one, &["dpni.0"]), ["?"]);
}

#[test]
fn disks_count_their_admin_queue_and_virtio_does_not() {
    let disk = device(DeviceKind::Block, "nvme0n1", "nvme", &["0", "1"]);
    assert_eq!(served(&disk, &["nvme0q0", "nvme0q1", "nvme0q2", "nvme0q9"]), ["-", "0", "1", "-"]);
    assert_eq!(served(&disk, &["nvme0q0,nvme0q1"]), ["0"]);
    let disk = device(DeviceKind::Block, "vda", "virtio_blk", &["0", "1"]);
    assert_eq!(served(&disk, &["virtio1-config", "virtio1-req.0"]), ["-", "0"]);
    assert_eq!(served(&disk, &["virtio1"]), ["0 1"]);
    assert_eq!(served(&disk, &["ahci0", "ahci1"]), ["?", "?"]);
}

proptest::proptest! {
    #[test]
    fn no_name_makes_it_panic(name in ".{0,30}", driver in "(gve|hns3|idpf|tg3|bnxt_en|mana|)") {
        for kind in [DeviceKind::Net, DeviceKind::Block] {
            for interface in ["é", "", "eth0"] {
                let _ = served(&device(kind, interface, &driver, &["rx-0", "0"]), &[name.as_str(), "eth0-TxRx-0"]);
            }
        }
    }
}
