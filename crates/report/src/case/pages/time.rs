//! The figure trial by trial, so that drift can be seen.

use super::{About, Page};
use crate::case::drawings::{Kind, order};
use crate::case::viewer;
use crate::markup::data_link::{Cell, MOST_ROWS, data_link};
use crate::{CaseView, Html};

/// See [`About::docs`].
pub struct Time;

static ABOUT: About = About {
    id: "time",
    title: "Trial by trial",
    docs: "Every trial in order of time, so that drift, slow phases and pauses can be seen.",
};

impl Page for Time {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn render(&self, case: &CaseView) -> Html {
        let mut html = Html::new();
        let Some(drawing) = order::draw(case.facts) else { return html };
        let kinds = Kind::present(&case.facts.study.arms, &case.facts.evidence);
        super::bars::legend(&mut html, &kinds, &|svg, kind| order::marker(svg, kind, (9.0, 7.0), 4.2, ""));
        viewer::frame(&mut html, viewer::TRIALS, &drawing);
        data(&mut html, case);
        html.element(
            "p",
            &[("class", &"caption")],
            "Blocks are shaded in turn; within a block every arm runs once, in random order. The step line is the median of the pinned trials of a block that do not stand out: where it moves, the machine drifted; comparisons within blocks are not affected. The axis does not start at zero.",
        );
        html
    }
}

/// The points of the picture, where they are not too many for a link.
fn data(html: &mut Html, case: &CaseView) {
    let trials = order::with_figure(case.facts);
    if trials.len() > MOST_ROWS {
        return;
    }
    let number = |number: usize| Cell::Number(Some(number as f64));
    let rows: Vec<Vec<Cell>> = trials
        .iter()
        .map(|(trial, value)| {
            // Its number in the case, as in all other data.
            let block = number(trial.block);
            vec![number(trial.index), block, Cell::Text(trial.arm.clone()), Cell::Number(Some(*value))]
        })
        .collect();
    let heads = ["trial", "block", "arm", case.facts.evidence.metric.as_str()];
    data_link(html, order::TITLE, "trials.csv", &heads, &rows);
}
