//! What guards that compare with the baseline compare with, where no trial of it has shown it yet.

use load::LoadSpec;
use load::guard::Guard;
use machine::{Class, Fault};

use super::LiveTrials;
use super::placed::Purpose;
use crate::arm::{Arm, Role};
use crate::engine::Planned;
use crate::own_traffic::reference;
use crate::recipe::Recipe;
use crate::trial::Trial;

/// Whether the baseline has to be watched before a trial of `role`: a guard compares with it, and nothing is `known` of it.
fn is_needed(guards: &[Guard], known: bool, role: Role) -> bool {
    let compares = guards.iter().any(Guard::is_of_baseline);
    compares && !known && role != Role::Baseline
}

/// The trial of the baseline of which the reference is taken; `None` where it failed: then there is none, and only guards with a number act.
///
/// # Errors
/// The baseline itself breaches a guard; whatever ends a study.
fn usable(watched: Result<Trial, Fault>) -> Result<Option<Trial>, Fault> {
    let trial = match watched {
        Ok(trial) => trial,
        Err(fault) if fault.class == Class::WorkloadFailed => return Ok(None),
        Err(fault) => return Err(fault),
    };
    match &trial.breach {
        None => Ok(Some(trial)),
        Some(breach) => {
            let remedy = match breach.is_built_in() {
                true => {
                    "continue at a quieter hour (--hours), or study without guards (--no-guard), which leaves a harmful arm in force to \
                     the end of its trial"
                }
                false => "raise it (--guard), or continue at a quieter hour (--hours)",
            };
            let cause = format!("the baseline itself is in breach: {}", breach.words());
            Err(Fault::new(Class::No, "guards", cause, remedy))
        }
    }
}

impl LiveTrials {
    /// Finds out what the guards of an arm compare with, where no trial of the baseline has shown it: by one more of them, which is in no
    /// comparison and not kept. Without traffic there is none all the same, and only guards with a number act.
    ///
    /// # Errors
    /// The baseline itself breaches a guard; whatever ends a study.
    pub(super) fn refer(&mut self, planned: &Planned<'_>, recipe: &Recipe, name: &str) -> Result<(), Fault> {
        let LoadSpec::OwnTraffic(own) = &recipe.load else { return Ok(()) };
        if !is_needed(&own.guards, self.reference.is_some(), planned.arm.role) {
            return Ok(());
        }
        let is_baseline = |arm: &&Arm| arm.role == Role::Baseline;
        let Some(baseline) = self.study.arms.iter().find(is_baseline).cloned() else { return Ok(()) };
        let planned = Planned { arm: &baseline, ..*planned };
        let (_, watched) = self.run_arm(&planned, recipe.clone(), name, Purpose::Reference)?;
        if let Some(trial) = usable(watched)? {
            self.reference = reference::after(&self.study.arms, &trial, None);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use load::guard::Breach;

    use super::*;
    use crate::own_traffic::harm::tests::breach;

    fn guards(texts: &[&str]) -> Vec<Guard> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn the_baseline_is_watched_before_an_arm_only_where_a_guard_has_nothing_to_compare_with() {
        let relative = guards(&["latency_p99_us <= 20000", "cpu_us_per_request <= 1.5 x baseline"]);
        assert!(is_needed(&relative, false, Role::Candidate));
        assert!(is_needed(&relative, false, Role::Dose));
        assert!(!is_needed(&relative, true, Role::Candidate), "it is known");
        assert!(!is_needed(&relative, false, Role::Baseline), "it shows itself");
        assert!(!is_needed(&guards(&["latency_p99_us <= 20000"]), false, Role::Candidate), "a number");
        assert!(!is_needed(&[], false, Role::Candidate));
    }

    #[test]
    fn a_baseline_in_breach_ends_the_study_and_one_that_failed_does_not() {
        assert_eq!(usable(Ok(Trial::default())).unwrap(), Some(Trial::default()));
        let ended = Trial { breach: Some(breach(31_000.0)), ..Trial::default() };
        let fault = usable(Ok(ended)).unwrap_err();
        assert!(fault.class == Class::No && fault.cause.contains("baseline itself"), "{fault}");
        let silence = Breach { figure: "silence_s".into(), ..breach(1.2) };
        let fault = usable(Ok(Trial { breach: Some(silence), ..Trial::default() })).unwrap_err();
        assert!(fault.remedy.contains("--no-guard") && !fault.remedy.contains("raise"), "{fault}");
        let of = |class| Fault::new(class, "load", "no requests", "wait for some");
        assert_eq!(usable(Err(of(Class::WorkloadFailed))).unwrap(), None);
        assert_eq!(usable(Err(of(Class::Interrupted))).unwrap_err().class, Class::Interrupted);
    }
}
