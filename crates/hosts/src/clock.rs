//! How another host's CLOCK_MONOTONIC stands to ours, from round trips; as NTP's (RFC 5905, 8): the offset lies within half a round trip.
//!
//! No one-way latency follows from it: how the two ways share a round trip cannot be measured with it.

/// One question for the time, ns: sent and returned by our clock, received and replied by the other one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundTrip {
    /// When it was sent, our clock.
    pub sent_ns: u64,
    /// When it was received there, the other clock.
    pub received_ns: u64,
    /// When the answer was sent there, the other clock.
    pub replied_ns: u64,
    /// When the answer came, our clock.
    pub returned_ns: u64,
}

/// What the other clock reads at a moment, and how well that is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The other clock less ours, ns.
    pub offset_ns: i64,
    /// Half of the round trip that it comes from: the offset is not further off at the time of that round trip, ns.
    pub error_ns: u64,
    /// By how much the other clock runs faster than ours, parts per million; none until it was followed for long enough to be seen.
    pub drift_ppm: Option<f64>,
}

impl Estimate {
    /// What the other clock reads when ours reads `here_ns`.
    pub fn there(&self, here_ns: u64) -> u64 {
        here_ns.saturating_add_signed(self.offset_ns)
    }

    /// What our clock reads when the other one reads `there_ns`.
    pub fn here(&self, there_ns: u64) -> u64 {
        there_ns.saturating_add_signed(self.offset_ns.saturating_neg())
    }
}

/// One round trip as an offset.
#[derive(Debug, Clone, Copy)]
struct Sample {
    /// Middle of the round trip, our clock.
    at_ns: u64,
    offset_ns: i64,
    error_ns: u64,
}

/// Samples are kept in sections of this length, the best of each: a long study does not fill the memory, and an old good one does not
/// hide that clocks drift.
const SECTION_NS: u64 = 10_000_000_000;

/// The most sections that are kept, and so the length over which drift is seen.
const MOST_SECTIONS: usize = 60;

/// Clocks of two machines differ by less: what appears to be more is a host that stopped, or a clock that was set.
const MOST_DRIFT_PPM: f64 = 500.0;

/// The clock of another host.
#[derive(Debug, Clone, Default)]
pub struct Clock {
    /// The best sample of each section, in order of time.
    sections: Vec<Sample>,
}

impl Clock {
    /// Takes in a round trip. One that contradicts itself, as of a clock that ran backwards, is left out.
    pub fn add(&mut self, trip: RoundTrip) {
        let Some(sample) = sample(trip) else { return };
        match self.sections.last_mut() {
            Some(last) if last.at_ns / SECTION_NS == sample.at_ns / SECTION_NS => {
                if sample.error_ns <= last.error_ns {
                    *last = sample;
                }
            }
            _ => self.sections.push(sample),
        }
        if self.sections.len() > MOST_SECTIONS {
            self.sections.remove(0);
        }
    }

    /// How the clocks stand to each other when ours reads `at_ns`; `None` before the first round trip. The sample is the one whose error,
    /// with what may have drifted since, is least.
    pub fn estimate(&self, at_ns: u64) -> Option<Estimate> {
        let drift_ppm = self.drift_ppm();
        let since_ns = |sample: &Sample| at_ns as f64 - sample.at_ns as f64;
        let doubt_ppm = if drift_ppm.is_some() { 1.0 } else { 50.0 };
        let doubt = |sample: &Sample| sample.error_ns as f64 + since_ns(sample).abs() * doubt_ppm / 1e6;
        let best = self.sections.iter().min_by(|a, b| doubt(a).total_cmp(&doubt(b)))?;
        let drifted_ns = since_ns(best) * drift_ppm.unwrap_or(0.0) / 1e6;
        Some(Estimate {
            offset_ns: best.offset_ns.saturating_add(drifted_ns as i64),
            error_ns: best.error_ns,
            drift_ppm,
        })
    }

    /// The slope from the first section to the last, where it is larger than the errors of both can make it.
    fn drift_ppm(&self) -> Option<f64> {
        let (first, last) = (self.sections.first()?, self.sections.last()?);
        let apart_ns = last.at_ns.checked_sub(first.at_ns).filter(|ns| *ns >= SECTION_NS)? as f64;
        let moved_ns = last.offset_ns.saturating_sub(first.offset_ns) as f64;
        let drift_ppm = moved_ns / apart_ns * 1e6;
        let is_seen = moved_ns.abs() > (first.error_ns + last.error_ns) as f64;
        (is_seen && drift_ppm.abs() <= MOST_DRIFT_PPM).then_some(drift_ppm)
    }
}

fn sample(trip: RoundTrip) -> Option<Sample> {
    let out_ns = trip.returned_ns.checked_sub(trip.sent_ns)?;
    let served_ns = trip.replied_ns.checked_sub(trip.received_ns)?;
    let on_the_way_ns = out_ns.checked_sub(served_ns)?;
    let here = i128::from(trip.sent_ns) + i128::from(trip.returned_ns);
    let there = i128::from(trip.received_ns) + i128::from(trip.replied_ns);
    Some(Sample {
        at_ns: trip.sent_ns + out_ns / 2,
        offset_ns: i64::try_from((there - here) / 2).ok()?,
        error_ns: on_the_way_ns.div_ceil(2),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A round trip at `at_ns` with a host whose clock is `offset_ns` ahead; `out_ns` there, `back_ns` back.
    fn trip(at_ns: u64, offset_ns: i64, out_ns: u64, back_ns: u64) -> RoundTrip {
        let received_ns = (at_ns + out_ns).saturating_add_signed(offset_ns);
        let replied_ns = received_ns + 1_000;
        RoundTrip { sent_ns: at_ns, received_ns, replied_ns, returned_ns: at_ns + out_ns + 1_000 + back_ns }
    }

    #[test]
    fn the_shortest_round_trip_bounds_the_error() {
        let mut clock = Clock::default();
        assert!(clock.estimate(0).is_none());
        let ahead = -7_000_000_000_000;
        clock.add(trip(8_000_000_000_000, ahead, 900_000, 100_000));
        clock.add(trip(8_000_001_000_000, ahead, 60_000, 40_000));
        clock.add(trip(8_000_002_000_000, ahead, 100_000, 700_000));
        let seen = clock.estimate(8_000_002_000_000).unwrap();
        assert_eq!(seen.error_ns, 50_000);
        assert!((seen.offset_ns - ahead).unsigned_abs() <= seen.error_ns, "{seen:?}");
        assert_eq!(seen.here(seen.there(8_000_000_500_000)), 8_000_000_500_000);
    }

    #[test]
    fn drift_is_followed_once_it_exceeds_the_errors() {
        let (mut clock, ppm) = (Clock::default(), 20.0);
        let offset_at = |at_ns: u64| 5_000_000 + (at_ns as f64 * ppm / 1e6) as i64;
        for s in 0..120u64 {
            let at_ns = s * 1_000_000_000;
            clock.add(trip(at_ns, offset_at(at_ns), 80_000 + s % 7 * 1_000, 80_000));
        }
        let seen = clock.estimate(150_000_000_000).unwrap();
        assert!((seen.drift_ppm.unwrap() - ppm).abs() < 2.0, "{seen:?}");
        let off_ns = seen.offset_ns - offset_at(150_000_000_000);
        assert!(off_ns.unsigned_abs() < 200_000, "{off_ns}");
    }

    #[test]
    fn a_clock_that_was_set_is_no_drift_and_what_contradicts_itself_is_left_out() {
        let mut clock = Clock::default();
        clock.add(trip(0, 0, 10_000, 10_000));
        clock.add(trip(20_000_000_000, 1_000_000_000, 10_000, 10_000));
        let seen = clock.estimate(20_000_000_000).unwrap();
        assert_eq!((seen.drift_ppm, seen.offset_ns), (None, 1_000_000_000), "the latest counts");
        let mut backwards = Clock::default();
        backwards.add(RoundTrip { sent_ns: 10, received_ns: 5, replied_ns: 4, returned_ns: 20 });
        backwards.add(RoundTrip { sent_ns: 10, received_ns: 5, replied_ns: 50, returned_ns: 20 });
        assert!(backwards.estimate(0).is_none());
    }

    proptest::proptest! {
        #[test]
        fn the_true_offset_lies_within_the_error(
            offset_ns in -1_000_000_000_000_000i64..1_000_000_000_000_000,
            ways in proptest::collection::vec((1u64..10_000_000, 1u64..10_000_000), 1..40),
        ) {
            let mut clock = Clock::default();
            let start_ns = 2_000_000_000_000_000;
            for (at, (out_ns, back_ns)) in ways.iter().enumerate() {
                clock.add(trip(start_ns + at as u64 * 1_000_000, offset_ns, *out_ns, *back_ns));
            }
            let seen = clock.estimate(start_ns).unwrap();
            proptest::prop_assert!((seen.offset_ns - offset_ns).unsigned_abs() <= seen.error_ns + 1);
        }

        #[test]
        fn no_round_trip_makes_it_panic(sent_ns: u64, received_ns: u64, replied_ns: u64, returned_ns: u64) {
            let mut clock = Clock::default();
            clock.add(RoundTrip { sent_ns, received_ns, replied_ns, returned_ns });
            clock.add(RoundTrip { sent_ns: 0, received_ns, replied_ns: received_ns, returned_ns: 1 });
            if let Some(seen) = clock.estimate(u64::MAX) {
                let _ = (seen.here(u64::MAX), seen.there(0));
            }
        }
    }
}
