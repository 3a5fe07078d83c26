//! The plans that have been shown. What is applied is what was shown, whatever has become of the case meanwhile. So it is not applied long after:
//! the machine may be another by then than the dry run has seen.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use machine::{Class, Fault, Setting};

use super::super::access::HEX_DIGITS;
use super::super::answers::Refusal;
use super::named_processes::NamedProcesses;

/// The most plans that are kept; a further one takes the place of the oldest.
const MOST: usize = 16;

/// How long a plan can be applied after it was shown.
pub(super) const GOOD_FOR: Duration = Duration::from_secs(15 * 60);

/// The most of an id that is repeated in a refusal, characters: those of this server fit.
const LONGEST_ID: usize = HEX_DIGITS;

/// A plan that has been shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KeptPlan {
    /// By what it is asked for. Random: a page that an earlier server has shown must not apply another plan than it shows.
    pub(super) id: String,
    /// The case that it was made of, by its id.
    pub(super) case: String,
    /// The text of its file.
    pub(super) text: String,
    /// What it sets.
    pub(super) settings: Vec<Setting>,
    /// What `server` in it stands for.
    pub(super) server: Option<String>,
    /// The processes that it names by their numbers, as they were when it was shown.
    pub(super) processes: NamedProcesses,
}

/// The plans with the time at which each was shown, the oldest first.
#[derive(Default)]
pub(super) struct KeptPlans(Mutex<VecDeque<(Instant, KeptPlan)>>);

impl KeptPlans {
    /// Keeps one that is shown `now`.
    pub(super) fn keep(&self, plan: KeptPlan, now: Instant) {
        let mut kept = self.kept();
        while kept.len() >= MOST {
            kept.pop_front();
        }
        kept.push_back((now, plan));
    }

    /// The one of this id, which stays.
    ///
    /// # Errors
    /// It was shown too long ago; there is none of this id (any more).
    pub(super) fn find(&self, id: &str, now: Instant) -> Result<KeptPlan, Refusal> {
        match self.kept().iter().find(|(_, plan)| plan.id == id) {
            Some((shown, plan)) if now.saturating_duration_since(*shown) < GOOD_FOR => Ok(plan.clone()),
            Some((_, plan)) => Err(expired(&plan.case).into()),
            None => Err(Refusal::NoPlan(id.chars().take(LONGEST_ID).collect())),
        }
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<(Instant, KeptPlan)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn expired(case: &str) -> Fault {
    let object = format!("the plan of {case}");
    let cause = format!("it has expired: it was shown more than {} minutes ago", GOOD_FOR.as_secs() / 60);
    Fault::new(Class::No, object, cause, "make the plan again, and check its dry run")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(id: &str) -> KeptPlan {
        let (case, text) = ("case-1".into(), "[[setting]]".into());
        let processes = NamedProcesses::default();
        KeptPlan { id: id.into(), case, text, settings: Vec::new(), server: None, processes }
    }

    #[test]
    fn the_oldest_makes_room_and_a_plan_that_was_found_stays() {
        let (plans, now) = (KeptPlans::default(), Instant::now());
        (0..=MOST).for_each(|n| plans.keep(plan(&n.to_string()), now));
        assert!(matches!(plans.find("0", now), Err(Refusal::NoPlan(id)) if id == "0"));
        assert_eq!(plans.find("1", now).unwrap(), plan("1"));
        assert_eq!(plans.find("1", now).unwrap(), plan("1"));
        assert_eq!(plans.find(&MOST.to_string(), now).unwrap(), plan(&MOST.to_string()));
    }

    #[test]
    fn a_plan_that_was_shown_long_ago_is_not_applied_and_a_later_one_is() {
        let (plans, shown) = (KeptPlans::default(), Instant::now());
        plans.keep(plan("a"), shown);
        plans.keep(plan("b"), shown + Duration::from_secs(1));
        let at = shown + GOOD_FOR;
        assert!(plans.find("a", at - Duration::from_secs(1)).is_ok());
        let Err(Refusal::Fault(fault)) = plans.find("a", at) else { panic!("it is kept for ever") };
        assert_eq!((fault.class, fault.object.as_str()), (Class::No, "the plan of case-1"));
        assert!(fault.cause.contains("expired") && fault.remedy.contains("make the plan again"), "{fault}");
        assert!(plans.find("b", at).is_ok());
    }

    #[test]
    fn an_id_that_is_unknown_is_not_repeated_at_any_length() {
        let refused = KeptPlans::default().find(&"x".repeat(60_000), Instant::now());
        assert!(matches!(refused, Err(Refusal::NoPlan(id)) if id.len() == LONGEST_ID));
    }
}
