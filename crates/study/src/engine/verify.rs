//! Verifying a plan: the baseline as it was against the plan in force, as a fresh study with the same controls.

use std::collections::BTreeSet;

use machine::plan::{BOOT_PARAMETERS, PIN, Predicted, SERVER};
use machine::{Class, CpuSet, Fault, Placement, Plan, Setting};
use serde::{Deserialize, Serialize};

use super::small_study;
use crate::arm::{Arm, Role};
use crate::case::Case;
use crate::evidence::{self, Contrast, Trust, Verdict};
use crate::recipe::Direction;
use crate::trial::Misplaced;

/// Name of the arm with the plan in force.
pub const APPLIED: &str = "as planned";

/// The folder of a case for the cases of its verifications.
const FOLDER: &str = "verify";

/// What is claimed by a verification: one contrast.
const CLAIMS: usize = 1;

/// What a verification says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verified {
    /// Whether the plan is better than what was before: that and nothing less keeps it.
    pub holds: bool,
    /// The plan against the baseline; `None` with too few complete blocks.
    pub contrast: Option<Contrast>,
    /// What the plan was expected to bring, of the same metric; `None` where it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicted: Option<Predicted>,
    /// How that and what came out fit; `None` where one of them is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_predicted: Option<AsPredicted>,
    /// Whether the controls hold.
    pub trust: Trust,
    /// The same placement twice.
    pub a_a: Option<Contrast>,
    /// What is compared.
    pub metric: String,
    /// Unit of the metric.
    pub unit: String,
    /// Folder of its trials within the case.
    pub trials: String,
    /// Settings whose value before the plan is not known: they are as planned in all arms, and not judged.
    pub not_judged: Vec<Setting>,
    /// What read back otherwise in trials of the plan: then it was not the plan that was measured.
    pub not_as_asked: Vec<String>,
    /// Where the server ran instead of where the plan puts it, in the first trial of the plan in which it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub misplaced: Option<Misplaced>,
}

/// How a prediction and what came out fit. Both are known to their intervals only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AsPredicted {
    /// Their intervals overlap.
    Fits,
    /// It brought less.
    Less,
    /// It brought more.
    More,
}

impl AsPredicted {
    /// Compares ratios of one metric; `None` where an interval is missing.
    fn of(predicted: &Predicted, contrast: &Contrast, better: Direction) -> Option<Self> {
        let (low, high) = contrast.interval?;
        let (from, to) = predicted.low.zip(predicted.high).filter(|(from, to)| from <= to)?;
        match (high < from, low > to, better) {
            (false, false, _) => Some(Self::Fits),
            (true, _, Direction::Higher) | (_, true, Direction::Lower) => Some(Self::Less),
            _ => Some(Self::More),
        }
    }
}

/// Makes the case of a verification under `verify/` of `case`.
///
/// Errors: the plan has nothing to compare; the folder cannot be written.
pub fn open(case: &Case, plan: &Plan) -> Result<Case, Fault> {
    let arms = arms(&case.study.arms, plan)?;
    let number = next_number(case);
    if let Some(unfinished) = unfinished(case, number, plan)? {
        return Ok(unfinished);
    }
    let verification =
        small_study::create(case, (FOLDER, &name(number)), arms, CLAIMS, 0x517c_c1b7 + number)?;
    verification.write("plan.toml", plan.to_toml()?.as_bytes())?;
    Ok(verification)
}

/// The first that is free, from 1 on.
fn next_number(case: &Case) -> u64 {
    let folder = case.dir().join(FOLDER);
    (1..).find(|number| !folder.join(name(*number)).exists()).unwrap_or(1)
}

fn name(number: u64) -> String {
    format!("{number:04}")
}

/// The verification before `number`, if it was of the same plan and was stopped in the middle.
fn unfinished(case: &Case, number: u64, plan: &Plan) -> Result<Option<Case>, Fault> {
    let last = name(number - 1);
    let of_last = case.dir().join(FOLDER).join(&last).join("plan.toml");
    if Plan::read(&of_last).ok().as_ref() != Some(plan) {
        return Ok(None);
    }
    let earlier = case.resume_below(FOLDER, &last)?;
    Ok(earlier.filter(|earlier| earlier.next().is_some()))
}

/// Refuses a plan that a verification cannot see, whose trials run under the kernel that runs now.
///
/// # Errors
/// It has boot parameters.
pub fn goes_across_no_boots(plan: &Plan) -> Result<(), Fault> {
    if plan.settings.iter().all(|planned| planned.knob != BOOT_PARAMETERS) {
        return Ok(());
    }
    let cause = "they take effect at boot, and a verification does not span reboots";
    let remedy = "study them anew, alone: a recipe with a factor of kind boot and these words as its level (docs/boot.md); or take the \
                  setting out of the plan (--plan) and verify the rest under the kernel that runs";
    Err(Fault::new(Class::Usage, "plan: boot-parameters", cause, remedy))
}

/// The baseline twice with the values before the plan, the plan, and the study's mis-tuning.
fn arms(study: &[Arm], plan: &Plan) -> Result<Vec<Arm>, Fault> {
    goes_across_no_boots(plan)?;
    let before: Vec<Setting> = plan.settings.iter().filter_map(before).collect();
    let unknown = not_judged(plan);
    let pin = pin(plan)?;
    if before.is_empty() && pin.is_none() {
        let cause = "no setting gives the value before it, and none places the server: there is nothing to compare with";
        return Err(Fault::new(Class::Usage, "plan", cause, "add before = \"...\" to its settings"));
    }
    let of = |role: Role| study.iter().filter(move |arm| arm.role == role);
    // All under the kernel that runs.
    let unbooted = |arm: &Arm| {
        let placement = Placement { boot_words: Vec::new(), ..arm.placement.clone() };
        Arm { placement, ..arm.clone() }
    };
    let mut arms: Vec<Arm> = of(Role::Baseline).map(unbooted).collect();
    let Some(first) = arms.first().cloned() else {
        return Err(Fault::new(
            Class::Usage,
            "study",
            "has no baseline",
            "run the study again with this version",
        ));
    };
    let mis_tunings: Vec<Arm> =
        study.iter().filter(|arm| arm.role.is_positive_control()).map(unbooted).collect();
    let studied = of(Role::Candidate).find(|arm| pin.is_some() && arm.placement.server_cpus == pin);
    let Arm { mut placement, keys, .. } = studied.map(unbooted).unwrap_or(first);
    placement.server_cpus = pin.or(placement.server_cpus);
    let planned: Vec<Setting> =
        plan.settings.iter().map(|planned| planned.setting()).filter(|s| !is_pin(s)).collect();
    placement.set(&planned);
    arms.extend(mis_tunings);
    for arm in &mut arms {
        arm.placement.set(&before);
        arm.placement.set(&unknown);
    }
    arms.push(Arm { keys, ..Arm::new(APPLIED, Role::Intervention, placement) });
    Ok(arms)
}

fn before(planned: &machine::Planned) -> Option<Setting> {
    let setting = Setting { value: planned.before.clone()?, ..planned.setting() };
    (!is_pin(&setting)).then_some(setting)
}

fn not_judged(plan: &Plan) -> Vec<Setting> {
    let unknown = plan.settings.iter().filter(|planned| planned.before.is_none());
    unknown.map(|planned| planned.setting()).filter(|setting| !is_pin(setting)).collect()
}

fn is_pin(setting: &Setting) -> bool {
    setting.knob == PIN && setting.target == SERVER
}

/// The CPUs that the plan gives the server.
fn pin(plan: &Plan) -> Result<Option<CpuSet>, Fault> {
    let pin = plan.settings.iter().map(|planned| planned.setting()).find(is_pin);
    let parsed = pin.map(|setting| CpuSet::from_list(&setting.value)).transpose();
    parsed.map_err(|why| {
        Fault::new(Class::Usage, format!("{PIN} of {SERVER}"), why, "write a CPU list such as 0-3,8")
    })
}

/// What the finished trials of a verification say.
pub fn conclude(verification: &Case, plan: &Plan) -> Verified {
    let study = &verification.study;
    let evidence = evidence::of_case(study, &verification.trials);
    let contrast = evidence.against_baseline.iter().find(|contrast| contrast.arm == APPLIED).cloned();
    let sound = evidence.trust == Trust::Sound;
    let dir = verification.dir();
    let is_judged = evidence.trust == Trust::Sound
        && !verification.trials.iter().any(|trial| trial.arm == APPLIED && trial.as_run.misplaced.is_some());
    let predicted = plan.predicted.clone().filter(|predicted| predicted.metric == evidence.metric);
    let as_predicted = predicted.as_ref().zip(contrast.as_ref()).filter(|_| is_judged);
    let as_predicted =
        as_predicted.and_then(|(predicted, contrast)| AsPredicted::of(predicted, contrast, evidence.better));
    let of_plan = verification.trials.iter().filter(|trial| trial.arm == APPLIED);
    let misplaced = of_plan.clone().find_map(|trial| trial.as_run.misplaced.clone());
    let otherwise: BTreeSet<String> = of_plan.flat_map(|trial| trial.as_run.not_as_asked.clone()).collect();
    Verified {
        holds: sound
            && otherwise.is_empty()
            && misplaced.is_none()
            && contrast.as_ref().is_some_and(|contrast| contrast.verdict == Verdict::Better),
        contrast,
        predicted,
        as_predicted,
        trust: evidence.trust,
        a_a: evidence.a_a,
        metric: evidence.metric,
        unit: evidence.unit,
        trials: format!("{FOLDER}/{}", dir.file_name().unwrap_or_default().to_string_lossy()),
        not_judged: not_judged(plan),
        not_as_asked: otherwise.into_iter().collect(),
        misplaced,
    }
}

#[cfg(test)]
mod tests {
    use machine::Planned;

    use super::*;
    use crate::arm::each_cpu_in_turn;

    fn planned(knob: &str, target: &str, value: &str, before: Option<&str>) -> Planned {
        Planned {
            knob: knob.into(),
            target: target.into(),
            value: value.into(),
            before: before.map(String::from),
            ..Planned::default()
        }
    }

    fn study() -> Vec<Arm> {
        let cpus = CpuSet::from_list("0-1").unwrap();
        each_cpu_in_turn(&cpus, &cpus, None).unwrap()
    }

    #[test]
    fn a_prediction_fits_where_the_intervals_overlap() {
        let predicted = |low, high| Predicted {
            metric: "m".into(),
            ratio: 1.0,
            low: Some(low),
            high: Some(high),
            arm: "cpu 1".into(),
        };
        let contrast = Contrast {
            arm: APPLIED.into(),
            cpu: None,
            reference: "unpinned".into(),
            blocks: 9,
            ratio: 1.1,
            interval: Some((1.05, 1.15)),
            p_adjusted: 0.01,
            verdict: Verdict::Better,
            whose: None,
        };
        let of = |low, high, better| AsPredicted::of(&predicted(low, high), &contrast, better);
        assert_eq!(of(1.14, 1.3, Direction::Higher), Some(AsPredicted::Fits));
        assert_eq!(of(1.2, 1.3, Direction::Higher), Some(AsPredicted::Less));
        assert_eq!(of(0.9, 1.0, Direction::Higher), Some(AsPredicted::More));
        assert_eq!(of(1.2, 1.3, Direction::Lower), Some(AsPredicted::More), "less latency than predicted");
        assert_eq!(of(0.9, 1.0, Direction::Lower), Some(AsPredicted::Less));
        assert_eq!(of(f64::NAN, f64::NAN, Direction::Higher), None);
        let without = Contrast { interval: None, ..contrast.clone() };
        assert_eq!(AsPredicted::of(&predicted(1.0, 1.1), &without, Direction::Higher), None);
    }

    #[test]
    fn the_baseline_is_as_it_was_and_the_plan_as_it_was_studied() {
        let settings = vec![
            planned("irq-affinity", "38", "0", Some("0-1")),
            planned("swappiness", "machine", "1", None),
            planned(PIN, SERVER, "1", None),
        ];
        let arms = arms(&study(), &Plan { settings, ..Plan::default() }).unwrap();
        let names: Vec<&str> = arms.iter().map(|arm| arm.name.as_str()).collect();
        assert_eq!(names, ["unpinned A", "unpinned B", "dose on cpu 0", APPLIED]);
        let values = |arm: &Arm| arm.placement.settings.iter().map(|s| s.value.clone()).collect::<Vec<_>>();
        for arm in &arms[..3] {
            assert_eq!(values(arm), ["0-1", "1"], "{}: what was before is not known of the second", arm.name);
        }
        assert_eq!(values(&arms[3]), ["0", "1"]);
        assert_eq!(arms[3].placement.server_cpus, Some(CpuSet::single(1)));
        assert_eq!(arms[3].placement.load_cpus, Some(CpuSet::single(0)), "as in the arm that was studied");
    }

    #[test]
    fn a_plan_without_anything_to_compare_with_is_refused() {
        let plan = |settings| Plan { settings, ..Plan::default() };
        let fault = arms(&study(), &plan(vec![planned("swappiness", "machine", "1", None)])).unwrap_err();
        assert!(fault.cause.contains("nothing to compare"), "{fault}");
        let fault =
            arms(&study(), &plan(vec![planned("boot-parameters", "machine", "nosmt", None)])).unwrap_err();
        assert!(fault.remedy.contains("kind boot"), "{fault}");
        assert!(arms(&study(), &plan(vec![planned(PIN, SERVER, "x", None)])).is_err());
    }
}
