//! The traps of DESIGN.md that concern reading, each by name: machines that others have met, built by hand.
#![allow(clippy::unwrap_used)] // clippy sees only #[test] functions as tests, not what they share

use pinwise_machine::devices::chain;
use pinwise_machine::kernel::tunables::chosen;
use pinwise_machine::{CpuSet, Machine, Root, Tree};

const CPUS: &str = "/sys/devices/system/cpu";
const NODES: &str = "/sys/devices/system/node";

fn read(tree: Tree) -> Machine {
    Machine::read(&Root::from_tree(tree))
}

fn set(list: &str) -> CpuSet {
    CpuSet::from_list(list).unwrap()
}

fn facts(machine: &Machine) -> Vec<&str> {
    machine.missing.iter().map(|missing| missing.fact.as_str()).collect()
}

/// A CPU of one thread a core in package `package`.
fn with_cpu(tree: Tree, cpu: u32, package: &str, mates: &str) -> Tree {
    let dir = format!("{CPUS}/cpu{cpu}/topology");
    tree.file(&format!("{dir}/physical_package_id"), package)
        .file(&format!("{dir}/core_id"), format!("{cpu}\n"))
        .file(&format!("{dir}/core_cpus_list"), format!("{cpu}\n"))
        .file(&format!("{dir}/package_cpus_list"), mates)
}

fn with_cpus(online: &str) -> Tree {
    let tree = Tree::new().file(&format!("{CPUS}/online"), format!("{online}\n"));
    set(online).iter().fold(tree, |tree, cpu| with_cpu(tree, cpu, "0\n", online))
}

fn with_node(tree: Tree, node: u32, cpus: &str, kib: u64, distance: &str) -> Tree {
    let dir = format!("{NODES}/node{node}");
    tree.file(&format!("{dir}/cpulist"), format!("{cpus}\n"))
        .file(&format!("{dir}/meminfo"), format!("Node {node} MemTotal: {kib} kB\n"))
        .file(&format!("{dir}/distance"), format!("{distance}\n"))
}

#[test]
fn cpu_0_is_offline_and_numbers_have_holes() {
    let machine = read(with_cpus("2,5").file(&format!("{CPUS}/present"), "0-5\n"));
    assert_eq!(machine.online(), set("2,5"));
    let offline: CpuSet = machine.cpus.iter().filter(|cpu| !cpu.online).map(|cpu| cpu.id).collect();
    assert_eq!(offline, set("0-1,3-4"));
    assert_eq!(machine.cpu(0).unwrap().core, None, "the topology of an offline CPU is not known");
    assert_eq!(machine.packages, [set("2,5")]);
}

#[test]
fn masks_of_more_than_64_512_and_1024_cpus() {
    for cpu in [63, 64, 511, 512, 1023, 1024, 4095] {
        let words = vec!["00000000".to_string(); cpu as usize / 32];
        let first = format!("{:x}", 1u32 << (cpu % 32));
        let mask = std::iter::once(first).chain(words).collect::<Vec<_>>().join(",");
        let tree = with_cpus(&cpu.to_string())
            .file(
                "/proc/interrupts",
                format!("           CPU{cpu}\n 40:          7   PCI-MSI 1-edge      eth0\n"),
            )
            .file("/proc/irq/40/smp_affinity", format!("{mask}\n"));
        let machine = read(tree);
        assert_eq!(machine.irq(40).unwrap().affinity, Some(CpuSet::single(cpu)), "{mask}");
        assert_eq!(machine.irq(40).unwrap().counts.as_ref().unwrap()[&cpu], 7);
    }
}

#[test]
fn nodes_with_holes_without_memory_and_without_cpus() {
    let tree = with_cpus("0-1").file(&format!("{NODES}/online"), "0,2,7\n");
    let tree = with_node(tree, 0, "0", 1024, "10 20 40");
    let tree = with_node(tree, 2, "1", 0, "20 10 40");
    let tree = with_node(tree, 7, "", 2048, "40 40 10");
    let machine = read(tree);
    assert_eq!(machine.nodes.iter().map(|n| n.id).collect::<Vec<_>>(), [0, 2, 7]);
    assert_eq!(machine.nodes[1].memory_bytes, Some(0), "no memory is not unknown memory");
    assert!(machine.nodes[2].cpus.is_empty());
    assert_eq!(machine.nodes[2].distances[&2], 40, "columns stand for online nodes, not for numbers");
    assert_eq!(machine.cpu(1).unwrap().node, Some(2));
}

#[test]
fn several_nodes_in_a_package_and_several_packages_in_a_node() {
    let tree = with_cpus("0-3");
    let tree = with_node(tree, 0, "0-1", 1024, "10 12");
    let tree = with_node(tree, 1, "2-3", 1024, "12 10");
    let machine = read(tree);
    assert_eq!((machine.packages.len(), machine.nodes.len()), (1, 2));
    let tree = Tree::new().file(&format!("{CPUS}/online"), "0-1\n");
    let tree = with_cpu(with_cpu(tree, 0, "0", "0"), 1, "1", "1");
    let machine = read(with_node(tree, 0, "0-1", 1024, "10"));
    assert_eq!((machine.packages.len(), machine.nodes.len()), (2, 1));
}

#[test]
fn hybrid_cores_are_kinds() {
    let tree = with_cpus("0-3")
        .file("/sys/devices/cpu_core/cpus", "0-1\n")
        .file("/sys/devices/cpu_atom/cpus", "2-3\n");
    let kinds = read(tree).core_kinds;
    assert_eq!(kinds.iter().map(|k| k.cpus.clone()).collect::<Vec<_>>(), [set("0-1"), set("2-3")]);
}

#[test]
fn a_numa_node_of_minus_one_is_not_reported() {
    let card = "/sys/devices/pci0000:00/0000:00:05.0";
    let tree = with_node(with_node(with_cpus("0-1"), 0, "0", 1, "10 20"), 1, "1", 1, "20 10")
        .file(&format!("{card}/numa_node"), "-1\n")
        .dir(&format!("{card}/net/eth0"))
        .link("/sys/class/net/eth0", &format!("../../..{card}/net/eth0"));
    let machine = read(tree);
    assert_eq!(machine.devices[0].node, None);
    assert!(facts(&machine).contains(&"node of eth0"));
}

#[test]
fn wrong_firmware_tables_are_named_and_nothing_is_made_up() {
    // Two nodes that claim the same CPUs, a package of -1, distances for other nodes than there are.
    let tree = Tree::new().file(&format!("{CPUS}/online"), "0-1\n");
    let tree = with_cpu(with_cpu(tree, 0, "-1", "0-1"), 1, "-1", "0-1");
    let tree = with_node(with_node(tree, 0, "0-1", 1, "10 20 20"), 1, "0-1", 1, "20 10");
    let machine = read(tree);
    assert_eq!(machine.cpu(0).unwrap().node, None);
    assert!(machine.packages.is_empty() && machine.nodes[0].distances.is_empty());
    for fact in ["package of CPUs 0-1", "node of CPUs 0-1", "distances of node 0"] {
        assert!(facts(&machine).contains(&fact), "{fact} in {:?}", facts(&machine));
    }
}

/// CPUs 0 to 7 in cores of two threads, none with a package number; `mates` names the CPUs of a CPU's package.
fn without_package_numbers(mates: impl Fn(u32) -> String) -> Tree {
    let tree = Tree::new().file(&format!("{CPUS}/online"), "0-7\n");
    (0..8).fold(tree, |tree, cpu| {
        let first = cpu / 2 * 2;
        with_cpu(tree, cpu, "-1\n", &mates(cpu))
            .file(&format!("{CPUS}/cpu{cpu}/topology/core_cpus_list"), format!("{first}-{}\n", first + 1))
    })
}

#[test]
fn packages_without_numbers_are_those_of_the_lists_and_books_and_drawers_are_none() {
    let tree = without_package_numbers(|cpu| if cpu < 4 { "0-3\n".into() } else { "4-7\n".into() });
    let tree = (0..8).fold(tree, |tree, cpu| {
        let dir = format!("{CPUS}/cpu{cpu}/topology");
        tree.file(&format!("{dir}/book_cpus_list"), "0-7\n")
            .file(&format!("{dir}/book_id"), "1\n")
            .file(&format!("{dir}/drawer_cpus_list"), "0-7\n")
            .file(&format!("{dir}/drawer_id"), "0\n")
    });
    let machine = read(tree);
    assert_eq!(machine.packages, [set("0-3"), set("4-7")]);
    let numbers: Vec<_> = machine.cpus.iter().map(|cpu| cpu.package).collect();
    assert_eq!(numbers, [[Some(0); 4], [Some(1); 4]].concat());
    let noted = machine.missing.iter().find(|missing| missing.fact == "numbers of packages").unwrap();
    assert!(noted.why.contains("physical_package_id: -1") && noted.why.contains("lowest CPUs"), "{noted:?}");
    assert!(!facts(&machine).iter().any(|fact| fact.starts_with("package of")), "{:?}", facts(&machine));
}

#[test]
fn lists_that_do_not_say_what_a_package_is_leave_it_missing() {
    let half = |cpu: u32| if cpu < 4 { "0-3\n".to_string() } else { "4-7\n".into() };
    let core = |cpu: u32| format!("{}-{}\n", cpu / 2 * 2, cpu / 2 * 2 + 1);
    let only_cpu_0_is_numbered =
        without_package_numbers(half).file(&format!("{CPUS}/cpu0/topology/physical_package_id"), "1\n");
    let no_lists = {
        let tree = Tree::new().file(&format!("{CPUS}/online"), "0-1\n");
        (0..2).fold(tree, |tree, cpu| {
            let dir = format!("{CPUS}/cpu{cpu}/topology");
            tree.file(&format!("{dir}/physical_package_id"), "-1\n")
                .file(&format!("{dir}/core_id"), format!("{cpu}\n"))
                .file(&format!("{dir}/core_cpus_list"), format!("{cpu}\n"))
        })
    };
    for (what, tree) in [
        ("they name the core again", without_package_numbers(core)),
        ("they name everything", without_package_numbers(|_| "0-7\n".into())),
        ("they overlap", without_package_numbers(|cpu| if cpu == 3 { "3-7\n".into() } else { half(cpu) })),
        ("they do not name their CPU", without_package_numbers(|cpu| half((cpu + 4) % 8))),
        (
            "they split a core",
            without_package_numbers(|cpu| if cpu < 3 { "0-2\n".into() } else { "3-7\n".into() }),
        ),
        ("there are none", no_lists),
        ("one core has a number", only_cpu_0_is_numbered),
    ] {
        let machine = read(tree);
        let is_known = |cpu: u32| machine.packages.iter().any(|package| package.contains(cpu));
        assert!(machine.cpus.iter().all(|cpu| cpu.package.is_none() || cpu.id < 2), "{what}");
        // Its core has that number, too.
        assert!(what == "one core has a number" || !is_known(0), "{what}: {:?}", machine.packages);
        assert!(facts(&machine).iter().any(|fact| fact.starts_with("package of CPUs")), "{what}");
        assert!(!facts(&machine).contains(&"numbers of packages"), "{what}");
    }
}

#[test]
fn no_cpu_is_in_two_cores_or_packages_where_lists_disagree() {
    // CPU 0 is alone by its own lists, and with CPU 1 by those of CPU 1.
    let tree = Tree::new().file(&format!("{CPUS}/online"), "0-2\n");
    let tree = with_cpu(with_cpu(with_cpu(tree, 0, "0\n", "0\n"), 1, "1\n", "0-1\n"), 2, "2\n", "2\n")
        .file(&format!("{CPUS}/cpu1/topology/core_cpus_list"), "0-1\n");
    let machine = read(tree);
    let each = [set("0"), set("1"), set("2")];
    assert_eq!((machine.packages.as_slice(), machine.cores().as_slice()), (&each[..], &each[..]));
    for fact in ["undisputed siblings of CPU 1", "undisputed package of CPU 1"] {
        assert!(facts(&machine).contains(&fact), "{fact} in {:?}", facts(&machine));
    }
    // A list of siblings that leaves out the CPU itself says nothing of its core.
    let machine = read(with_cpus("0-1").file(&format!("{CPUS}/cpu0/topology/core_cpus_list"), "1\n"));
    assert_eq!((machine.cpu(0).unwrap().siblings.clone(), machine.cores()), (None, vec![set("1")]));
    assert!(facts(&machine).contains(&"siblings of CPU 0"), "{:?}", facts(&machine));
    assert!(!facts(&read(with_cpus("0-3"))).iter().any(|fact| fact.starts_with("undisputed")));
}

#[test]
fn cpusets_of_both_versions_and_affinity_stay_apart() {
    let tree = with_cpus("0-7")
        .file("/proc/self/status", "Cpus_allowed_list:\t0-5\nMems_allowed_list:\t0\n")
        .file("/proc/self/cgroup", "3:cpuset:/a\n0::/b\n")
        .file(
            "/proc/self/mountinfo",
            "1 0 0:1 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n\
             2 0 0:2 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
        )
        .file("/sys/fs/cgroup/cpuset/a/cpuset.cpus", "2-7\n")
        .file("/sys/fs/cgroup/unified/b/cpuset.cpus.effective", "0-6\n");
    let machine = read(tree);
    let of = |version| {
        let group = machine.limits.cgroups.iter().find(|group| group.version == version);
        group.unwrap().cpus.clone().unwrap()
    };
    assert_eq!((of(1), of(2)), (set("2-7"), set("0-6")));
    assert_eq!(machine.limits.affinity, Some(set("0-5")));
    assert_eq!(machine.usable(), set("2-5"));
}

#[test]
fn managed_interrupts_are_known_or_said_not_to_be_known() {
    let tree = || {
        with_cpus("0")
            .file("/proc/interrupts", "           CPU0\n 40:          7   PCI-MSI 1-edge      nvme0q1\n")
            .file("/proc/irq/40/smp_affinity_list", "0\n")
    };
    let machine = read(tree());
    assert_eq!(machine.irq(40).unwrap().managed, None);
    assert!(facts(&machine).contains(&"which IRQs are managed by the kernel"));
    let debug = tree().file("/sys/kernel/debug/irq/irqs/40", "dstate: 0x1\n  IRQD_AFFINITY_MANAGED\n");
    assert_eq!(read(debug).irq(40).unwrap().managed, Some(true));
}

#[test]
fn an_interrupt_that_was_reused_by_another_driver_is_the_new_ones() {
    // The name comes with the row that was read, never from an earlier reading.
    let tree = |name: &str| {
        with_cpus("0").file(
            "/proc/interrupts",
            format!("           CPU0\n 40:          7   PCI-MSI 1-edge      {name}\n"),
        )
    };
    assert_eq!(read(tree("eth0-rx-0")).irq(40).unwrap().name, "eth0-rx-0");
    assert_eq!(read(tree("nvme0q1")).irq(40).unwrap().name, "nvme0q1");
}

#[test]
fn files_that_show_all_choices_are_read_as_the_chosen_one() {
    let tree = with_cpus("0").file("/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n");
    let machine = read(tree);
    assert_eq!(chosen(&machine.kernel.tunables["transparent_hugepage.enabled"]), "never");
}

#[test]
fn a_kernel_without_btf_and_schedstat_says_no_and_a_torn_tree_says_nothing() {
    let bare = with_cpus("0")
        .dir("/sys/kernel")
        .file("/proc/self/status", "Cpus_allowed_list:\t0\nMems_allowed_list:\t0\n");
    let machine = read(bare);
    assert_eq!((machine.kernel.btf, machine.kernel.schedstat), (Some(false), Some(false)));
    let machine = read(with_cpus("0"));
    assert_eq!((machine.kernel.btf, machine.kernel.schedstat), (None, None));
}

#[test]
fn preempt_rt_is_seen_by_its_version_and_by_its_file() {
    let by_version = with_cpus("0").file("/proc/sys/kernel/version", "#1 SMP PREEMPT_RT Debian\n");
    let by_file = with_cpus("0").file("/sys/kernel/realtime", "1\n");
    for tree in [by_version, by_file] {
        assert_eq!(read(tree).kernel.preempt.as_deref(), Some("rt"));
    }
}

#[test]
fn without_root_what_is_refused_is_missing_and_the_rest_is_there() {
    let tree =
        with_cpus("0-1").denied("/sys/kernel/debug").denied("/proc/interrupts").denied("/proc/cmdline");
    let machine = read(tree);
    assert_eq!(machine.online(), set("0-1"));
    let refused = machine.missing.iter().filter(|missing| missing.why.contains("permission denied")).count();
    assert!(refused >= 2, "{:?}", machine.missing);
    assert_eq!(machine.kernel.cmdline, None);
}

#[test]
fn a_cpu_that_went_away_while_it_was_read_is_missing_its_facts_only() {
    // Its number was still in the list, its folder is gone.
    let tree = Tree::new().file(&format!("{CPUS}/online"), "0-1\n");
    let machine = read(with_cpu(tree, 0, "0", "0-1"));
    assert_eq!(machine.cpu(1).unwrap().siblings, None);
    assert!(machine.cpu(0).unwrap().siblings.is_some());
    assert!(facts(&machine).contains(&"siblings of CPU 1"), "{:?}", facts(&machine));
}

#[test]
fn a_queue_whose_interrupt_has_gone_is_left_out_of_the_chain() {
    let card = "/sys/devices/pci0000:00/0000:00:05.0";
    let tree = with_cpus("0")
        .file(&format!("{card}/msi_irqs/40"), "msix\n")
        .file(&format!("{card}/msi_irqs/41"), "msix\n")
        .dir(&format!("{card}/net/eth0/queues/rx-0"))
        .link("/sys/class/net/eth0", &format!("../../..{card}/net/eth0"))
        .file("/proc/interrupts", "           CPU0\n 40:          7   PCI-MSI 1-edge      eth0-rx-0\n");
    let machine = read(tree);
    let chain = chain::of(&machine, &machine.devices[0]);
    assert_eq!(chain.iter().map(|served| served.irq).collect::<Vec<_>>(), [40]);
    assert_eq!(chain[0].queues, ["rx-0"]);
}
