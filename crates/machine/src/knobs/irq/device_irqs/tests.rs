use super::*;
use crate::Tree;
use crate::knobs::irq::irqbalance_banned_irqs::tests::with_irqbalance;

const NIC: &str = "/sys/devices/pci0000:00/0000:00:05.0";

fn root(managed: &str) -> Root {
    Root::from_tree(tree(managed))
}

fn tree(managed: &str) -> Tree {
    let mut tree = Tree::new()
        .file("/sys/devices/system/cpu/online", "0-3\n")
        .link("/sys/class/net/eth0", &format!("../../..{NIC}/virtio2/net/eth0"))
        .dir(&format!("{NIC}/virtio2/net/eth0"))
        .dir("/sys/class/net/lo")
        .file("/sys/kernel/debug/irq/irqs/9", managed)
        // A vector that nobody has asked for.
        .file(&format!("{NIC}/msi_irqs/20"), "msix\n");
    let names = [(8, "config"), (9, "input.0"), (10, "output.0"), (11, "input.1"), (12, "output.1")];
    for (irq, name) in names {
        tree = tree
            .file(&format!("{NIC}/msi_irqs/{irq}"), "msix\n")
            .file(&format!("/sys/kernel/irq/{irq}/actions"), format!("virtio2-{name}\n"))
            .file(&format!("/proc/irq/{irq}/smp_affinity_list"), "0-3\n");
    }
    tree.file("/proc/irq/13/smp_affinity_list", "0\n")
}

/// The CPUs that are written for each interrupt.
fn written(root: &Root, value: &str) -> Result<Vec<(String, String)>, Fault> {
    let write = |act: Act| match act {
        Act::WriteFile { path, value, netns: None } => (path.display().to_string(), value),
        other => panic!("{other:?}"),
    };
    Ok(DeviceIrqs.change(root, "eth0", value)?.into_iter().map(write).collect())
}

fn files(irqs: &[(u32, &str)]) -> Vec<(String, String)> {
    irqs.iter().map(|(irq, cpus)| (format!("/proc/irq/{irq}/smp_affinity_list"), cpus.to_string())).collect()
}

#[test]
fn one_target_is_all_interrupts_of_a_device() {
    let targets = DeviceIrqs.targets(&root("")).unwrap();
    assert_eq!(targets.iter().map(|target| target.id.as_str()).collect::<Vec<_>>(), ["eth0"]);
    let present = DeviceIrqs.read(&root(""), "eth0").unwrap();
    assert_eq!(present, "each:0-3;0-3;0-3;0-3;0-3");
    let all = files(&[(8, "0-3"), (9, "0-3"), (10, "0-3"), (11, "0-3"), (12, "0-3")]);
    assert_eq!(written(&root(""), &present).unwrap(), all);
    let each = files(&[(8, "0"), (9, "1"), (10, "2,3"), (11, "0-3"), (12, "3")]);
    assert_eq!(written(&root(""), "each:0;1;2,3;0-3;3").unwrap(), {
        // As the kernel writes it.
        let mut each = each;
        each[2].1 = "2-3".into();
        each
    });
}

#[test]
fn each_queue_gets_a_cpu_in_the_order_that_was_written() {
    let root = root("");
    let spread = written(&root, "spread:3,0-1").unwrap();
    assert_eq!(spread, files(&[(9, "3"), (10, "3"), (11, "0"), (12, "0")]));
    // The list ends before the queues do.
    assert_eq!(written(&root, "spread:2").unwrap(), files(&[(9, "2"), (10, "2"), (11, "2"), (12, "2")]));
    assert_eq!(written(&root, "all:1-2").unwrap().len(), 5);
}

#[test]
fn managed_interrupts_are_named_and_none_is_moved() {
    let root = root("            IRQD_AFFINITY_MANAGED\n");
    for value in ["spread:1", "all:0-1", "each:0;1;2;3;0"] {
        let fault = written(&root, value).unwrap_err();
        assert!(fault.cause.ends_with(": 9") && fault.object.contains("eth0"), "{fault}");
    }
    // Where it is already it need not be moved to.
    let rest = files(&[(8, "0"), (10, "2"), (11, "3"), (12, "0")]);
    assert_eq!(written(&root, "each:0;0-3;2;3;0").unwrap(), rest);
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = [
        ("0-3", "none of spread:"),
        ("spread:", "empty"),
        ("spread:1,,2", "empty"),
        ("all:", "empty"),
        ("all:7", "not online"),
        ("spread:x", "not a number"),
        ("each:0;1", "2 lists of CPUs for 5 interrupts"),
        ("each:0;;1;2;3", "empty"),
    ];
    for (value, cause) in refused {
        let fault = written(&root(""), value).unwrap_err();
        assert!(fault.cause.contains(cause) && !fault.remedy.is_empty(), "{value}: {fault}");
    }
    for target in ["lo", "eth1", "38", ""] {
        assert!(DeviceIrqs.read(&root(""), target).is_err(), "{target}");
    }
}

#[test]
fn an_irqbalance_that_runs_gets_all_bans_before_the_first_is_moved() {
    let root = Root::from_tree(with_irqbalance(tree("")));
    let acts = DeviceIrqs.change(&root, "eth0", "spread:3,0-1").unwrap();
    let told = acts.iter().map_while(|act| match act {
        Act::SetIrqBan { irq, banned: true, .. } => Some(*irq),
        _ => None,
    });
    assert_eq!(told.collect::<Vec<_>>(), [9, 10, 11, 12]);
    assert_eq!(acts.len(), 8);
}

#[test]
fn a_card_of_a_platform_has_the_interrupts_that_carry_its_name() {
    let card = "/sys/devices/platform/fe300000.ethernet/net/eth0";
    let tree = Tree::new()
        .dir(card)
        .link("/sys/class/net/eth0", card)
        .file("/proc/interrupts", "           CPU0\n 24:          7   GICv2  56 Level     eth0\n")
        .file("/proc/irq/24/smp_affinity_list", "0-3\n");
    assert_eq!(DeviceIrqs.read(&Root::from_tree(tree), "eth0").unwrap(), "each:0-3");
}
