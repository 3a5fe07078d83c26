//! For how long requests have gone without an answer. Pure.

use probe::account::Distribution;
use probe::requests::{Requests, Waiting};
use serde::{Deserialize, Serialize};

/// Requests by the time for which each went without an answer, of a slice or of several: by the steps of the kernel, four to a power of two.
///
/// One that waits is seen by check after check. What an earlier check saw of it is there, too, so that each counts once however often it was
/// seen, and not again when it is answered.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Ages {
    /// Of those that were answered, from arrival to answer.
    #[serde(skip_serializing_if = "Distribution::is_empty")]
    pub answered: Distribution,
    /// Of those of them that a check had seen waiting, from arrival to the last such check.
    #[serde(skip_serializing_if = "Distribution::is_empty")]
    pub answered_before: Distribution,
    /// Of those that a check saw waiting, from arrival to that check.
    #[serde(skip_serializing_if = "Distribution::is_empty")]
    pub waiting: Distribution,
    /// Of those of them that the check before had seen, too, from arrival to that one.
    #[serde(skip_serializing_if = "Distribution::is_empty")]
    pub waiting_before: Distribution,
}

impl Ages {
    /// Those of a slice; `waiting`: what a check at its end saw, `None` where there was none.
    pub fn of(requests: &Requests, waiting: Option<Waiting>) -> Self {
        let Waiting { now, before, .. } = waiting.unwrap_or_default();
        let mut ages = Self { waiting: now, waiting_before: before, ..Self::default() };
        for port in &requests.ports {
            ages.answered.merge(&port.took);
            ages.answered_before.merge(&port.checked);
        }
        ages
    }

    /// Adds those of another slice.
    pub fn add(&mut self, other: &Self) {
        self.answered.merge(&other.answered);
        self.answered_before.merge(&other.answered_before);
        self.waiting.merge(&other.waiting);
        self.waiting_before.merge(&other.waiting_before);
    }

    /// Those that took longer than this from arrival to answer.
    pub(super) fn answered_beyond(&self, limit_ns: u64) -> u64 {
        beyond(&self.answered, limit_ns)
    }

    /// Those that a check saw waiting for longer than this, and no check before it: whether they are answered later or not.
    pub(super) fn newly_waiting(&self, limit_ns: u64) -> u64 {
        beyond(&self.waiting, limit_ns).saturating_sub(beyond(&self.waiting_before, limit_ns))
    }

    /// Those that were answered after more than this, but for those that a check had seen waiting for longer than that already.
    pub(super) fn newly_answered(&self, limit_ns: u64) -> u64 {
        self.answered_beyond(limit_ns).saturating_sub(beyond(&self.answered_before, limit_ns))
    }

    /// Those that had waited for longer than this when they were seen last, and were not answered.
    pub(super) fn unanswered(&self, limit_ns: u64) -> u64 {
        self.newly_waiting(limit_ns).saturating_sub(beyond(&self.answered_before, limit_ns))
    }
}

/// How many are longer for certain: those of the steps that lie wholly beyond. What is in the step in which the limit lies may be shorter.
fn beyond(ages: &Distribution, limit_ns: u64) -> u64 {
    let steps = ages.steps().filter(|(shortest_ns, ..)| *shortest_ns > limit_ns);
    steps.map(|(.., count)| count).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use probe::requests::{Endpoint, PortRequests};

    use super::*;

    const MS: u64 = 1_000_000;
    const LIMIT_NS: u64 = 20 * MS;

    fn lasted(ages_ms: &[u64]) -> Distribution {
        let mut all = Distribution::default();
        ages_ms.iter().for_each(|ms| all.insert(ms * MS));
        all
    }

    #[test]
    fn what_lies_in_the_step_of_the_limit_is_not_beyond_it() {
        // Of the steps, one begins at 16.8 ms, the next at 21.0 ms, and the next at 25.2 ms.
        let ages = Ages { answered: lasted(&[16, 18, 20]), ..Ages::default() };
        assert_eq!(ages.answered_beyond(LIMIT_NS), 0);
        let ages = Ages { answered: lasted(&[18, 22, 30]), ..Ages::default() };
        assert_eq!((ages.answered_beyond(LIMIT_NS), ages.answered_beyond(22 * MS)), (2, 1));
    }

    /// A request that waits through checks at 10, 50 and 90 ms, and is answered after 95 ms, or never.
    fn slices(is_answered: bool) -> [Ages; 4] {
        let waiting = |now: &[u64], before: &[u64]| Ages {
            waiting: lasted(now),
            waiting_before: lasted(before),
            ..Ages::default()
        };
        let last = Ages { answered: lasted(&[95]), answered_before: lasted(&[90]), ..Ages::default() };
        let last = if is_answered { last } else { waiting(&[130], &[90]) };
        [waiting(&[10], &[]), waiting(&[50], &[10]), waiting(&[90], &[50]), last]
    }

    #[test]
    fn a_request_counts_once_when_its_age_passes_the_limit() {
        for is_answered in [true, false] {
            let new = |limit_ns| {
                slices(is_answered).map(|ages| ages.newly_waiting(limit_ns) + ages.newly_answered(limit_ns))
            };
            assert_eq!(new(LIMIT_NS), [0, 1, 0, 0]);
            // 83.9 ms and 100.7 ms are the edges of its step.
            assert_eq!(new(92 * MS), [0, 0, 0, u64::from(!is_answered)]);
        }
    }

    #[test]
    fn of_all_slices_together_those_that_were_never_answered_are_known() {
        let all = |is_answered| {
            let mut all = Ages::default();
            slices(is_answered).iter().for_each(|ages| all.add(ages));
            all
        };
        assert_eq!((all(false).unanswered(LIMIT_NS), all(true).unanswered(LIMIT_NS)), (1, 0));
        assert_eq!((all(false).newly_waiting(LIMIT_NS), all(true).newly_waiting(LIMIT_NS)), (1, 1));
        assert_eq!(all(false).unanswered(1_000 * MS), 0);
    }

    #[test]
    fn a_slice_without_a_check_has_those_that_were_answered() {
        let port = PortRequests {
            took: lasted(&[95, 1]),
            checked: lasted(&[90]),
            ..PortRequests::at(Endpoint::Port(80))
        };
        let requests = Requests { ports: vec![port.clone(), port], ..Requests::default() };
        let ages = Ages::of(&requests, None);
        assert_eq!((ages.answered.count(), ages.answered_before.count(), ages.waiting.count()), (4, 2, 0));
        assert_eq!((ages.answered_beyond(LIMIT_NS), ages.newly_answered(LIMIT_NS)), (2, 0));
    }

    #[test]
    fn they_are_read_as_they_were_written() {
        let mut ages = Ages::default();
        assert_eq!(serde_json::to_string(&ages).unwrap(), "{}");
        slices(true).iter().for_each(|more| ages.add(more));
        let text = serde_json::to_string(&ages).unwrap();
        assert_eq!(serde_json::from_str::<Ages>(&text).unwrap(), ages, "{text}");
    }
}
