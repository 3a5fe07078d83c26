//! What a card does in the stack's place, or the stack in one go.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Work on packets that a card can take over, or that the stack does for many packets at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Offload {
    /// The card cuts what TCP sends into packets.
    Tso,
    /// The stack cuts what is sent into packets as late as possible.
    Gso,
    /// The stack joins packets of a flow as they come in.
    Gro,
    /// The card does.
    Lro,
    /// The card verifies checksums of packets that come in.
    RxChecksum,
    /// The card sets checksums of packets that are sent.
    TxChecksum,
}

impl Offload {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Tso, Self::Gso, Self::Gro, Self::Lro, Self::RxChecksum, Self::TxChecksum];

    /// As people and JSON name it: `tso`, `rx-checksum`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tso => "tso",
            Self::Gso => "gso",
            Self::Gro => "gro",
            Self::Lro => "lro",
            Self::RxChecksum => "rx-checksum",
            Self::TxChecksum => "tx-checksum",
        }
    }

    /// The kernel's features of it (net/ethtool/common.c): it is on where one of them is, as ethtool(8) prints it.
    pub(super) fn features(self) -> &'static [&'static str] {
        match self {
            Self::Tso => &["tx-tcp-segmentation", "tx-tcp6-segmentation"],
            Self::Gso => &["tx-generic-segmentation"],
            Self::Gro => &["rx-gro"],
            Self::Lro => &["rx-lro"],
            Self::RxChecksum => &["rx-checksum"],
            Self::TxChecksum => &["tx-checksum-ip-generic", "tx-checksum-ipv4", "tx-checksum-ipv6"],
        }
    }
}

impl fmt::Display for Offload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_json() {
        for offload in Offload::ALL {
            assert_eq!(serde_json::to_value(offload).unwrap(), offload.name());
            assert!(!offload.features().is_empty());
        }
    }
}
