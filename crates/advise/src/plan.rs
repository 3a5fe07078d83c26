//! From evidence and findings to a plan: only what was measured to be better, or proved to be the cause, is planned.

use std::collections::BTreeSet;

use machine::knobs::{self, MaySet};
use machine::plan::{BOOT_PARAMETERS, MACHINE, PIN, Predicted, SERVER};
use machine::{CpuSet, Neighbour, NetnsPair, Plan, Planned, Setting};
use study::{Arm, Contrast, Facts, Intervention, Role, Trust, Verdict};

use crate::apply_command::apply_command;
use crate::diagnosis::CauseId;
use crate::explanation::claim::{Claim, Support};
use crate::explanation::{Explanation, explain_all, proof_id};
use crate::finding::{Finding, Standing};
use crate::named_cpus::named_cpus;
use crate::{caveats, loss};

/// What a case leads to.
#[derive(Debug, Clone, PartialEq)]
pub struct Planning {
    /// What is worth keeping; it may have no settings.
    pub plan: Plan,
    /// What was left out and why, one sentence each.
    pub left_out: Vec<String>,
}

/// The plan of a case: the placement that is better than the baseline, if there is one, and settings that move the proved causes of
/// slowness (with `also_supported`, the supported ones too) out of the server's way.
///
/// Nothing is planned from a case with too few blocks, or whose baseline differs from itself.
pub fn plan(facts: &Facts, findings: &[Finding], also_supported: bool) -> Planning {
    let mut planning = Planning { plan: Plan::default(), left_out: Vec::new() };
    if facts.evidence.trust != Trust::Sound {
        planning
            .left_out
            .push("too few blocks, or the baseline differs from itself: no placement can be judged".into());
        return planning;
    }
    let best = best_placement(facts);
    if let Some((contrast, arm)) = best {
        of_arm(facts, contrast, arm, &mut planning);
    }
    let cpus = best.and_then(|(_, arm)| arm.placement.server_cpus.as_ref());
    // Without a better placement the server stays where the baseline has it.
    let baseline = facts.study.arms.iter().find(|arm| arm.role == Role::Baseline);
    let keep_off = best.map(|(_, arm)| arm).or(baseline).and_then(|arm| arm.placement.server_cpus.as_ref());
    let mut gains = Vec::new();
    for mut cause in findings.iter().map(Movable::of_finding).chain(claims(facts)) {
        let gain = cause.predicted.take();
        if causes(facts, cause, keep_off, also_supported, &mut planning) {
            gains.push(gain);
        }
    }
    match (best, cpus) {
        (Some(best), Some(cpus)) => planning.plan.settings.push(pinned(facts, best, cpus)),
        (Some(_), None) => {}
        (None, _) => planning
            .left_out
            .push("no placement of the server is shown to be better than the one it had".into()),
    }
    planning.plan.predicted = match (best, &mut gains[..]) {
        (Some((contrast, _)), _) => Some(predicted(facts, contrast)),
        // What several causes cost together was not measured.
        (None, [gain]) => gain.take(),
        (None, _) => None,
    };
    planning.plan.purpose =
        Some(format!("better {} in the study of {}", facts.evidence.metric, facts.study.recipe.title()));
    planning
}

/// The measured gain of a placement, or of moving a cause. Causes that are moved in addition to a placement were not measured together
/// with it.
fn predicted(facts: &Facts, contrast: &Contrast) -> Predicted {
    let (low, high) = contrast.interval.unzip();
    Predicted {
        metric: facts.evidence.metric.clone(),
        ratio: contrast.ratio,
        low,
        high,
        arm: contrast.arm.clone(),
    }
}

/// The arm that is better than the baseline by the most.
pub(crate) fn best_placement(facts: &Facts) -> Option<(&Contrast, &Arm)> {
    let evidence = &facts.evidence;
    let gain = |contrast: &Contrast| evidence.better.gain(contrast.ratio);
    let arm = |contrast: &Contrast| facts.study.arms.iter().find(|arm| arm.name == contrast.arm);
    let better = evidence.against_baseline.iter().filter(|contrast| contrast.verdict == Verdict::Better);
    let placed = better.filter_map(|contrast| Some((contrast, arm(contrast)?)));
    placed
        .filter(|(_, arm)| !arm.role.is_positive_control())
        .max_by(|(a, _), (b, _)| gain(a).total_cmp(&gain(b)))
}

/// Plans what the best arm sets, besides the server's CPUs, and the baseline does not. What no knob sets is left out, with the reason.
fn of_arm(facts: &Facts, contrast: &Contrast, arm: &Arm, planning: &mut Planning) {
    let baseline = facts.study.arms.iter().find(|arm| arm.role == Role::Baseline);
    let common = |setting: &Setting| baseline.is_some_and(|arm| arm.placement.settings.contains(setting));
    let trials = facts.trials.iter().map(|seen| &seen.trial).filter(|trial| trial.arm == arm.name);
    let stayed: BTreeSet<&str> =
        trials.flat_map(|trial| &trial.as_run.not_as_asked).map(String::as_str).collect();
    // What the kernel refused to move was not part of what was measured.
    let refused = |setting: &Setting| {
        let object = format!("{}: ", setting.object());
        arm.placement.housekeeping.is_some() && stayed.iter().any(|line| line.starts_with(&object))
    };
    for setting in arm.placement.all_settings().filter(|setting| !common(setting) && !refused(setting)) {
        if is_of_the_trial(setting) {
            planning.left_out.push(format!(
                "{} = {} in arm {}: the device exists only during a trial; name your own device",
                setting.object(),
                setting.value,
                arm.name
            ));
            continue;
        }
        // If the baseline sets it too, that value is what it was compared with.
        let of_baseline =
            baseline.and_then(|arm| arm.placement.settings.iter().find(|s| s.same_object(setting)));
        let before = of_baseline.or_else(|| facts.as_found.iter().find(|found| found.same_object(setting)));
        planning.plan.settings.push(Planned {
            knob: setting.knob.clone(),
            target: setting.target.clone(),
            value: setting.value.clone(),
            before: before.map(|found| found.value.clone()),
            reason: Some(reason(contrast)),
            evidence: Some(in_words(facts, contrast, arm)),
        });
    }
    boot_words(facts, contrast, arm, planning);
    if let Some(memory) = &arm.placement.memory {
        planning.left_out.push(format!(
            "memory {memory} in arm {}: a memory policy takes effect when the server starts; for a systemd service, add a setting of memory-policy",
            arm.name
        ));
    }
    let beside = |other: &&Neighbour| baseline.is_none_or(|arm| !arm.placement.neighbours.contains(other));
    for neighbour in arm.placement.neighbours.iter().filter(beside) {
        planning.left_out.push(format!(
            "'{}' on CPUs {} in arm {}: no knob decides which other programs run",
            neighbour.command, neighbour.cpus, arm.name
        ));
    }
    for (key, value) in &arm.keys {
        planning
            .left_out
            .push(format!("{key} = {value} in arm {}: it is a key of the recipe, not a knob", arm.name));
    }
}

/// Plans the boot parameters of the best arm, unless the baseline had the same.
fn boot_words(facts: &Facts, contrast: &Contrast, arm: &Arm, planning: &mut Planning) {
    let words = &arm.placement.boot_words;
    let baseline = facts.study.arms.iter().find(|arm| arm.role == Role::Baseline);
    let of_baseline = baseline.map_or(&[][..], |arm| &arm.placement.boot_words);
    if words == of_baseline {
        if !words.is_empty() {
            planning.left_out.push(format!(
                "boot parameters '{}': {} was measured with them, as was the baseline; to keep them, add a setting of {BOOT_PARAMETERS}",
                words.join(" "),
                arm.name
            ));
        }
        return;
    }
    if words.is_empty() {
        planning.left_out.push(format!(
            "no boot parameters for {}: those of the baseline were set by the study, and the machine boots without them anyway",
            arm.name
        ));
        return;
    }
    planning.plan.settings.push(Planned {
        knob: BOOT_PARAMETERS.into(),
        target: MACHINE.into(),
        value: words.join(" "),
        before: None,
        reason: Some(reason(contrast)),
        evidence: Some(in_words(facts, contrast, arm)),
    });
}

/// Whether its target exists only during a trial.
fn is_of_the_trial(setting: &Setting) -> bool {
    let namespace = setting.target.split_once(':').map(|(namespace, _)| namespace);
    NetnsPair::of_study().names.iter().any(|name| namespace == Some(name.as_str()))
}

fn reason(contrast: &Contrast) -> String {
    format!("{} was better than {}", contrast.arm, contrast.reference)
}

fn pinned(facts: &Facts, (contrast, arm): (&Contrast, &Arm), cpus: &CpuSet) -> Planned {
    Planned {
        knob: PIN.into(),
        target: SERVER.into(),
        value: cpus.to_list(),
        before: None,
        reason: Some(reason(contrast)),
        evidence: Some(in_words(facts, contrast, arm)),
    }
}

/// `requests_per_s +12 % (+8.1 % to +15 %) against unpinned, in 16 blocks`, followed by what speaks against it.
fn in_words(facts: &Facts, contrast: &Contrast, arm: &Arm) -> String {
    let caveats = caveats::of(facts, arm);
    let caveats: String = caveats.iter().map(|caveat| format!("; {}", caveat.words())).collect();
    format!(
        "{} {} against {}, in {} blocks{caveats}",
        facts.evidence.metric,
        loss::change(contrast.ratio, contrast.interval),
        contrast.reference,
        contrast.blocks
    )
}

/// A cause, with the settings that move it away.
struct Movable {
    /// In a few words, for messages only.
    title: String,
    /// What is claimed, in one sentence.
    claim: String,
    /// Whether it is proved, supported, and so on.
    standing: Standing,
    /// The outcome of the proof.
    proof: Option<String>,
    /// CPUs of the server on which it costs time.
    near: Option<CpuSet>,
    moved: Vec<Setting>,
    /// What its proof gained on the baseline, which is how the server runs now; `None` if it was proved on another placement.
    predicted: Option<Predicted>,
}

impl Movable {
    fn of_finding(finding: &Finding) -> Self {
        Self {
            title: finding.title.clone(),
            claim: finding.claim.clone(),
            standing: finding.standing,
            proof: finding.proof_words.clone(),
            near: finding.cpu.map(CpuSet::single),
            moved: finding.intervention.as_ref().map(moved_settings).unwrap_or_default(),
            predicted: None,
        }
    }

    /// From a claim about two arms; `None` if nothing moves its cause.
    fn of_claim(facts: &Facts, claim: &Claim, explanation: &Explanation) -> Option<Self> {
        let intervention = claim.intervention.as_ref()?;
        let (costlier, _) = claim.costlier_first(&explanation.arm, &explanation.against);
        let standing = match claim.support {
            Support::Proved => Standing::Proved,
            Support::Supported => Standing::Supported,
            Support::Possible => Standing::Possible,
            Support::Refuted => Standing::Refuted,
        };
        let arm = facts.study.arms.iter().find(|arm| arm.name == *costlier)?;
        let outcomes = claim.proof.iter().flat_map(|proof| &proof.outcomes);
        let better = outcomes.filter(|outcome| outcome.held && outcome.prediction.expect == Verdict::Better);
        let gain = better.filter_map(|outcome| outcome.contrast.as_ref()).next();
        Some(Self {
            title: proof_id(claim, &explanation.arm, &explanation.against),
            claim: claim.example.as_ref().map(|cause| cause.claim.clone()).unwrap_or_default(),
            standing,
            proof: claim
                .proof
                .as_ref()
                .filter(|proof| proof.holds())
                .map(|proof| format!("moved in {}, as predicted", proof.trials)),
            near: arm.placement.server_cpus.clone(),
            moved: moved_settings(intervention),
            predicted: gain.filter(|_| arm.role == Role::Baseline).map(|contrast| predicted(facts, contrast)),
        })
    }
}

/// The claims about arms against the baseline, each once, the most costly first.
fn claims(facts: &Facts) -> Vec<Movable> {
    let mut known: BTreeSet<(CauseId, String, String)> = BTreeSet::new();
    let mut all = Vec::new();
    for explanation in explain_all(facts) {
        for claim in &explanation.claims {
            let (costlier, cheaper) = claim.costlier_first(&explanation.arm, &explanation.against);
            let Some(movable) = Movable::of_claim(facts, claim, &explanation) else { continue };
            if known.insert((claim.id.clone(), costlier.clone(), cheaper.clone())) {
                all.push(movable);
            }
        }
    }
    all
}

/// Plans the settings that move a cause away, unless, for example, they would move it to the CPUs that the server will have. Returns whether
/// they are planned.
fn causes(
    facts: &Facts,
    cause: Movable,
    keep_off: Option<&CpuSet>,
    also_supported: bool,
    planning: &mut Planning,
) -> bool {
    let Movable { title, claim, standing, proof, near, moved, .. } = cause;
    if moved.is_empty() {
        return false;
    }
    let wanted = match standing {
        Standing::Proved => true,
        Standing::Supported => also_supported,
        _ => false,
    };
    if !wanted {
        planning.left_out.push(format!("{title}: it is {}, not proved", standing.word()));
        return false;
    }
    if let Some(cpus) = keep_off {
        let is_left = near.is_some_and(|near| near.intersection(cpus).is_empty());
        let comes_near =
            moved.iter().filter_map(named_cpus).any(|value| !value.intersection(cpus).is_empty());
        if is_left || comes_near {
            planning.left_out.push(format!(
                "{title}: the server will be on CPUs {cpus}, which the cause leaves alone or would move to"
            ));
            return false;
        }
    }
    if let Some(setting) = moved.iter().find(|setting| is_of_a_process(setting)) {
        planning.left_out.push(format!(
            "{title}: a process number is only valid while the process runs; for now: {}",
            apply_command(std::slice::from_ref(setting)).unwrap_or_default()
        ));
        return false;
    }
    let other = |setting: &Setting| {
        let mut known = planning.plan.settings.iter().map(Planned::setting);
        known.any(|known| known.same_object(setting) && known != *setting)
    };
    if moved.iter().any(other) {
        planning.left_out.push(format!("{title}: the plan already has another value for the same setting"));
        return false;
    }
    for setting in moved {
        if planning.plan.settings.iter().any(|planned| planned.setting() == setting) {
            continue;
        }
        let before = facts.as_found.iter().find(|found| found.same_object(&setting));
        planning.plan.settings.push(Planned {
            before: before.map(|found| found.value.clone()),
            reason: Some(claim.clone()),
            evidence: proof.clone(),
            knob: setting.knob,
            target: setting.target,
            value: setting.value,
        });
    }
    true
}

/// Whether its target is a process, given by its number.
fn is_of_a_process(setting: &Setting) -> bool {
    let is_number = !setting.target.is_empty() && setting.target.bytes().all(|byte| byte.is_ascii_digit());
    is_number && knobs::find(&setting.knob).is_some_and(|knob| knob.about().may_set == MaySet::OwnProcesses)
}

/// The settings in which the arm that is predicted to be better differs from its reference, which is as it was found.
fn moved_settings(intervention: &Intervention) -> Vec<Setting> {
    let arm = |name: &str| intervention.arms.iter().find(|arm| arm.name == name);
    let better = intervention.predictions.iter().find(|prediction| prediction.expect == Verdict::Better);
    let pair = better.and_then(|prediction| arm(&prediction.arm).zip(arm(&prediction.reference)));
    let Some((moved, as_found)) = pair else { return Vec::new() };
    let others = moved.placement.settings.iter().filter(|s| !as_found.placement.settings.contains(s));
    others.cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case_builder::steered;
    use crate::examine;

    #[test]
    fn what_is_not_proved_is_not_planned_and_said() {
        let facts = steered();
        let findings = examine(&facts);
        let planning = plan(&facts, &findings, false);
        assert!(planning.plan.settings.iter().all(|planned| planned.knob != "rps-cpus"));
        assert!(planning.left_out.iter().any(|why| why.contains("not proved")), "{:?}", planning.left_out);
    }

    #[test]
    fn a_proved_cause_is_moved_as_it_was_in_the_proof() {
        let facts = steered();
        let mut findings = examine(&facts);
        findings.iter_mut().for_each(|finding| finding.standing = Standing::Proved);
        let planning = plan(&facts, &findings, false);
        let moved = planning.plan.settings.iter().find(|planned| planned.knob == "rps-cpus");
        let pinned = planning.plan.settings.iter().find(|planned| planned.knob == PIN);
        // Either the server leaves the CPU, or the cause does: not both.
        assert!(moved.is_some() != pinned.is_some(), "{:?} {:?}", planning.plan, planning.left_out);
        assert_eq!(planning.plan.predicted.is_some(), pinned.is_some(), "a cause was measured elsewhere");
        if let Some(moved) = moved {
            assert_eq!((moved.target.as_str(), moved.before.as_deref()), ("eth0/rx-0", Some("0")));
            assert_ne!(moved.value, "0");
        }
    }

    fn movable(support: Standing, setting: (&str, &str, &str)) -> Movable {
        let (knob, target, value) = setting;
        let moved = vec![Setting { knob: knob.into(), target: target.into(), value: value.into() }];
        let (title, claim) = ("device-interrupts/irq:36 costs cpu 1 more than cpu 0".into(), "x".into());
        Movable {
            title,
            claim,
            standing: support,
            proof: None,
            near: Some(CpuSet::single(1)),
            moved,
            predicted: None,
        }
    }

    #[test]
    fn of_claims_those_are_planned_that_were_proved_and_stay_in_the_servers_way() {
        let irq = ("irq-affinity", "36", "0");
        let plan_of = |standing, setting, keep_off: Option<&CpuSet>| {
            let mut planning = Planning { plan: Plan::default(), left_out: Vec::new() };
            causes(&steered(), movable(standing, setting), keep_off, false, &mut planning);
            (planning.plan.settings.len(), planning.left_out.join("; "))
        };
        assert_eq!(plan_of(Standing::Proved, irq, None), (1, String::new()));
        assert!(plan_of(Standing::Supported, irq, None).1.contains("it is supported, not proved"));
        let near = CpuSet::single(1);
        assert_eq!(plan_of(Standing::Proved, irq, Some(&near)).0, 1, "the server stays, the cause goes");
        let away = CpuSet::single(2);
        assert!(plan_of(Standing::Proved, irq, Some(&away)).1.contains("leaves alone"));
        let both = CpuSet::from_list("0-1").unwrap();
        assert!(plan_of(Standing::Proved, irq, Some(&both)).1.contains("would move to"));
        let off = ("busy-poll", "machine", "0");
        assert_eq!(plan_of(Standing::Proved, off, Some(&both)), (1, String::new()), "0 is not CPU 0");
        // A process number may be that of another process tomorrow.
        let hog = plan_of(Standing::Proved, ("process-affinity", "4711", "0"), None);
        assert!(hog.0 == 0 && hog.1.contains("pinwise apply --set process-affinity:4711=0"), "{hog:?}");
    }

    #[test]
    fn a_proved_cause_is_not_moved_onto_the_cpus_where_the_server_stays() {
        let mut facts = steered();
        let intervention = examine(&facts).remove(0).intervention.unwrap();
        let moved_to = CpuSet::from_list(&moved_settings(&intervention)[0].value).unwrap();
        let baselines = facts.study.arms.iter_mut().filter(|arm| arm.role == Role::Baseline);
        baselines.for_each(|arm| arm.placement.server_cpus = Some(moved_to.clone()));
        let mut findings = examine(&facts);
        findings.iter_mut().for_each(|finding| finding.standing = Standing::Proved);
        let planning = plan(&facts, &findings, false);
        assert!(planning.plan.settings.is_empty(), "{:?}", planning.plan);
        let said = planning.left_out.iter().any(|why| why.contains("the server will be on CPUs"));
        assert!(said, "{:?}", planning.left_out);
    }

    #[test]
    fn of_a_case_whose_controls_failed_nothing_is_planned() {
        let mut facts = steered();
        facts.evidence.trust = Trust::TooFew { blocks: 3, needed: 6 };
        let planning = plan(&facts, &examine(&facts), true);
        assert!(planning.plan.settings.is_empty() && planning.left_out.len() == 1);
    }

    #[test]
    fn a_better_placement_pins_the_server_with_its_figure() {
        let mut facts = steered();
        let cpu_2 =
            facts.evidence.against_baseline.iter_mut().find(|contrast| contrast.cpu == Some(2)).unwrap();
        (cpu_2.verdict, cpu_2.ratio, cpu_2.interval) = (Verdict::Better, 1.2, Some((1.15, 1.25)));
        let mut findings = examine(&facts);
        findings.iter_mut().for_each(|finding| finding.standing = Standing::Proved);
        let planning = plan(&facts, &findings, false);
        let [pinned] = &planning.plan.settings[..] else { panic!("{:?}", planning.plan) };
        assert_eq!((pinned.knob.as_str(), pinned.target.as_str(), pinned.value.as_str()), (PIN, SERVER, "2"));
        assert!(pinned.evidence.as_ref().unwrap().contains("+20 % (+15 % to +25 %)"), "{pinned:?}");
        assert!(
            !pinned.evidence.as_ref().unwrap().contains("clients"),
            "how many CPUs it had is not known: {pinned:?}"
        );
        let predicted = planning.plan.predicted.as_ref().unwrap();
        assert_eq!((predicted.ratio, predicted.low, predicted.high), (1.2, Some(1.15), Some(1.25)));
        assert!(planning.left_out.iter().any(|why| why.contains("leaves alone")), "{:?}", planning.left_out);
    }

    #[test]
    fn a_placement_that_was_measured_beside_its_load_says_so_in_the_plan() {
        let mut facts = steered();
        let cpu = |id| machine::topology::cpus::Cpu { id, online: true, ..Default::default() };
        facts.machine.cpus = (0..4).map(cpu).collect();
        let cpu_2 =
            facts.evidence.against_baseline.iter_mut().find(|contrast| contrast.cpu == Some(2)).unwrap();
        (cpu_2.verdict, cpu_2.ratio, cpu_2.interval) = (Verdict::Better, 1.2, Some((1.15, 1.25)));
        let planning = plan(&facts, &[], false);
        let [pinned] = &planning.plan.settings[..] else { panic!("{:?}", planning.plan) };
        let evidence = pinned.evidence.as_ref().unwrap();
        assert!(
            evidence.contains("CPU 2 where it had 4 CPUs: if your clients are on other hosts"),
            "{evidence}"
        );
    }

    #[test]
    fn the_words_of_the_better_boot_are_a_setting_that_lasts() {
        let mut facts = steered();
        let contrasts = &mut facts.evidence.against_baseline;
        let better = contrasts.iter_mut().find(|contrast| contrast.cpu == Some(2)).unwrap();
        (better.verdict, better.ratio, better.interval) = (Verdict::Better, 1.2, Some((1.15, 1.25)));
        let name = better.arm.clone();
        let arm = facts.study.arms.iter_mut().find(|arm| arm.name == name).unwrap();
        arm.placement.server_cpus = None;
        arm.placement.boot_words = vec!["nosmt".into(), "mitigations=off".into()];
        let planning = plan(&facts, &[], false);
        let [kept] = &planning.plan.settings[..] else { panic!("{:?}", planning.plan) };
        assert_eq!((kept.knob.as_str(), kept.target.as_str()), (BOOT_PARAMETERS, MACHINE));
        assert_eq!(kept.value, "nosmt mitigations=off");
        // If the baseline has the same words, they are not what this arm gains by.
        let words =
            facts.study.arms.iter().find(|arm| arm.name == name).unwrap().placement.boot_words.clone();
        facts.study.arms.iter_mut().for_each(|arm| arm.placement.boot_words.clone_from(&words));
        let planning = plan(&facts, &[], false);
        assert!(planning.plan.settings.is_empty() && planning.left_out[0].contains("nosmt"), "{planning:?}");
    }

    #[test]
    fn what_the_better_arm_sets_is_planned_and_what_no_knob_sets_is_told() {
        let mut facts = steered();
        let contrasts = &mut facts.evidence.against_baseline;
        let better = contrasts.iter_mut().find(|contrast| contrast.cpu == Some(2)).unwrap();
        (better.verdict, better.ratio, better.interval) = (Verdict::Better, 1.2, Some((1.15, 1.25)));
        let name = better.arm.clone();
        let set = |knob: &str, value: &str| Setting {
            knob: knob.into(),
            target: "machine".into(),
            value: value.into(),
        };
        facts.as_found.push(set("swappiness", "60"));
        for arm in &mut facts.study.arms {
            arm.placement.set(&[set("busy-poll", "0"), set("vm-stat-interval", "1")]);
        }
        let arm = facts.study.arms.iter_mut().find(|arm| arm.name == name).unwrap();
        arm.placement.set(&[set("swappiness", "1"), set("busy-poll", "50")]);
        arm.placement.server_cpus = None;
        arm.placement.memory = Some("interleave:0-1".parse().unwrap());
        let planning = plan(&facts, &[], false);
        let settings: Vec<_> = planning.plan.settings.iter().collect();
        let parts = |planned: &Planned| (planned.knob.clone(), planned.value.clone(), planned.before.clone());
        let expected = [("swappiness", "1", "60"), ("busy-poll", "50", "0")];
        let expected = expected.map(|(knob, value, before)| (knob.into(), value.into(), Some(before.into())));
        assert_eq!(settings.into_iter().map(parts).collect::<Vec<_>>(), expected);
        let [left_out] = &planning.left_out[..] else { panic!("{:?}", planning.left_out) };
        assert!(left_out.contains("interleave:0-1") && left_out.contains("memory-policy"), "{left_out}");
    }
}
