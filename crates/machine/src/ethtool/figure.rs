//! Figures of interrupt coalescing.

use serde::{Deserialize, Serialize};

/// A figure of interrupt coalescing; its number is that of its attribute (`ETHTOOL_A_COALESCE_*`). What each means to a driver
/// is in ethtool(8) and Documentation/networking/ethtool-netlink.rst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u16)]
pub enum Figure {
    /// An interrupt waits this long for more packets that arrive, us.
    RxUsecs = 2,
    /// And no longer than for this many packets.
    RxFrames,
    /// The same while an interrupt is being handled, us.
    RxUsecsIrq,
    /// And packets.
    RxFramesIrq,
    /// An interrupt waits this long for more packets that are sent, us.
    TxUsecs,
    /// And no longer than for this many packets.
    TxFrames,
    /// The same while an interrupt is being handled, us.
    TxUsecsIrq,
    /// And packets.
    TxFramesIrq,
    /// Time between two updates of the card's statistics in memory, us.
    StatsBlockUsecs,
    /// Switch: the driver chooses by load, receiving.
    AdaptiveRx,
    /// Switch: the same, sending.
    AdaptiveTx,
    /// Below this rate the `-low` figures count, packets a second.
    PktRateLow,
    /// `RxUsecs` at low rates.
    RxUsecsLow,
    /// `RxFrames` at low rates.
    RxFramesLow,
    /// `TxUsecs` at low rates.
    TxUsecsLow,
    /// `TxFrames` at low rates.
    TxFramesLow,
    /// Above this rate the `-high` figures count, packets a second.
    PktRateHigh,
    /// `RxUsecs` at high rates.
    RxUsecsHigh,
    /// `RxFrames` at high rates.
    RxFramesHigh,
    /// `TxUsecs` at high rates.
    TxUsecsHigh,
    /// `TxFrames` at high rates.
    TxFramesHigh,
    /// Time between two looks at the rate, seconds.
    SampleInterval,
    /// Switch: the clock of `TxUsecs` starts anew with each completion.
    CqeModeTx,
    /// Switch: the same, receiving.
    CqeModeRx,
    /// Packets that are sent are gathered up to this size, bytes.
    TxAggrMaxBytes,
    /// And up to this number.
    TxAggrMaxFrames,
    /// And this long, us.
    TxAggrTimeUsecs,
}

impl Figure {
    /// All of them with their names, those of `ethtool -C`, in the order of their attributes.
    const NAMES: [(Self, &str); 27] = [
        (Self::RxUsecs, "rx-usecs"),
        (Self::RxFrames, "rx-frames"),
        (Self::RxUsecsIrq, "rx-usecs-irq"),
        (Self::RxFramesIrq, "rx-frames-irq"),
        (Self::TxUsecs, "tx-usecs"),
        (Self::TxFrames, "tx-frames"),
        (Self::TxUsecsIrq, "tx-usecs-irq"),
        (Self::TxFramesIrq, "tx-frames-irq"),
        (Self::StatsBlockUsecs, "stats-block-usecs"),
        (Self::AdaptiveRx, "adaptive-rx"),
        (Self::AdaptiveTx, "adaptive-tx"),
        (Self::PktRateLow, "pkt-rate-low"),
        (Self::RxUsecsLow, "rx-usecs-low"),
        (Self::RxFramesLow, "rx-frames-low"),
        (Self::TxUsecsLow, "tx-usecs-low"),
        (Self::TxFramesLow, "tx-frames-low"),
        (Self::PktRateHigh, "pkt-rate-high"),
        (Self::RxUsecsHigh, "rx-usecs-high"),
        (Self::RxFramesHigh, "rx-frames-high"),
        (Self::TxUsecsHigh, "tx-usecs-high"),
        (Self::TxFramesHigh, "tx-frames-high"),
        (Self::SampleInterval, "sample-interval"),
        (Self::CqeModeTx, "cqe-mode-tx"),
        (Self::CqeModeRx, "cqe-mode-rx"),
        (Self::TxAggrMaxBytes, "tx-aggr-max-bytes"),
        (Self::TxAggrMaxFrames, "tx-aggr-max-frames"),
        (Self::TxAggrTimeUsecs, "tx-aggr-time-usecs"),
    ];

    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::NAMES.into_iter().map(|(figure, _)| figure)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(figure, _)| *figure == self).map(|(_, name)| *name).unwrap_or_default()
    }

    /// The figure of that name.
    pub fn find(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(_, known)| *known == name).map(|(figure, _)| *figure)
    }

    /// The name that facts have it by ([`Report`](super::Report)).
    pub(super) fn key(self) -> String {
        match self {
            // As the first captures have them.
            Self::RxFrames => "rx_max_frames".into(),
            Self::TxFrames => "tx_max_frames".into(),
            _ => self.name().replace('-', "_"),
        }
    }

    /// Number of its attribute.
    pub(super) fn attribute(self) -> u16 {
        self as u16
    }

    /// Whether it is on or off, which the kernel takes as one byte.
    pub fn is_switch(self) -> bool {
        matches!(self, Self::AdaptiveRx | Self::AdaptiveTx | Self::CqeModeTx | Self::CqeModeRx)
    }

    /// The switch by which the driver chooses this figure for itself.
    pub(super) fn follows(self) -> Option<Self> {
        match self {
            Self::RxUsecs | Self::RxFrames => Some(Self::AdaptiveRx),
            Self::TxUsecs | Self::TxFrames => Some(Self::AdaptiveTx),
            _ => None,
        }
    }
}
