//! Machines made up as trees of files, in shapes that real ones have.

use machine::{CpuSet, Machine, Root, Tree};

const CPUS: &str = "/sys/devices/system/cpu";
const NODES: &str = "/sys/devices/system/node";

/// A cache of a made-up machine: level, kind as the kernel spells it, KiB, and the CPUs that share one.
pub struct Cache<'a>(pub u32, pub &'a str, pub u32, pub &'a dyn Fn(u32) -> CpuSet);

/// Where a CPU is: package, die, core.
pub type Place = (u32, u32, u32);

/// What holds of every CPU alike, and the nodes.
pub struct Shape<'a> {
    pub cpus: CpuSet,
    pub place: &'a dyn Fn(u32) -> Place,
    pub caches: Vec<Cache<'a>>,
    /// CPUs and MiB of each node.
    pub nodes: Vec<(CpuSet, u64)>,
    pub distances: Vec<Vec<u32>>,
}

pub fn set(list: &str) -> CpuSet {
    CpuSet::from_list(list).unwrap()
}

impl Shape<'_> {
    /// The tree of files that a kernel on such a machine shows.
    pub fn tree(&self) -> Tree {
        let all = self.cpus.to_list();
        let mut tree = Tree::new();
        for file in ["present", "possible", "online"] {
            tree = tree.file(&format!("{CPUS}/{file}"), all.as_str());
        }
        let alike = |wanted: &dyn Fn(Place) -> bool| -> CpuSet {
            self.cpus.iter().filter(|cpu| wanted((self.place)(*cpu))).collect()
        };
        for cpu in self.cpus.iter() {
            let (package, die, core) = (self.place)(cpu);
            let dir = format!("{CPUS}/cpu{cpu}/topology");
            let siblings = alike(&|place| place == (package, die, core));
            tree = tree
                .file(&format!("{dir}/physical_package_id"), package.to_string())
                .file(&format!("{dir}/die_id"), die.to_string())
                .file(&format!("{dir}/core_id"), core.to_string())
                .file(&format!("{dir}/core_cpus_list"), siblings.to_list())
                .file(&format!("{dir}/package_cpus_list"), alike(&|place| place.0 == package).to_list());
            for (index, Cache(level, kind, kib, shared)) in self.caches.iter().enumerate() {
                let dir = format!("{CPUS}/cpu{cpu}/cache/index{index}");
                tree = tree
                    .file(&format!("{dir}/level"), level.to_string())
                    .file(&format!("{dir}/type"), *kind)
                    .file(&format!("{dir}/size"), format!("{kib}K"))
                    .file(&format!("{dir}/shared_cpu_list"), shared(cpu).to_list());
            }
        }
        self.with_nodes(tree)
    }

    fn with_nodes(&self, mut tree: Tree) -> Tree {
        let ids: CpuSet = (0..self.nodes.len() as u32).collect();
        tree = tree.file(&format!("{NODES}/online"), ids.to_list());
        for (id, (cpus, mib)) in self.nodes.iter().enumerate() {
            let dir = format!("{NODES}/node{id}");
            let row: Vec<String> = self.distances[id].iter().map(u32::to_string).collect();
            tree = tree
                .file(&format!("{dir}/cpulist"), cpus.to_list())
                .file(&format!("{dir}/meminfo"), format!("Node {id} MemTotal: {} kB\n", mib * 1024))
                .file(&format!("{dir}/distance"), row.join(" "));
        }
        let total: u64 = self.nodes.iter().map(|node| node.1).sum();
        tree.file("/proc/meminfo", format!("MemTotal: {} kB\n", total * 1024))
    }
}

pub fn read(tree: Tree) -> Machine {
    Machine::read(&Root::from_tree(tree))
}

/// Two Xeon X5650, whose CPUs are numbered in turn: even ones in package 0 (`leviathan` of the published experiments).
pub fn leviathan() -> Machine {
    let core = |cpu: u32| -> CpuSet { [cpu % 12, cpu % 12 + 12].into_iter().collect() };
    let package = |cpu: u32| -> CpuSet { (0..24).filter(|other| other % 2 == cpu % 2).collect() };
    let shape = Shape {
        cpus: (0..24).collect(),
        place: &|cpu| (cpu % 2, 0, cpu % 12 / 2),
        caches: vec![
            Cache(1, "Data", 32, &core),
            Cache(1, "Instruction", 32, &core),
            Cache(2, "Unified", 256, &core),
            Cache(3, "Unified", 12288, &package),
        ],
        nodes: vec![(package(0), 65525), (package(1), 65535)],
        distances: vec![vec![10, 20], vec![20, 10]],
    };
    read(shape.tree())
}

/// Two Opteron 6172 of two dies each, every die a node with its own L3 (`artemis`), and a card with its interrupts.
pub fn artemis() -> Machine {
    let nodes = ["0,2,4,6,8,10", "12,14,16,18,20,22", "13,15,17,19,21,23", "1,3,5,7,9,11"].map(set);
    let of = |cpu: u32| nodes.iter().position(|node| node.contains(cpu)).unwrap() as u32;
    let node = |cpu: u32| nodes[of(cpu) as usize].clone();
    let shape = Shape {
        cpus: (0..24).collect(),
        place: &|cpu| (cpu % 2, 0, cpu / 2),
        caches: vec![
            Cache(1, "Data", 64, &CpuSet::single),
            Cache(1, "Instruction", 64, &CpuSet::single),
            Cache(2, "Unified", 512, &CpuSet::single),
            Cache(3, "Unified", 5118, &node),
        ],
        nodes: nodes.iter().cloned().zip([2047, 2044, 2048, 2047]).collect(),
        distances: (0..4).map(|row| (0..4).map(|to| if to == row { 10 } else { 20 }).collect()).collect(),
    };
    let pci = "/sys/devices/pci0000:00/0000:04:00.1";
    let counts = |busy: u32, n: u64| -> String {
        (0..24).map(|cpu| format!(" {}", if cpu == busy { n } else { u64::from(cpu) * 7 })).collect()
    };
    let head: String = (0..24).map(|cpu| format!(" CPU{cpu}")).collect();
    let table = format!(
        "     {head}\n 45:{}  PCI-MSI-edge  eth1\n 46:{}  PCI-MSI-edge  ahci\n",
        counts(0, 7_204_447),
        counts(13, 81_300)
    );
    let tree = shape
        .tree()
        .file("/proc/interrupts", table)
        .file("/proc/irq/45/smp_affinity_list", "0\n")
        .file("/proc/irq/46/smp_affinity_list", "0-23\n")
        .file(&format!("{pci}/numa_node"), "0\n")
        .file(&format!("{pci}/msi_irqs/45"), "msi\n")
        .link(&format!("{pci}/driver"), "../../bus/pci/drivers/bnx2")
        .dir("/sys/bus/pci/drivers/bnx2")
        .file(&format!("{pci}/net/eth1/speed"), "1000\n")
        .file(&format!("{pci}/net/eth1/operstate"), "up\n")
        .link("/sys/class/net/eth1", "../../devices/pci0000:00/0000:04:00.1/net/eth1")
        .link(&format!("{pci}/net/eth1/device"), "../..");
    read(tree)
}

/// Two packages of `dies` dies, each a node; cores of two threads that share an L2, `per_l3` cores share an L3.
/// Threads are numbered the second after all the first, as kernels on such machines do.
pub fn big(cpus: u32, dies: u32, per_l3: u32) -> Machine {
    let cores = cpus / 2;
    let per_die = cores / (2 * dies);
    let core_of = move |cpu: u32| cpu % cores;
    let threads = move |from: u32, count: u32| -> CpuSet {
        (from..from + count).chain(from + cores..from + cores + count).collect()
    };
    let core = move |cpu: u32| threads(core_of(cpu), 1);
    let l3 = move |cpu: u32| threads(core_of(cpu) / per_l3 * per_l3, per_l3);
    // Counts of a machine with one busy card: most interrupts on a few CPUs of node 1.
    let shape = Shape {
        cpus: (0..cpus).collect(),
        place: &|cpu| {
            let die = core_of(cpu) / per_die;
            (die / dies, die % dies, core_of(cpu) % per_die)
        },
        caches: vec![
            Cache(1, "Data", 48, &core),
            Cache(1, "Instruction", 32, &core),
            Cache(2, "Unified", 2048, &core),
            Cache(3, "Unified", 32768, &l3),
        ],
        nodes: (0..2 * dies).map(|node| (threads(node * per_die, per_die), 256 * 1024)).collect(),
        distances: (0..2 * dies)
            .map(|row| {
                let to = |to: u32| {
                    if to == row {
                        10
                    } else if to / dies == row / dies {
                        12
                    } else {
                        32
                    }
                };
                (0..2 * dies).map(to).collect()
            })
            .collect(),
    };
    read(with_cards(shape.tree(), cpus))
}

/// A network card with 16 interrupt lines on node 1 and a disk on node 0, most interrupts on few CPUs.
fn with_cards(tree: Tree, cpus: u32) -> Tree {
    let (net, disk) = ("/sys/devices/pci0000:40/0000:41:00.0", "/sys/devices/pci0000:00/0000:01:00.0");
    let mut tree = tree
        .file(&format!("{net}/numa_node"), "1\n")
        .file(&format!("{net}/net/ens1/speed"), "100000\n")
        .file(&format!("{net}/net/ens1/operstate"), "up\n")
        .link(&format!("{net}/driver"), "../../bus/pci/drivers/mlx5_core")
        .dir("/sys/bus/pci/drivers/mlx5_core")
        .link("/sys/class/net/ens1", "../../devices/pci0000:40/0000:41:00.0/net/ens1")
        .link(&format!("{net}/net/ens1/device"), "../..")
        .file(&format!("{disk}/numa_node"), "0\n")
        .file(&format!("{disk}/nvme/nvme0/nvme0n1/size"), "3750748848\n")
        .link(&format!("{disk}/driver"), "../../bus/pci/drivers/nvme")
        .dir("/sys/bus/pci/drivers/nvme")
        .link("/sys/class/block/nvme0n1", "../../devices/pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1")
        .link(&format!("{disk}/nvme/nvme0/nvme0n1/device"), "../..");
    let mut table = (0..cpus).map(|cpu| format!(" CPU{cpu}")).collect::<String>() + "\n";
    for line in 0..16u32 {
        let irq = 100 + line;
        let target = line * 3 + cpus / 16;
        let row: String = (0..cpus)
            .map(|cpu| match cpu {
                _ if cpu == target => format!(" {}", 1u64 << (10 + line)),
                _ => format!(" {}", u64::from((cpu + line) % 97 == 0) * 3),
            })
            .collect();
        table.push_str(&format!("{irq}:{row} IR-PCI-MSI ens1-{line}\n"));
        tree = tree
            .file(&format!("/proc/irq/{irq}/smp_affinity_list"), target.to_string())
            .file(&format!("{net}/msi_irqs/{irq}"), "msix\n");
    }
    tree.file("/proc/interrupts", table)
}
