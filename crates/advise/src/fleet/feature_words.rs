//! Names, weights and reasons of the features.

use super::FeatureId;

/// Name, weight and reason of a feature.
pub(super) fn of(feature: FeatureId) -> (&'static str, f64, &'static str) {
    use FeatureId as F;
    match feature {
        F::CpusPresent => {
            ("cpus-present", 10.0, "CPUs that are not there are missing from every pool of work.")
        }
        F::CpusOffline => (
            "cpus-offline",
            10.0,
            "A CPU that is offline does no work, and what was pinned to it went elsewhere.",
        ),
        F::Smt => (
            "smt",
            10.0,
            "With and without SMT a core does different amounts of work, and the same number of CPUs means a different number of cores.",
        ),
        F::Nodes => (
            "nodes",
            10.0,
            "Firmware that shows other nodes (NPS, SNC, interleaving) changes which memory is near, so that no list of CPUs or nodes fits any more.",
        ),
        F::NodeCpus => ("node-cpus", 9.0, "Threads that are kept on this node are on other cores here."),
        F::NodeMemory => (
            "node-memory",
            10.0,
            "On hardware, less memory on a node may mean a missing DIMM and fewer channels; pages go to another node sooner.",
        ),
        F::NodeDistances => (
            "node-distances",
            6.0,
            "The kernel chooses by these distances where memory is taken from and whether it is reclaimed first.",
        ),
        F::Memory => (
            "memory",
            10.0,
            "On hardware, less memory may mean a DIMM that is missing or switched off, and so fewer channels; a guest was given its size.",
        ),
        F::PackageCpus => (
            "package-cpus",
            8.0,
            "Firmware numbers the CPUs differently, so that a list of CPUs means other cores here.",
        ),
        F::CacheSharing => (
            "cache-sharing",
            7.0,
            "Threads that share data run on cores that share a cache only if this is as expected.",
        ),
        F::Unreadable => {
            ("unreadable", 1.0, "What cannot be read is not compared: a difference may be hidden here.")
        }
        F::IsolatedCpus => (
            "isolated-cpus",
            10.0,
            "Isolated CPUs carry only what is pinned to them; others carry what comes.",
        ),
        F::TicklessCpus => {
            ("tickless-cpus", 9.0, "A CPU with a tick is interrupted some hundred times a second.")
        }
        F::Partitions => ("partitions", 7.0, "Load is balanced within a partition only."),
        F::BootParameter => ("boot-parameter", 6.0, "The kernel was booted differently."),
        F::BootParameterEffect => (
            "boot-parameter-effect",
            10.0,
            "What the command line asks for is not in force, so the host is not what its configuration says.",
        ),
        F::Kernel => ("kernel", 8.0, "Another kernel schedules, balances and moves packets differently."),
        F::KernelBuild => (
            "kernel-build",
            6.0,
            "The release is the same and the build is not: fixes and mitigations may differ.",
        ),
        F::Preemption => (
            "preemption",
            6.0,
            "It decides how long a thread waits for kernel code to end, and how often one is switched out.",
        ),
        F::TickRate => (
            "tick-rate",
            5.0,
            "It decides how often a busy CPU is interrupted, and how fine time slices are.",
        ),
        F::PageSize => ("page-size", 6.0, "Larger pages need fewer TLB entries and waste more memory."),
        F::Cgroups => ("cgroups", 4.0, "Limits and cpusets are kept in other files and follow other rules."),
        F::Microcode => (
            "microcode",
            8.0,
            "Microcode changes what mitigations cost, and fixes bugs that other revisions still have.",
        ),
        F::Mitigation => (
            "mitigation",
            8.0,
            "A mitigation costs time at every entry into the kernel, or at every switch; an affected CPU without it is open.",
        ),
        F::ClockSource => (
            "clock-source",
            9.0,
            "Reading hpet or acpi_pm takes about a microsecond; tsc, arch_sys_counter and most clocks of hypervisors take some 20 to 50 ns.",
        ),
        F::TransparentHugePages => (
            "transparent-huge-pages",
            7.0,
            "It decides whether memory comes in pages of 2 MiB, and with that TLB misses, memory use and pauses.",
        ),
        F::NumaBalancing => {
            ("numa-balancing", 7.0, "Where it is on, pages are unmapped and moved while a server runs.")
        }
        F::HugePages => (
            "huge-pages",
            7.0,
            "What was set aside serves only those that ask for huge pages; who asks and finds none gets small ones, or fails.",
        ),
        F::Swap => ("swap", 5.0, "With swap a server slows down where without it something is killed."),
        F::Setting => ("setting", 4.0, "A setting of the kernel differs."),
        F::SettingCpus => {
            ("setting-cpus", 5.0, "Interrupts, work of the kernel or watchdogs go to other CPUs.")
        }
        F::IdleDriver => {
            ("idle-driver", 8.0, "Another driver has other idle states, with other times to wake up.")
        }
        F::IdleGovernor => (
            "idle-governor",
            5.0,
            "It decides how deep an idle CPU sleeps, and so how long it takes to wake up.",
        ),
        F::IdleStates => (
            "idle-states",
            8.0,
            "Deeper states take longer to leave; without them a CPU saves no power for its neighbours to clock higher.",
        ),
        F::IdleState => ("idle-state", 8.0, "It decides how long the first request after a pause waits."),
        F::IdleExitLatency => (
            "idle-exit-latency",
            6.0,
            "The governor chooses by this figure, so that CPUs sleep deeper or less deep than elsewhere.",
        ),
        F::LatencyLimit => {
            ("latency-limit", 6.0, "While it is held, CPUs do not enter the deeper idle states.")
        }
        F::FrequencyDriver => {
            ("frequency-driver", 8.0, "Another driver clocks CPUs by other rules, or not at all.")
        }
        F::FrequencyMode => {
            ("frequency-mode", 6.0, "It decides whether the hardware or the kernel chooses the clock.")
        }
        F::FrequencyGovernor => {
            ("frequency-governor", 8.0, "It decides how soon the clock rises when work comes.")
        }
        F::EnergyPreference => {
            ("energy-preference", 6.0, "It decides how soon the hardware raises the clock.")
        }
        F::FrequencyMin => ("frequency-min", 5.0, "Work that begins on an idle CPU begins at this clock."),
        F::FrequencyMax => ("frequency-max", 8.0, "All work takes longer where the clock is held lower."),
        F::HardwareFrequency => {
            ("hardware-frequency", 7.0, "Firmware may have switched turbo off, or holds the clock down.")
        }
        F::Turbo => ("turbo", 8.0, "Without turbo a busy core never runs above its base clock."),
        F::NetworkCard => {
            ("network-card", 10.0, "A card is missing or additional, or is served by another driver.")
        }
        F::CardNode => (
            "card-node",
            9.0,
            "Packets of a card on another node cross the link between nodes, and so do its interrupts where they were placed by a list.",
        ),
        F::CardPcieLink => (
            "card-pcie-link",
            9.0,
            "A link of fewer lanes or of a lower rate limits the card: a wrong slot, a riser, or a bad contact.",
        ),
        F::CardSpeed => {
            ("card-speed", 9.0, "The port runs at another speed: the cable, the module, or the switch.")
        }
        F::CardState => (
            "card-state",
            7.0,
            "A port without link carries nothing; a bond loses that port's share of its capacity.",
        ),
        F::CardQueues => (
            "card-queues",
            8.0,
            "The number of queues is the number of CPUs that can receive at the same time.",
        ),
        F::CardRings => {
            ("card-rings", 5.0, "Short rings overflow in bursts, and long ones hold packets that are late.")
        }
        F::CardCoalescing => ("card-coalescing", 6.0, "It trades latency against interrupts."),
        F::IrqPlacement => {
            ("irq-placement", 9.0, "Interrupts take the CPUs that they are placed on from what runs there.")
        }
        F::IrqNode => (
            "irq-node",
            7.0,
            "Packets are handled on another node than usual, away from the card or from the threads that want them.",
        ),
        F::ReceiveSteering => ("receive-steering", 7.0, "The work of receiving goes to other CPUs."),
        F::FlowSteering => (
            "flow-steering",
            5.0,
            "It decides whether packets are handled next to the thread that reads them.",
        ),
        F::TransmitSteering => {
            ("transmit-steering", 5.0, "It decides which CPUs share a queue, and its lock, when they send.")
        }
        F::Disks => ("disks", 8.0, "A disk is missing or additional."),
        F::DiskBytes => ("disk-bytes", 4.0, "Disks of another size are other models, with another latency."),
        F::Accelerators => {
            ("accelerators", 9.0, "A device is missing or additional, or is served by another driver.")
        }
        F::DeviceNodes => (
            "device-nodes",
            7.0,
            "What uses the device from the usual node reaches it across the link between nodes here.",
        ),
        F::Hypervisor => {
            ("hypervisor", 6.0, "Another hypervisor delivers interrupts and takes time away differently.")
        }
        F::Container => {
            ("container", 2.0, "Inside a container some of the facts are those of the container.")
        }
        F::AllowedCpus => {
            ("allowed-cpus", 3.0, "Processes started from there are limited to these CPUs, too.")
        }
        F::AllowedNodes => {
            ("allowed-nodes", 3.0, "Processes started from there take memory from these nodes only.")
        }
        F::CpuQuota => {
            ("cpu-quota", 3.0, "Processes started from there are throttled when the quota is used up.")
        }
        F::MemoryLimit => {
            ("memory-limit", 3.0, "Processes started from there are limited to this much memory.")
        }
        F::Owner => ("owner", 7.0, "It moves interrupts or threads, or sets the clock, without being asked."),
        F::OwnerSetting => ("owner-setting", 6.0, "The program places things by other rules here."),
    }
}
