//! What trials say: every arm against the baseline, every CPU against the others, and what the controls bear of it. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::comparison::Comparison;
use super::gains::{Gains, differences, gains_by_arm, mean_by_block};
use super::{ArmStanding, Contrast, ControlOutcome, Evidence, Question, Trust, Verdict};
use super::{arm_summary, attribution, cliffs, control, effects, notes, power, quota, standing};
use crate::arm::{Arm, Role, baseline_name};
use crate::statistics::summary;
use crate::trial::Trial;

/// Computes the evidence of `trials`.
pub fn weigh(arms: &[Arm], trials: &[Trial], question: &Question<'_>) -> Evidence {
    let Question { metric, better, precision, .. } = *question;
    let standings = standing::of(arms, trials);
    let is_starved = |arm: &Arm| matches!(standings.get(&arm.name), Some(ArmStanding::Starved { .. }));
    let is_fit = |arm: &Arm| !standings.contains_key(&arm.name);
    let served: Vec<Arm> = arms.iter().filter(|arm| !is_starved(arm)).cloned().collect();
    let placed = standing::as_placed(arms, trials, &standings);
    let (gains, blocks) = gains_by_arm(&served, &placed, metric, better);
    let incomplete_blocks = trials.iter().map(|t| t.block).collect::<BTreeSet<_>>().len() - blocks;
    let comparison = Comparison { better, precision, blocks };
    let of_role = |role: Role| served.iter().zip(&gains).filter(move |(arm, _)| arm.role == role);

    let baselines: Vec<(&Arm, &Gains)> = of_role(Role::Baseline).collect();
    let a_a = match baselines.as_slice() {
        [(arm, first), (_, second), ..] => {
            comparison.family(vec![(*arm, differences(first, second), "the same again".into())]).pop()
        }
        _ => None,
    };
    let baseline_is_fit = baselines.iter().all(|(arm, _)| is_fit(arm));
    let baseline = mean_by_block(&baselines.iter().map(|(_, gains)| *gains).collect::<Vec<_>>(), blocks);
    let to_baseline = |wanted: fn(Role) -> bool| -> Vec<Contrast> {
        if baselines.is_empty() {
            return Vec::new();
        }
        let rows = served.iter().zip(&gains).filter(|(arm, _)| wanted(arm.role));
        let rows = rows.map(|(arm, own)| (arm, differences(own, &baseline), baseline_name(arms)));
        comparison.family_of(rows.collect(), |arm| is_fit(arm) && baseline_is_fit)
    };
    let cpus: Vec<(&Arm, &Gains)> =
        of_role(Role::Candidate).filter(|(arm, _)| arm.cpu.is_some() && is_fit(arm)).collect();
    let against_other_cpus =
        attribution::of(comparison.family(against_others(&cpus, blocks)), &served, &placed, question);
    let against_baseline = to_baseline(|role| matches!(role, Role::Candidate | Role::Intervention));
    let (load_limited_share, load_judged_trials) = load_limits(arms, trials);
    let all_fit = served.iter().all(is_fit) && served.len() == arms.len();

    let mut evidence = Evidence {
        metric: metric.to_string(),
        unit: trials.iter().find_map(|t| t.units.get(metric).cloned()).unwrap_or_default(),
        better,
        precision,
        blocks,
        incomplete_blocks,
        trust: trust(&comparison, a_a.as_ref()),
        a_a,
        control: control::of(&comparison, &served, &gains, &baseline, &placed, question, &standings),
        control_against_baseline: to_baseline(Role::is_positive_control).pop(),
        standings: BTreeMap::new(),
        quota: quota::taken(trials, precision.margin),
        load_limited_share,
        load_judged_trials,
        power: None,
        against_baseline,
        against_other_cpus,
        effects: if all_fit { effects::of(&comparison, &served, &gains) } else { Vec::new() },
        also: Vec::new(),
        pooled: Vec::new(),
        growth: Vec::new(),
        cliffs: cliffs::of(arms, trials),
        harm: None,
        traffic_jumps: Vec::new(),
        given_up: BTreeMap::new(),
        looks: Vec::new(),
        search: None,
        expectations: Vec::new(),
        arms: arms.iter().filter_map(|arm| arm_summary::of_arm(arm, trials, metric)).collect(),
        notes: Vec::new(),
    };
    evidence.standings = standings;
    withhold(&mut evidence);
    evidence.power = power::of(&evidence.against_baseline, &evidence.against_other_cpus, precision);
    evidence.notes = notes::of(&evidence, trials);
    evidence
}

/// Each CPU's differences to the median of the other CPUs of its block.
fn against_others<'a>(cpus: &[(&'a Arm, &Gains)], blocks: usize) -> Vec<(&'a Arm, Vec<f64>, String)> {
    if cpus.len() < 2 {
        return Vec::new();
    }
    cpus.iter()
        .enumerate()
        .map(|(i, (arm, own))| {
            let differences = (0..blocks)
                .filter_map(|b| {
                    let others: Vec<f64> =
                        cpus.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, (_, g))| g[b]).collect();
                    summary::median(&others).map(|m| own[b] - m)
                })
                .collect();
            (*arm, differences, "the other CPUs".to_string())
        })
        .collect()
}

/// Whether the blocks and the A/A control allow claims.
fn trust(comparison: &Comparison, a_a: Option<&Contrast>) -> Trust {
    let needed = crate::design::fewest_blocks(1, comparison.precision.alpha);
    match a_a {
        _ if comparison.blocks < needed => Trust::TooFew { blocks: comparison.blocks, needed },
        Some(a_a) if a_a.verdict.is_difference() => Trust::Untrustworthy { ratio: a_a.ratio },
        _ => Trust::Sound,
    }
}

/// Of the trials in which the load can be distinguished from the server: the share in which it was the limit, and how many they are.
/// Doses are not among them: they slow the server on purpose.
fn load_limits(arms: &[Arm], trials: &[Trial]) -> (Option<f64>, usize) {
    let doses = arms.iter().filter(|arm| arm.role == Role::Dose);
    let doses: BTreeSet<&str> = doses.map(|arm| arm.name.as_str()).collect();
    let studied = trials.iter().filter(|trial| !doses.contains(trial.arm.as_str()));
    let known: Vec<bool> = studied.filter_map(|trial| trial.headroom.as_ref()?.client_limits).collect();
    let limited = known.iter().filter(|limited| **limited).count();
    ((!known.is_empty()).then(|| limited as f64 / known.len() as f64), known.len())
}

/// Takes back the claims that the controls do not bear. A contrast that passed its own test is itself the proof that the study can see
/// a difference, so a positive control that was not seen withholds *equal* alone; one that helped is no control, and then nothing is known
/// of what a loss of CPU time looks like here.
fn withhold(evidence: &mut Evidence) {
    let outcome = evidence.control.as_ref().map(|control| (control.kind.is_dose(), control.outcome));
    let held = |verdict: Verdict| match (evidence.trust.instead(), outcome) {
        _ if verdict == Verdict::NotAsAsked => verdict,
        (Some(instead), _) => instead,
        (None, Some((true, ControlOutcome::Helped))) => Verdict::CannotTell,
        (None, Some((_, ControlOutcome::Unseen { .. } | ControlOutcome::Helped)))
            if verdict == Verdict::Equal =>
        {
            Verdict::CannotTell
        }
        _ => verdict,
    };
    let contrasts = evidence.against_baseline.iter_mut().chain(&mut evidence.against_other_cpus);
    contrasts.for_each(|contrast| contrast.verdict = held(contrast.verdict));
    evidence.effects.iter_mut().for_each(|effect| effect.verdict = held(effect.verdict));
}
