//! What a CPU is quiet enough for.

use serde::{Deserialize, Serialize};

/// Classes by the longest gap and by the share of time in gaps, from the strictest on. docs/noise.md has the reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quiet {
    /// Loops that poll a network card.
    BusyPolling,
    /// Control and audio loops with periods of a millisecond.
    RealTime,
    /// Services whose slowest hundredth of requests counts.
    LowLatency,
    /// Throughput.
    General,
    /// Work that nobody waits for.
    Noisy,
}

/// The longest gap and the largest share of a class.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// ns.
    pub longest_gap_ns: u64,
    /// 0 to 1.
    pub share: f64,
}

impl Quiet {
    /// All, strictest first.
    pub const ALL: [Self; 5] =
        [Self::BusyPolling, Self::RealTime, Self::LowLatency, Self::General, Self::Noisy];

    /// What a CPU may have at most; the last has no limits.
    pub fn limits(self) -> Limits {
        let (longest_gap_ns, share) = match self {
            // 512 descriptors of a ring are full after 34 us of the smallest packets at 10 Gbit/s.
            Self::BusyPolling => (30_000, 0.001),
            // A tenth of a period of 1 ms.
            Self::RealTime => (100_000, 0.01),
            // What comes at any moment meets a gap with this probability: it spares the 99th percentile.
            Self::LowLatency => (1_000_000, 0.01),
            // A time slice of a busy CPU.
            Self::General => (10_000_000, 0.1),
            Self::Noisy => (u64::MAX, f64::INFINITY),
        };
        Limits { longest_gap_ns, share }
    }

    /// The strictest class that fits.
    pub fn of(longest_gap_ns: u64, share: f64) -> Self {
        let fits = |class: &Self| {
            let limits = class.limits();
            longest_gap_ns <= limits.longest_gap_ns && share <= limits.share
        };
        Self::ALL.into_iter().find(fits).unwrap_or(Self::Noisy)
    }

    /// The next stricter class.
    pub fn stricter(self) -> Option<Self> {
        Self::ALL.into_iter().take_while(|class| *class != self).last()
    }

    /// In words: `quiet enough for ...`.
    pub fn words(self) -> &'static str {
        match self {
            Self::BusyPolling => "busy polling",
            Self::RealTime => "real-time loops of 1 ms",
            Self::LowLatency => "low-latency services",
            Self::General => "throughput only",
            Self::Noisy => "batch work only",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_the_longest_gap_and_the_share_have_to_fit() {
        assert_eq!(Quiet::of(0, 0.0), Quiet::BusyPolling);
        assert_eq!(Quiet::of(30_000, 0.001), Quiet::BusyPolling);
        assert_eq!(Quiet::of(30_001, 0.0001), Quiet::RealTime);
        assert_eq!(Quiet::of(20_000, 0.005), Quiet::RealTime);
        assert_eq!(Quiet::of(900_000, 0.009), Quiet::LowLatency);
        assert_eq!(Quiet::of(20_000, 0.05), Quiet::General);
        assert_eq!(Quiet::of(5_000_000_000, 0.001), Quiet::Noisy);
    }

    #[test]
    fn each_class_is_stricter_than_the_next() {
        for pair in Quiet::ALL.windows(2) {
            let (strict, lax) = (pair[0].limits(), pair[1].limits());
            assert!(strict.longest_gap_ns < lax.longest_gap_ns && strict.share <= lax.share);
            assert_eq!(pair[1].stricter(), Some(pair[0]));
        }
        assert_eq!(Quiet::BusyPolling.stricter(), None);
    }
}
