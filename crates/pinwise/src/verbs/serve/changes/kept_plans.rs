//! The plans that have been shown. What is applied is what was shown, whatever has become of the case meanwhile.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use machine::Setting;

/// The most plans that are kept; a further one takes the place of the oldest.
const MOST: usize = 16;

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
}

/// The plans, the oldest first.
#[derive(Default)]
pub(super) struct KeptPlans(Mutex<VecDeque<KeptPlan>>);

impl KeptPlans {
    /// Keeps one.
    pub(super) fn keep(&self, plan: KeptPlan) {
        let mut kept = self.kept();
        while kept.len() >= MOST {
            kept.pop_front();
        }
        kept.push_back(plan);
    }

    /// The one of this id, which stays.
    pub(super) fn find(&self, id: &str) -> Option<KeptPlan> {
        self.kept().iter().find(|plan| plan.id == id).cloned()
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<KeptPlan>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(id: &str) -> KeptPlan {
        let (case, text) = ("case-1".into(), "[[setting]]".into());
        KeptPlan { id: id.into(), case, text, settings: Vec::new(), server: None }
    }

    #[test]
    fn the_oldest_makes_room_and_a_plan_that_was_found_stays() {
        let plans = KeptPlans::default();
        (0..=MOST).for_each(|n| plans.keep(plan(&n.to_string())));
        assert_eq!(plans.find("0"), None);
        assert_eq!(plans.find("1"), Some(plan("1")));
        assert_eq!(plans.find("1"), Some(plan("1")));
        assert_eq!(plans.find(&MOST.to_string()), Some(plan(&MOST.to_string())));
    }
}
