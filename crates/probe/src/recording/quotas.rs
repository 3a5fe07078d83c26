//! What CPU quotas held back between two frames.

use machine::{Missing, Notes};

use super::{QuotaReading, Recording};
use crate::observation::QuotaSeen;
use crate::rows::of_probe;

/// What a quota read first and last, and whether a count went back in between.
struct Ends<'a> {
    first: &'a QuotaReading,
    last: &'a QuotaReading,
    began_again: bool,
}

impl Recording {
    /// The quotas that were read in two of these frames or more, in the order in which they were found. One whose counts went
    /// back is noted instead: its cgroup was made anew, and how much came before is not known.
    pub(super) fn quotas_between(&self, first: usize, last: usize, notes: &mut Notes) -> Vec<QuotaSeen> {
        let mut all: Vec<Ends<'_>> = Vec::new();
        for reading in self.frames[first..=last].iter().flat_map(|frame| &frame.quotas) {
            let same = |ends: &&mut Ends<'_>| {
                ends.first.party == reading.party && ends.first.cgroup == reading.cgroup
            };
            match all.iter_mut().find(same) {
                Some(ends) => {
                    ends.began_again |= went_back(ends.last, reading);
                    ends.last = reading;
                }
                None => all.push(Ends { first: reading, last: reading, began_again: false }),
            }
        }
        all.iter().filter_map(|ends| ends.seen(notes)).collect()
    }
}

fn went_back(before: &QuotaReading, after: &QuotaReading) -> bool {
    let (from, to) = (before.throttling, after.throttling);
    to.periods < from.periods
        || to.throttled_periods < from.throttled_periods
        || to.throttled_us < from.throttled_us
}

impl Ends<'_> {
    fn seen(&self, notes: &mut Notes) -> Option<QuotaSeen> {
        if std::ptr::eq(self.first, self.last) {
            return None;
        }
        let (from, to) = (self.first.throttling, self.last.throttling);
        if self.began_again {
            let fact = format!("CPU quota of {} in cgroup {}", self.last.party, self.last.cgroup);
            let why = "its counts went backwards within the window: the cgroup was made anew";
            notes.add(of_probe(Missing::new(fact, why), "quota"));
            return None;
        }
        Some(QuotaSeen {
            party: self.last.party,
            cgroup: self.last.cgroup.to_string(),
            cpus: self.last.cpus,
            periods: to.periods.saturating_sub(from.periods),
            throttled_periods: to.throttled_periods.saturating_sub(from.throttled_periods),
            throttled_us: to.throttled_us.saturating_sub(from.throttled_us),
        })
    }
}
