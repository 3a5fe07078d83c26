//! The messages of ethtool's family: what is queried and set, and what the kernel reports.

use super::netlink::{attribute, attributes, nested, number, request, terminated};
use super::{ChannelKind, EthtoolSetting, Feature, Figure, Offload, Report, Topic};

/// `GENL_ID_CTRL`, `CTRL_CMD_GETFAMILY`, `CTRL_ATTR_FAMILY_NAME` of genetlink.h.
const CONTROLLER: u16 = 0x10;
const GET_FAMILY: u8 = 3;
const FAMILY_NAME: u16 = 2;
/// `ETHTOOL_A_HEADER_DEV_NAME`, `_FLAGS`, and of those `ETHTOOL_FLAG_OMIT_REPLY`; the header is attribute 1 of every message.
const HEADER: u16 = 1;
const DEVICE_NAME: u16 = 2;
const FLAGS: u16 = 3;
const OMIT_REPLY: u32 = 2;
/// `ETHTOOL_MSG_FEATURES_GET`, `_RINGS_GET`, `_CHANNELS_GET`, `_COALESCE_GET`; each `_SET` is one more.
const FEATURES: u8 = 11;
const RINGS: u8 = 15;
const CHANNELS: u8 = 17;
const COALESCE: u8 = 19;
/// `ETHTOOL_A_FEATURES_HW`, `_WANTED`, `_ACTIVE`, `_NOCHANGE`.
const CHANGEABLE: u16 = 2;
const WANTED: u16 = 3;
const ACTIVE: u16 = 4;
const FIXED: u16 = 5;
/// `ETHTOOL_A_BITSET_BITS`, `ETHTOOL_A_BITSET_BITS_BIT`, `ETHTOOL_A_BITSET_BIT_NAME`, `_VALUE`.
const BITS: u16 = 3;
const BIT: u16 = 1;
const BIT_NAME: u16 = 2;
const BIT_VALUE: u16 = 3;

/// A question to a driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Question {
    /// How many channels there are, and may be.
    Channels,
    /// Interrupt coalescing.
    Coalescing,
    /// Sizes of the rings.
    Rings,
    /// Features.
    Features,
}

/// The question for the number that the kernel gave to a family at boot.
pub(crate) fn family_question(name: &str) -> Vec<u8> {
    let mut body = Vec::new();
    attribute(&mut body, FAMILY_NAME, &terminated(name));
    request(CONTROLLER, GET_FAMILY, &body, false)
}

fn header(to: &mut Vec<u8>, device: &str, flags: u32) {
    nested(to, HEADER, |header| {
        attribute(header, DEVICE_NAME, &terminated(device));
        if flags != 0 {
            attribute(header, FLAGS, &flags.to_ne_bytes());
        }
    });
}

impl Question {
    /// All of them.
    pub(crate) const ALL: [Self; 4] = [Self::Channels, Self::Coalescing, Self::Rings, Self::Features];

    /// The one whose answer covers a topic.
    pub(crate) fn about(topic: Topic) -> Self {
        match topic {
            Topic::Channels => Self::Channels,
            Topic::Coalescing => Self::Coalescing,
            Topic::Feature(_) => Self::Features,
        }
    }

    /// The question about one interface.
    pub(crate) fn message(self, family: u16, device: &str) -> Vec<u8> {
        let command = match self {
            Self::Channels => CHANNELS,
            Self::Coalescing => COALESCE,
            Self::Rings => RINGS,
            Self::Features => FEATURES,
        };
        let mut body = Vec::new();
        header(&mut body, device, 0);
        request(family, command, &body, false)
    }

    /// Keeps what the answer reports; the rest is left out.
    pub(crate) fn keep(self, reply: &[u8], report: &mut Report) {
        match self {
            Self::Channels => report.keep("channels", numbers(reply, &channel_attributes())),
            Self::Coalescing => {
                let names: Vec<_> = Figure::all().map(|figure| (figure.attribute(), figure.key())).collect();
                report.keep("coalesce", numbers(reply, &names));
            }
            Self::Rings => {
                let names = [(2, "rx_max"), (5, "tx_max"), (6, "rx"), (9, "tx")];
                report.keep("rings", numbers(reply, &names.map(|(id, name)| (id, name.to_string()))));
            }
            Self::Features => features(reply, report),
        }
    }
}

/// `rx_max` and so on, then `rx` and so on.
fn channel_attributes() -> Vec<(u16, String)> {
    let kinds = || (0..).zip(ChannelKind::ALL);
    let most = kinds().map(|(at, kind): (u16, _)| (2 + at, format!("{}_max", kind.name())));
    let counts = kinds().map(|(at, kind)| (channel_attribute(at), kind.name().to_string()));
    most.chain(counts).collect()
}

/// Number of the attribute with the count of the kind at that place of [`ChannelKind::ALL`].
fn channel_attribute(at: u16) -> u16 {
    6 + at
}

fn numbers(reply: &[u8], names: &[(u16, String)]) -> Vec<(String, u32)> {
    let named = |(id, value): (u16, &[u8])| {
        let (_, name) = names.iter().find(|(wanted, _)| *wanted == id)?;
        Some((name.clone(), number(value)?))
    };
    attributes(reply).filter_map(named).collect()
}

/// The sets of features are reported as lists of names. That of what can be changed has all names, each with or without a
/// value; of the others only those are listed that are set.
fn features(reply: &[u8], report: &mut Report) {
    let set = |wanted: u16| attributes(reply).find(|(id, _)| *id == wanted).map(|(_, set)| bits(set));
    let Some(known) = set(CHANGEABLE) else { return };
    let [wanted, active, fixed] = [WANTED, ACTIVE, FIXED].map(|id| set(id).unwrap_or_default());
    let is_in = |set: &[(String, bool)], feature: Feature| set.iter().any(|(name, _)| name == feature.name());
    let group = |value: &dyn Fn(Feature, bool) -> bool| -> Vec<(String, u32)> {
        let of = |feature: Feature| {
            let (name, changeable) = known.iter().find(|(name, _)| name == feature.name())?;
            Some((name.clone(), u32::from(value(feature, *changeable))))
        };
        Feature::ALL.into_iter().filter_map(of).collect()
    };
    report.keep("features", group(&|feature, _| is_in(&active, feature)));
    report.keep("features_wanted", group(&|feature, _| is_in(&wanted, feature)));
    report.keep("features_changeable", group(&|feature, hw| hw && !is_in(&fixed, feature)));
    report.keep("offloads", offloads(&known, &active));
}

/// Those of which the kernel knows a feature, each with whether one of its features is in force.
fn offloads(known: &[(String, bool)], active: &[(String, bool)]) -> Vec<(String, u32)> {
    let has_one = |set: &[(String, bool)], offload: Offload| {
        set.iter().any(|(name, _)| offload.features().contains(&name.as_str()))
    };
    let known_ones = Offload::ALL.into_iter().filter(|offload| has_one(known, *offload));
    known_ones.map(|offload| (offload.name().to_string(), u32::from(has_one(active, offload)))).collect()
}

/// Names in a set of bits, and whether each has a value.
fn bits(set: &[u8]) -> Vec<(String, bool)> {
    let lists = attributes(set).filter(|(id, _)| *id == BITS);
    let bits = lists.flat_map(|(_, list)| attributes(list)).filter(|(id, _)| *id == BIT);
    let named = |(_, bit): (u16, &[u8])| {
        let (_, name) = attributes(bit).find(|(id, _)| *id == BIT_NAME)?;
        let name = String::from_utf8_lossy(name).trim_end_matches('\0').to_string();
        Some((name, attributes(bit).any(|(id, _)| id == BIT_VALUE)))
    };
    bits.filter_map(named).collect()
}

/// The message that sets something of one interface, to be acknowledged.
pub fn order(family: u16, device: &str, setting: &EthtoolSetting) -> Vec<u8> {
    let mut body = Vec::new();
    // The acknowledgement is answer enough; only features have another.
    let flags = if matches!(setting, EthtoolSetting::Feature { .. }) { OMIT_REPLY } else { 0 };
    header(&mut body, device, flags);
    let command = match setting {
        EthtoolSetting::Channels { counts } => {
            for (at, kind) in (0..).zip(ChannelKind::ALL) {
                if let Some(count) = counts.get(&kind) {
                    attribute(&mut body, channel_attribute(at), &count.to_ne_bytes());
                }
            }
            CHANNELS + 1
        }
        EthtoolSetting::Coalescing { figures } => {
            for (figure, value) in figures {
                match figure.is_switch() {
                    true => attribute(&mut body, figure.attribute(), &[u8::from(*value != 0)]),
                    false => attribute(&mut body, figure.attribute(), &value.to_ne_bytes()),
                }
            }
            COALESCE + 1
        }
        EthtoolSetting::Feature { feature, on } => {
            nested(&mut body, WANTED, |set| {
                nested(set, BITS, |list| {
                    nested(list, BIT, |bit| {
                        attribute(bit, BIT_NAME, &terminated(feature.name()));
                        if *on {
                            attribute(bit, BIT_VALUE, &[]);
                        }
                    })
                })
            });
            FEATURES + 1
        }
    };
    request(family, command, &body, true)
}
