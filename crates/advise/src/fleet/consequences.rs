//! Which differences follow from others of the same host, and are not listed beside them.

use std::collections::HashMap;

use super::FeatureId;
use super::symbols::Symbols;
use super::values::Key;

/// What a difference in a feature follows from: features of the machine.
fn causes(feature: FeatureId) -> &'static [FeatureId] {
    use FeatureId as F;
    match feature {
        F::CpusPresent => &[F::Smt],
        F::PackageCpus => &[F::CpusPresent],
        F::NodeCpus => &[F::Nodes, F::CpusPresent, F::PackageCpus],
        F::NodeMemory
        | F::NodeDistances
        | F::CardNode
        | F::DeviceNodes
        | F::AllowedNodes
        | F::CacheSharing => &[F::Nodes],
        F::IrqPlacement | F::IrqNode => &[F::Nodes, F::Smt, F::CpusPresent, F::CpusOffline],
        F::CardQueues | F::TransmitSteering => &[F::Smt, F::CpusPresent, F::CpusOffline],
        F::SettingCpus => &[F::Smt, F::CpusPresent, F::CpusOffline, F::IsolatedCpus, F::TicklessCpus],
        F::AllowedCpus => &[F::Container, F::IsolatedCpus, F::Smt, F::CpusPresent, F::CpusOffline],
        F::CpuQuota | F::MemoryLimit => &[F::Container],
        F::KernelBuild => &[F::Kernel],
        F::IdleStates | F::IdleState | F::IdleExitLatency => &[F::IdleDriver],
        F::FrequencyGovernor | F::FrequencyMode | F::FrequencyMin | F::FrequencyMax => &[F::FrequencyDriver],
        F::EnergyPreference => &[F::FrequencyDriver, F::FrequencyGovernor],
        F::HardwareFrequency => &[F::FrequencyDriver, F::Turbo],
        _ => &[],
    }
}

/// The same: features of the same card, driver or program.
fn causes_of_the_same(feature: FeatureId) -> &'static [FeatureId] {
    use FeatureId as F;
    match feature {
        F::IrqPlacement | F::ReceiveSteering | F::FlowSteering | F::TransmitSteering => {
            &[F::NetworkCard, F::CardQueues]
        }
        F::IrqNode => &[F::NetworkCard, F::CardQueues, F::IrqPlacement],
        F::CardQueues | F::CardRings | F::CardCoalescing | F::CardPcieLink => &[F::NetworkCard],
        F::CardSpeed => &[F::NetworkCard, F::CardState],
        F::CardNode | F::CardState => &[F::NetworkCard],
        F::DiskBytes | F::DeviceNodes => &[F::Disks, F::Accelerators],
        F::OwnerSetting => &[F::Owner],
        _ => &[],
    }
}

/// What differs, by hosts.
#[derive(Default)]
pub(super) struct Differing(HashMap<usize, Vec<Key>>);

impl Differing {
    pub(super) fn of(found: impl Iterator<Item = (usize, Key)>) -> Self {
        let mut differing = Self::default();
        for (host, key) in found {
            differing.0.entry(host).or_default().push(key);
        }
        differing
    }

    /// Whether a difference of a host follows from another one of it.
    pub(super) fn explains(&self, host: usize, key: Key, symbols: &Symbols) -> bool {
        let all = self.0.get(&host).map(Vec::as_slice).unwrap_or_default();
        let has = |feature: FeatureId| all.iter().any(|other| other.feature == feature);
        let has_of_the_same = |feature: FeatureId| {
            all.iter().any(|other| other.feature == feature && is_part(key, *other, symbols))
        };
        match key.feature {
            // The node says where memory is missing; where there are other nodes, only the sum says that it is.
            FeatureId::Memory => has(FeatureId::NodeMemory) && !has(FeatureId::Nodes),
            feature => {
                causes(feature).iter().any(|cause| has(*cause))
                    || causes_of_the_same(feature).iter().any(|cause| has_of_the_same(*cause))
            }
        }
    }
}

/// Whether one is of the same as the other, or of a part of it: `irqbalance IRQBALANCE_ARGS` of `irqbalance`.
fn is_part(key: Key, whole: Key, symbols: &Symbols) -> bool {
    let (key, whole) = (symbols.text(key.subject), symbols.text(whole.subject));
    key.strip_prefix(whole).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_from_another_difference_of_the_same_host_or_card() {
        let mut symbols = Symbols::default();
        let mut key = |feature, subject: &str| Key { feature, subject: symbols.of(subject) };
        let [nodes, memory] = [FeatureId::Nodes, FeatureId::Memory].map(|feature| key(feature, ""));
        let node_memory = key(FeatureId::NodeMemory, "node 1");
        let [queues, lines, other] = [
            key(FeatureId::CardQueues, "eth1"),
            key(FeatureId::IrqPlacement, "eth1"),
            key(FeatureId::IrqPlacement, "eth10"),
        ];
        let found = [(0, nodes), (0, node_memory), (0, memory), (1, node_memory), (1, memory), (2, queues)];
        let differing = Differing::of(found.into_iter());
        let explains = |host, key| differing.explains(host, key, &symbols);
        assert_eq!([nodes, node_memory, memory].map(|key| explains(0, key)), [false, true, false]);
        assert_eq!([node_memory, memory].map(|key| explains(1, key)), [false, true]);
        assert_eq!([lines, other].map(|key| explains(2, key)), [true, false]);
        assert!(!explains(3, memory));
    }
}
