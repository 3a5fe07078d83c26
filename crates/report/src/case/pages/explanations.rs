//! What makes the difference between arms: for each that was observed the way from the baseline's time of a request to its own.

use advise::explanation::common_causes::EveryArm;
use advise::explanation::observer_effect::ObserverEffect;
use advise::explanation::{Basis, Explained, Explanation, explain};
use study::{Facts, Role};

use super::{About, Page};
use crate::case::drawings::waterfall::{self, Fill, Step, Total, Waterfall};
use crate::case::every_arm_text;
use crate::case::explanation_words::{self as words, ShownStep, ShownTerms, Sureness};
use crate::case::stalled_text;
use crate::case::table::wrap::cut;
use crate::markup::blocks::{legend, table};
use crate::visible::one_line;
use crate::{CaseView, Html, number};

/// Characters of an arm's name at the head of a column.
const HEAD: usize = 24;

/// See [`About::docs`].
pub struct Explanations;

static ABOUT: About = About {
    id: "explanations",
    title: "What makes the difference",
    docs: "For every observed arm where the time of a request goes, against the baseline: the terms that differ, who takes them, and what is not explained.",
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
    let is_alike = |explanation: &&Explanation| words::differing_load_keys(explanation, facts).is_empty();
    let alike: Vec<&Explanation> = explanations.iter().filter(is_alike).collect();
    if !alike.is_empty() {
        legend(html, &LEGEND, &waterfall::sample);
        for explanation in alike {
            let cpu_time = words::server_cpu_time(explanation, facts);
            html.within("article", &[("class", &"finding")], |article| one(article, explanation, cpu_time));
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

const CAPTION: &str = "The rows lead from the baseline's time to the arm's; the steps add up to the difference. Whiskers are 95 % intervals over the observed blocks, of each step and of the whole difference. Terms that take next to nothing in both arms are in the table alone.";

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
fn one(html: &mut Html, explanation: &Explanation, cpu_time: Option<String>) {
    let shown = words::shown_terms(explanation);
    html.element("h3", &[], words::heading(explanation));
    if let Some(note) = words::basis_note(explanation.basis) {
        html.element("p", &[("class", &"mechanism")], note);
    }
    html.add(&waterfall::draw(&drawn(explanation, &shown)));
    terms(html, explanation, &shown);
    claims(html, explanation);
    for sentence in words::below_claims(explanation, cpu_time) {
        html.element("p", &[], sentence);
    }
}

/// The waterfall as plain data, in the unit that is shown.
fn drawn(explanation: &Explanation, shown: &ShownTerms) -> Waterfall {
    let basis = explanation.basis;
    let in_unit = |value: f64| words::in_unit(basis, value);
    let both = |(low, high): (f64, f64)| (in_unit(low), in_unit(high));
    let total = |name: &str, value: f64| Total {
        name: name.into(),
        value: in_unit(value),
        words: (words::value(basis, value), String::new()),
        interval: None,
    };
    let step = |step: &ShownStep| Step {
        name: words::term(step.step.term),
        by: in_unit(step.by()),
        interval: step.step.change.interval.map(both),
        words: (words::signed(basis, step.by()), words::interval(basis, &step.step.change)),
        fill: match (step.step.change.is_there(), step.by() < 0.0) {
            (false, _) => Fill::Unsure,
            (true, true) => Fill::Less,
            (true, false) => Fill::More,
        },
    };
    let mut to = total(&explanation.arm, shown.to);
    to.words.1 = shown.change.clone();
    to.interval = shown.total.and_then(|change| change.interval).map(both);
    Waterfall {
        title: words::heading(explanation),
        axis: axis(basis).into(),
        from: total(&explanation.against, shown.from),
        steps: shown.steps.iter().filter(|step| step.sureness != Sureness::Nothing).map(step).collect(),
        to,
    }
}

fn axis(basis: Basis) -> &'static str {
    match basis {
        Basis::Request => "us a request",
        Basis::RequestAtFixedRate => "us a request, without sleep",
        Basis::Window => "% of the window",
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
        ["term", &against, &arm, "difference", "95 % interval", "", "largest parts of the difference"];
    table(html, &heads, &[1, 2, 3, 4, 5], &rows);
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
