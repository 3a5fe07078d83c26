//! What a driver reports of itself, as the fact `ethtool NAME` has it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{ChannelKind, EthtoolState, Feature, Figure, Offload, Topic};

/// Figures by name, by group; what the driver does not report is left out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Report(BTreeMap<String, BTreeMap<String, u32>>);

impl Report {
    pub(super) fn keep(&mut self, group: &str, figures: Vec<(String, u32)>) {
        self.0.entry(group.into()).or_default().extend(figures);
    }

    fn figure(&self, group: &str, name: &str) -> Option<u32> {
        self.0.get(group)?.get(name).copied()
    }

    /// What is set now; `None` where the driver does not report it.
    pub fn state(&self, topic: Topic) -> Option<EthtoolState> {
        match topic {
            Topic::Channels => {
                let count = |kind: ChannelKind| Some((kind, self.figure("channels", kind.name())?));
                let counts: BTreeMap<_, _> = ChannelKind::ALL.into_iter().filter_map(count).collect();
                (!counts.is_empty()).then_some(EthtoolState::Channels { counts })
            }
            Topic::Coalescing => {
                let value = |figure: Figure| Some((figure, self.figure("coalesce", &figure.key())?));
                let figures: BTreeMap<_, _> = Figure::all().filter_map(value).collect();
                (!figures.is_empty()).then_some(EthtoolState::Coalescing { figures })
            }
            Topic::Feature(feature) => Some(EthtoolState::Feature {
                wanted: self.figure("features_wanted", feature.name())? != 0,
                active: self.figure("features", feature.name())? != 0,
            }),
        }
    }

    /// Most channels of a kind.
    pub fn most(&self, kind: ChannelKind) -> Option<u32> {
        self.figure("channels", &format!("{}_max", kind.name()))
    }

    /// Whether an offload is in force; `None` where that is not reported.
    pub fn offload(&self, offload: Offload) -> Option<bool> {
        self.figure("offloads", offload.name()).map(|on| on != 0)
    }

    /// Whether a feature can be switched on this interface; `None` where that is not reported.
    pub fn is_changeable(&self, feature: Feature) -> Option<bool> {
        self.figure("features_changeable", feature.name()).map(|changeable| changeable != 0)
    }
}
