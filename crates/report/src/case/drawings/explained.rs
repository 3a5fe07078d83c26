//! The waterfalls of a case's explanations, in the unit and the words in which they are shown.

use advise::explanation::{Basis, Explanation};
use study::Facts;

use super::waterfall::{Fill, Step, Total, Waterfall};
use crate::case::explanation_words::{self as words, ShownStep, ShownTerms, Sureness};

/// The explanations that have a waterfall: arms whose load does the same work as the baseline's.
pub fn alike<'a>(explanations: &'a [Explanation], facts: &Facts) -> Vec<&'a Explanation> {
    let is_alike = |explanation: &&Explanation| words::differing_load_keys(explanation, facts).is_empty();
    explanations.iter().filter(is_alike).collect()
}

/// Id of the waterfall at a place among them.
pub fn id(place: usize) -> String {
    format!("waterfall-{place}")
}

/// The waterfall as plain data, in the unit that is shown.
pub fn waterfall(explanation: &Explanation, shown: &ShownTerms) -> Waterfall {
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

/// What the axis shows, with its unit.
pub fn axis(basis: Basis) -> &'static str {
    match basis {
        Basis::Request => "us a request",
        Basis::RequestAtFixedRate => "us a request, without sleep",
        Basis::Window => "% of the window",
    }
}
