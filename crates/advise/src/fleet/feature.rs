//! The features that are compared: what each is called, how much it bears on a server, and why.

use std::cmp::Ordering;

use serde::Serialize;

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FeatureId {
    /// How many CPUs are there, online or not.
    CpusPresent,
    /// Which CPUs are there and not online.
    CpusOffline,
    /// Whether cores run more than one thread.
    Smt,
    /// The NUMA nodes that firmware shows.
    Nodes,
    /// The CPUs of a node.
    NodeCpus,
    /// The memory of a node.
    NodeMemory,
    /// The distances of a node as firmware reports them.
    NodeDistances,
    /// The memory of the machine.
    Memory,
    /// The CPUs of a package.
    PackageCpus,
    /// How many cores share a last-level cache.
    CacheSharing,
    /// A basic fact of the CPUs that could not be read, and why.
    Unreadable,
    /// CPUs that the scheduler does not balance.
    IsolatedCpus,
    /// CPUs without a tick (nohz_full).
    TicklessCpus,
    /// cpuset partitions that are scheduling domains of their own.
    Partitions,
    /// A word of the kernel command line.
    BootParameter,
    /// A boot parameter that did not take effect.
    BootParameterEffect,
    /// Release of the kernel.
    Kernel,
    /// Build of a kernel of the same release.
    KernelBuild,
    /// Preemption model.
    Preemption,
    /// Timer ticks a second.
    TickRate,
    /// Size of a page.
    PageSize,
    /// Version of cgroups.
    Cgroups,
    /// Revision of the microcode.
    Microcode,
    /// What is done against a weakness of the CPU.
    Mitigation,
    /// What the kernel reads the time from.
    ClockSource,
    /// Transparent huge pages.
    TransparentHugePages,
    /// Automatic NUMA balancing.
    NumaBalancing,
    /// Huge pages that are set aside, by size.
    HugePages,
    /// Swap space.
    Swap,
    /// Another setting of the running kernel, by name.
    Setting,
    /// CPUs of a setting of the running kernel, by name.
    SettingCpus,
    /// Driver of the idle states.
    IdleDriver,
    /// Governor of the idle states.
    IdleGovernor,
    /// The idle states that there are.
    IdleStates,
    /// Whether an idle state is switched on.
    IdleState,
    /// Time to leave an idle state.
    IdleExitLatency,
    /// A limit on the time to wake up that a program holds.
    LatencyLimit,
    /// Driver of the clock.
    FrequencyDriver,
    /// Mode of the driver of the clock.
    FrequencyMode,
    /// Governor of the clock.
    FrequencyGovernor,
    /// Hint to the hardware about energy.
    EnergyPreference,
    /// Lowest clock that is allowed.
    FrequencyMin,
    /// Highest clock that is allowed.
    FrequencyMax,
    /// Highest clock that the hardware reports.
    HardwareFrequency,
    /// Whether CPUs may run above their base clock.
    Turbo,
    /// A network card, by its driver.
    NetworkCard,
    /// The node of a network card.
    CardNode,
    /// PCIe link of a network card.
    CardPcieLink,
    /// Link speed of a network card.
    CardSpeed,
    /// Whether the link of a network card is up.
    CardState,
    /// Queues of a network card.
    CardQueues,
    /// Rings of a network card.
    CardRings,
    /// How long a network card holds interrupts back.
    CardCoalescing,
    /// CPUs that the interrupts of a network card are placed on, queue by queue.
    IrqPlacement,
    /// Nodes that the interrupts of a network card come to.
    IrqNode,
    /// CPUs that received packets are passed to (RPS), queue by queue.
    ReceiveSteering,
    /// Whether packets are passed to where their reader runs (RFS).
    FlowSteering,
    /// CPUs that send through each queue (XPS).
    TransmitSteering,
    /// Disks, by driver.
    Disks,
    /// Size of all disks of a driver.
    DiskBytes,
    /// GPUs, RDMA adapters and other accelerators, by driver.
    Accelerators,
    /// The nodes of disks or accelerators.
    DeviceNodes,
    /// What hypervisor is below.
    Hypervisor,
    /// Whether the capture was taken inside a container.
    Container,
    /// CPUs that the process was allowed that took the capture.
    AllowedCpus,
    /// Memory nodes that it was allowed.
    AllowedNodes,
    /// CPU bandwidth that its cgroup has.
    CpuQuota,
    /// Memory that its cgroup may use.
    MemoryLimit,
    /// A program that sets affinities or the clock.
    Owner,
    /// A setting of such a program.
    OwnerSetting,
}

/// How two values of a feature are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    /// They are equal or they differ.
    Exact,
    /// Sizes that are within 4 % are one value.
    Near,
    /// Lists of online CPUs: those that are offline on a host are left out of what is usual.
    OfOnline,
}

impl FeatureId {
    /// As it is written in JSON: `card-node`.
    pub fn name(self) -> &'static str {
        super::feature_words::of(self).0
    }

    /// How much it bears on a server, 0 to 10.
    pub(crate) fn weight(self) -> f64 {
        super::feature_words::of(self).1
    }

    /// Why it matters, in one sentence.
    pub(super) fn why(self) -> &'static str {
        super::feature_words::of(self).2
    }

    pub(super) fn comparison(self) -> Comparison {
        match self {
            Self::NodeMemory | Self::Memory | Self::Swap | Self::DiskBytes => Comparison::Near,
            Self::NodeCpus
            | Self::PackageCpus
            | Self::IsolatedCpus
            | Self::TicklessCpus
            | Self::SettingCpus
            | Self::AllowedCpus => Comparison::OfOnline,
            _ => Comparison::Exact,
        }
    }

    /// What a host has that knows all there are and has none of this name; `None` where that says nothing.
    pub(super) fn absent(self) -> Option<&'static str> {
        match self {
            Self::BootParameter => Some("not given"),
            Self::BootParameterEffect => Some("took effect, or is not given"),
            Self::NetworkCard => Some("not there"),
            Self::Disks | Self::Accelerators => Some("none"),
            Self::Owner => Some("does not run"),
            Self::OwnerSetting => Some("not set"),
            _ => None,
        }
    }

    /// Whether the system moves it by itself, so that a value on each host of its own says nothing.
    pub(super) fn is_fluid(self) -> bool {
        matches!(self, Self::IrqPlacement | Self::IrqNode | Self::TransmitSteering)
    }
}

/// The order of what has no usual value: by weight, then by name.
pub(super) fn heaviest_first(a: (FeatureId, &str), b: (FeatureId, &str)) -> Ordering {
    b.0.weight().total_cmp(&a.0.weight()).then_with(|| a.cmp(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All features, in order.
    const ALL: &[FeatureId] = &[
        FeatureId::CpusPresent,
        FeatureId::CpusOffline,
        FeatureId::Smt,
        FeatureId::Nodes,
        FeatureId::NodeCpus,
        FeatureId::NodeMemory,
        FeatureId::NodeDistances,
        FeatureId::Memory,
        FeatureId::PackageCpus,
        FeatureId::CacheSharing,
        FeatureId::Unreadable,
        FeatureId::IsolatedCpus,
        FeatureId::TicklessCpus,
        FeatureId::Partitions,
        FeatureId::BootParameter,
        FeatureId::BootParameterEffect,
        FeatureId::Kernel,
        FeatureId::KernelBuild,
        FeatureId::Preemption,
        FeatureId::TickRate,
        FeatureId::PageSize,
        FeatureId::Cgroups,
        FeatureId::Microcode,
        FeatureId::Mitigation,
        FeatureId::ClockSource,
        FeatureId::TransparentHugePages,
        FeatureId::NumaBalancing,
        FeatureId::HugePages,
        FeatureId::Swap,
        FeatureId::Setting,
        FeatureId::SettingCpus,
        FeatureId::IdleDriver,
        FeatureId::IdleGovernor,
        FeatureId::IdleStates,
        FeatureId::IdleState,
        FeatureId::IdleExitLatency,
        FeatureId::LatencyLimit,
        FeatureId::FrequencyDriver,
        FeatureId::FrequencyMode,
        FeatureId::FrequencyGovernor,
        FeatureId::EnergyPreference,
        FeatureId::FrequencyMin,
        FeatureId::FrequencyMax,
        FeatureId::HardwareFrequency,
        FeatureId::Turbo,
        FeatureId::NetworkCard,
        FeatureId::CardNode,
        FeatureId::CardPcieLink,
        FeatureId::CardSpeed,
        FeatureId::CardState,
        FeatureId::CardQueues,
        FeatureId::CardRings,
        FeatureId::CardCoalescing,
        FeatureId::IrqPlacement,
        FeatureId::IrqNode,
        FeatureId::ReceiveSteering,
        FeatureId::FlowSteering,
        FeatureId::TransmitSteering,
        FeatureId::Disks,
        FeatureId::DiskBytes,
        FeatureId::Accelerators,
        FeatureId::DeviceNodes,
        FeatureId::Hypervisor,
        FeatureId::Container,
        FeatureId::AllowedCpus,
        FeatureId::AllowedNodes,
        FeatureId::CpuQuota,
        FeatureId::MemoryLimit,
        FeatureId::Owner,
        FeatureId::OwnerSetting,
    ];

    #[test]
    fn names_are_those_of_json_and_every_reason_is_a_sentence() {
        for feature in ALL {
            assert_eq!(serde_json::to_value(feature).unwrap(), feature.name());
            assert!(feature.why().ends_with('.') && feature.why().len() < 140, "{}", feature.why());
            assert!((1.0..=10.0).contains(&feature.weight()));
        }
        assert!(ALL.is_sorted());
    }

    #[test]
    fn reasons_hold_for_guests_for_other_clocks_and_for_nodes_within_a_package() {
        for memory in [FeatureId::Memory, FeatureId::NodeMemory] {
            assert!(memory.why().starts_with("On hardware") && memory.why().contains("may mean"));
        }
        for device in [FeatureId::CardNode, FeatureId::DeviceNodes] {
            assert!(!device.why().contains("packages"), "NPS and SNC make several nodes of a package");
        }
        let clock = FeatureId::ClockSource.why();
        assert!(clock.contains("arch_sys_counter") && clock.contains("hypervisors"), "they are read as fast");
        assert!(
            !FeatureId::Turbo.why().contains("quarter"),
            "it depends on the model and on how many are busy"
        );
    }
}
