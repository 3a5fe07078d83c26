//! What the reader of a study under a server's own traffic should know: what its guards ended, and what the traffic did. Pure.

use std::collections::BTreeMap;

use machine::wording::counted;

use super::Evidence;
use crate::case::Resolved;
use crate::own_traffic::harm::{EndedBy, Harm};
use crate::schedule::attempts;
use crate::trial::Trial;

/// Fewer trials than these in which the traffic jumped may be chance, whatever share of an arm's they are.
const FEW: usize = 3;

/// What the reader should know beside the standings of the arms.
pub(super) fn of(evidence: &Evidence, study: &Resolved, trials: &[Trial]) -> Vec<String> {
    let Some(harm) = &evidence.harm else { return Vec::new() };
    let mut notes: Vec<String> = harm.ended.map(|by| ended(by, harm)).into_iter().collect();
    notes.extend(of_baseline(harm));
    notes.extend(slow_requests(harm));
    notes.extend(jumps(evidence, study, trials));
    notes
}

/// Why there are no more blocks.
fn ended(by: EndedBy, harm: &Harm) -> String {
    let why = match by {
        EndedBy::Breaches { trials } => {
            format!(
                "guards ended {} of arms that are tried, or nothing was answered in them",
                counted(trials, "trial")
            )
        }
        EndedBy::BaselineBreaches { trials } => {
            format!("guards ended {} of the baseline itself: {}", counted(trials, "trial"), to_fit(harm))
        }
        EndedBy::SlowRequests { so_far, most } => {
            format!(
                "{so_far} requests were slower than the guards on latency allow, and {most} was the most; where it ends depends on them, \
                 so that figures of latency are biased against the arms that were tried"
            )
        }
    };
    format!("the study ended before its last block: {why}")
}

/// What makes the guards fit: those that nobody gave have no limit to raise.
fn to_fit(harm: &Harm) -> &'static str {
    let mut of_baseline = harm.breached.iter().filter(|breached| breached.baseline);
    match of_baseline.all(|breached| breached.breach.is_built_in()) {
        true => {
            "these have no limit to raise; study it at a quieter hour (--hours), or without guards (--no-guard), which leaves a \
             harmful arm in force to the end of its trial"
        }
        false => {
            "they do not fit this traffic; raise them (--guard), or study it at a quieter hour (--hours)"
        }
    }
}

/// Trials of the baseline that a guard ended, where they did not end the study.
fn of_baseline(harm: &Harm) -> Option<String> {
    let trials = harm.breached.iter().filter(|breached| breached.baseline).count();
    let is_said = matches!(harm.ended, Some(EndedBy::BaselineBreaches { .. }));
    (trials > 0 && !is_said).then(|| {
        format!(
            "a guard ended {} of the baseline, which changes nothing: the traffic, other work on the machine or what an earlier arm left behind \
             breached it there; such trials are run again",
            counted(trials, "trial")
        )
    })
}

/// How much of the budget is used.
fn slow_requests(harm: &Harm) -> Option<String> {
    let slow = harm.slow_requests?;
    let most = slow.most.map_or(String::new(), |most| format!("of at most {most} "));
    Some(format!(
        "{} {most}requests were slower than the guards on latency allow, in trials of other arms than the baseline",
        slow.so_far
    ))
}

/// Trials that count although the traffic jumped.
fn jumps(evidence: &Evidence, study: &Resolved, trials: &[Trial]) -> Vec<String> {
    let all = attempts::counted(trials);
    let jumped = evidence.traffic_jumps.len();
    if jumped == 0 {
        return Vec::new();
    }
    let mut notes = vec![format!(
        "in {jumped} of {} that count the traffic was another than in the rest of the block: comparisons with them are of unequal loads",
        counted(all.len(), "trial")
    )];
    let mut by_arm: BTreeMap<&str, usize> = BTreeMap::new();
    evidence.traffic_jumps.iter().for_each(|jump| *by_arm.entry(&jump.arm).or_default() += 1);
    for (arm, jumps) in by_arm {
        let own = all.iter().filter(|trial| trial.arm == arm).count();
        let is_tried = study.arms.iter().any(|of| of.name == arm && of.copy.is_none());
        if is_tried && jumps >= FEW && jumps * 2 > own {
            notes.push(format!(
                "the traffic jumped in {jumps} of the {own} trials of {arm}: it may follow from the arm, as where clients wait for their answers"
            ));
        }
    }
    notes
}

#[cfg(test)]
mod tests {
    use load::guard::Breach;

    use super::*;
    use crate::arm::Role;
    use crate::evidence::{ArmStanding, of_case};
    use crate::own_traffic::harm::Breached;
    use crate::own_traffic::harm::tests::{breach, own_traffic};

    /// Trials of two blocks in which every arm has the same latency, but for those that `change` changes.
    fn trials(study: &Resolved, change: impl Fn(&mut Trial, Role)) -> Vec<Trial> {
        let mut trials = Vec::new();
        for (block, order) in study.order.iter().enumerate() {
            for (position, at) in order.iter().enumerate() {
                let arm = &study.arms[*at];
                let figures = [("latency_p99_us", 900.0), ("completed", 2000.0), ("requests_per_s", 1000.0)];
                let figures = figures.map(|(name, value)| (name.to_string(), value)).into();
                let mut trial = Trial {
                    index: trials.len(),
                    block,
                    position,
                    arm: arm.name.clone(),
                    figures,
                    ..Trial::default()
                };
                change(&mut trial, arm.role);
                trials.push(trial);
            }
        }
        trials
    }

    #[test]
    fn an_arm_that_a_guard_ended_is_harmful_and_never_better_or_equal() {
        let mut study = own_traffic();
        study.recipe.set_metric("latency_p99_us".into());
        let harmful = study.arms.iter().find(|arm| arm.role == Role::Candidate).unwrap().name.clone();
        // In the second block; in the first it looked twice as good as the baseline.
        let all = trials(&study, |trial, _| {
            if trial.arm == harmful {
                trial.figures.insert("latency_p99_us".into(), 450.0);
                trial.breach = (trial.block == 1).then(|| breach(31_000.0));
            }
        });
        let evidence = of_case(&study, &all);
        assert!(evidence.against_baseline.iter().all(|contrast| contrast.arm != harmful));
        assert!(evidence.arm(&harmful).is_none(), "what it did until then has no figure");
        let ArmStanding::Harmful { breach, traffic_jumped, .. } = &evidence.standings[&harmful] else {
            panic!("{:?}", evidence.standings)
        };
        assert_eq!((breach.value, *traffic_jumped), (31_000.0, false));
        assert_eq!(evidence.blocks, 2, "the others are compared all the same");
        assert_eq!(evidence.harm.unwrap().breached.len(), 1);
    }

    #[test]
    fn a_baseline_that_breaches_the_guards_ends_the_study_and_is_no_harmful_arm() {
        let study = own_traffic();
        let all = trials(&study, |trial, role| {
            trial.breach = (role == Role::Baseline && trial.block == 0).then(|| breach(31_000.0));
        });
        let evidence = of_case(&study, &all);
        assert!(evidence.standings.is_empty());
        assert_eq!(evidence.harm.unwrap().ended, Some(EndedBy::BaselineBreaches { trials: 2 }));
        assert!(
            evidence.notes.iter().any(|note| note.contains("the baseline itself")),
            "{:?}",
            evidence.notes
        );
    }

    #[test]
    fn a_built_in_guard_that_ends_the_baseline_is_not_to_be_raised() {
        let study = own_traffic();
        let silence = Breach { figure: "silence_s".into(), guard: "silence_s <= 1".into(), ..breach(1.2) };
        let all = trials(&study, |trial, role| {
            trial.breach = (role == Role::Baseline && trial.block == 0).then(|| silence.clone());
        });
        let notes = of_case(&study, &all).notes;
        let ended = notes.iter().find(|note| note.contains("the baseline itself")).unwrap();
        assert!(ended.contains("--no-guard") && !ended.contains("raise them"), "{ended}");
    }

    #[test]
    fn a_trial_of_the_baseline_that_a_guard_ended_is_not_laid_to_the_traffic_alone() {
        let arm = "unpinned A".to_string();
        let breached = Breached { trial: 3, block: 0, arm, baseline: true, breach: breach(31_000.0) };
        let harm = Harm { breached: vec![breached], slow_requests: None, ended: None };
        let said = of_baseline(&harm).unwrap();
        assert!(said.contains("other work on the machine") && said.contains("an earlier arm"), "{said}");
    }

    #[test]
    fn a_study_with_a_load_of_its_own_has_no_harm_to_tell_of() {
        let study = crate::case::tests::resolved();
        let evidence = of_case(&study, &trials(&study, |_, _| {}));
        assert_eq!((evidence.harm, evidence.traffic_jumps.len()), (None, 0));
    }
}
