//! How many requests may be beyond a limit of latency.

use super::seen::Reference;
use super::sequential::{beyond_quantile, unanswered_like};

/// Where so large a share of requests beyond a baseline's quantile is believable, the baseline had too few of them: hardly a trial in
/// which all are beyond would say so.
const BEYOND_AT_MOST: f64 = 0.75;

/// How many requests may be beyond a limit of latency.
pub(super) struct Beyond<'a> {
    /// The quantile that is limited, 0 to 1.
    pub(super) quantile: f64,
    /// The limit, ns.
    pub(super) limit_ns: u64,
    /// Whether the limit is a multiple of the baseline.
    pub(super) is_multiple: bool,
    /// The baseline.
    pub(super) reference: Option<&'a Reference>,
    /// With which chance the guard may be wrong.
    pub(super) chance: f64,
}

/// What the test of a guard lets pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Allowed {
    /// Whether requests that wait count.
    pub(super) counts_waiting: bool,
    /// What share of the requests may be beyond.
    pub(super) share: f64,
    /// With which chance the test may be wrong.
    pub(super) chance: f64,
}

impl Beyond<'_> {
    /// Those that wait count beside a baseline only, which shows how many there are anyway. Where there are so many that all requests might be,
    /// those that are answered count alone.
    ///
    /// # Errors
    /// The baseline had too few requests.
    pub(super) fn allowed(&self) -> Result<Allowed, String> {
        match self.reference.filter(|_| self.is_multiple) {
            Some(of) => self.of_baseline(of.requests),
            None => Ok(self.absolute()),
        }
    }

    /// Requests of the baseline that went without an answer for longer than the limit, and all its requests; `None` where that is not known.
    fn unanswered(&self) -> Option<(u64, u64)> {
        let ages = self.reference?.ages.as_ref()?;
        let unanswered = ages.unanswered(self.limit_ns);
        let all = ages.answered.count().saturating_add(unanswered);
        (all > 0).then_some((unanswered, all))
    }

    /// Under a limit that is a number. Where the baseline left none unanswered, none is excused.
    fn absolute(&self) -> Allowed {
        let (half, pass) = (self.chance / 2.0, 1.0 - self.quantile);
        let of_answered = Allowed { counts_waiting: false, share: pass, chance: self.chance };
        match self.unanswered() {
            None => of_answered,
            Some((0, _)) => Allowed { counts_waiting: true, ..of_answered },
            Some((unanswered, all)) => {
                let share = pass + unanswered_like(self.quantile, unanswered, all, half);
                let with_waiting = Allowed { counts_waiting: true, share, chance: half };
                if share > BEYOND_AT_MOST { of_answered } else { with_waiting }
            }
        }
    }

    /// Under one that is a multiple of what the quantile was in a baseline of so many requests.
    fn of_baseline(&self, requests: u64) -> Result<Allowed, String> {
        let chance = self.chance / 2.0;
        let beyond = |counts_waiting, unanswered| Allowed {
            counts_waiting,
            share: beyond_quantile(self.quantile, requests, unanswered, chance),
            chance,
        };
        let share = |(unanswered, all): (u64, u64)| unanswered as f64 / all as f64;
        let with_waiting = self.unanswered().map(|unanswered| beyond(true, share(unanswered)));
        let mut either = with_waiting.into_iter().chain([beyond(false, 0.0)]);
        let allowed = either.find(|allowed| allowed.share <= BEYOND_AT_MOST);
        allowed.ok_or_else(|| format!("the baseline had {requests} requests, too few for this quantile"))
    }
}

#[cfg(test)]
mod tests {
    use probe::account::Distribution;

    use super::*;
    use crate::guard::Ages;

    /// A baseline of 1000 requests that were answered within a millisecond, and so many that wait for two seconds.
    fn baseline(unanswered: u64) -> Reference {
        let lasted = |count: u64, ms: u64| {
            let mut all = Distribution::default();
            (0..count).for_each(|_| all.insert(ms * 1_000_000));
            all
        };
        let (answered, waiting) = (lasted(1_000, 1), lasted(unanswered, 2_000));
        let ages = Ages { answered, waiting, ..Ages::default() };
        Reference { requests: 1_000, ages: Some(ages), ..Reference::default() }
    }

    fn of(reference: Option<&Reference>, is_multiple: bool, limit_ms: u64) -> Result<Allowed, String> {
        let limit_ns = limit_ms * 1_000_000;
        Beyond { quantile: 0.99, limit_ns, is_multiple, reference, chance: 1e-3 }.allowed()
    }

    #[test]
    fn none_is_excused_where_the_baseline_left_none_unanswered() {
        let none = of(Some(&baseline(0)), false, 20).unwrap();
        assert!(none.counts_waiting && (none.share - 0.01).abs() < 1e-12 && none.chance == 1e-3, "{none:?}");
        // Those of the baseline wait for two seconds, which is within a limit of five.
        assert_eq!(of(Some(&baseline(100)), false, 5_000).unwrap(), none);
        let alone = of(None, false, 20).unwrap();
        assert_eq!(alone, Allowed { counts_waiting: false, ..none });
    }

    #[test]
    fn those_of_the_baseline_are_excused_under_a_number_and_under_a_multiple() {
        for is_multiple in [false, true] {
            let some = of(Some(&baseline(100)), is_multiple, 20).unwrap();
            assert!(some.counts_waiting && some.chance == 5e-4, "{some:?}");
            assert!((0.1..0.2).contains(&some.share), "a tenth waits anyway: {some:?}");
        }
    }

    #[test]
    fn where_nearly_all_are_unanswered_anyway_those_that_are_answered_count_alone() {
        for is_multiple in [false, true] {
            let most = of(Some(&baseline(9_000)), is_multiple, 20).unwrap();
            assert!(!most.counts_waiting && most.share < 0.04, "{most:?}");
        }
        let few = Reference { requests: 3, ..baseline(0) };
        assert!(of(Some(&few), true, 20).unwrap_err().contains("3 requests"));
    }
}
