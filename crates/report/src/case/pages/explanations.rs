//! What makes the difference between arms: for each that was observed the way from the baseline's time of a request to its own.

use advise::explanation::common_causes::EveryArm;
use advise::explanation::observer_effect::ObserverEffect;
use advise::explanation::{Explained, Explanation, explain};
use study::{Facts, Role};

use super::{About, Page};
use crate::case::drawings::explained;
use crate::case::drawings::waterfall::{self, Fill};
use crate::case::every_arm_text;
use crate::case::explanation_words::{self as words, ShownTerms};
use crate::case::stalled_text;
use crate::case::table::wrap::cut;
use crate::case::viewer;
use crate::markup::blocks::{legend, table};
use crate::markup::data_link::{Cell, data_link};
use crate::visible::one_line;
use crate::{CaseView, Html, number};

/// Characters of an arm's name at the head of a column.
const HEAD: usize = 24;

/// See [`About::docs`].
pub struct Explanations;

static ABOUT: About = About {
    id: "explanations",
    title: "What makes the difference",
    docs: "For every observed arm, where the time of a request goes, compared with the baseline: the terms that differ, who takes them, and what is not explained.",
};

impl Page for Explanations {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn render(&self, case: &CaseView) -> Html {
        let mut html = Html::new();
        let Explained { explanations, every_arm, observing, stalled } = case.explained;
        let stalls = stalled_text::sentences(stalled, case.facts.study.arms.len());
        if explanations.is_empty() {
            if let Some(why) = nothing(case.facts) {
                html.element("p", &[], why);
            }
            for words in stalls {
                html.element("p", &[], words);
            }
            return html;
        }
        alike(&mut html, explanations, case.facts);
        of_every_arm(&mut html, every_arm);
        for words in stalls {
            html.element("p", &[], words);
        }
        cost(&mut html, observing);
        html
    }
}

/// Arms whose load does the same work as the baseline's, and that the others are left out.
fn alike(html: &mut Html, explanations: &[Explanation], facts: &Facts) {
    let alike = explained::alike(explanations, facts);
    if !alike.is_empty() {
        legend(html, &LEGEND, &waterfall::sample);
        for (place, explanation) in alike.into_iter().enumerate() {
            let cpu_time = words::server_cpu_time(explanation, facts);
            html.within("article", &[("class", &"finding")], |article| {
                one(article, place, explanation, cpu_time)
            });
        }
        html.element("p", &[("class", &"caption")], CAPTION);
    }
    if let Some(sentence) = words::other_work(explanations, facts) {
        html.element("p", &[], sentence);
    }
}

/// Colours of the bars in words.
const LEGEND: [(Fill, &str); 4] = [
    (Fill::Total, "all of the time"),
    (Fill::More, "more of it"),
    (Fill::Less, "less of it"),
    (Fill::Unsure, "not shown to differ"),
];

const CAPTION: &str = "The rows lead from the baseline's time to the arm's; the steps add up to the difference. Whiskers are 95 % intervals over the observed blocks, of each step and of the whole difference. Terms that take next to nothing in both arms are only in the table.";

/// Why nothing is explained; `None` where there is nothing that could be.
fn nothing(facts: &Facts) -> Option<String> {
    let of = |role: Role| facts.study.arms.iter().filter(move |arm| arm.role == role);
    let is_old = facts.study.recipe.budget.observed_blocks.is_none() && facts.observed.is_empty();
    if is_old {
        return Some("The case has no observed blocks: it is older than they are.".into());
    }
    let (baseline, arm) = (of(Role::Baseline).next()?, of(Role::Candidate).next()?);
    let missing = explain(facts, &arm.name, &baseline.name).err()?;
    Some(format!("It is not known {}: {}.", missing.fact, missing.why.trim_end_matches('.')))
}

/// One arm against the baseline, with what the case says of the server's CPU time.
fn one(html: &mut Html, place: usize, explanation: &Explanation, cpu_time: Option<String>) {
    let shown = words::shown_terms(explanation);
    html.element("h3", &[], words::heading(explanation));
    if let Some(note) = words::basis_note(explanation.basis) {
        html.element("p", &[("class", &"mechanism")], note);
    }
    let drawing = waterfall::draw(&explained::waterfall(explanation, &shown));
    viewer::frame(html, &explained::id(place), &drawing);
    terms(html, explanation, &shown);
    data(html, place, explanation, &shown);
    claims(html, explanation);
    for sentence in words::below_claims(explanation, cpu_time) {
        html.element("p", &[], sentence);
    }
}

/// The numbers of the drawing, and who takes each term.
fn terms(html: &mut Html, explanation: &Explanation, shown: &ShownTerms) {
    let basis = explanation.basis;
    let mut rows: Vec<Vec<String>> = shown
        .steps
        .iter()
        .map(|shown| {
            let change = &shown.step.change;
            vec![
                words::term(shown.step.term).into(),
                words::value(basis, change.from),
                words::value(basis, change.to),
                words::signed(basis, shown.by()),
                words::interval(basis, change),
                shown.sureness.words().into(),
                words::parts(basis, shown.step),
            ]
        })
        .collect();
    rows.push(vec![
        "in all".into(),
        words::value(basis, shown.from),
        words::value(basis, shown.to),
        words::signed(basis, shown.to - shown.from),
        shown.total.map(|change| words::interval(basis, change)).unwrap_or_default(),
        String::new(),
        shown.change.clone(),
    ]);
    let head = |name: &str| cut(&one_line(name), HEAD);
    let (against, arm) = (head(&explanation.against), head(&explanation.arm));
    let heads =
        ["term", &against, &arm, "difference", "95 % interval", "sure", "largest parts of the difference"];
    table(html, &heads, &[1, 2, 3, 4, 5], &rows);
}

/// The terms in full, in the unit of the drawing; those that take next to nothing, too.
fn data(html: &mut Html, place: usize, explanation: &Explanation, shown: &ShownTerms) {
    let number = |value: f64| Cell::Number(Some(words::in_unit(explanation.basis, value)));
    let bound = |value: Option<f64>| value.map_or(Cell::Number(None), number);
    let row = |shown: &words::ShownStep| {
        let change = &shown.step.change;
        vec![
            Cell::Text(words::term(shown.step.term).into()),
            number(change.from),
            number(change.to),
            number(shown.by()),
            bound(change.interval.map(|(low, _)| low)),
            bound(change.interval.map(|(_, high)| high)),
        ]
    };
    let rows: Vec<Vec<Cell>> = shown.steps.iter().map(row).collect();
    let unit = explained::axis(explanation.basis);
    let named = [explanation.against.as_str(), explanation.arm.as_str(), "difference", "low", "high"];
    let named = named.map(|name| format!("{name}, {unit}"));
    let heads: Vec<&str> = std::iter::once("term").chain(named.iter().map(String::as_str)).collect();
    data_link(html, &words::heading(explanation), &format!("{}.csv", explained::id(place)), &heads, &rows);
}

/// What the rules claim, with what can be done.
fn claims(html: &mut Html, explanation: &Explanation) {
    if let Some(sentence) = words::no_claim(explanation) {
        html.element("p", &[], sentence);
    }
    if explanation.claims.is_empty() {
        return;
    }
    html.within("ol", &[], |list| {
        for claim in &explanation.claims {
            let words = words::claim(claim, explanation);
            list.within("li", &[], |item| {
                item.text(format!("{}: {} ", words.name, words.cost));
                let class = if words.is_supported { "standing strong" } else { "standing" };
                item.element("span", &[("class", &class)], words.support);
                for words in words.proof.into_iter().chain(words.remedy) {
                    item.empty("br", &[]).element("span", &[("class", &"mechanism")], words);
                }
            });
        }
    });
}

/// What no placement of the study takes away.
fn of_every_arm(html: &mut Html, every: &EveryArm) {
    if let Some(limit) = every_arm_text::limit(every) {
        html.element("p", &[], limit);
    }
    if every.causes.is_empty() {
        return;
    }
    html.element("p", &[], format!("{}:", every_arm_text::HEADING));
    html.within("ol", &[], |list| {
        for cause in every_arm_text::causes(every) {
            list.within("li", &[], |item| {
                item.text(cause.what);
                if let Some(remedy) = cause.remedy {
                    item.empty("br", &[]).element("span", &[("class", &"mechanism")], remedy);
                }
            });
        }
    });
}

/// What observing cost by arm.
fn cost(html: &mut Html, costs: &[ObserverEffect]) {
    if costs.is_empty() {
        return;
    }
    html.element("p", &[], format!("{}:", words::OBSERVING));
    let rows: Vec<Vec<String>> = costs
        .iter()
        .map(|cost| {
            vec![
                cost.arm.clone(),
                number::count(cost.blocks),
                number::change(cost.ratio),
                number::interval(cost.interval),
            ]
        })
        .collect();
    table(html, &["server", "observed blocks", "change", "95 % interval"], &[1, 2, 3], &rows);
}

#[cfg(test)]
mod tests;
