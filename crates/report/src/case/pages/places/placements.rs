//! Which placements of the server a study tried, and what came of each: what the picture of the machine shows.

use machine::CpuSet;
use study::evidence::ArmStanding;
use study::{Arm, Contrast, Evidence, Facts, Role, Verdict};

/// What came of a placement against what it is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// Better by more than the margin.
    Better,
    /// Worse by more than the margin.
    Worse,
    /// No difference larger than the margin.
    Equal,
    /// The trials do not decide it, or no claim may be made of them.
    CannotTell,
    /// The server did not run there.
    Elsewhere,
    /// No request was answered there.
    Starved,
    /// A guard ended it there.
    Harmful,
    /// The others are compared with it.
    Reference,
    /// It is compared with nothing, not yet, or with what ran elsewhere.
    NotCompared,
}

impl Outcome {
    /// Whether the figure of its contrast is one of that placement. It is a claim for the first three alone.
    pub fn has_figure(self) -> bool {
        matches!(self, Self::Better | Self::Worse | Self::Equal | Self::CannotTell)
    }
}

/// A placement that was tried.
#[derive(Debug, Clone, PartialEq)]
pub struct Tried<'a> {
    /// Its arm.
    pub arm: &'a Arm,
    /// The CPUs that the server was kept on.
    pub cpus: &'a CpuSet,
    /// What came of it.
    pub outcome: Outcome,
    /// The comparison that says so; `None` where there is none.
    pub contrast: Option<&'a Contrast>,
}

impl<'a> Tried<'a> {
    /// Its contrast, where the figure of that is one of this placement.
    pub fn own_contrast(&self) -> Option<&'a Contrast> {
        self.contrast.filter(|_| self.outcome.has_figure())
    }
}

/// All of them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Placements<'a> {
    /// Each CPU that was tried by itself, in order of the study.
    pub cpus: Vec<(u32, Tried<'a>)>,
    /// The other placements, which may hold the same CPUs; with the baseline, if that pins the server.
    pub sets: Vec<Tried<'a>>,
    /// The arm that gains most over the baseline of those that are shown to be better than it; it is in one of the lists.
    pub best: Option<&'a Contrast>,
    /// How many are shown to be better than the baseline.
    pub better: usize,
}

impl<'a> Placements<'a> {
    /// All of them, those of one CPU first.
    pub fn all(&self) -> impl Iterator<Item = &Tried<'a>> {
        self.cpus.iter().map(|(_, tried)| tried).chain(&self.sets)
    }

    /// Whether no arm pins the server.
    pub fn is_empty(&self) -> bool {
        self.cpus.is_empty() && self.sets.is_empty()
    }

    /// Whether this is the arm that gains most.
    pub fn is_best(&self, tried: &Tried) -> bool {
        self.best.is_some_and(|best| best.arm == tried.arm.name)
    }
}

/// Reads them out of a case. CPUs are held against the other CPUs where the study has those comparisons, all else against the baseline.
pub fn of(facts: &Facts) -> Placements<'_> {
    let evidence = &facts.evidence;
    let pinned = facts.study.arms.iter().filter_map(|arm| Some((arm, arm.placement.server_cpus.as_ref()?)));
    let mut placements = Placements::default();
    for (arm, cpus) in pinned.filter(|(arm, _)| matches!(arm.role, Role::Baseline | Role::Candidate)) {
        let is_copy = arm.role == Role::Baseline && placements.sets.iter().any(|of| of.arm.role == arm.role);
        match arm.cpu {
            _ if is_copy => {}
            Some(cpu) if arm.role == Role::Candidate => {
                let others = find(&evidence.against_other_cpus, arm);
                let contrast = others.or_else(|| find(&evidence.against_baseline, arm));
                placements.cpus.push((cpu, tried(evidence, arm, cpus, contrast)));
            }
            _ => {
                let contrast = find(&evidence.against_baseline, arm);
                placements.sets.push(tried(evidence, arm, cpus, contrast));
            }
        }
    }
    let is_better = |contrast: &&Contrast| contrast.verdict == Verdict::Better;
    let gain = |contrast: &Contrast| evidence.better.gain(contrast.ratio);
    let better: Vec<&Contrast> = evidence.against_baseline.iter().filter(is_better).collect();
    let best = better.iter().copied().max_by(|a, b| gain(a).total_cmp(&gain(b)));
    placements.best = best.filter(|best| placements.all().any(|tried| tried.arm.name == best.arm));
    placements.better = better.len();
    placements
}

fn find<'a>(contrasts: &'a [Contrast], arm: &Arm) -> Option<&'a Contrast> {
    contrasts.iter().find(|contrast| contrast.arm == arm.name)
}

fn tried<'a>(
    evidence: &Evidence,
    arm: &'a Arm,
    cpus: &'a CpuSet,
    contrast: Option<&'a Contrast>,
) -> Tried<'a> {
    let standing = evidence.standings.get(&arm.name);
    let outcome = match (contrast.map(|contrast| contrast.verdict), standing) {
        (_, Some(ArmStanding::Starved { .. })) => Outcome::Starved,
        (_, Some(ArmStanding::Harmful { .. })) => Outcome::Harmful,
        (_, Some(ArmStanding::Misplaced { .. })) => Outcome::Elsewhere,
        _ if arm.role == Role::Baseline => Outcome::Reference,
        // It ran as asked, and what it would be held against did not.
        (Some(Verdict::NotAsAsked), None) => Outcome::NotCompared,
        (Some(Verdict::Better), None) => Outcome::Better,
        (Some(Verdict::Worse), None) => Outcome::Worse,
        (Some(Verdict::Equal), None) => Outcome::Equal,
        (Some(Verdict::Undecided | Verdict::CannotTell | Verdict::Untrustworthy), None) => {
            Outcome::CannotTell
        }
        (None, None) => Outcome::NotCompared,
    };
    Tried { arm, cpus, outcome, contrast }
}

#[cfg(test)]
mod tests {
    use machine::Placement;
    use study::Misplaced;

    use super::*;

    fn arm(role: Role) -> Arm {
        Arm::new("a", role, Placement::default())
    }

    fn outcome(verdict: Option<Verdict>, role: Role, standing: Option<ArmStanding>) -> Outcome {
        let contrast = verdict.map(|verdict| Contrast {
            arm: "a".into(),
            cpu: None,
            reference: "unpinned".into(),
            blocks: 10,
            ratio: 1.0,
            interval: None,
            p_adjusted: 1.0,
            verdict,
            whose: None,
        });
        let all = CpuSet::from_list("0-1").unwrap();
        let arms = study::arm::each_cpu_in_turn(&all, &all, None).unwrap();
        let mut evidence = study::evidence::weigh(&arms, &[], &study::Recipe::default().question());
        evidence.standings.extend(standing.map(|standing| ("a".to_string(), standing)));
        let cpus = CpuSet::single(0);
        tried(&evidence, &arm(role), &cpus, contrast.as_ref()).outcome
    }

    #[test]
    fn what_is_not_decided_or_not_to_be_trusted_is_no_difference_and_no_equality() {
        for verdict in [Verdict::Undecided, Verdict::CannotTell, Verdict::Untrustworthy] {
            assert_eq!(outcome(Some(verdict), Role::Candidate, None), Outcome::CannotTell);
        }
        assert_eq!(outcome(Some(Verdict::Worse), Role::Candidate, None), Outcome::Worse);
        assert_eq!(outcome(None, Role::Candidate, None), Outcome::NotCompared);
        assert_eq!(outcome(None, Role::Baseline, None), Outcome::Reference);
    }

    #[test]
    fn a_server_that_answered_nothing_or_ran_elsewhere_has_no_figure() {
        let starved = ArmStanding::Starved { trials: 3, of: 3 };
        let how = Misplaced::Elsewhere { asked: CpuSet::single(0), ran_on: CpuSet::single(1) };
        let misplaced = ArmStanding::Misplaced { trials: 3, of: 3, how };
        let outcome_starved = outcome(None, Role::Candidate, Some(starved));
        let elsewhere = outcome(Some(Verdict::NotAsAsked), Role::Candidate, Some(misplaced.clone()));
        assert_eq!((outcome_starved, elsewhere), (Outcome::Starved, Outcome::Elsewhere));
        assert!(!outcome_starved.has_figure() && !elsewhere.has_figure());
        assert_eq!(outcome(None, Role::Baseline, Some(misplaced)), Outcome::Elsewhere);
    }

    #[test]
    fn where_the_baseline_alone_ran_elsewhere_nothing_is_said_of_the_others() {
        let held_against_it = outcome(Some(Verdict::NotAsAsked), Role::Candidate, None);
        assert_eq!(held_against_it, Outcome::NotCompared);
        assert!(!held_against_it.has_figure());
    }
}
