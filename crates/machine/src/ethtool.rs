//! What is set of a network interface by ethtool's netlink family (Documentation/networking/ethtool-netlink.rst,
//! include/uapi/linux/ethtool_netlink.h): the words for it, and the bytes. The sockets are elsewhere: [`ask`] has one that
//! asks, and only `change` has one that sets.

mod figure;
mod messages;
mod netlink;
mod offload;
mod report;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

pub use crate::root::ethtool_netlink::{ask, family};
pub use figure::Figure;
pub use messages::order;
pub(crate) use messages::{Question, family_question};
pub use netlink::acknowledged;
pub(crate) use netlink::{REQUEST, answer, attribute, attributes, message, number};
pub use offload::Offload;
pub use report::Report;

/// A kind of channels: queues with an interrupt of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChannelKind {
    /// Receive only.
    Rx,
    /// Send only.
    Tx,
    /// Neither: link changes and the like.
    Other,
    /// Do both.
    Combined,
}

impl ChannelKind {
    /// All of them, in the order of their attributes.
    pub const ALL: [Self; 4] = [Self::Rx, Self::Tx, Self::Other, Self::Combined];

    /// As ethtool(8) names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rx => "rx",
            Self::Tx => "tx",
            Self::Other => "other",
            Self::Combined => "combined",
        }
    }
}

/// A feature of an interface that can be switched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Feature {
    /// The stack joins packets of a flow as they come in (generic receive offload).
    Gro,
    /// The card does.
    GroHw,
    /// The stack chains packets that are only passed on, also of UDP.
    GroList,
}

impl Feature {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Gro, Self::GroHw, Self::GroList];

    /// The kernel's name for it (net/ethtool/common.c).
    pub fn name(self) -> &'static str {
        match self {
            Self::Gro => "rx-gro",
            Self::GroHw => "rx-gro-hw",
            Self::GroList => "rx-gro-list",
        }
    }
}

/// What one message asks about or sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Topic {
    /// Number of channels.
    Channels,
    /// How long interrupts are held back.
    Coalescing,
    /// One feature.
    Feature(Feature),
}

/// What is to be set of an interface. What is not named stays as it is, as far as the driver can keep it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "of", rename_all = "kebab-case")]
pub enum EthtoolSetting {
    /// Numbers of channels.
    Channels {
        /// By kind.
        counts: BTreeMap<ChannelKind, u32>,
    },
    /// Interrupt coalescing.
    Coalescing {
        /// Figures by name; 1 is on and 0 is off for those that are switches.
        figures: BTreeMap<Figure, u32>,
    },
    /// One feature.
    Feature {
        /// Which.
        feature: Feature,
        /// Whether it is wanted.
        on: bool,
    },
}

/// What a driver reports of one topic: everything that setting it may alter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "of", rename_all = "kebab-case")]
pub enum EthtoolState {
    /// Numbers of channels, of the kinds that the driver has.
    Channels {
        /// By kind.
        counts: BTreeMap<ChannelKind, u32>,
    },
    /// Interrupt coalescing, the figures that the driver has.
    Coalescing {
        /// By name.
        figures: BTreeMap<Figure, u32>,
    },
    /// One feature.
    Feature {
        /// Whether somebody wants it; it comes into force when what it needs is there.
        wanted: bool,
        /// Whether it is in force.
        active: bool,
    },
}

impl EthtoolSetting {
    /// What it is about.
    pub fn topic(&self) -> Topic {
        match self {
            Self::Channels { .. } => Topic::Channels,
            Self::Coalescing { .. } => Topic::Coalescing,
            Self::Feature { feature, .. } => Topic::Feature(*feature),
        }
    }

    /// Whether `state` is what it asks for.
    pub fn is_in_force(&self, state: &EthtoolState) -> bool {
        match (self, state) {
            (Self::Channels { counts }, EthtoolState::Channels { counts: now }) => holds(now, counts),
            (Self::Coalescing { figures }, EthtoolState::Coalescing { figures: now }) => holds(now, figures),
            (Self::Feature { on, .. }, EthtoolState::Feature { active, .. }) => on == active,
            _ => false,
        }
    }

    /// What has to be set to come from `now` to `old`; `None` where the two are not of this topic.
    pub fn restoring(&self, old: &EthtoolState, now: &EthtoolState) -> Option<Self> {
        match (self, old, now) {
            (
                Self::Channels { .. },
                EthtoolState::Channels { counts },
                EthtoolState::Channels { counts: now },
            ) => Some(Self::Channels { counts: differing(counts, now) }),
            (
                Self::Coalescing { .. },
                EthtoolState::Coalescing { figures },
                EthtoolState::Coalescing { figures: now },
            ) => {
                let mut figures = differing(figures, now);
                // Drivers refuse both at once, and choose these anew at once.
                figures.retain(|figure, _| !is_chosen_by_the_driver(*figure, old));
                Some(Self::Coalescing { figures })
            }
            (
                Self::Feature { feature, .. },
                EthtoolState::Feature { wanted, .. },
                EthtoolState::Feature { .. },
            ) => Some(Self::Feature { feature: *feature, on: *wanted }),
            _ => None,
        }
    }
}

impl EthtoolState {
    /// Whether the two mean the same: what a driver chooses by load, while it does, is no difference.
    pub fn means(&self, other: &Self) -> bool {
        let (Self::Coalescing { figures: a }, Self::Coalescing { figures: b }) = (self, other) else {
            return self == other;
        };
        let by_load = |figure: &Figure| {
            is_chosen_by_the_driver(*figure, self) && is_chosen_by_the_driver(*figure, other)
        };
        a.keys().chain(b.keys()).all(|figure| by_load(figure) || a.get(figure) == b.get(figure))
    }
}

/// Whether the driver sets this figure itself by load: the adaptive switch of its direction is on.
fn is_chosen_by_the_driver(figure: Figure, state: &EthtoolState) -> bool {
    let EthtoolState::Coalescing { figures } = state else { return false };
    figure.follows().is_some_and(|switch| figures.get(&switch).is_some_and(|on| *on != 0))
}

fn holds<K: Ord>(now: &BTreeMap<K, u32>, asked: &BTreeMap<K, u32>) -> bool {
    asked.iter().all(|(key, value)| now.get(key) == Some(value))
}

/// Those of `old` that are not so in `now`.
fn differing<K: Ord + Copy>(old: &BTreeMap<K, u32>, now: &BTreeMap<K, u32>) -> BTreeMap<K, u32> {
    old.iter().filter(|(key, value)| now.get(key) != Some(value)).map(|(key, value)| (*key, *value)).collect()
}

/// `rx:2 tx:2`.
fn counted(f: &mut fmt::Formatter<'_>, counts: &BTreeMap<ChannelKind, u32>) -> fmt::Result {
    let parts: Vec<String> = counts.iter().map(|(kind, count)| format!("{}:{count}", kind.name())).collect();
    f.write_str(&parts.join(" "))
}

/// `rx-usecs:8 adaptive-rx:on`.
fn figured(f: &mut fmt::Formatter<'_>, figures: &BTreeMap<Figure, u32>) -> fmt::Result {
    let value = |figure: &Figure, value: u32| match (figure.is_switch(), value) {
        (true, 0) => "off".to_string(),
        (true, _) => "on".to_string(),
        (false, value) => value.to_string(),
    };
    let parts: Vec<String> =
        figures.iter().map(|(figure, n)| format!("{}:{}", figure.name(), value(figure, *n))).collect();
    f.write_str(&parts.join(" "))
}

fn switched(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

impl fmt::Display for EthtoolSetting {
    /// In the form of the knobs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Channels { counts } => counted(f, counts),
            Self::Coalescing { figures } => figured(f, figures),
            Self::Feature { on, .. } => f.write_str(switched(*on)),
        }
    }
}

impl fmt::Display for EthtoolState {
    /// In the form of the knobs; a feature that is not in force as it is wanted says so.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Channels { counts } => counted(f, counts),
            Self::Coalescing { figures } => figured(f, figures),
            Self::Feature { wanted, active } if wanted == active => f.write_str(switched(*active)),
            Self::Feature { wanted, active } => {
                write!(f, "{} although {} is wanted", switched(*active), switched(*wanted))
            }
        }
    }
}

impl fmt::Display for Topic {
    /// In words, for messages.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Channels => f.write_str("channels"),
            Self::Coalescing => f.write_str("interrupt coalescing"),
            Self::Feature(feature) => write!(f, "feature {}", feature.name()),
        }
    }
}

#[cfg(test)]
mod tests;
