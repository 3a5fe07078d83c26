//! What CPU quotas held back between two frames.

use super::{QuotaReading, Recording};
use crate::observation::QuotaSeen;

impl Recording {
    /// The quotas that were read in two of these frames or more, in the order in which they were found.
    pub(super) fn quotas_between(&self, first: usize, last: usize) -> Vec<QuotaSeen> {
        let mut ends: Vec<(&QuotaReading, &QuotaReading)> = Vec::new();
        for reading in self.frames[first..=last].iter().flat_map(|frame| &frame.quotas) {
            let same = |end: &&mut (&QuotaReading, &QuotaReading)| {
                end.0.party == reading.party && end.0.cgroup == reading.cgroup
            };
            match ends.iter_mut().find(same) {
                Some(end) => end.1 = reading,
                None => ends.push((reading, reading)),
            }
        }
        let seen = |(before, after): &(&QuotaReading, &QuotaReading)| {
            let (from, to) = (before.throttling, after.throttling);
            Some(QuotaSeen {
                party: after.party,
                cgroup: after.cgroup.to_string(),
                cpus: after.cpus,
                // A count that went back is of a cgroup that was made anew.
                periods: to.periods.checked_sub(from.periods)?,
                throttled_periods: to.throttled_periods.checked_sub(from.throttled_periods)?,
                throttled_us: to.throttled_us.checked_sub(from.throttled_us)?,
            })
        };
        ends.iter().filter(|(before, after)| !std::ptr::eq(*before, *after)).filter_map(seen).collect()
    }
}
