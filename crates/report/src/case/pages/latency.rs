//! Latency by percentile, arm by arm.

use study::Facts;
use study::evidence::Pooled;

use super::{About, Page};
use crate::case::drawings::{Kind, curves};
use crate::case::result_fields;
use crate::case::result_words;
use crate::case::viewer;
use crate::markup::blocks::table;
use crate::markup::data_link::{Cell, MOST_ROWS, data_link};
use crate::{CaseView, Html, number, svg};

/// See [`About::docs`].
pub struct Latency;

static ABOUT: About = About {
    id: "latency",
    title: "Latency",
    docs: "Latency by percentile for each arm, over all its trials, from the intended send time.",
};

/// Percentiles that the table shows, and the figure that holds each.
const SHOWN: [(&str, &str); 5] = [
    ("p50", "latency_p50_us"),
    ("p90", "latency_p90_us"),
    ("p99", "latency_p99_us"),
    ("p99.9", "latency_p999_us"),
    ("max", "latency_max_us"),
];

impl Page for Latency {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn render(&self, case: &CaseView) -> Html {
        let mut html = Html::new();
        let rows = rows(case.facts);
        let kinds = Kind::present(&case.facts.study.arms, &case.facts.evidence);
        match curves::draw(case.facts, &case.latency) {
            Some(drawing) => {
                super::bars::legend(&mut html, &kinds, &|svg, kind| {
                    svg::path(svg, &format!("curve {}", kind.class()), &[(0.0, 8.0), (18.0, 8.0)], "");
                });
                viewer::frame(&mut html, viewer::LATENCY, &drawing);
                data(&mut html, case);
                html.element(
                    "p",
                    &[("class", &"caption")],
                    "Merged histograms of all trials of an arm. The further right, the rarer: each step from 90 to 99 to 99.9 % has the same width.",
                );
            }
            None if rows.is_empty() && case.facts.evidence.pooled.is_empty() => return html,
            None => {
                html.element("p", &[], "The load gave no latency histograms, so there are no curves.");
            }
        }
        if !rows.is_empty() {
            let heads: Vec<&str> =
                std::iter::once("arm").chain(SHOWN.iter().map(|(name, _)| *name)).collect();
            html.within("details", &[], |details| {
                details.element(
                    "summary",
                    &[],
                    "Latency in numbers, us (median over the trials of each arm)",
                );
                table(details, &heads, &[1, 2, 3, 4, 5], &rows);
            });
        }
        case.facts.evidence.pooled.iter().for_each(|pooled| over_all_requests(&mut html, pooled));
        html
    }
}

/// The points of the curves, where they are not too many for a link.
fn data(html: &mut Html, case: &CaseView) {
    let curves = curves::of(case.facts, &case.latency);
    let rows: Vec<Vec<Cell>> = curves
        .iter()
        .flat_map(|curve| {
            curve.points.iter().map(move |(percentile, us)| {
                let numbers = [*percentile, *us].map(|number| Cell::Number(Some(number)));
                std::iter::once(Cell::Text(curve.name.to_string())).chain(numbers).collect()
            })
        })
        .collect();
    if rows.len() <= MOST_ROWS {
        data_link(html, curves::TITLE, "latency.csv", &["arm", "percentile", "latency_us"], &rows);
    }
}

/// A quantile over all requests of each arm.
fn over_all_requests(html: &mut Html, pooled: &Pooled) {
    html.element("h3", &[], result_words::pooled_figure(pooled));
    if !pooled.against_baseline.is_empty() {
        result_fields::on_page(html, &result_fields::pooled(pooled), &pooled.against_baseline);
    }
    result_words::pooled(pooled).iter().for_each(|words| {
        html.element("p", &[("class", &"caption")], words);
    });
}

/// Medians over trials, for arms that have any.
fn rows(facts: &Facts) -> Vec<Vec<String>> {
    facts
        .evidence
        .arms
        .iter()
        .filter(|arm| SHOWN.iter().any(|(_, figure)| value(arm, figure).is_some()))
        .map(|arm| {
            let cells = SHOWN
                .iter()
                .map(|(_, figure)| value(arm, figure).map_or("-".into(), |v| number::grouped(v, 0)));
            std::iter::once(arm.arm.clone()).chain(cells).collect()
        })
        .collect()
}

/// A figure of an arm, also when it is the one that decides.
fn value(arm: &study::evidence::ArmSummary, figure: &str) -> Option<f64> {
    arm.others.get(figure).copied()
}
