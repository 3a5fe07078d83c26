//! Arms that are placed, but on the very CPUs that the baseline uses. Pure.

use machine::{CpuSet, Placement};

use super::{Evidence, Verdict};
use crate::arm::{Arm, Role};
use crate::case::Resolved;
use crate::trial::Trial;

/// [`of`] a study.
pub(super) fn notes(evidence: &Evidence, study: &Resolved, trials: &[Trial]) -> Vec<String> {
    let are_started_here = study.recipe.server.running.is_none() && study.recipe.hosts.is_empty();
    of(evidence, &study.arms, trials, are_started_here)
}

/// A sentence for each arm with a claim against the baseline that sets nothing but CPUs, and in which the kernel let server and load use the
/// same CPUs as in the baseline: their place does not make the difference. `are_started_here`: server and load are started by pinwise on this host.
fn of(evidence: &Evidence, arms: &[Arm], trials: &[Trial], are_started_here: bool) -> Vec<String> {
    let Some(baseline) = arms.iter().find(|arm| arm.role == Role::Baseline) else { return Vec::new() };
    let contrasts = evidence.against_baseline.iter();
    let claimed = contrasts.filter(|contrast| matches!(contrast.verdict, Verdict::Better | Verdict::Worse));
    let arms = claimed.filter_map(|contrast| arms.iter().find(|arm| arm.name == contrast.arm));
    let is_allowed_alike = |arm: &Arm| {
        let of_arm = allowed(arm, trials, are_started_here);
        of_arm.is_some() && of_arm == allowed(baseline, trials, are_started_here)
    };
    let alike = arms.filter(|arm| sets_cpus_alone(arm, baseline) && is_allowed_alike(arm));
    let words = |arm: &Arm| {
        format!(
            "{} may use the same CPUs as {}: their place does not make the difference. Either an affinity that is set does (a scheduler that \
             packs tasks onto few CPUs leaves such tasks alone), or chance",
            arm.name,
            baseline.title()
        )
    };
    alike.map(words).collect()
}

/// Whether an arm differs from the baseline in the CPUs of server and load, and in nothing else.
fn sets_cpus_alone(arm: &Arm, baseline: &Arm) -> bool {
    let with_its_cpus = Placement {
        server_cpus: arm.placement.server_cpus.clone(),
        load_cpus: arm.placement.load_cpus.clone(),
        ..baseline.placement.clone()
    };
    arm.placement == with_its_cpus && arm.keys == baseline.keys
}

/// The CPUs that the kernel let server and load use in the trials of an arm, the latter `None` if it was not placed and its CPUs are not known;
/// `None` if trials differ, or it is not known of the server. A load that is not placed has the CPUs of a server that is not placed either, if
/// pinwise starts both.
fn allowed<'a>(
    arm: &Arm,
    trials: &'a [Trial],
    are_started_here: bool,
) -> Option<(&'a CpuSet, Option<&'a CpuSet>)> {
    let are_alike = are_started_here && arm.placement.server_cpus.is_none();
    let of_arm = trials.iter().filter(|trial| trial.arm == arm.name);
    let mut sets = of_arm.map(|trial| {
        let server = trial.as_run.server_allowed.as_ref()?;
        Some((server, trial.as_run.load_allowed.as_ref().or(are_alike.then_some(server))))
    });
    let first = sets.next()??;
    sets.all(|sets| sets == Some(first)).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{set, simulate, weigh_all};
    use super::*;
    use crate::arm::each_cpu_in_turn;
    use crate::trial::AsRun;

    #[test]
    fn an_arm_on_the_cpus_of_the_baseline_is_not_better_by_its_place() {
        let arms = each_cpu_in_turn(&set("0-1"), &set("0-1"), None).unwrap();
        let gains = |arm: &Arm| if arm.cpu.is_some() { 0.4 } else { 0.0 };
        let trials = simulate(&arms, 14, 1, gains);
        let evidence = weigh_all(&arms, &trials);
        let better = evidence.against_baseline.iter().filter(|contrast| contrast.verdict == Verdict::Better);
        let better = better.count();
        assert!(better > 0, "{:?}", evidence.against_baseline);
        // The engine records the CPUs of a load that it places, and of no other.
        let load_of = |trial: &Trial| (!trial.arm.starts_with("unpinned")).then(|| set("0-1"));
        let of_servers = |server: fn(&Trial) -> CpuSet, are_started_here: bool| {
            let seen = |trial: &Trial| AsRun {
                server_allowed: Some(server(trial)),
                load_allowed: load_of(trial),
                ..AsRun::default()
            };
            let trials: Vec<Trial> =
                trials.iter().map(|trial| Trial { as_run: seen(trial), ..trial.clone() }).collect();
            of(&evidence, &arms, &trials, are_started_here)
        };
        let said = |server| of_servers(server, true);
        let alike = said(|_| set("0-1"));
        assert_eq!(alike.len(), better, "{alike:?}");
        assert!(alike[0].contains("same CPUs"), "{alike:?}");
        let apart = said(|trial| if trial.arm.starts_with("cpu") { set("1") } else { set("0-1") });
        assert!(apart.is_empty(), "{apart:?}");
        assert!(of(&evidence, &arms, &trials, true).is_empty(), "where they ran is not known");
        let elsewhere = of_servers(|_| set("0-1"), false);
        assert!(elsewhere.is_empty(), "the CPUs of a load on another host are not known: {elsewhere:?}");
    }
}
