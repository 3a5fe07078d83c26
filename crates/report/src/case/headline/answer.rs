//! The answer in one sentence.

use advise::Finding;
use machine::CpuSet;
use machine::wording::plural;
use study::evidence::Whose;
use study::{Contrast, Direction, Evidence, Facts, Role, Trust, Verdict};

use super::{Tone, broken, dose_helped, sentence_start};
use crate::case::control_words::{self, unsigned};
use crate::case::result_words;
use crate::number;

/// A difference that is visible only from this share on is larger than most placements make: not to see one says nothing.
const COARSE: f64 = 0.5;

/// The kind of answer, and the answer.
pub(super) fn of(facts: &Facts, findings: &[Finding]) -> (Tone, String) {
    let evidence = &facts.evidence;
    if facts.trials.is_empty() {
        return (Tone::Undecided, "Nothing measured yet".into());
    }
    match evidence.trust {
        Trust::Untrustworthy { ratio } => {
            return (
                Tone::NoClaim,
                format!("Cannot tell: the baseline differed from itself by {}", unsigned(ratio)),
            );
        }
        Trust::TooFew { .. } => {
            let why = control_words::trust(evidence.trust);
            return harm(evidence).unwrap_or((Tone::Undecided, format!("Too early to tell: {why}")));
        }
        Trust::Sound if dose_helped(evidence) => {
            let title = "Cannot tell: the server got faster when CPU time was taken from it";
            return (Tone::NoClaim, title.into());
        }
        Trust::Sound => {}
    }
    if evidence.search.is_some() {
        return searched(evidence);
    }
    let slow = evidence.slow_cpus();
    let slow = slow.first().map(|worst| (Tone::Slow, slow_title(evidence, &slow, worst)));
    slow.or_else(|| harm(evidence))
        .or_else(|| not_the_servers(facts, findings))
        .or_else(|| broken::title(evidence).map(|title| (Tone::Slow, title)))
        .or_else(|| better(facts))
        .or_else(|| nowhere_as_asked(evidence))
        .unwrap_or_else(|| no_difference(facts))
}

fn slow_title(evidence: &Evidence, slow: &[&Contrast], worst: &Contrast) -> String {
    let size = size_in_words(evidence, worst);
    let others = others(evidence);
    match (slow.len(), worst.cpu) {
        (1, _) => format!("{} is slow: {size} than on {others}", sentence_start(&worst.arm)),
        (n, Some(_)) => {
            let all: CpuSet = slow.iter().filter_map(|c| c.cpu).collect();
            let listed = if n <= 4 { in_words(&all) } else { all.to_list() };
            format!("CPUs {listed} are slow; {} most: {size} than on {others}", sentence_start(&worst.arm))
        }
        (n, None) => format!("{n} arms are slow; {} most: {size} than the others", worst.arm),
    }
}

/// An arm that a guard ended, or in which nothing was answered.
pub(super) fn harm(evidence: &Evidence) -> Option<(Tone, String)> {
    let (arm, standing) = evidence.standings.iter().find(|(_, standing)| standing.is_harm())?;
    Some((Tone::Slow, format!("{} {}", sentence_start(arm), control_words::standing(standing))))
}

/// A CPU that is worse, and not because it is slow for the server.
fn not_the_servers(facts: &Facts, findings: &[Finding]) -> Option<(Tone, String)> {
    let evidence = &facts.evidence;
    let worst = *evidence.not_the_servers().first()?;
    let size = size_in_words(evidence, worst);
    let arm = facts.study.arms.iter().find(|arm| arm.name == worst.arm);
    let load = arm.and_then(|arm| arm.placement.load_cpus.as_ref()).map(control_words::cpus);
    let (load, server) = (load.unwrap_or("other CPUs".into()), sentence_start(&worst.arm));
    Some(match worst.whose {
        Some(Whose::Load) => (
            Tone::Slow,
            format!(
                "The load is slow on {load}: {size} with the server on {server}, and it is the load that loses the time"
            ),
        ),
        _ => {
            let where_it_is =
                format!("{} with the server on {server} and the load on {load}", sentence_start(&size));
            match result_words::cause(findings, worst.cpu) {
                // The cause is named, whoever of the two meets it there.
                Some(finding) => {
                    (Tone::Slow, format!("{where_it_is}: {} ({})", finding.title, finding.standing.word()))
                }
                None => (
                    Tone::Undecided,
                    format!("{where_it_is}; these trials do not show whose CPU is the cause"),
                ),
            }
        }
    })
}

/// The arm that gains most over the baseline.
fn better(facts: &Facts) -> Option<(Tone, String)> {
    let evidence = &facts.evidence;
    let better: Vec<&Contrast> =
        evidence.against_baseline.iter().filter(|contrast| contrast.verdict == Verdict::Better).collect();
    let best = better.iter().max_by(|a, b| gain(evidence, a).total_cmp(&gain(evidence, b)))?;
    let most = match better.len() {
        1 => String::new(),
        n => format!(", with the largest gain of the {n} {}s that are", noun(facts)),
    };
    let size = size_in_words(evidence, best);
    let name = sentence_start(&best.arm);
    Some((Tone::Even, format!("{name} is better than {}{most}: {size}", best.reference)))
}

/// The server ran where it wanted in every arm that pins it.
fn nowhere_as_asked(evidence: &Evidence) -> Option<(Tone, String)> {
    let all = &evidence.against_baseline;
    let is_none = !all.is_empty() && all.iter().all(|contrast| contrast.verdict == Verdict::NotAsAsked);
    is_none.then(|| (Tone::NoClaim, "Cannot tell: the server did not run where the study put it".into()))
}

/// What the arms of a study are: placements, unless they differ in what server or load do.
fn noun(facts: &Facts) -> &'static str {
    let mut candidates = facts.study.arms.iter().filter(|arm| arm.role == Role::Candidate);
    if candidates.all(|arm| arm.keys.is_empty()) { "placement" } else { "arm" }
}

/// `2 of 4 placements are worse than unpinned, the other 2 are not shown to differ`; `None` where none is worse.
pub(super) fn worse_in_words(facts: &Facts) -> Option<String> {
    let evidence = &facts.evidence;
    let all = &evidence.against_baseline;
    let count = |verdict: Verdict| all.iter().filter(|contrast| contrast.verdict == verdict).count();
    let (worse, better, equal) = (count(Verdict::Worse), count(Verdict::Better), count(Verdict::Equal));
    if worse == 0 {
        return None;
    }
    let kinds = [
        (better, "better".to_string()),
        (equal, Verdict::Equal.word(evidence.precision.margin)),
        (all.len() - worse - better - equal, "not shown to differ".into()),
    ];
    let others: Vec<&(usize, String)> = kinds.iter().filter(|(n, _)| *n > 0).collect();
    let others = match others[..] {
        [] => String::new(),
        [(1, what)] => format!(", the other is {what}"),
        [(n, what)] => format!(", the other {n} are {what}"),
        _ => others.iter().map(|(n, what)| format!(", {n} {} {what}", is(*n))).collect(),
    };
    let (of, noun) = (all.len(), plural(noun(facts), all.len()));
    Some(format!("{worse} of {of} {noun} {} worse than {}{others}", is(worse), evidence.baseline()))
}

fn is(n: usize) -> &'static str {
    if n == 1 { "is" } else { "are" }
}

/// Nothing is better, and no CPU is slow.
fn no_difference(facts: &Facts) -> (Tone, String) {
    if let Some(title) = worse_in_words(facts) {
        return (Tone::Slow, title);
    }
    let evidence = &facts.evidence;
    let (contrasts, what) = match evidence.against_other_cpus.is_empty() {
        false => (&evidence.against_other_cpus, "CPU"),
        // One CPU alone, or arms that are all alike: they can only be compared with the baseline.
        true => (&evidence.against_baseline, noun(facts)),
    };
    let all: Vec<Verdict> = contrasts.iter().chain(&evidence.against_baseline).map(|c| c.verdict).collect();
    let has = |verdict: Verdict| move |of: &&Verdict| **of == verdict;
    let open = all.iter().filter(|v| !v.is_difference() && **v != Verdict::Equal).count();
    let visible_share = evidence.power.map(|power| power.visible_share);
    if let Some(share) = visible_share.filter(|share| *share > COARSE)
        && open == all.len()
        && open > 0
    {
        return (Tone::Undecided, too_coarse(facts, share));
    }
    let would = visible_share
        .map(|share| {
            format!("; a difference of {} or more would probably have been seen", number::share(share))
        })
        .unwrap_or_default();
    match all.len() {
        0 => (Tone::Undecided, "There is nothing to compare yet".into()),
        n if all.iter().filter(has(Verdict::Equal)).count() == n => (
            Tone::Even,
            format!(
                "No difference: no {what} is slow, and all {}s are {}",
                noun(facts),
                Verdict::Equal.word(evidence.precision.margin)
            ),
        ),
        n if open == n => (Tone::Undecided, format!("No {what} is shown to be slow{would}")),
        n => (
            Tone::Undecided,
            format!("No {what} is shown to be slow; {open} of {n} comparisons {} undecided{would}", is(open)),
        ),
    }
}

/// `Cannot tell: with this noise, 9 blocks show only differences of a factor of 7.3 or more`.
fn too_coarse(facts: &Facts, visible_share: f64) -> String {
    let blocks = facts.evidence.blocks;
    let difference = match visible_share {
        share if share < 1.0 => number::share(share),
        share => format!("a factor of {:.1}", 1.0 + share),
    };
    format!("Cannot tell: with this noise, {blocks} blocks show only differences of {difference} or more")
}

/// What came of the winner of a search on its fresh blocks.
fn searched(evidence: &Evidence) -> (Tone, String) {
    let Some(winner) = evidence.against_baseline.first() else {
        return (Tone::Undecided, "The search found nothing: no placement could be confirmed".into());
    };
    let best = format!("The best that the search found, {},", winner.arm);
    let baseline = evidence.baseline();
    let size = size_in_words(evidence, winner);
    match winner.verdict {
        Verdict::Better => (Tone::Even, format!("{best} is better than {baseline}: {size}")),
        Verdict::Worse => (Tone::Slow, format!("{best} is worse than {baseline}: {size}")),
        Verdict::Equal => (
            Tone::Even,
            format!("{best} is {} to {baseline}", winner.verdict.word(evidence.precision.margin)),
        ),
        _ => (Tone::Undecided, format!("{best} is not shown to differ from {baseline}")),
    }
}

pub(super) fn gain(evidence: &Evidence, contrast: &Contrast) -> f64 {
    evidence.better.gain(contrast.ratio)
}

/// `23.8 % fewer requests/s`, `latency_p99_us 30.2 % higher`.
fn size_in_words(evidence: &Evidence, contrast: &Contrast) -> String {
    let size = unsigned(contrast.ratio);
    let less = contrast.ratio < 1.0;
    match evidence.better {
        Direction::Higher if evidence.unit.ends_with("/s") => {
            format!("{size} {} {}", if less { "fewer" } else { "more" }, evidence.unit)
        }
        _ => format!("{} {size} {}", evidence.metric, if less { "lower" } else { "higher" }),
    }
}

/// What a CPU is compared with.
pub(super) fn others(evidence: &Evidence) -> &'static str {
    if evidence.against_other_cpus.len() == 2 { "the other CPU" } else { "the other CPUs" }
}

/// `5, 13 and 14`.
fn in_words(cpus: &CpuSet) -> String {
    let all: Vec<String> = cpus.iter().map(|c| c.to_string()).collect();
    match all.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => all.concat(),
    }
}
