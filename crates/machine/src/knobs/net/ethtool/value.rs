//! Values of ethtool knobs: `rx:2 tx:2`, `rx-usecs:8 adaptive-rx:on`, `on`, held against what the driver reports.

use std::collections::BTreeMap;

use super::EthtoolKnob;
use crate::ethtool::{ChannelKind, EthtoolSetting, EthtoolState, Feature, Figure, Report};
use crate::{Class, Fault};

/// What a value is asked for.
pub(super) struct Asked<'a> {
    pub(super) knob: &'a EthtoolKnob,
    pub(super) target: &'a str,
    pub(super) report: &'a Report,
    pub(super) state: &'a EthtoolState,
}

impl Asked<'_> {
    /// The setting that a value means.
    pub(super) fn setting(&self, value: &str) -> Result<EthtoolSetting, Fault> {
        match (self.state, self.knob.topic) {
            (EthtoolState::Channels { counts }, _) => self.channels(counts, value),
            (EthtoolState::Coalescing { figures }, _) => self.coalescing(figures, value),
            (EthtoolState::Feature { active, .. }, crate::ethtool::Topic::Feature(feature)) => {
                self.feature(feature, *active, value)
            }
            _ => Err(self.wrong(format!("'{value}' does not fit what the driver reports"))),
        }
    }

    fn wrong(&self, cause: impl ToString) -> Fault {
        self.fault(Class::Usage, cause, format!("write {}", self.knob.about.unit))
    }

    fn fault(&self, class: Class, cause: impl ToString, remedy: impl Into<String>) -> Fault {
        Fault::new(class, format!("{} of {}", self.knob.about.id, self.target), cause.to_string(), remedy)
    }

    /// The parts `NAME:VALUE` of a value, each name once.
    fn parts<K: Ord>(
        &self,
        value: &str,
        part: impl Fn(&str, &str) -> Result<(K, u32), Fault>,
    ) -> Result<BTreeMap<K, u32>, Fault> {
        let mut parts = BTreeMap::new();
        for text in value.split_whitespace() {
            let (name, number) =
                text.split_once(':').ok_or_else(|| self.wrong(format!("'{text}' has no colon")))?;
            let (key, number) = part(name, number)?;
            if parts.insert(key, number).is_some() {
                return Err(self.wrong(format!("'{name}' is given twice")));
            }
        }
        match parts.is_empty() {
            true => Err(self.wrong("the value is empty")),
            false => Ok(parts),
        }
    }

    fn number(&self, name: &str, text: &str) -> Result<u32, Fault> {
        text.parse().map_err(|_| self.wrong(format!("'{text}' is not a number for {name}")))
    }

    fn lacks(&self, name: &str) -> Fault {
        let remedy = format!("choose from: {}", self.state);
        self.fault(Class::MachineLacks, format!("its driver has no {name}"), remedy)
    }

    fn channels(&self, now: &BTreeMap<ChannelKind, u32>, value: &str) -> Result<EthtoolSetting, Fault> {
        let counts = self.parts(value, |name, text| {
            let kind = ChannelKind::ALL.into_iter().find(|kind| kind.name() == name);
            let kind = kind.ok_or_else(|| self.wrong(format!("'{name}' is not a kind of channels")))?;
            let (_, most) = now.get(&kind).zip(self.report.most(kind)).ok_or_else(|| self.lacks(name))?;
            match self.number(name, text)? {
                count if count > most => {
                    let remedy = format!("choose from 0 to {most}");
                    Err(self.fault(Class::Usage, format!("{name}:{count} is more than the card has"), remedy))
                }
                count => Ok((kind, count)),
            }
        })?;
        // As the kernel, which says of it only that it is no value.
        let left = |kind: ChannelKind| *counts.get(&kind).or(now.get(&kind)).unwrap_or(&0);
        let both = left(ChannelKind::Combined);
        if both + left(ChannelKind::Rx) == 0 || both + left(ChannelKind::Tx) == 0 {
            return Err(self.wrong("no channel would be left to receive or to send with"));
        }
        Ok(EthtoolSetting::Channels { counts })
    }

    fn coalescing(&self, now: &BTreeMap<Figure, u32>, value: &str) -> Result<EthtoolSetting, Fault> {
        let figures = self.parts(value, |name, text| {
            let figure = Figure::find(name)
                .ok_or_else(|| self.wrong(format!("'{name}' is not a figure of coalescing")))?;
            now.get(&figure).ok_or_else(|| self.lacks(name))?;
            match (figure.is_switch(), text) {
                (true, "on") => Ok((figure, 1)),
                (true, "off") => Ok((figure, 0)),
                (true, _) => Err(self.wrong(format!("'{text}' is neither on nor off for {name}"))),
                (false, text) => Ok((figure, self.number(name, text)?)),
            }
        })?;
        Ok(EthtoolSetting::Coalescing { figures })
    }

    fn feature(&self, feature: Feature, active: bool, value: &str) -> Result<EthtoolSetting, Fault> {
        let on = match value.trim() {
            "on" => true,
            "off" => false,
            other => return Err(self.wrong(format!("'{other}' is neither on nor off"))),
        };
        if self.report.is_changeable(feature) != Some(true) {
            let cause = format!("it is fixed {} on this interface", if active { "on" } else { "off" });
            return Err(self.fault(Class::MachineLacks, cause, "leave it: its driver cannot change it"));
        }
        Ok(EthtoolSetting::Feature { feature, on })
    }
}
