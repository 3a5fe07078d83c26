//! What guards that compare with the baseline compare with.

use load::guard::Reference;

use crate::arm::{Arm, is_of_baseline};
use crate::trial::Trial;

/// What is known after `trial`: the figures of the last whole trial of the baseline, one that others disturbed only where no other is
/// `known`, for on a machine that is never quiet guards would have nothing to compare with at all.
pub fn after(arms: &[Arm], trial: &Trial, known: Option<Reference>) -> Option<Reference> {
    match trial.disturbed {
        None => of_trial(arms, trial).or(known),
        Some(_) => known.or_else(|| of_trial(arms, trial)),
    }
}

/// The figures of `trial`, if it is a whole trial of the baseline.
fn of_trial(arms: &[Arm], trial: &Trial) -> Option<Reference> {
    if !is_of_baseline(arms, &trial.arm) || trial.failed.is_some() || trial.breach.is_some() {
        return None;
    }
    let requests = trial.figures.get("completed").copied().unwrap_or(0.0);
    // What is no number is no bound, and has no form in JSON.
    let finite = trial.figures.iter().filter(|(_, value)| value.is_finite());
    let figures = finite.map(|(name, value)| (name.clone(), *value)).collect();
    let (noise, ages) = match &trial.traffic {
        Some(traffic) => (traffic.noise.clone(), traffic.ages.clone()),
        None => Default::default(),
    };
    Some(Reference { figures, requests: requests as u64, noise, ages })
}

#[cfg(test)]
mod tests {
    use super::super::harm::tests::{breach, own_traffic};
    use super::*;
    use crate::arm::Role;

    #[test]
    fn it_has_what_is_known_of_means_and_of_requests_without_an_answer() {
        use load::guard::Ages;
        use load::outcome::traffic::{Noise, Traffic};

        let study = own_traffic();
        let baseline = study.arms.iter().find(|arm| arm.role == Role::Baseline).unwrap().name.clone();
        let exact = Noise { standard_error: 1.5, blocks: 20 };
        let noise = [("cpu_us_per_request".to_string(), exact)].into();
        let traffic = Traffic { noise, ages: Some(Ages::default()), ..Traffic::default() };
        let trial = Trial { arm: baseline, traffic: Some(traffic), ..Trial::default() };
        let found = after(&study.arms, &trial, None).unwrap();
        assert_eq!((found.noise["cpu_us_per_request"], found.ages), (exact, Some(Ages::default())));
    }

    #[test]
    fn it_is_the_last_whole_trial_of_the_baseline() {
        let study = own_traffic();
        let name = |role| study.arms.iter().find(|arm| arm.role == role).unwrap().name.clone();
        let of = |role, requests: f64| Trial {
            arm: name(role),
            figures: [("completed".to_string(), requests), ("latency_p99_us".to_string(), 900.0)].into(),
            ..Trial::default()
        };
        let cut_short = Trial { breach: Some(breach(1.0)), ..of(Role::Baseline, 3.0) };
        let disturbed = Trial { disturbed: Some("others".into()), ..of(Role::Baseline, 4.0) };
        let trials = [
            of(Role::Baseline, 100.0),
            of(Role::Baseline, 200.0),
            of(Role::Candidate, 5.0),
            cut_short,
            disturbed,
        ];
        let last =
            |trials: &[Trial]| trials.iter().fold(None, |known, trial| after(&study.arms, trial, known));
        let found = last(&trials).unwrap();
        assert_eq!((found.requests, found.figures["latency_p99_us"]), (200, 900.0));
        assert_eq!(last(&trials[2..4]), None);
        assert_eq!(last(&trials[2..]).unwrap().requests, 4, "rather than none");
    }
}
