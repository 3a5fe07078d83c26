//! The /sys and /proc of a machine of any size, as files below a folder: what `pinwise map` and `lstopo` read.
//!
//! Shape: two threads a core, 64 CPUs a NUMA node, two nodes a package, one last-level cache for 16 CPUs; files and
//! their forms as drivers/base/{topology,cacheinfo,node,cpu}.c print them.

use std::fs;
use std::io;
use std::path::Path;

use machine::CpuSet;

use crate::large::Large;

const THREADS: u32 = 2;
const LLC_CPUS: u32 = 16;
const NODE_CPUS: u32 = 64;
const PACKAGE_CPUS: u32 = 128;

/// A machine of `cpus` CPUs, a power of two.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Number of CPUs.
    pub cpus: u32,
    /// Lines of /proc/interrupts; none: no such file.
    pub irqs: u32,
}

/// A cache of each core: index, level, type, size, CPUs that share it.
const CACHES: [(u32, u32, &str, &str, u32); 4] = [
    (0, 1, "Data", "48K", THREADS),
    (1, 1, "Instruction", "32K", THREADS),
    (2, 2, "Unified", "2048K", THREADS),
    (3, 3, "Unified", "32768K", LLC_CPUS),
];

impl Shape {
    /// Writes all files below `dir`.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write(self, dir: &Path) -> io::Result<()> {
        let all = self.group(0, self.cpus);
        let cpus = dir.join("sys/devices/system/cpu");
        for name in ["online", "present", "possible"] {
            put(&cpus.join(name), &format!("{}\n", all.to_list()))?;
        }
        put(&cpus.join("isolated"), "\n")?;
        for cpu in 0..self.cpus {
            self.cpu(&cpus.join(format!("cpu{cpu}")), cpu)?;
        }
        let nodes = self.cpus.div_ceil(NODE_CPUS);
        for node in 0..nodes {
            self.node(&dir.join(format!("sys/devices/system/node/node{node}")), node, nodes)?;
        }
        let ids: CpuSet = (0..nodes).collect();
        for name in ["online", "possible", "has_cpu", "has_memory"] {
            put(&dir.join("sys/devices/system/node").join(name), &format!("{}\n", ids.to_list()))?;
        }
        self.proc(dir)
    }

    fn proc(self, dir: &Path) -> io::Result<()> {
        put(&dir.join("proc/meminfo"), "MemTotal:       1056949720 kB\nMemFree:        900000000 kB\n")?;
        put(&dir.join("proc/cmdline"), "BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro\n")?;
        put(&dir.join("proc/version"), "Linux version 6.12.0 (made up) #1 SMP\n")?;
        let large = Large { cpus: self.cpus, irqs: self.irqs };
        if self.irqs > 0 {
            put(&dir.join("proc/interrupts"), &large.interrupts(1))?;
            for irq in 0..self.irqs {
                let folder = dir.join(format!("proc/irq/{irq}"));
                put(&folder.join("smp_affinity_list"), &format!("{}\n", irq % self.cpus))?;
                put(&folder.join("effective_affinity_list"), &format!("{}\n", irq % self.cpus))?;
                put(&folder.join("node"), "0\n")?;
            }
        }
        put(&dir.join("proc/stat"), &large.stat(1))
    }

    fn cpu(self, dir: &Path, cpu: u32) -> io::Result<()> {
        let topology = dir.join("topology");
        let (core, package) = (cpu / THREADS % (PACKAGE_CPUS / THREADS), cpu / PACKAGE_CPUS);
        for (name, number) in
            [("physical_package_id", package), ("core_id", core), ("die_id", 0), ("cluster_id", core / 8)]
        {
            put(&topology.join(name), &format!("{number}\n"))?;
        }
        let (threads, mates) = (self.group(cpu, THREADS), self.group(cpu, PACKAGE_CPUS));
        for (name, set) in [
            ("core_cpus", &threads),
            ("thread_siblings", &threads),
            ("package_cpus", &mates),
            ("core_siblings", &mates),
            ("die_cpus", &mates),
        ] {
            self.set(&topology, name, &format!("{name}_list"), set)?;
        }
        for (index, level, kind, size, shared) in CACHES {
            let cache = dir.join(format!("cache/index{index}"));
            for (name, text) in [("level", level.to_string()), ("type", kind.into()), ("size", size.into())] {
                put(&cache.join(name), &format!("{text}\n"))?;
            }
            for (name, number) in
                [("coherency_line_size", 64), ("number_of_sets", 64), ("ways_of_associativity", 12)]
            {
                put(&cache.join(name), &format!("{number}\n"))?;
            }
            self.set(&cache, "shared_cpu_map", "shared_cpu_list", &self.group(cpu, shared))?;
        }
        put(&dir.join("online"), "1\n")
    }

    fn node(self, dir: &Path, node: u32, nodes: u32) -> io::Result<()> {
        let distances: Vec<String> =
            (0..nodes).map(|other| if other == node { "10" } else { "21" }.into()).collect();
        put(&dir.join("distance"), &format!("{}\n", distances.join(" ")))?;
        let memory =
            format!("Node {node} MemTotal:       66059356 kB\nNode {node} MemFree:        50000000 kB\n");
        put(&dir.join("meminfo"), &memory)?;
        self.set(dir, "cpumap", "cpulist", &self.group(node * NODE_CPUS, NODE_CPUS))
    }

    /// The CPUs of the group of `size` that `cpu` is in.
    fn group(self, cpu: u32, size: u32) -> CpuSet {
        let first = cpu / size * size;
        (first..(first + size).min(self.cpus)).collect()
    }

    /// The mask as wide as the kernel prints it: a word for each 32 CPUs of the machine.
    fn mask(self, set: &CpuSet) -> String {
        let mask = set.to_mask();
        let lacking = (self.cpus.div_ceil(32) as usize).saturating_sub(mask.split(',').count());
        let (first, rest) =
            mask.split_once(',').map_or((mask.as_str(), None), |(first, rest)| (first, Some(rest)));
        let mut words = vec!["00000000".to_string(); lacking];
        words.push(format!("{first:0>8}"));
        words.extend(rest.map(String::from));
        words.join(",")
    }

    /// A set in both forms.
    fn set(self, dir: &Path, mask: &str, list: &str, set: &CpuSet) -> io::Result<()> {
        put(&dir.join(mask), &format!("{}\n", self.mask(set)))?;
        put(&dir.join(list), &format!("{}\n", set.to_list()))
    }
}

fn put(path: &Path, text: &str) -> io::Result<()> {
    match fs::write(path, text) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))?;
            fs::write(path, text)
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::{Machine, Root};

    #[test]
    fn a_made_up_machine_reads_as_it_was_meant() {
        let dir = std::env::temp_dir().join(format!("pinwise-shape-{}", std::process::id()));
        Shape { cpus: 256, irqs: 10 }.write(&dir).unwrap();
        let machine = Machine::read(&Root::at(&dir).unwrap());
        fs::remove_dir_all(&dir).unwrap();
        assert_eq!((machine.online().len(), machine.cores().len()), (256, 128));
        assert_eq!((machine.packages.len(), machine.nodes.len(), machine.irqs.len()), (2, 4, 10));
        assert_eq!(machine.caches.iter().filter(|cache| cache.level == 3).count(), 16);
        assert_eq!(machine.irqs[3].effective.as_ref().map(|set| set.to_list()).as_deref(), Some("3"));
    }
}
