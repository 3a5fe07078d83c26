//! The answer of a study in words: which CPU is slow, why, and how sure that is.

use advise::{Finding, Standing};
use machine::CpuSet;
use study::{Contrast, Direction, Evidence, Facts, Trust, Verdict};

use crate::number;
use crate::told;

/// What kind of answer it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tone {
    /// Some CPU is slow.
    Slow,
    /// All CPUs are alike.
    Even,
    /// The trials do not tell.
    Undecided,
    /// A control failed: no claim is made.
    NoClaim,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Headline {
    /// What kind of answer it is.
    pub tone: Tone,
    /// The answer in one sentence, without its full stop.
    pub title: String,
    /// What stands behind it, a sentence each: sizes, causes, what may be gained.
    pub points: Vec<String>,
    /// How sure it is, in words.
    pub sure: String,
}

/// Reads the answer out of the evidence.
pub fn read(facts: &Facts, findings: &[Finding]) -> Headline {
    let evidence = &facts.evidence;
    let (tone, title) = answer(facts);
    let mut points: Vec<String> =
        evidence.slow_cpus().into_iter().map(|slow| slow_in_words(evidence, slow, findings)).collect();
    points.extend(gain_over_baseline(evidence));
    points.extend(unfinished(facts));
    Headline { tone, title, points, sure: how_sure(evidence) }
}

fn answer(facts: &Facts) -> (Tone, String) {
    let evidence = &facts.evidence;
    let slow = evidence.slow_cpus();
    match (&evidence.trust, slow.first()) {
        _ if facts.trials.is_empty() => (Tone::Undecided, "Nothing measured yet".into()),
        (Trust::Untrustworthy { .. }, _) => {
            (Tone::NoClaim, "No claim: the baseline differed from itself".into())
        }
        (Trust::Insensitive { .. }, _) => {
            (Tone::NoClaim, "No claim: this load does not show a bad placement".into())
        }
        (Trust::TooFew { .. }, _) => (Tone::Undecided, "Too early to tell: too few complete blocks".into()),
        (Trust::Sound, None) if evidence.search.is_some() => searched(evidence),
        (Trust::Sound, Some(worst)) => (Tone::Slow, slow_title(evidence, &slow, worst)),
        (Trust::Sound, None) => none_slow(evidence),
    }
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

fn none_slow(evidence: &Evidence) -> (Tone, String) {
    let (contrasts, what) = match evidence.against_other_cpus.is_empty() {
        false => (&evidence.against_other_cpus, "CPU"),
        // One CPU alone, or arms that are all alike: they can only be compared with the baseline.
        true => (&evidence.against_baseline, "placement"),
    };
    let of = |verdict: Verdict| contrasts.iter().filter(move |c| c.verdict == verdict);
    let best = of(Verdict::Better).max_by(|a, b| gain(evidence, a).total_cmp(&gain(evidence, b)));
    if let (Some(best), "placement") = (best, what) {
        return (Tone::Even, better_title(evidence, best));
    }
    let (undecided, worse, better) =
        (of(Verdict::Undecided).count(), of(Verdict::Worse).count(), of(Verdict::Better).count());
    match contrasts.len() {
        0 => (Tone::Undecided, "There is nothing to compare yet".into()),
        _ if worse > 0 => (
            Tone::Slow,
            format!("{worse} of {} placements are worse than {}", contrasts.len(), evidence.baseline()),
        ),
        n if undecided == n => {
            (Tone::Undecided, format!("No {what} is shown to be slow; the trials do not decide"))
        }
        n if undecided > 0 => {
            (Tone::Undecided, format!("No {what} is shown to be slow; {undecided} of {n} are undecided"))
        }
        _ if better > 0 => {
            (Tone::Even, format!("No {what} is slow; {better} better than {}", reference_of(contrasts)))
        }
        _ => (
            Tone::Even,
            format!("No {what} is slow: all are {}", Verdict::Equal.word(evidence.precision.margin)),
        ),
    }
}

/// What came of the winner of a search on its fresh blocks.
fn searched(evidence: &Evidence) -> (Tone, String) {
    let Some(winner) = evidence.against_baseline.first() else {
        return (Tone::Undecided, "The search found nothing: no placement could be confirmed".into());
    };
    let best = format!("The best that the search found, {},", winner.arm);
    let baseline = evidence.baseline();
    match winner.verdict {
        Verdict::Better => (Tone::Even, better_title(evidence, winner)),
        Verdict::Worse => (Tone::Slow, format!("{best} is worse than {baseline}")),
        Verdict::Equal => (
            Tone::Even,
            format!("{best} is {} to {baseline}", winner.verdict.word(evidence.precision.margin)),
        ),
        _ => (Tone::Undecided, format!("{best} is not told apart from {baseline}")),
    }
}

fn gain(evidence: &Evidence, contrast: &Contrast) -> f64 {
    evidence.better.gain(contrast.ratio)
}

fn better_title(evidence: &Evidence, best: &Contrast) -> String {
    format!(
        "{} is best: {} than {}",
        sentence_start(&best.arm),
        size_in_words(evidence, best),
        best.reference
    )
}

fn reference_of(contrasts: &[Contrast]) -> &str {
    contrasts.first().map_or("the others", |c| c.reference.as_str())
}

/// `23.8 % fewer requests/s`, `latency_p99_us 30.2 % higher`.
fn size_in_words(evidence: &Evidence, contrast: &Contrast) -> String {
    let size = number::change(contrast.ratio).trim_start_matches(['-', '+']).to_string();
    let less = contrast.ratio < 1.0;
    match evidence.better {
        Direction::Higher if evidence.unit.ends_with("/s") => {
            format!("{size} {} {}", if less { "fewer" } else { "more" }, evidence.unit)
        }
        _ => format!("{} {size} {}", evidence.metric, if less { "lower" } else { "higher" }),
    }
}

fn slow_in_words(evidence: &Evidence, slow: &Contrast, findings: &[Finding]) -> String {
    let why = match told::about(findings, slow.cpu) {
        None => "no rule explains it".into(),
        Some((_, f)) if f.standing == Standing::Unexplained => "no rule explains it".into(),
        Some((_, f)) => format!("{} ({})", f.title, f.standing.word()),
    };
    format!(
        "{}: {} against {}. Why: {why}.",
        sentence_start(&slow.arm),
        number::change_with_interval(slow.ratio, slow.interval),
        others(evidence),
    )
}

/// What a CPU is compared with.
fn others(evidence: &Evidence) -> &'static str {
    if evidence.against_other_cpus.len() == 2 { "the other CPU" } else { "the other CPUs" }
}

/// What is gained over the baseline, if anything is.
fn gain_over_baseline(evidence: &Evidence) -> Option<String> {
    let better = evidence.against_baseline.iter().filter(|c| c.verdict == Verdict::Better);
    let (count, best) =
        (better.clone().count(), better.max_by(|a, b| gain(evidence, a).total_cmp(&gain(evidence, b)))?);
    let (name, size) = (sentence_start(&best.arm), number::change_with_interval(best.ratio, best.interval));
    let baseline = evidence.baseline();
    Some(match (count, best.cpu) {
        (1, Some(_)) => format!("Pinning the server to {name} is better than leaving it {baseline}: {size}."),
        (n, Some(_)) => {
            format!("Pinning is better than leaving it {baseline} on {n} CPUs; {name} most: {size}.")
        }
        (1, None) => format!("{name} is better than {baseline}: {size}."),
        (n, None) => format!("{n} placements are better than {baseline}; {name} most: {size}."),
    })
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

fn how_sure(evidence: &Evidence) -> String {
    match &evidence.trust {
        Trust::Sound if evidence.a_a.is_some() && evidence.control.is_some() => format!(
            "Both controls came out as they should. {} complete blocks; the chance of even one false claim{} is at most {}.",
            evidence.blocks,
            match evidence.against_other_cpus.len().max(evidence.against_baseline.len()) {
                0 | 1 => String::new(),
                n => format!(" among {n} comparisons"),
            },
            number::share(evidence.precision.alpha),
        ),
        Trust::Sound => "This study lacks a control (baseline twice, or mis-tuning), so the figures rest on the intervals alone.".into(),
        Trust::Insensitive { why } | Trust::Untrustworthy { why } | Trust::TooFew { why } => {
            format!("{}.", sentence_start(why))
        }
    }
}

/// `5, 13 and 14`.
fn in_words(cpus: &CpuSet) -> String {
    let all: Vec<String> = cpus.iter().map(|c| c.to_string()).collect();
    match all.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => all.concat(),
    }
}

/// An arm's name at the start of a sentence: `cpu 5` becomes `CPU 5`.
pub(crate) fn sentence_start(text: &str) -> String {
    if let Some(number) = text.strip_prefix("cpu ") {
        return format!("CPU {number}");
    }
    let mut characters = text.chars();
    characters.next().map(|c| c.to_uppercase().chain(characters).collect()).unwrap_or_default()
}
