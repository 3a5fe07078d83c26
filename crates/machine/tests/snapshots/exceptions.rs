//! Where lstopo's word is not the kernel's: each with the file of the tree that says otherwise.

/// Facts of one tree that follow from one file.
pub struct Exception {
    /// Name of the tree.
    pub tree: &'static str,
    /// The file that says otherwise.
    pub file: &'static str,
    /// What stands in it, or in the message that it cannot be read.
    pub says: &'static str,
    /// The facts that follow: name and our word.
    pub ours: &'static [(&'static str, &'static str)],
}

/// All of them.
pub const EXCEPTIONS: &[Exception] = &[
    // Without a package number (-1) what core_siblings names is the core again; lstopo calls that a package.
    Exception {
        tree: "256ppc-8n8s4t",
        file: "/sys/devices/system/cpu/cpu8/topology/physical_package_id",
        says: "-1",
        ours: &[("packages", "")],
    },
    // A kernel without NUMA has no nodes; lstopo makes one of the whole machine.
    Exception {
        tree: "2i386-2c-nohugepage",
        file: "/sys/devices/system/node",
        says: "no such file",
        ours: &[("node 0 cpus", "-"), ("node 0 memory", "-")],
    },
    // DAX devices are no block devices: they are not in the class.
    Exception {
        tree: "32em64t-2n8c+dax+nvme+mic+dimms",
        file: "/sys/class/block/dax0.0",
        says: "no such file",
        ours: &[("block dax0.0", "-")],
    },
    // As above.
    Exception {
        tree: "32em64t-2n8c+dax+nvme+mic+dimms",
        file: "/sys/class/block/dax1.3",
        says: "no such file",
        ours: &[("block dax1.3", "-")],
    },
    // The disk was put into this tree from another machine; lstopo goes by its local_cpus (0-3).
    Exception {
        tree: "32em64t-2n8c+dax+nvme+mic+dimms",
        file: "/sys/devices/pci0000:00/0000:00:02.0/numa_node",
        says: "-1",
        ours: &[("block nvme0n1", "any")],
    },
    // lstopo corrects the firmware of this machine by the bus (0000:40), the kernel says node 2.
    Exception {
        tree: "40intel64-2g2n4c+pcilocality",
        file: "/sys/devices/pci0000:40/0000:40:03.0/0000:43:00.0/numa_node",
        says: "2",
        ours: &[("net ib0", "2")],
    },
    // lstopo asks CPUID of this AMD family for the threads of a module; the kernel calls a module a core.
    Exception {
        tree: "64amd64-4s2n4ca2co",
        file: "/sys/devices/system/cpu/cpu0/topology/thread_siblings_list",
        says: "0-1",
        ours: &[(
            "cores",
            "0-1 2-3 4-5 6-7 8-9 10-11 12-13 14-15 16-17 18-19 20-21 22-23 24-25 26-27 28-29 30-31 32-33 34-35 36-37 38-39 40-41 42-43 44-45 46-47 48-49 50-51 52-53 54-55 56-57 58-59 60-61 62-63",
        )],
    },
    // As above, for the cache that the module shares.
    Exception {
        tree: "64amd64-4s2n4ca2co",
        file: "/sys/devices/system/cpu/cpu0/cache/index2/shared_cpu_list",
        says: "0\n",
        ours: &[(
            "L2",
            "2097152: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63",
        )],
    },
    // Every node claims every CPU; lstopo keeps node 0 only, we keep what the kernel says and give the CPUs no node.
    Exception {
        tree: "8em64t-2s2ca2c-buggynuma",
        file: "/sys/devices/system/node/node1/cpulist",
        says: "0-7",
        ours: &[
            ("node 0 distances", "0:10 1:10 2:10 3:10 4:10 5:10 6:10 7:10"),
            ("node 1 distances", "0:10 1:10 2:10 3:10 4:10 5:10 6:10 7:10"),
            ("node 1 cpus", "0-7"),
            ("node 1 memory", "2146435072"),
            ("node 2 distances", "0:10 1:10 2:10 3:10 4:10 5:10 6:10 7:10"),
            ("node 2 cpus", "0-7"),
            ("node 2 memory", "2147483648"),
            ("node 3 distances", "0:10 1:10 2:10 3:10 4:10 5:10 6:10 7:10"),
            ("node 3 cpus", "0-7"),
            ("node 3 memory", "2147483648"),
            ("node 4 distances", "0:10 1:10 2:10 3:10 4:10 5:10 6:10 7:10"),
            ("node 4 cpus", "0-7"),
            ("node 4 memory", "2147483648"),
            ("node 5 distances", "0:10 1:10 2:10 3:10 4:10 5:10 6:10 7:10"),
            ("node 5 cpus", "0-7"),
            ("node 5 memory", "2147483648"),
            ("node 6 distances", "0:10 1:10 2:10 3:10 4:10 5:10 6:10 7:10"),
            ("node 6 cpus", "0-7"),
            ("node 6 memory", "2147483648"),
            ("node 7 distances", "0:10 1:10 2:10 3:10 4:10 5:10 6:10 7:10"),
            ("node 7 cpus", "0-7"),
            ("node 7 memory", "2147483648"),
        ],
    },
    // DAX devices are no block devices.
    Exception {
        tree: "fakeheteromemtiers",
        file: "/sys/class/block/dax0.0",
        says: "no such file",
        ours: &[("block dax0.0", "-"), ("block dax2.0", "-"), ("block dax6.0", "-")],
    },
    // A node of memory only has no CPUs; lstopo names the CPUs that are near to it.
    Exception {
        tree: "fakeheteromemtiers",
        file: "/sys/devices/system/node/has_cpu",
        says: "0-2\n",
        ours: &[("node 4 cpus", ""), ("node 6 cpus", ""), ("node 8 cpus", ""), ("node 9 cpus", "")],
    },
    // The memory of the GPUs is memory of the kernel; lstopo leaves it out.
    Exception {
        tree: "nvidiagpunumanodes",
        file: "/sys/devices/system/node/online",
        says: "0,8,250-255",
        ours: &[
            ("node 0 distances", "0:10 8:40 250:80 251:80 252:80 253:80 254:80 255:80"),
            ("node 8 distances", "0:40 8:10 250:80 251:80 252:80 253:80 254:80 255:80"),
            ("node 250 distances", "0:80 8:80 250:10 251:80 252:80 253:80 254:80 255:80"),
            ("node 250 cpus", ""),
            ("node 250 memory", "16106127360"),
            ("node 251 distances", "0:80 8:80 250:80 251:10 252:80 253:80 254:80 255:80"),
            ("node 251 cpus", ""),
            ("node 251 memory", "16106127360"),
            ("node 252 distances", "0:80 8:80 250:80 251:80 252:10 253:80 254:80 255:80"),
            ("node 252 cpus", ""),
            ("node 252 memory", "16106127360"),
            ("node 253 distances", "0:80 8:80 250:80 251:80 252:80 253:10 254:80 255:80"),
            ("node 253 cpus", ""),
            ("node 253 memory", "16106127360"),
            ("node 254 distances", "0:80 8:80 250:80 251:80 252:80 253:80 254:10 255:80"),
            ("node 254 cpus", ""),
            ("node 254 memory", "16106127360"),
            ("node 255 distances", "0:80 8:80 250:80 251:80 252:80 253:80 254:80 255:10"),
            ("node 255 cpus", ""),
            ("node 255 memory", "16106127360"),
        ],
    },
    // lstopo 2.9 reads what was asked for (cpuset.cpus) instead of what is in force.
    Exception {
        tree: "nvidiagpunumanodes",
        file: "/sys/fs/cgroup/cpuset/jjh/cpuset.effective_cpus",
        says: "0-87\n",
        ours: &[("allowed", "0-15")],
    },
];
