//! What an intervention that was run says about its finding.

use machine::CpuSet;
use study::intervention::Outcome;
use study::{Arm, Proof, Verdict};

use crate::finding::{Finding, Standing};
use crate::interventions::is_imitation;
use crate::loss::{AGREES_WITHIN, Loss};
use crate::named_cpus::named_cpus;

/// The finding with its proof: standing and words follow from what came out.
///
/// *Proved* needs the cause itself to have been moved; an imitation alone reaches *imitated* at best. A proof that does
/// not decide leaves the standing as it was.
pub fn judge(finding: Finding, proof: &Proof) -> Finding {
    let (standing, verdict) = match is_imitation(&proof.intervention) {
        true => imitation(&finding, proof),
        false => removal(&finding, proof),
    };
    let outcomes: Vec<String> = proof.outcomes.iter().map(in_words).collect();
    let outcomes =
        if outcomes.is_empty() { "no prediction was tested".to_string() } else { outcomes.join("; ") };
    Finding {
        standing,
        proof_words: Some(format!("{verdict}: {}; {outcomes}", proof.intervention.what)),
        proof: Some(proof.clone()),
        ..finding
    }
}

fn removal(finding: &Finding, proof: &Proof) -> (Standing, String) {
    if proof.holds() {
        return (Standing::Proved, "proved by moving the cause".into());
    }
    match (proof.refuted(), look_alike(proof)) {
        (true, None) => (Standing::Refuted, "refuted: the loss did not follow the cause".into()),
        (true, Some(why)) => (finding.standing, format!("not decided: {why}")),
        (false, _) => (finding.standing, "not decided: the trials do not decide it; more blocks may".into()),
    }
}

/// Whether a proof refutes what it is about: a prediction came out the other way round, and not for another reason ([`look_alike`]).
pub(crate) fn refutes(proof: &Proof) -> bool {
    proof.refuted() && look_alike(proof).is_none()
}

/// The other reason for which a prediction may have come out the other way round; `None` if nothing shows one.
///
/// If the load is the limit, the server has time to spare, and a cause that is moved to its CPU costs nothing. If the cause is moved to the only
/// CPUs of the load, the load may lose what the server gains.
fn look_alike(proof: &Proof) -> Option<&'static str> {
    let expecting = |verdict: Verdict| proof.outcomes.iter().filter(move |o| o.prediction.expect == verdict);
    let found = |outcome: &Outcome| outcome.contrast.as_ref().map(|contrast| contrast.verdict);
    let helped = expecting(Verdict::Better).count() > 0 && expecting(Verdict::Better).all(|o| o.held);
    if helped && !expecting(Verdict::Worse).any(|o| found(o) == Some(Verdict::Better)) {
        return Some(
            "taking the cause away helped, but moving it to the other CPU did no harm: the load may be the limit there",
        );
    }
    let hit = expecting(Verdict::Better).any(|outcome| !outcome.held && is_moved_onto_load(proof, outcome));
    hit.then_some(
        "the cause was moved to the only CPUs of the load, which may have lost what the server gained",
    )
}

/// Whether all CPUs of the load are among those to which the arm of a prediction moves the cause.
fn is_moved_onto_load(proof: &Proof, outcome: &Outcome) -> bool {
    let arm = |name: &str| proof.intervention.arms.iter().find(|arm| arm.name == name);
    let pair = arm(&outcome.prediction.arm).zip(arm(&outcome.prediction.reference));
    pair.is_some_and(|(moved, found)| {
        let load = moved.placement.load_cpus.as_ref().filter(|cpus| !cpus.is_empty());
        load.is_some_and(|load| load.is_subset(&cpus_of_cause(moved, found)))
    })
}

/// The CPUs to which an arm moves the cause: those of settings and neighbours that its reference does not have.
fn cpus_of_cause(moved: &Arm, found: &Arm) -> CpuSet {
    let (moved, found) = (&moved.placement, &found.placement);
    let settings = moved.settings.iter().filter(|setting| !found.settings.contains(setting));
    let neighbours = moved.neighbours.iter().filter(|neighbour| !found.neighbours.contains(neighbour));
    let of_neighbours = neighbours.map(|neighbour| neighbour.cpus.clone());
    let all = settings.filter_map(named_cpus).chain(of_neighbours);
    all.fold(CpuSet::default(), |all, cpus| all.union(&cpus))
}

fn imitation(finding: &Finding, proof: &Proof) -> (Standing, String) {
    if proof.refuted() {
        return (Standing::Refuted, "refuted: as many interrupts did no harm on a good CPU".into());
    }
    let imitated = proof.outcomes.iter().filter(|o| o.held).find_map(|o| o.contrast.as_ref());
    let (Some(imitated), true) = (imitated.map(Loss::of), proof.holds()) else {
        return (finding.standing, "not decided: the trials do not decide it; more blocks may".into());
    };
    let Some(observed) = finding.observed.as_ref().map(Loss::of) else {
        return (finding.standing, format!("the imitation cost {}", imitated.words()));
    };
    let as_much =
        imitated.to >= observed.from / AGREES_WITHIN && imitated.from <= observed.to * AGREES_WITHIN;
    let sizes = format!("the imitation cost {}, the slow CPU lost {}", imitated.words(), observed.words());
    match as_much {
        true => (
            Standing::Imitated,
            format!("supported by imitation, not proved, since the cause itself was not taken away: {sizes}"),
        ),
        false => (
            Standing::Possible,
            format!("not supported: the sizes are more than a factor of two apart: {sizes}"),
        ),
    }
}

/// `CPU 0 becomes faster when ...: held (better, 2.05 times the reference)`.
fn in_words(outcome: &Outcome) -> String {
    let words = &outcome.prediction.words;
    let Some(contrast) = &outcome.contrast else {
        return format!("{words}: not measured, too few blocks");
    };
    let held = if outcome.held { "held" } else { "did not hold" };
    let verdict = match contrast.verdict {
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::Equal => "equal",
        Verdict::Undecided => "undecided",
        Verdict::NotAsAsked => "not as asked",
        Verdict::CannotTell => "cannot tell",
        Verdict::Untrustworthy => "untrustworthy",
    };
    format!("{words}: {held} ({verdict}, {:.2} times the reference)", contrast.ratio)
}

#[cfg(test)]
mod tests {
    use machine::Setting;
    use study::{Contrast, Intervention, Prediction};

    use super::*;
    use crate::case_builder::CaseBuilder;
    use crate::interventions;

    /// A finding about CPU 0 that lost half, and the proof of `intervention` whose predictions came out as `found`.
    fn proved(intervention: Intervention, found: &[(Verdict, f64)]) -> (Finding, Proof) {
        let facts = CaseBuilder::of_cpus(2).slow(0, 0.5).build();
        let finding = crate::examine(&facts).remove(0);
        let outcomes = intervention
            .predictions
            .iter()
            .zip(found)
            .map(|(prediction, (verdict, ratio))| outcome(prediction, *verdict, *ratio))
            .collect();
        let proof = Proof { finding: finding.id.clone(), intervention, trials: "proofs/1".into(), outcomes };
        (Finding { standing: Standing::Possible, ..finding }, proof)
    }

    fn outcome(prediction: &Prediction, verdict: Verdict, ratio: f64) -> Outcome {
        let contrast = Contrast {
            arm: prediction.arm.clone(),
            cpu: None,
            reference: prediction.reference.clone(),
            blocks: 8,
            ratio,
            interval: Some((ratio * 0.98, ratio * 1.02)),
            p_adjusted: 0.01,
            verdict,
            whose: None,
        };
        Outcome {
            prediction: prediction.clone(),
            contrast: Some(contrast),
            held: verdict == prediction.expect,
        }
    }

    fn moving() -> Intervention {
        let facts = CaseBuilder::of_cpus(2).slow(0, 0.5).build();
        let what = "IRQ 9 is moved".to_string();
        let moved =
            interventions::SettingsMoved { slow: 0, good: 1, what, as_found: Vec::new(), moved: Vec::new() };
        moved.intervention(&facts).unwrap()
    }

    fn imitating() -> Intervention {
        let facts = CaseBuilder::of_cpus(2).slow(0, 0.5).build();
        interventions::timer_imitated(&facts, 0, 1, 10_000.0).unwrap()
    }

    #[test]
    fn a_cause_whose_loss_moves_with_it_is_proved() {
        let (finding, proof) = proved(moving(), &[(Verdict::Better, 2.0), (Verdict::Worse, 0.5)]);
        let judged = judge(finding, &proof);
        assert_eq!(judged.standing, Standing::Proved);
        let words = judged.proof_words.unwrap();
        assert!(words.contains("IRQ 9 is moved") && words.contains("held (better, 2.00"), "{words}");
    }

    #[test]
    fn a_loss_that_stays_refutes_the_cause() {
        let (finding, proof) = proved(moving(), &[(Verdict::Equal, 1.0), (Verdict::Equal, 1.0)]);
        assert_eq!(judge(finding, &proof).standing, Standing::Refuted);
    }

    #[test]
    fn a_cause_that_did_no_harm_elsewhere_is_not_refuted_if_taking_it_away_helped() {
        let (finding, proof) = proved(moving(), &[(Verdict::Better, 2.0), (Verdict::Equal, 1.0)]);
        let judged = judge(finding, &proof);
        assert_eq!(judged.standing, Standing::Possible);
        let words = judged.proof_words.unwrap();
        assert!(words.contains("not decided") && words.contains("the load may be the limit"), "{words}");
        let (finding, proof) = proved(moving(), &[(Verdict::Better, 2.0), (Verdict::Better, 1.2)]);
        assert_eq!(judge(finding, &proof).standing, Standing::Refuted, "it became faster with the cause");
    }

    #[test]
    fn a_cause_that_was_moved_to_the_only_cpu_of_the_load_is_not_refuted() {
        let (finding, mut proof) = proved(moving(), &[(Verdict::Equal, 1.0), (Verdict::Equal, 1.0)]);
        for (arm, on) in proof.intervention.arms.iter_mut().zip(["0", "1", "0", "1"]) {
            let irq = Setting { knob: "irq-affinity".into(), target: "9".into(), value: on.into() };
            arm.placement.settings = vec![irq];
            arm.placement.load_cpus = arm.cpu.map(|cpu| CpuSet::single(1 - cpu));
        }
        assert_eq!(judge(finding.clone(), &proof).standing, Standing::Possible);
        proof.intervention.arms[1].placement.load_cpus = CpuSet::from_list("1-3").ok();
        assert_eq!(judge(finding, &proof).standing, Standing::Refuted, "the load has other CPUs, too");
    }

    #[test]
    fn an_undecided_proof_leaves_the_standing_as_it_was() {
        let (finding, proof) = proved(moving(), &[(Verdict::Undecided, 1.2), (Verdict::Worse, 0.5)]);
        let judged = judge(Finding { standing: Standing::Supported, ..finding.clone() }, &proof);
        assert_eq!(judged.standing, Standing::Supported);
        let nothing = Proof { outcomes: Vec::new(), ..proof };
        assert_eq!(judge(finding, &nothing).standing, Standing::Possible);
    }

    #[test]
    fn an_imitation_of_the_same_size_supports_and_does_not_prove() {
        let (finding, proof) = proved(imitating(), &[(Verdict::Worse, 0.55)]);
        let judged = judge(finding, &proof);
        assert_eq!(judged.standing, Standing::Imitated);
        assert!(judged.proof_words.unwrap().contains("not proved"));
    }

    #[test]
    fn an_imitation_that_costs_far_less_or_nothing_does_not_support() {
        let (finding, proof) = proved(imitating(), &[(Verdict::Worse, 0.93)]);
        assert_eq!(judge(finding, &proof).standing, Standing::Possible);
        let (finding, proof) = proved(imitating(), &[(Verdict::Equal, 1.0)]);
        assert_eq!(judge(finding, &proof).standing, Standing::Refuted);
    }
}
