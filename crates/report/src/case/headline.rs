//! The answer of a study in words: what it found, why, and how sure that is.

mod answer;
mod broken;
mod points;

use advise::Finding;
use study::evidence::ControlOutcome;
use study::{Evidence, Facts, Trust};

use crate::case::control_words;
use crate::number;

/// More than this share of the trials that can show it with the load as the limit, and the study is one of the load.
const MOSTLY: f64 = 0.5;

/// What kind of answer it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tone {
    /// Some CPU or placement is slow, or starves.
    Slow,
    /// Something is better than the baseline, or all are alike.
    Even,
    /// The trials do not decide it.
    Undecided,
    /// Nothing can be concluded from these trials, however many there are.
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
    let (tone, title) = answer::of(facts, findings);
    let title = match qualifier(&facts.evidence) {
        Some(qualifier) if !facts.trials.is_empty() => {
            format!("{}: {}", sentence_start(&qualifier), mid_sentence(&title))
        }
        _ => title,
    };
    Headline { tone, title, points: points::of(facts, findings), sure: how_sure(facts) }
}

/// What the reader has to know before any figure: a quota that held the server back, a load that was the limit.
fn qualifier(evidence: &Evidence) -> Option<String> {
    let quota = evidence.quota.as_ref().map(control_words::quota);
    let load = evidence.load_limited_share.filter(|share| *share > MOSTLY);
    let load = load.and_then(|_| evidence.load_limited_trials()).map(|trials| {
        format!(
            "the load, not the server, was the limit in {trials} in which each could have CPUs of its own"
        )
    });
    match (quota, load) {
        (Some(quota), Some(load)) => Some(format!("{quota}, and {load}")),
        (quota, load) => quota.or(load),
    }
}

fn how_sure(facts: &Facts) -> String {
    let evidence = &facts.evidence;
    let trust = sentence_start(&control_words::trust(evidence.trust));
    match evidence.trust {
        Trust::Sound => {}
        // The answer says how many blocks there are.
        Trust::TooFew { .. } if !facts.trials.is_empty() && answer::harm(evidence).is_none() => {
            return "Until then, no difference is claimed or ruled out.".into();
        }
        _ => return format!("{trust}."),
    }
    let trust = if evidence.a_a.is_some() { format!("{trust}.") } else { "There is no A/A control.".into() };
    let control = match &evidence.control {
        Some(control) => {
            let size = control_words::control(control, evidence.better);
            format!("{} ({size}).", sentence_start(&control_words::outcome(control, evidence)))
        }
        None => "There is no positive control, so the figures rest on the intervals alone.".into(),
    };
    let among = match evidence.against_baseline.len() {
        0 | 1 => String::new(),
        n => format!(" among the {n} comparisons with {}", evidence.baseline()),
    };
    let alpha = number::share(evidence.precision.alpha);
    format!(
        "{control} {trust} {} complete blocks; the chance of even one false claim{among} is at most {alpha}{}.",
        evidence.blocks,
        other_families(evidence, &alpha)
    )
}

/// The comparisons beside those with the baseline, each family of which has a chance of a false claim by itself.
fn other_families(evidence: &Evidence, alpha: &str) -> String {
    let has =
        |is_interaction: bool| evidence.effects.iter().any(|effect| effect.with.is_some() == is_interaction);
    let families = [
        (!evidence.against_other_cpus.is_empty(), "the other CPUs"),
        (has(false), "effects"),
        (has(true), "interactions"),
    ];
    let named = families.into_iter().filter(|(is_there, _)| *is_there).map(|(_, name)| name);
    let names: Vec<&str> = named.chain(evidence.also.iter().map(|also| also.metric.as_str())).collect();
    match names.split_last() {
        None => String::new(),
        Some((only, [])) => format!(", and {alpha} more for {only}"),
        Some((last, rest)) => format!(", and {alpha} more for each of {} and {last}", rest.join(", ")),
    }
}

/// Whether the dose made the figure better, which leaves nothing to judge placements by.
fn dose_helped(evidence: &Evidence) -> bool {
    let control = evidence.control.as_ref();
    control.is_some_and(|control| control.kind.is_dose() && control.outcome == ControlOutcome::Helped)
}

/// An arm's name at the start of a sentence: `cpu 5` becomes `CPU 5`.
pub(crate) fn sentence_start(text: &str) -> String {
    if let Some(number) = text.strip_prefix("cpu ") {
        return format!("CPU {number}");
    }
    let mut characters = text.chars();
    characters.next().map(|c| c.to_uppercase().chain(characters).collect()).unwrap_or_default()
}

/// A sentence behind a colon: its first letter small, but for names such as CPU.
fn mid_sentence(text: &str) -> String {
    let mut characters = text.chars();
    match (characters.next(), characters.next()) {
        (Some(first), Some(second)) if !second.is_uppercase() => {
            first.to_lowercase().chain([second]).chain(characters).collect()
        }
        _ => text.to_string(),
    }
}
