//! The small study that would prove or refute a claim: the cause is removed from the arm that it costs more, and added to the other.

use machine::plan::PIN;
use machine::{CpuSet, Setting};
use study::{Arm, Intervention, Prediction, Role, Verdict};

use super::claim::Claim;
use crate::diagnosis::Subject;

/// Knobs whose value is the CPUs of the cause, so that it can be moved to those of the other arm.
const MOVES: [&str; 3] = [PIN, "irq-affinity", "rps-cpus"];

/// How the names of arms end.
const AS_FOUND: &str = "as found";
const AWAY: &str = "cause away";
const HERE: &str = "cause here";

/// The intervention; `None` if no knob takes the cause away, if the object to set ends with the trial, or if it is the server that would be
/// moved.
///
/// `costlier` is the arm that the claim costs more. Where the cause can be put onto CPUs and both arms pin the server to different ones, it
/// is also brought to `cheaper`, which must become slower: both directions.
pub fn intervention(claim: &Claim, costlier: &Arm, cheaper: &Arm) -> Option<Intervention> {
    let causes_own = |setting: &Setting| !places_the_server(claim, setting);
    let mut settings = claim.example.as_ref()?.remedies.iter().filter_map(|remedy| remedy.setting.clone());
    let setting = settings.find(causes_own)?;
    let there = cheaper.placement.server_cpus.clone().filter(|cpus| can_be_brought(&setting, costlier, cpus));
    // If it is brought to the cheaper arm, it is away from the costlier one, too.
    let away = match &there {
        Some(cpus) => Setting { value: cpus.to_list(), ..setting.clone() },
        None => setting.clone(),
    };
    let mut arms = vec![with(costlier, AS_FOUND, None), with(costlier, AWAY, Some(&away))];
    let mut predictions =
        vec![prediction(&arms[1], &arms[0], Verdict::Better, "becomes faster when the cause is taken away")];
    if there.is_some() {
        let (found, here) = (with(cheaper, AS_FOUND, None), with(cheaper, HERE, Some(&away)));
        predictions.push(prediction(
            &here,
            &found,
            Verdict::Worse,
            "becomes slower when the cause is brought to it",
        ));
        arms.extend([found, here]);
    }
    let what = format!("{} = {} instead of as it was found", away.object(), away.value);
    Some(Intervention { what, arms, predictions })
}

/// Whether the setting puts the server itself on other CPUs: that is another placement, with which the cause is not moved.
fn places_the_server(claim: &Claim, setting: &Setting) -> bool {
    setting.knob == PIN && claim.id.subject == Subject::Server
}

/// Whether the setting says on which CPUs the cause is, and these are others than those of the arm.
fn can_be_brought(setting: &Setting, costlier: &Arm, cpus: &CpuSet) -> bool {
    let apart = costlier.placement.server_cpus.as_ref().is_some_and(|own| own.intersection(cpus).is_empty());
    apart && MOVES.contains(&setting.knob.as_str())
}

fn with(arm: &Arm, state: &str, setting: Option<&Setting>) -> Arm {
    let mut placement = arm.placement.clone();
    placement.set(setting.map_or(&[][..], std::slice::from_ref));
    let keys = arm.keys.clone();
    Arm { cpu: arm.cpu, keys, ..Arm::new(format!("{}, {state}", arm.name), Role::Intervention, placement) }
}

fn prediction(arm: &Arm, reference: &Arm, expect: Verdict, words: &str) -> Prediction {
    let of = reference.name.strip_suffix(AS_FOUND).unwrap_or(&reference.name).trim_end_matches([',', ' ']);
    Prediction {
        arm: arm.name.clone(),
        reference: reference.name.clone(),
        expect,
        words: format!("{of} {words}"),
    }
}
