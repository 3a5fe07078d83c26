//! The server's work for one request: an amount, not a time, so that a disturbed CPU shows up as fewer requests.

use std::hint::black_box;

use crate::clock::monotonic_ns;

/// Work of the built-in server for one request by default, us on an undisturbed CPU. Together with what the kernel
/// does for a connection it keeps the server busier than its client, also while the *client's* CPU is the disturbed one:
/// with 35 us and a storm on the client's CPU the client was 0.8 to 0.96 busy and hid the difference.
pub const DEFAULT_WORK_US: f64 = 50.0;

/// Odd multipliers with bits spread evenly, one for each lane (those of the 64-bit splitmix and murmur finalisers).
const MULTIPLIERS: [u64; 4] =
    [0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb, 0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53];

/// A digest of `line` that takes `rounds` rounds of computation.
///
/// Four lanes that do not wait for each other keep several execution units busy, as ordinary code does; one chain of
/// dependent steps would leave the core half idle, and a busy hyper-thread beside it would not be felt.
pub fn digest(line: &[u8], rounds: u64) -> u64 {
    // FNV-1a over the line gives the start.
    let start = line
        .iter()
        .fold(0xcbf2_9ce4_8422_2325u64, |h, byte| (h ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3));
    let mut lanes = MULTIPLIERS.map(|m| start ^ m);
    for _ in 0..rounds {
        for (lane, multiplier) in lanes.iter_mut().zip(MULTIPLIERS) {
            *lane = (*lane ^ (*lane >> 29)).wrapping_mul(multiplier).rotate_left(17);
        }
    }
    lanes.iter().fold(start, |h, lane| (h ^ lane).rotate_left(23).wrapping_mul(MULTIPLIERS[0]))
}

/// How many rounds take `us` microseconds on the calling thread's CPU, undisturbed: the best of several short runs.
///
/// Make this choice once for a study and pass the rounds on, so that every trial does equal work. 0 for no work;
/// at least 1 for any other time.
pub fn rounds_for(us: f64) -> u64 {
    if us.is_nan() || us <= 0.0 {
        return 0;
    }
    let mut chunk = 1_000u64;
    // Long enough to dwarf reading the clock, short enough that some run meets no interrupt.
    while time_ns(chunk) < 300_000 && chunk < 1 << 40 {
        chunk *= 2;
    }
    let best_ns = (0..20).map(|_| time_ns(chunk)).min().unwrap_or(1).max(1);
    ((us * 1000.0 / (best_ns as f64 / chunk as f64)).round() as u64).max(1)
}

fn time_ns(rounds: u64) -> u64 {
    let from_ns = monotonic_ns();
    black_box(digest(black_box(b"calibration"), rounds));
    monotonic_ns() - from_ns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_work_is_no_rounds_and_more_time_is_more_rounds() {
        assert_eq!(rounds_for(0.0), 0);
        assert_eq!(rounds_for(-1.0), 0);
        assert_eq!(rounds_for(f64::NAN), 0);
        assert!(rounds_for(1e-9) >= 1);
        assert!(rounds_for(1000.0) > rounds_for(10.0));
    }

    #[test]
    fn every_round_counts() {
        let digests: std::collections::BTreeSet<u64> = (0..200).map(|rounds| digest(b"x", rounds)).collect();
        assert_eq!(digests.len(), 200);
    }
}
