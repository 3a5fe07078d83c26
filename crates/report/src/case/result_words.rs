//! Findings in words that terminal and page share.

mod factor_words;
mod intervals;
mod second_figures;

use advise::{Finding, Predicted, Standing};
use machine::wording::counted;
use study::case::search_log::Found;
use study::cliff::SLOWER;
use study::evidence::{ArmCliff, ArmSummary, Spot, Typical};
use study::intervention::Outcome;
use study::statistics::scaling::{Estimate, Peak, Scaling};
use study::{Contrast, Direction, Evidence, Facts, Verdict};

use crate::number;
pub use factor_words::{effect, factor, interaction};
pub use intervals::{
    intervals, intervals_at, is_surprising, surprising_contrasts, surprising_effects, surprising_intervals,
};
pub use second_figures::{pooled, pooled_figure, second_figure};

/// The best explanation of a CPU with its number in the list, counted from 1. A refuted finding explains nothing, and
/// neither does one whose size does not fit, unless moving the cause has proved it.
pub fn about(findings: &[Finding], cpu: Option<u32>) -> Option<(usize, &Finding)> {
    let cpu = cpu?;
    findings
        .iter()
        .enumerate()
        .map(|(i, finding)| (i + 1, finding))
        .find(|(_, f)| f.cpu == Some(cpu) && (f.standing <= Standing::Imitated || explains(f)))
}

/// The same without those that say that nothing explains it.
pub fn cause(findings: &[Finding], cpu: Option<u32>) -> Option<&Finding> {
    about(findings, cpu).map(|(_, finding)| finding).filter(|f| f.standing != Standing::Unexplained)
}

fn explains(finding: &Finding) -> bool {
    finding.standing != Standing::Refuted && finding.fit.may_explain()
}

/// The verdict in one short word; what counts as equal and why no claim is made stand elsewhere.
pub fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::Equal => "equal",
        Verdict::Undecided => "undecided",
        Verdict::NotAsAsked => "not as asked",
        Verdict::CannotTell => "cannot tell",
        Verdict::Untrustworthy => "no claim",
    }
}

/// The level of a study's intervals: `95 %`.
pub fn level(evidence: &Evidence) -> String {
    level_of(evidence.precision.alpha)
}

/// The level of intervals of which a share `alpha` may be wrong.
pub fn level_of(alpha: f64) -> String {
    number::share(1.0 - alpha)
}

/// A figure with its unit and which way is better: `requests_per_s, requests/s (higher is better)`.
pub fn figure(metric: &str, unit: &str, better: Direction) -> String {
    let unit = if unit.is_empty() { String::new() } else { format!(", {unit}") };
    let better = match better {
        Direction::Higher => "higher is better",
        Direction::Lower => "lower is better",
    };
    format!("{metric}{unit} ({better})")
}

/// `104 [98, 110]`, each number as `show` writes it.
pub fn estimate(e: &Estimate, show: impl Fn(f64) -> String) -> String {
    format!("{} [{}, {}]", show(e.value), show(e.low), show(e.high))
}

/// Where more CPUs stop paying, and where they do harm, as far as the trials show.
pub fn knee_and_peak(law: &Scaling) -> String {
    let knee = match (law.knee, law.knee_interval) {
        (Some(knee), (low, Some(high))) => format!("Knee at {} [{low}, {high}]", counted(knee, "CPU")),
        (Some(knee), (low, None)) => {
            format!("Knee at {} [{low}, perhaps beyond what was measured]", counted(knee, "CPU"))
        }
        (None, (low, _)) => {
            format!("The knee was not reached (it lies at {} or beyond)", counted(low, "CPU"))
        }
    };
    let peak = match &law.peak {
        Peak::NotTold => "no peak is quoted: more CPUs may do no harm".to_string(),
        Peak::At { n, beyond_measured } => format!(
            "highest at {} [{:.0}, {:.0}]{}",
            counted(n.value.round_ties_even(), "CPU"),
            n.low,
            n.high,
            if *beyond_measured { ", beyond what was measured: by the law alone" } else { "" }
        ),
    };
    format!("{knee}: from there on a CPU adds less than half of what the first one does; {peak}.")
}

/// What the standing of a finding means.
pub fn standing_in_words(standing: Standing) -> &'static str {
    match standing {
        Standing::Proved => "the cause was moved, and the loss moved with it",
        Standing::Imitated => "an imitation of the cause on a good CPU cost as much",
        Standing::Supported => {
            "the predicted size agrees with the observed loss; not yet proved by moving the cause"
        }
        Standing::Possible => "the counter moved on a slow CPU; its size does not settle it",
        Standing::Unexplained => "no rule explains this",
        Standing::Refuted => "the cause was moved, and the loss did not move with it",
    }
}

/// `21 % less`, or `8.0 % to 23 % less` where only a range is known.
pub fn predicted_in_words(predicted: &Predicted) -> String {
    let (from, to) = (number::share(predicted.from), number::share(predicted.to));
    match from == to {
        true => format!("{} less", number::share(predicted.share)),
        false => format!("{from} to {to} less"),
    }
}

/// What was observed, or why there is nothing to compare with.
pub fn observed_in_words(finding: &Finding) -> String {
    match &finding.observed {
        Some(c) => format!("{} against {}", number::change_with_interval(c.ratio, c.interval), c.reference),
        None => "not measured".into(),
    }
}

/// `-36.3 % [-38.8, -35.2] against cpu 0: worse`.
fn contrast(contrast: &Contrast) -> String {
    format!(
        "{} against {}: {}",
        number::change_with_interval(contrast.ratio, contrast.interval),
        contrast.reference,
        verdict(contrast.verdict)
    )
}

/// How one prediction of a proof came out.
pub fn outcome_in_words(outcome: &Outcome) -> String {
    let found = outcome.contrast.as_ref().map_or("too few blocks to tell".into(), contrast);
    format!("{}: {found}", if outcome.held { "held" } else { "did not hold" })
}

/// The parts of a finding below its evidence: a name and a sentence each, in order.
pub fn parts(finding: &Finding) -> Vec<(&'static str, String)> {
    let mut parts = Vec::new();
    if let Some(predicted) = &finding.predicted_loss {
        parts.push(("predicted", format!("{}: {}", predicted_in_words(predicted), predicted.how)));
    } else if finding.standing != Standing::Unexplained {
        parts.push(("predicted", "no size can be predicted".into()));
    }
    parts.push(("observed", observed_in_words(finding)));
    if !finding.agreement.is_empty() {
        parts.push(("so", finding.agreement.clone()));
    }
    if finding.standing != Standing::Unexplained {
        parts.push((
            "standing",
            format!("{}: {}", finding.standing.word(), standing_in_words(finding.standing)),
        ));
    }
    parts.extend(finding.proof_words.iter().map(|words| ("proof", words.clone())));
    parts.extend(finding.missing.iter().map(|m| ("not seen", format!("{}: {}", m.fact, m.why))));
    parts.push(("remedy", finding.remedy.clone()));
    parts
}

/// The value of a counter: whole from 10 on, one decimal below.
pub fn counter_value(value: f64) -> String {
    number::grouped(value, usize::from(value.abs() < 9.95))
}

/// `put 84 of 128 (fill)`, with the earliest and the latest where trials differ.
pub fn spot(spot: &Spot) -> String {
    let among = match spot.earliest == spot.latest {
        true => String::new(),
        false => format!(" [{}, {}]", spot.earliest, spot.latest),
    };
    let (kind, nth, phase) = (spot.kind.word(), number::grouped(spot.nth, 0), spot.phase.word());
    format!("{kind} {nth}{among} of {} ({phase})", spot.of)
}

/// A time of an operation: `8.12 ms`.
pub fn ms(us: f64) -> String {
    format!("{} ms", number::figure(us / 1e3))
}

/// A break whose median hardly grew is one by its upper quartile (see [`study::cliff`]).
pub fn more_uneven(before_us: f64, after_us: f64) -> &'static str {
    match after_us < SLOWER * before_us {
        true => "; the upper quartile at least doubled",
        false => "",
    }
}

/// The arm whose sequences these are; each copy of the baseline has its own.
pub fn cliff_arm(cliff: &ArmCliff, evidence: &Evidence) -> String {
    evidence.arm(&cliff.arm).map_or_else(|| cliff.arm.clone(), ArmSummary::shown_name)
}

/// Where the sequences of an arm break and what broke with them, a sentence each.
pub fn cliff(cliff: &ArmCliff) -> Vec<String> {
    let trials = cliff.trials;
    let mut words = vec![match &cliff.breaks {
        Some(Typical { spot: at, before_us, after_us, .. }) => format!(
            "breaks at {} in {} of {trials} trials: {} before, {} from there on (medians{})",
            spot(at),
            at.trials,
            ms(*before_us),
            ms(*after_us),
            more_uneven(*before_us, *after_us)
        ),
        None if cliff.broke == 0 => format!("does not break ({})", counted(trials, "trial")),
        None => format!("breaks in {} of {trials} trials, too few to name a place", cliff.broke),
    }];
    if let Some(typical) = &cliff.breaks {
        let moved: Vec<String> = typical
            .moved
            .iter()
            .map(|(counter, n)| format!("{counter} ({n} of {})", typical.spot.trials))
            .collect();
        words.push(match moved.is_empty() {
            true => "none of the counters that could be read changes there; garbage collection and the like are not among them".into(),
            false => format!("along with it: {}", moved.join(", ")),
        });
    }
    if let Some(first) = &cliff.first_swap {
        words.push(format!("the machine had swapped out more than 200 pages by {}", spot(first)));
    }
    words
}

/// How many of the things that distinguish CPUs are named.
const DIFFERENCES_NAMED: usize = 4;

/// What a search chose from, what became of it, and what it does not claim: a sentence each.
pub fn search(facts: &Facts, found: &Found) -> Vec<String> {
    let alpha = number::share(facts.evidence.precision.alpha);
    let among = match found.classes.as_str() {
        "" => format!("{} combinations of levels", found.placements),
        classes => {
            format!("{} placements, {classes} classes under the symmetry of the machine", found.placements)
        }
    };
    let listed = found.left_out.as_ref().map(|left| format!("; listed at the start: {left}"));
    let mut words = vec![format!("{among}{}", listed.unwrap_or_default())];
    words.push(format!(
        "{} tried; {} ruled out (the chance that the best of those tried is among them is at most {alpha}); {} failed; {} never \
         ran, and nothing is claimed about them",
        found.ran.len() + found.out.len() + found.failed.len(),
        found.out.len(),
        found.failed.len(),
        found.never_ran,
    ));
    words.push(match &found.winner {
        Some(winner) => format!("tested on {}: {winner}", counted(facts.evidence.blocks, "fresh block")),
        None => "no trial gave a figure".into(),
    });
    let (named, rest) = found.differences.split_at(found.differences.len().min(DIFFERENCES_NAMED));
    if !named.is_empty() {
        let more = if rest.is_empty() { String::new() } else { format!("; and {} more", rest.len()) };
        words.push(format!("what distinguishes CPUs: {}{more}", named.join("; ")));
    }
    words.extend(found.notes.iter().cloned());
    words
}
