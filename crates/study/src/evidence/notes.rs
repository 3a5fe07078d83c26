//! What the reader of the evidence should know beside its verdicts: pure.

use std::collections::{BTreeMap, BTreeSet};

use machine::wording::counted;

use super::{Evidence, drift};
use crate::boots::groups;
use crate::case::Resolved;
use crate::design;
use crate::schedule::attempts;
use crate::statistics::summary;
use crate::trial::Trial;

/// Other programs that use less than this, in CPUs, are the background that every machine has.
const OTHERS_MATTER_CPUS: f64 = 0.3;

/// What the reader of the evidence should know.
pub(super) fn of(evidence: &Evidence, trials: &[Trial]) -> Vec<String> {
    let mut notes = Vec::new();
    if evidence.incomplete_blocks > 0 {
        notes.push(format!(
            "{} block(s) have no value for some arm and are left out",
            evidence.incomplete_blocks
        ));
    }
    let family = evidence.against_baseline.len().max(evidence.against_other_cpus.len());
    let fewest = design::fewest_blocks(family, evidence.precision.alpha);
    if evidence.blocks < fewest {
        notes.push(format!(
            "{} blocks cannot decide {family} comparisons with a chance of error of {:.1} %: at least {fewest} are needed (--blocks {fewest})",
            evidence.blocks,
            100.0 * evidence.precision.alpha
        ));
    }
    notes.extend(load_limits(evidence));
    notes.extend(drift::note(trials, &evidence.metric, evidence.better));
    notes.extend(busy_machine(trials));
    notes.extend(within_trials(evidence, trials));
    notes.extend(unsteady(trials));
    let capped = trials.iter().filter(|t| t.warm_up.capped).count();
    if capped > trials.len() / 4 {
        notes.push(format!(
            "the warm-up cap was reached in {capped} of {} trials: raise warm_up_cap_s",
            trials.len()
        ));
    }
    notes
}

/// Fewer trials than this share of them may be chance.
const WORTH_SAYING: f64 = 0.05;

/// In how many trials the load was the limit.
fn load_limits(evidence: &Evidence) -> Option<String> {
    evidence.load_limited_share.filter(|share| *share >= WORTH_SAYING)?;
    Some(format!(
        "in {} in which server and load could each have CPUs of their own (doses left out) the load generator was the limit, \
         not the server: differences between placements are hidden there",
        evidence.load_limited_trials()?
    ))
}

/// Other programs took CPU time: what they take is charged to chance, and makes intervals wide. Neighbours of the recipe are none of
/// them: they are what is studied.
fn busy_machine(trials: &[Trial]) -> Option<String> {
    let by_others: Vec<f64> = trials
        .iter()
        .filter_map(|t| t.as_run.others_user_cpus)
        .filter(|cpus| *cpus > OTHERS_MATTER_CPUS)
        .collect();
    let typical = summary::median(&by_others).filter(|_| by_others.len() * 10 > trials.len())?;
    Some(format!(
        "programs that are not part of the study used {typical:.1} CPUs in {} of {} trials: repeat on a quieter machine for narrower intervals",
        by_others.len(),
        trials.len()
    ))
}

/// Blocks that were added: the looks of the planned ones have spent all their error, so that the others cannot join them.
pub(super) fn of_added(study: &Resolved, trials: &[Trial]) -> Option<String> {
    let added: usize = study.added.iter().map(|added| added.blocks).sum();
    let begun: BTreeSet<usize> =
        trials.iter().map(|trial| trial.block).filter(|block| *block >= study.planned_blocks()).collect();
    (added > 0).then(|| {
        format!(
            "{added} blocks were added to the {} that were planned ({} of them begun); they decide, by themselves and at a level set aside for them, what was open before",
            study.planned_blocks(),
            begun.len()
        )
    })
}

/// More than this part of what trials differ by: then it is what a trial does not know of its own mean.
const MOSTLY_WITHIN: f64 = 0.7;

/// Whether longer windows or more blocks would make intervals narrower.
fn within_trials(evidence: &Evidence, trials: &[Trial]) -> Option<String> {
    // An arm has several trials in a block where boots are counted: then their means differ.
    let mut counts: BTreeMap<(usize, &str), usize> = BTreeMap::new();
    trials.iter().for_each(|trial| *counts.entry((trial.block, &trial.arm)).or_default() += 1);
    let a_unit = counts.into_values().max().unwrap_or(1);
    let units = if a_unit > 1 { "boots" } else { "trials" };

    let spread: Vec<f64> =
        evidence.arms.iter().filter_map(|arm| Some(arm.figure.sd? / arm.figure.mean)).collect();
    let errors: Vec<f64> = trials.iter().filter_map(|trial| trial.within.as_ref()?.error_share).collect();
    let (spread, error) = (summary::median(&spread)?, summary::median(&errors)?);
    if errors.len() * 2 < trials.len() || spread <= 0.0 {
        return None;
    }
    let what = match error / (a_unit as f64).sqrt() > MOSTLY_WITHIN * spread {
        true => "longer windows would make intervals narrower",
        false => "more blocks would make intervals narrower, longer windows hardly",
    };
    Some(format!(
        "a trial knows its own mean to {:.1} % (batch means, median), {units} of an arm differ by {:.1} %: {what}",
        error * 1e2,
        spread * 1e2
    ))
}

/// Runs whose rate changed for good in the measured window, where there are more than chance would have.
fn unsteady(trials: &[Trial]) -> Option<String> {
    let known = trials.iter().filter_map(|trial| trial.within.as_ref());
    let (all, changed) =
        known.fold((0, 0), |(all, changed), within| (all + 1, changed + usize::from(within.changes > 0)));
    (changed * 10 > all).then(|| {
        format!(
            "in {changed} of {all} trials the rate changed for good within the measured window (change points): the mean is of two \
             states there; see series.jsonl and outcome.json of those trials"
        )
    })
}

/// How many boots a study across boots rests on, and what its A/A control says of boots.
pub(super) fn of_boots(evidence: &Evidence, study: &Resolved, trials: &[Trial]) -> Vec<String> {
    if study.boots.is_none() {
        return Vec::new();
    }
    let (boots, cut_short) = groups::used(study, trials);
    let mut notes = vec![format!(
        "the trials ran in {boots} boots of the machine, each with one choice of kernel parameters: the boot is what was drawn and counted"
    )];
    if let Some((a_a, (low, high))) = evidence.a_a.as_ref().and_then(|a_a| Some((a_a, a_a.interval?))) {
        notes.push(format!(
            "the baseline's two runs of a block are two boots with the same parameters: they differed by a factor of {:.3} ({low:.3} to {high:.3}) \
             over {} blocks",
            a_a.ratio, a_a.blocks
        ));
    }
    let kernels: BTreeSet<&str> =
        trials.iter().filter_map(|trial| Some(trial.boot.as_ref()?.kernel.as_str())).collect();
    if kernels.len() > 1 {
        notes.push(format!(
            "the trials ran under several kernels ({}): what is found may be theirs, and no word's",
            kernels.into_iter().collect::<Vec<_>>().join(", ")
        ));
    }
    if cut_short > 0 {
        notes.push(format!("{cut_short} boots were cut short, and their trials went on in a further boot with the same parameters"));
    }
    notes
}

/// What became of trials that were disturbed or failed.
pub(super) fn of_attempts(given_up: &BTreeMap<String, String>, trials: &[Trial]) -> Vec<String> {
    let mut notes = Vec::new();
    for (arm, cause) in given_up {
        notes.push(format!("{arm} was given up, since every attempt of one block failed: {cause}"));
    }
    let failed = trials.iter().filter(|trial| trial.failed.is_some()).count();
    if failed > 0 {
        notes.push(format!(
            "{} failed and left no figure; the folder of each keeps its logs",
            counted(failed, "trial")
        ));
    }
    notes.extend(disturbed(trials));
    notes
}

/// How many trials were disturbed, and whether they count.
fn disturbed(trials: &[Trial]) -> Option<String> {
    let counting = attempts::counted(trials);
    let is_disturbed = |trial: &&Trial| trial.disturbed.is_some();
    let kept = counting.iter().filter(is_disturbed).count();
    let again = trials.iter().filter(is_disturbed).count().saturating_sub(kept);
    let by = "disturbed by what is neither server nor load";
    let were = |count: usize| if count == 1 { "was" } else { "were" };
    let mut parts = vec![format!("{} that count", counted(counting.len(), "trial"))];
    if again > 0 {
        parts.push(format!("{again} more {} {by} and run again", were(again)));
    }
    if kept > 0 {
        parts.push(format!("{kept} of those that count {} {by} and not run again", were(kept)));
    }
    (parts.len() > 1).then(|| parts.join("; "))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{dose_shows, set, simulate, weigh_all};
    use super::*;
    use crate::arm::each_cpu_in_turn;

    /// The evidence of a study in which the load was the limit in some trials of these arms.
    fn limited(is_limited: impl Fn(&Trial) -> Option<bool>) -> Evidence {
        let arms = each_cpu_in_turn(&set("0-1"), &set("0-1"), None).unwrap();
        let with_headroom = |trial: Trial| {
            let headroom = load::headroom(Some(0.5), Some(0.5), false);
            let headroom = Some(load::Headroom { client_limits: is_limited(&trial), ..headroom });
            Trial { headroom, ..trial }
        };
        let trials = simulate(&arms, 14, 1, dose_shows).into_iter().map(with_headroom).collect::<Vec<_>>();
        weigh_all(&arms, &trials)
    }

    #[test]
    fn the_load_is_the_limit_of_the_trials_that_can_show_it() {
        let apart = |trial: &Trial| match trial.arm.as_str() {
            arm if arm.starts_with("both") => None,
            arm => Some(!arm.starts_with("dose")),
        };
        let evidence = limited(apart);
        assert_eq!((evidence.load_limited_share, evidence.load_judged_trials), (Some(1.0), 4 * 14));
        let note = load_limits(&evidence).unwrap();
        assert!(note.starts_with("in all 56 trials in which server and load could each have CPUs"), "{note}");
        let of_one = limited(|trial| Some(trial.arm == "cpu 0"));
        let note = load_limits(&of_one).unwrap();
        assert!(note.starts_with("in 14 of the 84 trials"), "{note}");
        assert!(of_one.notes.contains(&note));
    }

    #[test]
    fn one_trial_of_many_is_chance() {
        let once = limited(|trial| Some(trial.arm == "cpu 0" && trial.block == 3));
        assert!(once.load_limited_share.is_some_and(|share| share > 0.0));
        assert_eq!(load_limits(&once), None);
        assert_eq!(load_limits(&limited(|_| None)), None, "it is not known of any");
    }

    #[test]
    fn trials_that_count_and_those_that_were_run_again_are_counted_once() {
        let trial = |position: usize, attempt: usize, disturbed: bool| Trial {
            position,
            attempt,
            disturbed: disturbed.then(|| "a build".to_string()),
            ..Trial::default()
        };
        let noted = |trials: &[Trial]| of_attempts(&BTreeMap::new(), trials).join("\n");
        assert_eq!(noted(&[trial(0, 0, false), trial(1, 0, false)]), "");
        let by = "disturbed by what is neither server nor load";
        let mut trials = vec![trial(0, 0, true), trial(1, 0, false), trial(0, 1, false)];
        assert_eq!(noted(&trials), format!("2 trials that count; 1 more was {by} and run again"));
        trials.push(trial(2, 0, true));
        let kept = format!("1 of those that count was {by} and not run again");
        assert_eq!(noted(&trials), format!("3 trials that count; 1 more was {by} and run again; {kept}"));
        assert_eq!(noted(&[trial(0, 0, true), trial(1, 0, false)]), format!("2 trials that count; {kept}"));
        let failed = Trial { failed: Some("it died".into()), ..trial(0, 0, false) };
        assert_eq!(
            noted(&[failed, trial(0, 1, false)]),
            "1 trial failed and left no figure; the folder of each keeps its logs"
        );
    }
}
