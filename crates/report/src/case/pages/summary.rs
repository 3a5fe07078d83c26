//! The answer at the top: which CPU is slow, why, and how sure that is.

use study::evidence::{Judgement, Outcome};

use super::{About, Page};
use crate::case::control_words;
use crate::case::expectation_words;
use crate::case::headline::{self, Tone, sentence_start};
use crate::case::locality_words;
use crate::case::next_steps;
use crate::case::notes;
use crate::case::result_fields;
use crate::case::unpinned;
use crate::markup::blocks::{commands, table};
use crate::{CaseView, Html, number};

/// See [`About::docs`].
pub struct Summary;

static ABOUT: About = About {
    id: "summary",
    title: "Answer",
    docs: "Which CPU is slow, why, how sure that is, and how the controls came out.",
};

impl Page for Summary {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn render(&self, case: &CaseView) -> Html {
        let headline = headline::read(case.facts, case.findings);
        let mut html = Html::new();
        let tone = match headline.tone {
            Tone::Slow => "verdict slow",
            Tone::Even => "verdict even",
            Tone::Undecided => "verdict undecided",
            Tone::NoClaim => "verdict no-claim",
        };
        html.within("div", &[("class", &tone)], |banner| {
            banner.element("p", &[("class", &"answer")], format!("{}.", headline.title));
            if !headline.points.is_empty() {
                banner.within("ul", &[], |list| {
                    for point in &headline.points {
                        list.element("li", &[], point);
                    }
                });
            }
            banner.element("p", &[("class", &"sure")], &headline.sure);
        });
        expectations(&mut html, case);
        next(&mut html, case);
        controls(&mut html, case);
        unpinned_in_words(&mut html, case);
        notes(&mut html, case);
        html
    }
}

/// What a gate demanded, and what came of it.
fn expectations(html: &mut Html, case: &CaseView) {
    let judgements = &case.facts.evidence.expectations;
    if judgements.is_empty() {
        return;
    }
    html.element("h3", &[], "Expected");
    let row = |judged: &Judgement| {
        let result = match &judged.outcome {
            Outcome::Passed => "passed".to_string(),
            Outcome::Failed => "FAILED".into(),
            Outcome::CannotTell { why } => format!("cannot tell: {}", expectation_words::unjudged(why)),
        };
        vec![judged.expectation.to_string(), expectation_words::measured(judged, case.facts), result]
    };
    let rows: Vec<Vec<String>> = judgements.iter().map(row).collect();
    table(html, &["expectation", "measured", "result"], &[], &rows);
}

/// What to do with the answer.
fn next(html: &mut Html, case: &CaseView) {
    let lines = next_steps::lines(&advise::next_steps(case.facts, case.findings), &case.case_dir);
    if !lines.is_empty() {
        html.element("h3", &[], "Next");
    }
    for line in lines {
        html.element("p", &[], &line.why);
        commands(html, line.command.as_slice());
    }
}

fn controls(html: &mut Html, case: &CaseView) {
    html.element("h3", &[], "Controls");
    let controls = control_words::controls(&case.facts.evidence);
    let rows: Vec<Vec<String>> =
        controls.into_iter().map(|(name, words)| vec![name.into(), sentence_start(&words)]).collect();
    table(html, &["control", "result"], &[], &rows);
}

fn unpinned_in_words(html: &mut Html, case: &CaseView) {
    if let Some(sentence) = locality_words::sentence(case.facts) {
        html.element("p", &[], sentence);
    }
    let Some(unpinned) = unpinned::pool(&case.facts.evidence) else { return };
    let decimals = result_fields::decimals(&case.facts.evidence);
    let shown = |value: f64| number::grouped(value, decimals);
    let sd = unpinned.figure.sd.map(|sd| format!(", sd between trials {}", shown(sd))).unwrap_or_default();
    let used = unpinned.cpus_in_words().map(|used| format!(" It ran {used}.")).unwrap_or_default();
    html.within("p", &[], |p| {
        p.text(format!(
            "{}: mean {}{sd}, {} trials, from {} to {}.{used}",
            sentence_start(case.facts.evidence.baseline()),
            shown(unpinned.figure.mean),
            unpinned.figure.n,
            shown(unpinned.figure.min),
            shown(unpinned.figure.max),
        ));
        if let Some(why) = &unpinned.mixture {
            p.text(" ").element("strong", &[], "It is a mixture, not a mean:");
            p.text(format!(" {why}."));
        }
    });
}

fn notes(html: &mut Html, case: &CaseView) {
    let notes = notes::of(case.facts);
    if notes.is_empty() {
        return;
    }
    html.element("h3", &[], "Caveats");
    html.within("ul", &[], |list| {
        for note in &notes {
            list.element("li", &[], note);
        }
    });
}
