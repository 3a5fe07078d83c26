//! What stands behind the answer, a sentence each.

use advise::Finding;
use study::evidence::{ArmStanding, Outcome, Whose};
use study::{Contrast, Evidence, Facts, Trust, Verdict};

use super::answer::{gain, others, worse_in_words};
use super::{broken, dose_helped, sentence_start};
use crate::case::control_words;
use crate::case::result_words;
use crate::number;

/// The points, most important first.
pub(super) fn of(facts: &Facts, findings: &[Finding]) -> Vec<String> {
    let evidence = &facts.evidence;
    let mut points: Vec<String> = expected(evidence).into_iter().collect();
    points.extend(evidence.slow_cpus().into_iter().map(|slow| slow_in_words(evidence, slow, findings)));
    points.extend(unknown_side(evidence));
    points.extend(
        evidence.not_the_servers().into_iter().map(|worse| not_the_servers(evidence, worse, findings)),
    );
    points.extend(standings(evidence));
    points.extend(gain_over_baseline(facts));
    // Beside a break; else it is the answer.
    points.extend(
        worse_in_words(facts).filter(|_| broken::title(evidence).is_some()).map(|words| format!("{words}.")),
    );
    points.extend(worse_by_another_figure(evidence));
    points.extend(control_better_than_all(evidence));
    points.extend(what_to_do(evidence));
    points.extend(unfinished(facts));
    points
}

/// How many of the expectations hold.
fn expected(evidence: &Evidence) -> Option<String> {
    let all = &evidence.expectations;
    let count = |wanted: fn(&Outcome) -> bool| all.iter().filter(|judged| wanted(&judged.outcome)).count();
    let (passed, failed) = (count(|of| *of == Outcome::Passed), count(|of| *of == Outcome::Failed));
    let open = all.len() - passed - failed;
    let parts = [(passed, "passed"), (failed, "failed"), (open, "not decided")];
    let parts: Vec<String> =
        parts.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
    (!all.is_empty()).then(|| format!("Expectations: {}.", parts.join(", ")))
}

fn slow_in_words(evidence: &Evidence, slow: &Contrast, findings: &[Finding]) -> String {
    let why = match result_words::cause(findings, slow.cpu) {
        None => "no rule explains it".into(),
        Some(finding) => format!("{} ({})", finding.title, finding.standing.word()),
    };
    format!(
        "{}: {} against {}. Why: {why}.",
        sentence_start(&slow.arm),
        number::change_with_interval(slow.ratio, slow.interval),
        others(evidence),
    )
}

/// That nothing says on whose side the time is lost, once for all CPUs.
fn unknown_side(evidence: &Evidence) -> Option<String> {
    let is_unknown = evidence.slow_cpus().iter().any(|slow| slow.whose == Some(Whose::Unknown));
    is_unknown.then(|| {
        "Whether the server or the load lost the time is not known: the trials do not say how busy they were.".into()
    })
}

fn not_the_servers(evidence: &Evidence, worse: &Contrast, findings: &[Finding]) -> String {
    let size = number::change_with_interval(worse.ratio, worse.interval);
    let (name, others) = (sentence_start(&worse.arm), others(evidence));
    match worse.whose {
        Some(Whose::Load) => format!(
            "Server on {name}: {size} against {others}. It is the load that loses the time: {name} is not slow for the server. Give the \
             load other CPUs (--load-cpus)."
        ),
        _ => match result_words::cause(findings, worse.cpu) {
            Some(finding) => format!(
                "Server on {name}: {size} against {others}. Why: {} ({}).",
                finding.title,
                finding.standing.word()
            ),
            None => format!(
                "Server on {name}: {size} against {others}. Server and load changed CPUs together. Keep the load on a CPU of its own \
                 (--load-cpus) to see whose CPU is slow."
            ),
        },
    }
}

/// Arms whose trials were not what they ask for.
fn standings(evidence: &Evidence) -> Vec<String> {
    let mut points: Vec<String> = evidence
        .standings
        .iter()
        .map(|(arm, standing)| {
            let then = match standing {
                ArmStanding::Harmful { .. } => "it did not run again",
                // Under a server's own traffic it is harm, unless nobody asked.
                ArmStanding::Starved { .. } if evidence.harm.is_some() => {
                    "it did not run again; a lull of the traffic as deep as that looks the same"
                }
                ArmStanding::Starved { .. } | ArmStanding::Misplaced { .. } => "nothing is claimed about it",
            };
            format!("{}: {}; {then}.", sentence_start(arm), control_words::standing(standing))
        })
        .collect();
    let misplaced = evidence.against_baseline.iter().any(|contrast| contrast.verdict == Verdict::NotAsAsked);
    if misplaced {
        points.push(
            "A server that sets its own affinity undoes its placement: switch that off in its settings, or confine it to a cpuset \
             (--key server.confine=true)."
                .into(),
        );
    }
    points
}

/// What is gained over the baseline, if anything is, and where server and load were then.
fn gain_over_baseline(facts: &Facts) -> Option<String> {
    let evidence = &facts.evidence;
    let better = evidence.against_baseline.iter().filter(|c| c.verdict == Verdict::Better);
    let best = better.max_by(|a, b| gain(evidence, a).total_cmp(&gain(evidence, b)))?;
    let size = number::change_with_interval(best.ratio, best.interval);
    let name = sentence_start(&best.arm);
    Some(format!("{name}{}: {size} against {}.", place(facts, &best.arm), evidence.baseline()))
}

/// How many arms are named that are worse by another figure.
const WORSE_NAMED: usize = 3;

/// Arms that the deciding figure does not call worse, and another figure does: most first.
fn worse_by_another_figure(evidence: &Evidence) -> Vec<String> {
    let mut found: Vec<(f64, String)> = Vec::new();
    for also in &evidence.also {
        for worse in also.against_baseline.iter().filter(|contrast| contrast.verdict == Verdict::Worse) {
            let Some(decides) = evidence.against_baseline.iter().find(|contrast| contrast.arm == worse.arm)
            else {
                continue;
            };
            let though = match decides.verdict {
                Verdict::Better => "is better".to_string(),
                Verdict::Equal => format!("is {}", Verdict::Equal.word(evidence.precision.margin)),
                Verdict::Undecided | Verdict::CannotTell => "is not shown to differ".into(),
                Verdict::Worse | Verdict::NotAsAsked | Verdict::Untrustworthy => continue,
            };
            let size = number::change_with_interval(worse.ratio, worse.interval);
            let words = format!(
                "{}: {} {size} against {}, though its {} {though}.",
                sentence_start(&worse.arm),
                also.metric,
                worse.reference,
                evidence.metric
            );
            found.push((also.better.gain(worse.ratio), words));
        }
    }
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    found.into_iter().take(WORSE_NAMED).map(|(_, words)| words).collect()
}

/// ` (server on CPU 0, load on CPU 1)`.
fn place(facts: &Facts, arm: &str) -> String {
    let Some(arm) = facts.study.arms.iter().find(|known| known.name == arm) else { return String::new() };
    let of = |who: &str, cpus: &Option<machine::CpuSet>| {
        cpus.as_ref().map(|cpus| format!("{who} on {}", control_words::cpus(cpus)))
    };
    let placement = &arm.placement;
    let parts: Vec<String> = [of("server", &placement.server_cpus), of("load", &placement.load_cpus)]
        .into_iter()
        .flatten()
        .collect();
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
}

/// A control that measures better than every placement that is claimed: nobody may miss it.
fn control_better_than_all(evidence: &Evidence) -> Option<String> {
    let control = evidence.control_against_baseline.as_ref()?;
    let claimed = evidence.against_baseline.iter().filter(|contrast| contrast.verdict == Verdict::Better);
    let best = claimed.map(|contrast| gain(evidence, contrast)).reduce(f64::max);
    // Beside a claim it is said however sure it is: who reads the claim as the best that there is would be misled.
    let is_above = best.is_some_and(|best| gain(evidence, control) > best);
    let is_best_alone = best.is_none() && control.verdict == Verdict::Better;
    let how = match is_above {
        true => "gains more than every placement that is shown to be better",
        false => "is the only one that is shown to be better",
    };
    (is_above || is_best_alone).then(|| {
        let size = number::change_with_interval(control.ratio, control.interval);
        format!(
            "{}, meant as a control, {how}: {size} against {}. Study it as a placement of its own.",
            sentence_start(&control.arm),
            control.reference
        )
    })
}

/// The remedy where nothing can be judged.
fn what_to_do(evidence: &Evidence) -> Option<String> {
    match evidence.trust {
        Trust::Untrustworthy { .. } => Some(
            "Something other than the placement changes from run to run: repeat on a quieter machine, or with longer windows (--window)."
                .into(),
        ),
        _ if dose_helped(evidence) => Some(
            "A busy CPU does not go to sleep: try server and load together on one CPU, or hold wake-up latency down \
             (--set cpu-dma-latency:machine=0)."
                .into(),
        ),
        _ => None,
    }
}

fn unfinished(facts: &Facts) -> Option<String> {
    let planned = facts.planned();
    (!facts.is_finished()).then(|| {
        format!(
            "The study is not finished: {} of {} trials were run.",
            number::count(facts.trials.len()),
            number::count(planned),
        )
    })
}

#[cfg(test)]
mod tests {
    use study::own_traffic::harm::Harm;

    use super::*;

    #[test]
    fn an_arm_without_an_answer_under_own_traffic_may_have_met_a_lull() {
        let mut evidence = study::evidence::weigh(&[], &[], &study::Recipe::default().question());
        evidence.standings.insert("cpu 1".into(), ArmStanding::Starved { trials: 1, of: 1 });
        assert!(standings(&evidence)[0].ends_with("nothing is claimed about it."), "a load asks in any case");
        evidence.harm = Some(Harm { breached: Vec::new(), slow_requests: None, ended: None });
        let said = standings(&evidence).remove(0);
        assert!(said.contains("it did not run again; a lull of the traffic"), "{said}");
    }
}
