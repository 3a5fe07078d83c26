//! Whether the trials of an arm were what the arm asks for. Pure.

use std::collections::BTreeMap;

use load::guard::Breach;
use machine::CpuSet;
use serde::{Deserialize, Serialize};

use crate::arm::Arm;
use crate::case::Resolved;
use crate::own_traffic::{harm, jumps};
use crate::trial::{Misplaced, Trial};

/// Of an arm's trials, those that ran elsewhere are left out up to this share; with more of them the arm as a whole is not as asked.
const FEW: f64 = 0.25;

/// What is wrong with the trials of an arm; an arm without it was as asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum ArmStanding {
    /// The server did not run where the arm says.
    Misplaced {
        /// Trials of which this holds.
        trials: usize,
        /// Trials of the arm.
        of: usize,
        /// How, in the first of them.
        how: Misplaced,
    },
    /// No request was answered: the arm has no figure to compare, which is a finding of its own.
    Starved {
        /// Trials of which this holds.
        trials: usize,
        /// Trials of the arm.
        of: usize,
    },
    /// A guard ended a trial of it, after which it did not run again: worse than whatever has figures.
    Harmful {
        /// Number of the trial.
        trial: usize,
        /// What was breached, and by what.
        breach: Breach,
        /// Whether the traffic was another in that trial than in the rest of its block: then it may be what breached the guard.
        traffic_jumped: bool,
    },
}

impl ArmStanding {
    /// Whether the arm did harm: a guard ended it, or nothing was answered.
    pub fn is_harm(&self) -> bool {
        matches!(self, Self::Starved { .. } | Self::Harmful { .. })
    }
}

/// The arms that a guard ended, by name.
pub(super) fn harmful(study: &Resolved, trials: &[Trial]) -> BTreeMap<String, ArmStanding> {
    let first = harm::first_breaches(study, trials).into_iter();
    let standing = |(arm, (ended, breach)): (String, (&Trial, &Breach))| {
        // Beside the trials that stand of its block, among which it is not.
        let block = trials.iter().filter(|trial| trial.block == ended.block && trial.breach.is_none());
        let mut block: Vec<Trial> = block.filter(|trial| trial.failed.is_none()).cloned().collect();
        block.push(ended.clone());
        let traffic_jumped = jumps::of_block(&block).iter().any(|jump| jump.trial == ended.index);
        (arm, ArmStanding::Harmful { trial: ended.index, breach: breach.clone(), traffic_jumped })
    };
    first.map(standing).collect()
}

/// The arms whose trials were not as asked, by name.
pub(super) fn of(arms: &[Arm], trials: &[Trial]) -> BTreeMap<String, ArmStanding> {
    arms.iter().filter_map(|arm| Some((arm.name.clone(), of_arm(arm, trials)?))).collect()
}

fn of_arm(arm: &Arm, trials: &[Trial]) -> Option<ArmStanding> {
    let own: Vec<&Trial> = trials.iter().filter(|trial| trial.arm == arm.name).collect();
    let starved = own.iter().filter(|trial| trial.starved).count();
    if starved > 0 {
        return Some(ArmStanding::Starved { trials: starved, of: own.len() });
    }
    let misplaced: Vec<Misplaced> = own.iter().filter_map(|trial| misplaced(arm, trial)).collect();
    let how = misplaced.first().filter(|_| misplaced.len() as f64 > FEW * own.len() as f64)?;
    Some(ArmStanding::Misplaced { trials: misplaced.len(), of: own.len(), how: how.clone() })
}

/// The trials without the few of an arm that ran elsewhere, where the arm as a whole is as asked: the rule looks at where they ran, never
/// at the figure.
pub(super) fn as_placed(
    arms: &[Arm],
    trials: &[Trial],
    standings: &BTreeMap<String, ArmStanding>,
) -> Vec<Trial> {
    let by_name: BTreeMap<&str, &Arm> = arms.iter().map(|arm| (arm.name.as_str(), arm)).collect();
    let stays = |trial: &&Trial| match by_name.get(trial.arm.as_str()) {
        Some(arm) => standings.contains_key(&trial.arm) || misplaced(arm, trial).is_none(),
        None => true,
    };
    trials.iter().filter(stays).cloned().collect()
}

/// What the trial says; of one that was recorded before trials said it, whether the server was seen on CPUs that its arm does not have.
fn misplaced(arm: &Arm, trial: &Trial) -> Option<Misplaced> {
    if trial.as_run.misplaced.is_some() {
        return trial.as_run.misplaced.clone();
    }
    let asked = arm.placement.server_cpus.as_ref()?;
    let used = &trial.as_run.server_cpus_used;
    let beyond: f64 = used.iter().filter(|(cpu, _)| !asked.contains(**cpu)).map(|(_, share)| share).sum();
    let ran_on = || used.iter().filter(|(_, share)| **share > 0.0).map(|(cpu, _)| *cpu).collect::<CpuSet>();
    (beyond > Misplaced::MOST_ELSEWHERE)
        .then(|| Misplaced::Elsewhere { asked: asked.clone(), ran_on: ran_on() })
}
