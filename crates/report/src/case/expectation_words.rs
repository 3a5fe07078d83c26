//! What a gate demanded and what came of it, in words.

use machine::wording::counted;
use study::Facts;
use study::evidence::Outcome;
use study::evidence::{Judgement, Unjudged};

use crate::number;

/// `requests_per_s of server-b >= 0.97 x server-a: 1.012 [0.994, 1.031] in 14 blocks (98 %)`, and why it was not judged.
pub fn judged(judged: &Judgement, facts: &Facts) -> String {
    let why = match &judged.outcome {
        Outcome::CannotTell { why } => format!("; {}", unjudged(why)),
        Outcome::Failed if judged.value.is_none() => "; the server answered nothing".into(),
        _ => String::new(),
    };
    format!("{}: {}{why}", judged.expectation, measured(judged, facts))
}

/// What was measured: the ratio to the other arm, or the median in the figure's unit, with its interval.
pub fn measured(judged: &Judgement, facts: &Facts) -> String {
    let Some(value) = judged.value else { return "not measured".into() };
    let (shown, unit): (fn(f64) -> String, String) = match &judged.expectation.times {
        Some(_) => (|ratio| format!("{ratio:.3}"), " x".into()),
        None => (number::figure, unit(judged, facts)),
    };
    let interval = judged.interval.map(|(low, high)| format!(" [{}, {}]", shown(low), shown(high)));
    format!(
        "{}{}{unit} over {} ({} interval)",
        shown(value),
        interval.unwrap_or_default(),
        counted(judged.blocks, "block"),
        number::share(judged.confidence)
    )
}

fn unit(judged: &Judgement, facts: &Facts) -> String {
    let units = facts.trials.iter().filter_map(|seen| seen.trial.units.get(&judged.expectation.figure));
    units
        .into_iter()
        .next()
        .filter(|unit| !unit.is_empty())
        .map(|unit| format!(" {unit}"))
        .unwrap_or_default()
}

/// Why it was neither passed nor failed, and what would help, without a full stop.
pub fn unjudged(why: &Unjudged) -> String {
    match why {
        Unjudged::Straddles => "the bound lies within the interval: more blocks narrow it".into(),
        Unjudged::TooFew { blocks, needed } => format!(
            "{} {} all that it needs, and an interval at this level takes {needed}: run more (--blocks)",
            counted(*blocks, "block"),
            if *blocks == 1 { "has" } else { "have" }
        ),
        Unjudged::Unfinished => "the study is not finished: resume it".into(),
        Unjudged::Untrustworthy => "the baseline differed from itself".into(),
        Unjudged::NotAsAsked { arm } => {
            format!("the server of '{arm}' was not where that arm puts it: see Notes")
        }
        Unjudged::GivenUp { arm } => format!("every attempt of '{arm}' failed, and it was given up"),
        Unjudged::NoFigure { arm } => {
            format!("no trial of '{arm}' has this figure: name one that the load reports (pinwise report)")
        }
    }
}
